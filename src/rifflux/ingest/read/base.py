"""Shared parts of the readers.

`decode` turns bytes into text, `what_is` names a format by its first bytes; `OutlineBuilder` and `TextBuilder` assign
breadcrumbs to blocks.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rifflux.errors import Unreadable
from rifflux.types import Block, Document, Parsed

#: The metadata field that lists a document's pages of images, on which nothing can be found.
PAGES_WITHOUT_TEXT = "pages_without_text"


@dataclass(frozen=True, slots=True)
class File:
    """A file's bytes, path and dates.

    `path` is relative to the file's root, with forward slashes; it becomes the document's key. Dates are ISO 8601, or
    None.
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
    """Return the document of a file, with its own dates if it has any, otherwise the file's.

    An empty title is replaced by the readable name.
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
    """An open heading: its span in the text, and whether anything is under it."""

    level: int
    title: str
    start: int
    end: int
    page: int | None
    bare: bool = True


@dataclass(slots=True)
class OutlineBuilder:
    """Assigns breadcrumbs to blocks while a text is read from top to bottom.

    Call `heading` and `block` in reading order, then `finish`. A heading is not a block of its own, because it is in
    the breadcrumb of what follows; one with nothing under it becomes a `heading` block of its parent, so that it can
    still be found. `page` is the current page or slide, in formats with pages.
    """

    page: int | None = None
    _blocks: list[Block] = field(default_factory=list)
    _open: list[_Section] = field(default_factory=list)
    _path: tuple[str, ...] = ()

    def heading(self, level: int, title: str, start: int, end: int) -> None:
        """Open the section `title`, whose heading is at `start:end`, and close those it ends."""
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
        """Close all sections and return the blocks in reading order."""
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
        """Begin a page or slide, counted from 1; what is added from here on belongs to it."""
        self._outline.page = number

    def heading(self, level: int, title: str) -> None:
        """Append a heading (1 is the outermost level) above the next pieces."""
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
        """Return the document of all pieces, and its blocks. Finishes the builder."""
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


#: The maximum characters of a breadcrumb's heading; it is embedded with every chunk below it.
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
# Replaces a literal while the markup around it is removed; the character has no meaning in any text.
_HIDDEN = "\ufdd0"


def plain_heading(markup: str) -> str:
    """Return the heading as people read it: without code ticks and emphasis, links as their words."""
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
    """Return the heading, cut between words if it is too long for a breadcrumb."""
    if len(words) <= LONGEST_HEADING:
        return words
    return words[:LONGEST_HEADING].rsplit(" ", 1)[0] + "…"


# Bytes to text, in any encoding


# UTF-32 comes first: its little-endian mark starts with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b")) + b"\x7f"
_SAMPLE = 1 << 16
# Programs that convert PDF to text write a zero byte for unknown characters. Binary data is full of them.
_LEAST_PER_ZERO = 2_000
# The common non-Unicode encodings. Without the list a short text may be detected as EBCDIC or UTF-16.
_ENCODINGS = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "iso8859_2", "koi8_r"),
    *("mac_roman", "cp874", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
# Short texts fit many code pages about equally; then the most common one is most often right.
_USUAL = "cp1252"
_ABOUT_EQUAL = 0.12


def decode(data: bytes) -> str:
    r"""Return the text of a file, with newlines as `\n` and no byte order mark.

    UTF-8, or UTF-16 and UTF-32 with their mark; anything else is detected. Characters are not normalised
    otherwise, so that spans fit the source. Raises `Unreadable` for binary data.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, "replace")
            break
    else:
        sample = data[:_SAMPLE]
        printable = len(sample.translate(None, _CONTROLS))
        if data.count(0) * _LEAST_PER_ZERO > len(data) or printable * 10 < len(sample) * 7:
            raise Unreadable("binary data, not text", kind="encoding")
        data = data.replace(b"\0", b" ")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = _nearly_utf8(data) or _detected(data)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _nearly_utf8(data: bytes) -> str | None:
    """Return data decoded as UTF-8 if only a few of its bytes are invalid, or None if it is something else."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    if broken * 10 < foreign:
        return text
    return None


def _detected(data: bytes) -> str:
    # Importing it takes 20 ms, and almost all files are UTF-8.
    from charset_normalizer import from_bytes

    matches = from_bytes(data[: 4 * _SAMPLE], cp_isolation=_ENCODINGS)
    best = matches.best()
    if best is None:
        raise Unreadable("not text in any known encoding; save it as UTF-8", kind="encoding")
    usual = any(
        _USUAL in match.could_be_from_charset
        and match.coherence >= best.coherence
        and match.chaos <= best.chaos + _ABOUT_EQUAL
        for match in matches
    )
    return data.decode(_USUAL if usual else best.encoding, "replace")


# The format of a file by its first bytes, regardless of its name


ZIP = b"PK\x03\x04"
#: The container of the older Office files (DOC, XLS, PPT), and of encrypted new ones.
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_SIGNATURES = {
    "a PDF": (b"%PDF-",),
    "an RTF document": (b"{\\rtf1",),
    "a ZIP archive": (ZIP,),
    "an empty ZIP archive": (b"PK\x05\x06",),
    "an old or encrypted Office file": (OLE,),
    "a PNG image": (b"\x89PNG\r\n\x1a\n",),
    "a JPEG image": (b"\xff\xd8\xff",),
    "a GIF image": (b"GIF87a", b"GIF89a"),
    "a TIFF image": (b"II*\0", b"MM\0*"),
    "sound, a film or a WebP image": (b"RIFF",),
    "a film": (b"\0\0\0\x1cftyp", b"\0\0\0\x20ftyp"),
    "sound": (b"ID3\x03", b"ID3\x04", b"OggS\0", b"fLaC"),
    "a SQLite database": (b"SQLite format 3\0",),
    "a gzip archive": (b"\x1f\x8b\x08",),
    "a bzip2 archive": (b"BZh9",),
    "an xz archive": (b"\xfd7zXZ\0",),
    "a Zstandard archive": (b"\x28\xb5\x2f\xfd",),
    "a 7z archive": (b"7z\xbc\xaf\x27\x1c",),
    "a RAR archive": (b"Rar!\x1a\x07",),
    "a program": (b"\x7fELF", b"MZ\x90\0", b"\0asm", b"\xca\xfe\xba\xbe"),
}
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # marks of UTF-16 and UTF-32, whose text is full of zero bytes


def what_is(head: bytes) -> str:
    """Return the format of data by its beginning, in words: `a PNG image`; an empty string if it may be text."""
    for words, starts in _SIGNATURES.items():
        if head.startswith(starts):
            return words
    return ""


def looks_like_text(head: bytes) -> bool:
    """Return True if data with this beginning is text in some encoding; False for empty data."""
    if not head or what_is(head):
        return False
    if head.startswith(_WIDE):
        return True
    return b"\0" not in head and len(head.translate(None, _CONTROLS)) * 10 >= len(head) * 9


def is_encrypted_office(data: bytes) -> bool:
    """Return True if the data is a password-protected DOCX, PPTX or XLSX."""
    return data.startswith(OLE) and "EncryptedPackage".encode("utf-16-le") in data
