"""BibTeX and BibLaTeX: the entries of a bibliography."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rifflux.errors import Unreadable
from rifflux.ingest.read.decode import decode
from rifflux.ingest.works.base import Entry, Notes, Source, content
from rifflux.ingest.works.names import people
from rifflux.ingest.works.readable import needed, readable
from rifflux.types import Failure, Identifier, Link
from rifflux.works import Work, parse_identifier
from rifflux.works.licences import licence_of

__all__ = ["read"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_VENUE = ("journal", "journaltitle", "booktitle", "series", "publisher", "school", "institution")
_IDENTIFIERS = {"doi": "doi", "mrnumber": "mr", "zblnumber": "zbl", "zbl": "zbl", "pmid": "pmid", "isbn": "isbn"}
_IDENTIFIERS |= {"openalex": "openalex", "arxiv": "arxiv", "arxivid": "arxiv"}
#: Where an arXiv number may stand besides a field of its own.
_MENTIONS = ("eprint", "journal", "url", "note", "howpublished", "number")

_ESCAPED = re.compile(r"\\([&%#_])")

Fields = Mapping[str, str]


def read(source: Source) -> Iterator[Entry | Failure]:
    """The works of a `.bib` file. An entry that is not well-formed is told with its line, and the rest goes on."""
    library = _parsed(source.path)
    for entry in library.entries:
        place = f"{source.path}:{entry.start_line + 1}"
        yield _entry(
            place, source.name, entry.key, entry.entry_type, {k: f.value for k, f in entry.fields_dict.items()}
        )
    for block in library.failed_blocks:
        reason = " ".join(str(block.error or "it is not well-formed").split())
        yield Failure(f"{source.path}:{block.start_line + 1}", reason)


def _parsed(path: Path) -> Any:
    text = decode(content(path))
    with needed("BibTeX"):
        import bibtexparser

    # What is wrong with an entry is told by the library object too.
    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
    library = bibtexparser.parse_string(text)
    if not library.entries and not library.failed_blocks:
        raise Unreadable("holds no BibTeX entry")
    return library


def _entry(place: str, source: str, key: str, kind: str, fields: Fields) -> Entry | Failure:
    fields = {name.lower(): str(value).strip() for name, value in fields.items()}
    title = readable(": ".join(filter(None, (fields.get("title"), fields.get("subtitle")))))
    if not title:
        return Failure(place, f"{key!r} has no title")
    notes = Notes()
    date = _date(fields, notes)
    work = Work(
        title=title,
        abstract=_ESCAPED.sub(r"\1", fields.get("abstract", "")),
        authors=tuple(map(readable, people(fields.get("author") or fields.get("editor") or ""))),
        year=int(date[:4]) if date else None,
        venue=readable(next((fields[name] for name in _VENUE if fields.get(name)), "")),
        identifiers=tuple(_identifiers(fields, notes)),
        tags=notes.tags("keyword", [each.strip() for each in _split(fields.get("keywords", "")) if each.strip()])
        + notes.tags("arxiv", _split(fields.get("primaryclass", "")))
        + notes.tags("msc", _split(fields.get("mrclass", "").replace("(", ",").replace(")", ""))),
        citations=tuple(Link(f"{source}:{each.strip()}") for each in _split(fields.get("crossref", ""))),
        licence=licence_of(fields.get("license") or fields.get("copyright")),
        kind=kind.lower(),
        date=date,
    )
    return Entry(place, key, work, tuple(notes))


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.replace(";", ",").split(",") if each.strip()]


def _date(fields: Fields, notes: Notes) -> str | None:
    """The date of BibLaTeX, or BibTeX's year and month."""
    if given := fields.get("date"):
        return notes.date(given.partition("/")[0])
    year = notes.year(fields.get("year", "").strip("{}() "))
    month = fields.get("month", "").strip("{} ").lower()
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1 if month[:3] in _MONTHS else 0
    if year is None:
        return None
    return f"{year:04}-{number:02}" if 1 <= number <= 12 else f"{year:04}"


def _identifiers(fields: Fields, notes: Notes) -> Iterator[Identifier]:
    for name, scheme in _IDENTIFIERS.items():
        yield from notes.identifier(scheme, fields.get(name, "").replace("\\_", "_"))
    for name in _MENTIONS:
        mentioned = parse_identifier(fields.get(name, ""))
        if mentioned and mentioned.scheme == "arxiv":
            yield mentioned
