"""arXiv's metadata: the records of its snapshot, one a line, and of its OAI feed as JSON.

id · title · abstract · authors, or authors_parsed: [[family, given, suffix]] · categories: "math.AG math.NT"
msc-class · acm-class · doi · journal-ref · license · versions: [{version, created}] · update_date · comments
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from rifflux.ingest.works.base import Entry, Notes, Record, Source
from rifflux.ingest.works.names import people
from rifflux.ingest.works.records import Placed, records
from rifflux.types import Failure, Identifier, Tag
from rifflux.works import Work
from rifflux.works.licences import licence_of

__all__ = ["entry", "read", "shows"]

_AUTHORS = re.compile(r"\s*,\s*and\s+|\s*,\s*|\s+and\s+")
_AFFILIATION = re.compile(r"\s*\([^()]*\)")
_CLASSES = re.compile(r"[\s,;()]+|primary|secondary", re.IGNORECASE)


def shows(record: Record) -> bool:
    """Whether a record has the fields that only arXiv's have."""
    return "id" in record and "categories" in record and ("authors_parsed" in record or "versions" in record)


def read(source: Source) -> Iterator[Entry | Failure]:
    """The works of a snapshot."""
    for each in records(source.path):
        yield each if isinstance(each, Failure) else entry(each)


def entry(placed: Placed) -> Entry | Failure:
    """The work of a record, or why it is none."""
    place, record = placed
    notes = Notes()
    title = _line(record.get("title"))
    own = notes.identifier("arxiv", record.get("id"))
    if not title or not own:
        return Failure(place, "it has no title" if own else f"{record.get('id')!r} is no arXiv identifier")
    date = notes.date(_first_version(record))
    work = Work(
        title=title,
        abstract=str(record.get("abstract") or "").strip(),
        authors=people(record.get("authors_parsed") or _listed(_line(record.get("authors")))),
        year=int(date[:4]) if date else None,
        venue=_line(record.get("journal-ref")),
        identifiers=(*own, *_dois(record, notes)),
        tags=tuple(_tags(record, notes)),
        licence=licence_of(record.get("license")),
        date=date,
        updated=notes.date(record.get("update_date")),
        metadata={"comments": comments} if (comments := _line(record.get("comments"))) else {},
    )
    return Entry(place, own[0].value, work, tuple(notes))


def _line(value: object) -> str:
    return " ".join(str(value or "").split())


def _listed(authors: str) -> list[str]:
    """The names of `A. One (MIT), B. Two and C. Three`."""
    return [each for each in _AUTHORS.split(_AFFILIATION.sub("", authors)) if each]


def _dois(record: Record, notes: Notes) -> Iterator[Identifier]:
    """The DOIs of the printed versions; the field may hold several."""
    for doi in _line(record.get("doi")).split():
        yield from notes.identifier("doi", doi)


def _tags(record: Record, notes: Notes) -> Iterator[Tag]:
    yield from notes.tags("arxiv", _line(record.get("categories")).split())
    for scheme in ("msc", "acm"):
        classes = _CLASSES.split(_line(record.get(f"{scheme}-class")))
        yield from notes.tags(scheme, [each for each in classes if each])


def _first_version(record: Record) -> str | None:
    """The day of the first version: `Mon, 2 Apr 2007 19:18:42 GMT`."""
    versions = record.get("versions")
    created = versions[0].get("created") if isinstance(versions, list) and versions else None
    try:
        return parsedate_to_datetime(created).date().isoformat() if created else None
    except (TypeError, ValueError):
        return str(created)
