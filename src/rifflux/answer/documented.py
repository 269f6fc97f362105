"""Find what source code says about itself in words: docstrings, comments in blocks, and comments of several lines.

A definition is quoted as code, but what it does, what a parameter means and what its default is stand in the
documentation inside it, which reads as prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rifflux.answer.blocks import AnswerBlock, blocks, grown
from rifflux.types import Span

#: Strings over several lines, comments between marks, and at least two lines that each begin with the same mark.
_DOCUMENTED = re.compile(
    r"(?P<quote>\"\"\"|''')(?P<quoted>.*?)(?P=quote)"
    r"|/\*+(?P<between>.*?)\*+/"
    r"|^[ \t]*(?P<mark>#+|//+|--+|;+)(?![!{])[^\n]*(?:\n[ \t]*(?P=mark)[^\n]*)+",
    re.DOTALL | re.MULTILINE,
)
#: What precedes the words in a line of a comment.
_LINE_MARK = re.compile(r"[ \t]*(?:(?:#+|//+|--+|;+)[:!]?|\*(?!\S))[ \t]?")
#: The line above the fields of a section, and the name of a field with its type.
_SECTION = re.compile(r"[A-Z]\w*(?: \w+)?:")
_FIELD = re.compile(r"[*`]*[A-Za-z_][\w.]*`*(?: ?\([^()]*\))?:(?=\s|\Z)")
_PROMPT = re.compile(r"\s*(?:>>>|\$)\s")
_WORDS = re.compile(r"[^\W\d_]{2,}\s+[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class _Text:
    """The words of a piece of documentation, with the place of each of its lines here and in the code."""

    text: str
    places: Sequence[tuple[int, int]]

    def span_of(self, span: Span) -> Span:
        """Return the place in the code of a span of the text."""
        return self._place_of(span[0]), self._place_of(span[1])

    def _place_of(self, place: int) -> int:
        here, there = max(each for each in self.places if each[0] <= place)
        return there + place - here


def documentation(text: str) -> list[Span]:
    """Return the places of the documentation in source code."""
    found = []
    for match in _DOCUMENTED.finditer(text):
        span = match.span("quoted") if match["quoted"] else match.span("between") if match["between"] else match.span()
        if _WORDS.search(text, *span):
            found.append(span)
    return found


def documented_blocks(text: str, spans: Sequence[Span]) -> Iterator[AnswerBlock]:
    """Yield the blocks of the documentation that stands at some places in code, each with its place there."""
    for start, end in spans:
        words = _words(text, start, end)
        for block in blocks(words.text):
            yield replace(block, span=words.span_of(block.span))


def grown_in_documentation(text: str, spans: Sequence[Span], block: AnswerBlock) -> AnswerBlock:
    """Return a block of the documentation in code with what belongs to it there."""
    for start, end in spans:
        if start <= block.span[0] and block.span[1] <= end:
            words = _words(text, start, end)
            for own in blocks(words.text):
                if own.text == block.text and words.span_of(own.span) == block.span:
                    whole = grown(words.text, own)
                    return replace(whole, span=words.span_of(whole.span))
    return block


def _words(text: str, start: int, end: int) -> _Text:
    """Return a piece of documentation without the marks of comments and without the indentation of all its lines."""
    lines: list[tuple[int, str]] = []
    place = start
    is_marked = all(_LINE_MARK.match(line) for line in text[start:end].splitlines()[1:] if line.strip())
    for line in text[start:end].splitlines(keepends=True):
        mark = _LINE_MARK.match(line) if is_marked else None
        first = mark.end() if mark else 0
        lines.append((place + first, line[first:].rstrip()))
        place += len(line)
    indents = [len(line) - len(line.lstrip()) for _, line in lines[1:] if line.strip()]
    least = min(indents, default=0)
    outdented: list[tuple[int, str]] = []
    for number, (there, line) in enumerate(lines):
        blanks = len(line) - len(line.lstrip())
        cut = blanks if not number else min(least, blanks)
        outdented.append((there + cut, line[cut:]))
    written: list[str] = []
    places: list[tuple[int, int]] = []
    length = 0
    for there, line, bullet in _with_fields(outdented):
        places += [(length, there), (length + len(bullet), there)]
        written.append(bullet + line)
        length += len(bullet) + len(line) + 1
    return _Text("\n".join(written), places)


def _with_fields(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Yield lines with their places, and the mark of an item before each field of a section such as `Args:`.

    What is indented below the name of a section is no code.
    """
    least: int | None = None
    inside = False
    for there, line in lines:
        indent = len(line) - len(line.lstrip())
        if line and not indent:
            inside = bool(_SECTION.fullmatch(line))
            least = None
        if inside and indent and least is None:
            inside = not _PROMPT.match(line)
            least = indent
        if not inside or not indent or least is None:
            yield there, line, ""
            continue
        cut = min(indent, least)
        bullet = "- " if indent <= least and _FIELD.match(line, cut) else ""
        yield there + cut, line[cut:], bullet
