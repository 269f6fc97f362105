"""CSL-JSON, the exchange format of Zotero, Mendeley and pandoc: a list of items.

id · title · abstract · author · issued: {date-parts: [[2020, 5, 1]]} · container-title · publisher
DOI · ISBN · PMID · arxiv, number, URL or note with an arXiv number · keyword · type · license, rights

Crossref records are read too. Their `license` is a list of URLs, each with its first day (`start`) and the version that
it covers (`content-version`); licenses for text mining (`tdm`) or the manuscript (`am`) don't cover the published text.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rifflux.text.licenses import joined, license_of
from rifflux.text.schemes import mentioned_arxiv
from rifflux.types import Failure, Identifier, Link
from rifflux.works import Work, parse_identifier
from rifflux.works.importers.base import Entry, Placed, Problems, Record
from rifflux.works.importers.names import people_known
from rifflux.works.importers.readable import unmarked
from rifflux.works.model import WORK

#: Crossref's names for the published version.
_PUBLISHED = ("vor", "unspecified", None)


def shows(record: Record) -> bool:
    """Return True if a record has the fields specific to CSL-JSON."""
    issued = record.get("issued")
    return "container-title" in record or (isinstance(issued, dict) and ("date-parts" in issued or "raw" in issued))


def csl_entry(placed: Placed) -> Entry | Failure:
    """Convert an item to a work. Returns a `Failure` without a title."""
    place, record = placed
    title = _text(record, "title")
    if not title:
        return Failure(place, "it has no title")
    notes = Problems()
    date = notes.date(_issued(record, notes))
    identifiers = tuple(_identifiers(record, notes))
    key = str(record.get("id") or (identifiers[0] if identifiers else title))
    authors, author_ids = people_known(record.get("author") or record.get("editor") or [])
    work = Work(
        title=title,
        abstract=_text(record, "abstract"),
        authors=authors,
        author_ids=author_ids,
        year=int(date[:4]) if date else None,
        venue=_text(record, "container-title") or _text(record, "publisher"),
        identifiers=identifiers,
        tags=notes.tags("keyword", [each.strip() for each in _text(record, "keyword").split(",") if each.strip()]),
        citations=tuple(_citations(record, notes)),
        license=_license(record),
        kind=_text(record, "type") or WORK,
        date=date,
    )
    return Entry(place, key, work, tuple(notes))


def _citations(record: Record, notes: Problems) -> Iterator[Link]:
    """Yield the references of a Crossref record that have a DOI."""
    listed = record.get("reference")
    for cited in listed if isinstance(listed, list) else ():
        if isinstance(cited, dict) and cited.get("DOI"):
            yield from (Link(each) for each in map(str, notes.identifiers("doi", cited["DOI"])))


def _license(record: Record) -> str | None:
    """Return the license of an item; of Crossref's list, the combined licenses in force for the published version."""
    listed = record.get("license")
    if not isinstance(listed, list) or not any(isinstance(each, dict) for each in listed):
        return license_of(_text(record, "license") or _text(record, "rights"))
    today = datetime.now(UTC).date().isoformat()
    published = [each for each in listed if isinstance(each, dict) and each.get("content-version") in _PUBLISHED]
    return joined(license_of(str(each.get("URL") or "")) for each in published if _starts(each) <= today)


def _starts(license: Record) -> str:
    """Return the first day of a Crossref license as ISO 8601: empty if not given, `9999` if invalid."""
    start = license.get("start")
    if start is None:
        return ""
    if isinstance(start, dict):
        parts = start.get("date-parts")
    else:
        parts = None
    try:
        year, *rest = map(int, parts[0]) if parts else []
        return "-".join([f"{year:04}", *(f"{each:02}" for each in rest[:2])])
    except (TypeError, ValueError, IndexError, KeyError):
        return "9999"


def _text(record: Record, name: str) -> str:
    """Return a field as plain text; some programs write a list of one value, or HTML for italics."""
    value = record.get(name)
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, str):
        return unmarked(value)
    return ""


def _identifiers(record: Record, notes: Problems) -> Iterator[Identifier]:
    for name, scheme in (("DOI", "doi"), ("ISBN", "isbn"), ("PMID", "pmid"), ("arxiv", "arxiv")):
        value = record.get(name)
        yield from notes.identifiers(scheme, str(value or "").split() if scheme == "isbn" else value)
    for name in ("number", "URL", "note"):
        text = _text(record, name)
        named = parse_identifier(text) or mentioned_arxiv(text)
        if named and named.scheme == "arxiv":
            yield named


def _issued(record: Record, notes: Problems) -> str | None:
    issued = record.get("issued")
    if not isinstance(issued, dict):
        return None
    parts = issued.get("date-parts")
    try:
        if parts:
            year, *rest = [int(each) for each in parts[0] if each not in (None, "")]
            return "-".join([f"{year:04}", *(f"{each:02}" for each in rest[:2])])
    except (TypeError, ValueError, IndexError, KeyError):
        notes.append(f"its 'issued' {parts!r} is not a date")
        return None
    return next((str(issued[name]) for name in ("raw", "literal") if issued.get(name)), None)
