"""The entries of a `.bib` file with resolved fields (`@string`, `#`, `crossref`), and failures for malformed ones."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rifflux.errors import Unreadable
from rifflux.ingest.read.base import decode
from rifflux.types import Failure
from rifflux.works.importers.base import MONTHS, content
from rifflux.works.importers.readable import needed

if TYPE_CHECKING:
    from bibtexparser.library import Library
    from bibtexparser.model import Entry as RawEntry
    from bibtexparser.model import String

#: Fields that an entry inherits from its `crossref`. Identifiers are excluded: the DOI of a book is not that of a
#: chapter.
_INHERITED = (
    "author",
    "year",
    "month",
    "date",
    "journal",
    "journaltitle",
    "booktitle",
    "series",
    "publisher",
    "school",
)

#: The maximum number of missing commas to repair in an entry.
MOST_SLIPS = 20

_MARK = re.compile(r"(?<!\\)[{}\"]|#")
_BLANKS = re.compile(r"\s+")
#: A field that follows another without a comma.
_RUN_ON = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*(.+)", re.DOTALL)


@dataclass
class BibEntry:
    """An entry: its first line, its fields by lower-case name, and notes on what was wrong with them."""

    line: int
    key: str
    kind: str
    fields: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def entries(path: Path) -> Iterator[BibEntry | Failure]:
    """Yield the entries of a file in order, then a failure for each malformed one."""
    from bibtexparser.model import DuplicateFieldKeyBlock

    library = _parsed(path)
    macros = _macros(library.strings)
    found = [_resolved(entry, macros) for entry in library.entries]
    failed = []
    for block in library.failed_blocks:
        if isinstance(block, DuplicateFieldKeyBlock):
            names = ", ".join(sorted(block.duplicate_keys))
            found.append(_resolved(block.ignore_error_block, macros))
            found[-1].notes.append(f"it has several fields {names}: the first of each was used")
        else:
            failed.append(Failure(f"{path}:{block.start_line + 1}", _reason(block.error)))
    _inherit(found)
    yield from found
    yield from failed


def _parsed(path: Path) -> Library:
    """Parse a file into blocks with unresolved values."""
    text = decode(content(path))
    with needed("BibTeX"):
        import bibtexparser

    # Errors in entries are in the library object too, so the log adds nothing.
    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
    library = bibtexparser.parse_string(text, parse_stack=[])
    if not library.entries and not library.failed_blocks:
        raise Unreadable("contains no BibTeX entry")
    return library


def _reason(error: object) -> str:
    reason = getattr(error, "abort_reason", None) or str(error or "") or "it is not well-formed"
    return " ".join(str(reason).split())


def _macros(strings: list[String]) -> dict[str, str]:
    macros = {month: month for month in MONTHS}  # every style defines them
    for each in strings:
        macros[each.key.lower()] = _joined(str(each.value), macros)[0]
    return macros


def _resolved(entry: RawEntry, macros: Mapping[str, str]) -> BibEntry:
    found = BibEntry(entry.start_line + 1, entry.key, entry.entry_type.lower())
    for each in entry.fields:
        _set(found, each.key.strip().lower(), str(each.value), macros)
    return found


def _set(entry: BibEntry, name: str, written: str, macros: Mapping[str, str]) -> None:
    """Resolve a field and any that follow it without a comma; the first of equal names wins."""
    value, wrong = _joined(written, macros)
    while len(entry.notes) < MOST_SLIPS and (following := _RUN_ON.fullmatch(wrong)):
        entry.notes.append(f"a comma is missing after its {name!r}")
        entry.fields.setdefault(name, value.strip())
        name = following[1].lower()
        value, wrong = _joined(following[2], macros)
    if wrong:
        entry.notes.append(
            f"its {name!r} contains {_BLANKS.sub(' ', wrong)[:60]!r}, which is neither an @string nor in braces"
        )
    entry.fields.setdefault(name, value.strip())


def _joined(written: str, macros: Mapping[str, str]) -> tuple[str, str]:
    """Resolve a value such as `jams # " Journal"`; return it with the first piece that could not be resolved."""
    value = []
    wrong = []
    for piece in _pieces(written):
        end = _closed(piece)
        if end:
            value.append(piece[1 : end - 1])
            wrong.append(piece[end:].strip())
        elif piece[:1].isdigit() or piece.lower() in macros:
            value.append(macros.get(piece.lower(), piece))
        else:
            wrong.append(piece)
    return "".join(value), next(filter(None, wrong), "")


def _pieces(written: str) -> list[str]:
    """Split a value at each `#` outside braces and quotes."""
    pieces = []
    start = 0
    depth = 0
    quoted = False
    for mark in _MARK.finditer(written):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
        elif mark[0] == '"' and depth == 0:
            quoted = not quoted
        elif mark[0] == "#" and depth == 0 and not quoted:
            pieces.append(written[start : mark.start()].strip())
            start = mark.end()
    return [*pieces, written[start:].strip()]


def _closed(piece: str) -> int:
    """Return the end of the braced or quoted text at the start of a piece, or 0 if there is none."""
    if piece[:1] not in ("{", '"'):
        return 0
    depth = 0
    for mark in _MARK.finditer(piece, 1 if piece[0] == '"' else 0):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0 and mark[0] == ("}" if piece[0] == "{" else '"'):
            return mark.end()
    return 0


def _inherit(found: list[BibEntry]) -> None:
    """Fill missing fields from the `crossref` entry, whose title becomes the book title."""
    whole = {entry.key.lower(): dict(entry.fields) for entry in found}
    for entry in found:
        named = entry.fields.get("crossref", "").lower()
        if not named or named == entry.key.lower():
            continue
        if named not in whole:
            entry.notes.append(f"its crossref {entry.fields['crossref']!r} does not exist")
            continue
        parent = whole[named]
        for name in _INHERITED:
            if parent.get(name):
                entry.fields.setdefault(name, parent[name])
        if parent.get("title"):
            entry.fields.setdefault("booktitle", parent["title"])
