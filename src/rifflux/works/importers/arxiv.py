"""arXiv metadata: the records of its snapshot, one per line, and of its OAI feed as JSON.

id · title · abstract · authors, or authors_parsed: [[family, given, suffix]] · categories: "math.AG math.NT"
msc-class · acm-class · doi · journal-ref · license · versions: [{version, created}] · update_date · comments
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime

from rifflux.text.licenses import license_of
from rifflux.types import Failure
from rifflux.works import Work, parse_identifier
from rifflux.works.importers.base import Entry, Placed, Problems, Record, codes
from rifflux.works.importers.names import people
from rifflux.works.importers.readable import readable

_AUTHORS = re.compile(r"\s*,\s*and\s+|\s*,\s*|\s+and\s+")
_AFFILIATION = re.compile(r"\s*\([^()]*\)")
#: Fields that records of other formats have and arXiv's do not.
_OTHERS = frozenset(
    ("text", "cites", "references", "passages", "sections", "license", "metadata", "tags", "identifiers")
)


def shows(record: Record) -> bool:
    """Return True if a record has the fields specific to arXiv metadata."""
    if "id" not in record or "categories" not in record:
        return False
    named = parse_identifier(str(record["id"]))
    is_paper = named is not None and named.scheme == "arxiv" and not _OTHERS & record.keys()
    return "authors_parsed" in record or "versions" in record or is_paper


def arxiv_entry(placed: Placed) -> Entry | Failure:
    """Convert a record to a work. Returns a `Failure` without a title or arXiv identifier."""
    place, record = placed
    notes = Problems()
    title = readable(_line(record.get("title")))
    own = notes.identifiers("arxiv", record.get("id"))
    if not title or not own:
        return Failure(place, "it has no title" if own else f"{record.get('id')!r} is not an arXiv identifier")
    date = notes.date(_first_version(record))
    work = Work(
        title=title,
        abstract=str(record.get("abstract") or "").strip(),
        authors=tuple(
            readable(each) for each in people(record.get("authors_parsed") or _listed(_line(record.get("authors"))))
        ),
        year=int(date[:4]) if date else None,
        venue=readable(_line(record.get("journal-ref"))),
        # The field may contain the DOIs of several published versions.
        identifiers=(*own, *notes.identifiers("doi", _line(record.get("doi")).split())),
        tags=(
            *notes.tags("arxiv", _line(record.get("categories")).split()),
            *notes.tags("msc", codes(_line(record.get("msc-class")))),
            *notes.tags("acm", codes(_line(record.get("acm-class")))),
        ),
        license=license_of(record.get("license")),
        date=date,
        updated=notes.date(record.get("update_date")),
        metadata={"comments": comments} if (comments := _line(record.get("comments"))) else {},
    )
    return Entry(place, own[0].value, work, tuple(notes))


def _line(value: object) -> str:
    return " ".join(str(value or "").split())


def _listed(authors: str) -> list[str]:
    """Split an author line such as `A. One (MIT), B. Two and C. Three`, dropping affiliations."""
    return [each for each in _AUTHORS.split(_AFFILIATION.sub("", authors)) if each]


def _first_version(record: Record) -> str | None:
    """Return the date of the first version, given as `Mon, 2 Apr 2007 19:18:42 GMT`; unparsable dates as they are."""
    versions = record.get("versions")
    if isinstance(versions, list) and versions:
        created = versions[0].get("created")
    else:
        created = None
    try:
        if created:
            return parsedate_to_datetime(created).date().isoformat()
        return None
    except (TypeError, ValueError):
        return str(created)
