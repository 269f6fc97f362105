"""RIS, the exchange format of reference managers and publishers: one field per line, `TY  - JOUR` to `ER  -`.

TY · TI, T1 · AB, N2 · AU, A1 · PY, Y1, DA · JO, JF, T2, PB · DO · SN (of books) · AN, UR with an arXiv number
KW · ID · C1 and LB are ignored
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rifflux.errors import Unreadable
from rifflux.text.schemes import mentioned_arxiv
from rifflux.types import Failure, Identifier
from rifflux.works import Work, parse_identifier
from rifflux.works.importers.base import Entry, Problems, WorkSource, content
from rifflux.works.importers.names import people
from rifflux.works.importers.readable import unmarked
from rifflux.works.model import WORK

_LINE = re.compile(r"([A-Z][A-Z0-9])\s{0,2}-(?:\s(.*))?\Z")
_KINDS = {
    "JOUR": "article", "BOOK": "book", "CHAP": "chapter", "CONF": "paper-conference", "CPAPER": "paper-conference",
    "THES": "thesis", "RPRT": "report", "UNPB": "preprint", "ELEC": "webpage",
}  # fmt: skip
_BOOKS = frozenset(("BOOK", "CHAP"))

Fields = Mapping[str, Sequence[str]]


def read(source: WorkSource) -> Iterator[Entry | Failure]:
    """Yield the works of a file, and failures. Raises `Unreadable` for a file without any record."""
    try:
        text = content(source.path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 text ({error.reason} at byte {error.start}): convert it to UTF-8") from None
    found = False
    for line, fields, ended in _records(text):
        found = True
        entry = _entry(f"{source.path}:{line}", fields)
        yield entry
        if not ended and isinstance(entry, Entry):
            yield Failure(entry.place, "its last line 'ER  -' is missing: it was read up to the next record")
    if not found:
        raise Unreadable("contains no RIS record: a record begins with a line such as 'TY  - JOUR'")


def _records(text: str) -> Iterator[tuple[int, Fields, bool]]:
    """Yield the first line of each record, its fields by tag, and whether its end is present."""
    fields: dict[str, list[str]] | None = None
    start = 0
    last = ""
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.match(line.rstrip())
        tag, value = (match[1], (match[2] or "").strip()) if match else ("", line.strip())
        if tag in ("TY", "ER"):
            if fields is not None:
                yield start, fields, tag == "ER"
            if tag == "TY":
                fields = defaultdict(list, TY=[value])
            else:
                fields = None
            start = number
        elif fields is not None and tag:
            fields[tag].append(value)
        elif fields is not None and value and fields.get(last):
            fields[last][-1] += f" {value}"  # the continuation of a long field
        last = tag or last
    if fields is not None:
        yield start, fields, False


def _entry(place: str, fields: Fields) -> Entry | Failure:
    title = unmarked(_first(fields, "TI", "T1", "CT"))
    if not title:
        return Failure(place, "it has no title")
    notes = Problems()
    kind = _first(fields, "TY").upper()
    identifiers = tuple(_identifiers(fields, kind, notes))
    date = notes.date(_date(_first(fields, "DA", "PY", "Y1")))
    work = Work(
        title=title,
        abstract=unmarked(_first(fields, "AB", "N2")),
        authors=people(
            [*fields.get("AU", ()), *fields.get("A1", ())] or [*fields.get("A2", ()), *fields.get("ED", ())]
        ),
        year=notes.year(_first(fields, "PY", "Y1")) or (int(date[:4]) if date else None),
        venue=unmarked(_first(fields, "JO", "JF", "T2", "JA", "BT", "PB")),
        identifiers=identifiers,
        tags=notes.tags("keyword", [each for each in fields.get("KW", ()) if each]),
        kind=_KINDS.get(kind, WORK),
        date=date,
    )
    return Entry(place, _first(fields, "ID") or str(identifiers[0] if identifiers else title), work, tuple(notes))


def _first(fields: Fields, *tags: str) -> str:
    return next((value for tag in tags for value in fields.get(tag, ()) if value), "")


def _date(written: str) -> str | None:
    """Return a date such as `2020/05/01/`, possibly incomplete, as ISO 8601."""
    parts = [part.strip() for part in written.split("/")[:3]]
    dated = [part.zfill(2) for part in parts if part.isdigit()]
    if dated and len(dated) == len([part for part in parts if part]):
        return "-".join(dated)
    return parts[0] or None


def _identifiers(fields: Fields, kind: str, notes: Problems) -> Iterator[Identifier]:
    yield from notes.identifiers("doi", _first(fields, "DO"))
    if kind in _BOOKS:
        # For articles, it is the ISSN of the journal.
        yield from notes.identifiers("isbn", [each for each in fields.get("SN", ()) if each])
    for tag in ("AN", "UR", "M1", "JO"):
        for value in fields.get(tag, ()):
            named = parse_identifier(value) or mentioned_arxiv(value)
            if named and named.scheme == "arxiv":
                yield named
