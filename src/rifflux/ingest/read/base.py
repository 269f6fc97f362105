"""What every reader takes and gives, and two helpers to give it: `OutlineBuilder` and `TextBuilder`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rifflux.types import Block, Document, Parsed


@dataclass(frozen=True, slots=True)
class File:
    """A file's bytes, with where they came from.

    `path` is relative to the file's root, with forward slashes; it becomes the document's key.
    Dates are ISO 8601, or None.
    """

    path: str
    data: bytes
    created_at: str | None = None
    updated_at: str | None = None


def readable_stem(path: str) -> str:
    """Return the file's name as a title: `ch04-01_ownership.md` becomes `ch04 01 ownership`."""
    name = PurePosixPath(path)
    words = name.stem.replace("_", " ").replace("-", " ").split()
    return " ".join(words) or name.name


def document_of(
    file: File,
    text: str,
    kind: str,
    title: str = "",
    created: str | None = None,
    updated: str | None = None,
    **metadata: object,
) -> Document:
    """Return the document a reader makes of `file`, with its own dates where there are any.

    An empty title becomes the readable name.
    """
    return Document(
        key=file.path,
        text=text,
        title=title or readable_stem(file.path),
        kind=kind,
        created_at=created or file.created_at,
        updated_at=updated or created or file.updated_at,
        metadata=metadata,
    )


@dataclass(slots=True)
class _Section:
    """A heading that is open: its span in the text, and whether anything stands under it."""

    level: int
    title: str
    start: int
    end: int
    page: int | None
    bare: bool = True


@dataclass(slots=True)
class OutlineBuilder:
    """Gives blocks their breadcrumbs while a text is read from top to bottom.

    Call `heading` and `block` in reading order, then `finish`. A heading is no block of its own, as it is in
    the breadcrumb of what follows; one with nothing under it becomes a `heading` block of its parent, so that
    it can still be found. `page` is the page or slide that is being read, in formats that have pages.
    """

    page: int | None = None
    _blocks: list[Block] = field(default_factory=list)
    _open: list[_Section] = field(default_factory=list)
    _path: tuple[str, ...] = ()

    def heading(self, level: int, title: str, start: int, end: int) -> None:
        """Open the section `title`, whose heading stands at `start:end`, and close those it ends."""
        self._close(level)
        for parent in self._open:
            parent.bare = False
        self._open.append(_Section(level, title, start, end, self.page))
        self._path = (*self._path, title) if title else self._path

    def block(self, start: int, end: int, kind: str = "paragraph", header: str = "") -> None:
        """Add a block to the open section; an empty span adds nothing."""
        if start >= end:
            return
        for section in reversed(self._open):
            if not section.bare:
                break
            section.bare = False
        self._blocks.append(Block(start, end, kind, self._path, header, self.page))

    def finish(self) -> tuple[Block, ...]:
        """Close all sections; the blocks in reading order."""
        self._close(0)
        return tuple(self._blocks)

    def _close(self, level: int) -> None:
        while self._open and self._open[-1].level >= level:
            last = self._open.pop()
            self._path = tuple([each.title for each in self._open if each.title])
            if last.bare and last.title:
                self._blocks.append(Block(last.start, last.end, "heading", self._path, page=last.page))


@dataclass(slots=True)
class TextBuilder:
    """Assembles the text of a format that has none of its own (PDF, DOCX, mail), with its blocks.

    Pieces are joined by `separator`; spans and breadcrumbs come out right by themselves:

        build = TextBuilder()
        build.heading(1, "Results")
        build.add("It works.")
        build.add("| a | b |\\n| 1 | 2 |", kind="table", header="| a | b |")
        yield build.parsed(file, kind="docx")
    """

    separator: str = "\n\n"
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0
    _outline: OutlineBuilder = field(default_factory=OutlineBuilder)

    def begin_page(self, number: int) -> None:
        """Begin a page or slide, counted from 1; what is appended from here on stands on it."""
        self._outline.page = number

    def heading(self, level: int, title: str) -> None:
        """Append a heading (1 is the outermost level) under which the next pieces stand."""
        title = " ".join(title.split())
        if title:
            start, end = self._append(title)
            self._outline.heading(level, title, start, end)

    def add(self, text: str, kind: str = "paragraph", header: str = "") -> None:
        """Append a block; outer blank lines are dropped, and blank text adds nothing."""
        text = text.strip("\n").rstrip()
        if text:
            start, end = self._append(text)
            self._outline.block(start, end, kind, header)

    def parsed(
        self,
        file: File,
        kind: str,
        title: str = "",
        created: str | None = None,
        updated: str | None = None,
        **metadata: object,
    ) -> Parsed:
        """Return the document of all pieces so far, and its blocks. Ends the building."""
        text = "".join(self._pieces)
        return Parsed(document_of(file, text, kind, title, created, updated, **metadata), self._outline.finish())

    def _append(self, piece: str) -> tuple[int, int]:
        if self._pieces:
            self._pieces.append(self.separator)
            self._length += len(self.separator)
        start = self._length
        self._pieces.append(piece)
        self._length += len(piece)
        return start, self._length


# The words of a heading without its inline markup


#: A breadcrumb is cut behind this many characters; it is embedded with every chunk below it.
LONGEST_HEADING = 200

_LITERAL = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)|\\([!-/:-@\[-`{-~])")  # code, and escaped characters
_MARKUP = (
    (re.compile(r"[ \t]*\{[#.:][^{}\n]*\}[ \t]*$"), ""),  # {#anchor}
    (re.compile(r"!?\[\[([^\[\]|]*\|)?([^\[\]]+)\]\]"), r"\2"),  # [[target|words]]
    (re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"), r"\1"),
    (re.compile(r"<((?:https?|mailto):[^<>\s]+)>"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->"), ""),
    (re.compile(r"(\*{1,3})(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"(~~|==)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
)
_MARKED = re.compile(r"[`\[\]<>*_~=\\{]")
# Stands for a literal while the markup around it goes; the character means nothing in any text.
_HIDDEN = "\ufdd0"


def plain_heading(markup: str) -> str:
    """Return the heading as people read it: `` `code` `` without its ticks, links as their words, no emphasis."""
    markup = markup[: 4 * LONGEST_HEADING]
    if _MARKED.search(markup):
        literals = [literal[2] or literal[3] for literal in _LITERAL.finditer(markup)]
        markup = _LITERAL.sub(_HIDDEN, markup)
        for pattern, words in _MARKUP:
            markup = pattern.sub(words, markup)
        for literal in literals:
            markup = markup.replace(_HIDDEN, literal, 1)
    return shortened(" ".join(markup.split()))


def shortened(words: str) -> str:
    """Return the heading, cut between words where it is too long for a breadcrumb."""
    if len(words) <= LONGEST_HEADING:
        return words
    return words[:LONGEST_HEADING].rsplit(" ", 1)[0] + "…"
