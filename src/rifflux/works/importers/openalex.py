"""OpenAlex works: one per line, or the `results` of its API.

id · ids · doi · display_name, title · abstract_inverted_index · authorships · publication_year, publication_date
primary_location, best_oa_location · topics, concepts, keywords · referenced_works · type · updated_date
"""

from __future__ import annotations

from collections.abc import Iterator

from rifflux.text.licenses import license_of, permission_of
from rifflux.types import Failure, Identifier, Link, Tag
from rifflux.works import Work, parse_identifier
from rifflux.works.importers.base import Entry, Placed, Problems, Record
from rifflux.works.importers.names import people_known
from rifflux.works.importers.readable import unmarked
from rifflux.works.model import WORK

#: Concepts with a lower score are guesses from few words.
LEAST_SCORE = 0.3
#: Positions beyond this are an error rather than an abstract.
MOST_WORDS = 20_000
_IDS = {"openalex": "openalex", "doi": "doi", "pmid": "pmid"}


def shows(record: Record) -> bool:
    """Return True if a record has the fields specific to OpenAlex."""
    return "openalex.org" in str(record.get("id")) or "abstract_inverted_index" in record


def openalex_entry(placed: Placed) -> Entry | Failure:
    """Convert a record to a work. Returns a `Failure` without a title or OpenAlex identifier."""
    place, record = placed
    notes = Problems()
    own = notes.identifiers("openalex", record.get("id"))
    title = unmarked(str(record.get("display_name") or record.get("title") or ""))
    if not own or not title:
        return Failure(place, "it has no title" if own else f"{record.get('id')!r} is not an OpenAlex identifier")
    authors, author_ids = people_known([_author(each) for each in _mappings(record, "authorships")])
    date = notes.date(record.get("publication_date"))
    cited = record.get("referenced_works")
    work = Work(
        title=title,
        abstract=_abstract(record, notes),
        authors=authors,
        author_ids=author_ids,
        year=notes.year(record.get("publication_year")) or (int(date[:4]) if date else None),
        venue=unmarked(str(_mapping(_mapping(record.get("primary_location")).get("source")).get("display_name") or "")),
        identifiers=tuple(_identifiers(record, own, notes)),
        tags=tuple(_tags(record, notes)),
        citations=tuple(
            Link(each) for each in map(str, notes.identifiers("openalex", cited if isinstance(cited, list) else []))
        ),
        license=_license(record),
        kind=str(record.get("type") or WORK),
        date=date,
        updated=notes.date(str(record.get("updated_date") or "")[:10]),
        metadata={"cited_by_count": count} if isinstance(count := record.get("cited_by_count"), int) else {},
    )
    return Entry(place, own[0].value, work, tuple(notes))


def _author(authorship: Record) -> Record:
    """Return the author of an authorship, with the name under `name`."""
    author = _mapping(authorship.get("author"))
    return {"name": author.get("display_name") or "", "id": author.get("id"), "orcid": author.get("orcid")}


def _mapping(value: object) -> Record:
    if isinstance(value, dict):
        return value
    return {}


def _mappings(record: Record, name: str) -> list[Record]:
    values = record.get(name)
    if isinstance(values, list):
        return [each for each in values if isinstance(each, dict)]
    return []


def _abstract(record: Record, notes: Problems) -> str:
    """Rebuild the abstract from its words and their positions."""
    inverted = record.get("abstract_inverted_index")
    if not isinstance(inverted, dict):
        return ""
    placed = [(place, word) for word, places in inverted.items() if isinstance(places, list) for place in places]
    if not all(isinstance(place, int) and 0 <= place < MOST_WORDS for place, _ in placed):
        notes.append("its 'abstract_inverted_index' has invalid positions")
        return ""
    return unmarked(" ".join(word for _, word in sorted(placed)))


def _identifiers(record: Record, own: tuple[Identifier, ...], notes: Problems) -> Iterator[Identifier]:
    yield from own
    names = {**_mapping(record.get("ids")), "doi": record.get("doi") or _mapping(record.get("ids")).get("doi")}
    for name, scheme in _IDS.items():
        yield from notes.identifiers(scheme, names.get(name))
    for location in _mappings(record, "locations"):
        page = parse_identifier(str(location.get("landing_page_url") or ""))
        if page and page.scheme == "arxiv":
            yield page


def _tags(record: Record, notes: Problems) -> Iterator[Tag]:
    for name in ("topics", "concepts", "keywords"):
        if name == "keywords":
            scheme = "keyword"
        else:
            scheme = "openalex"
        for each in _mappings(record, name):
            score = each.get("score")
            if each.get("display_name") and (not isinstance(score, int | float) or score >= LEAST_SCORE):
                yield from notes.tags(scheme, each["display_name"])


def _license(record: Record) -> str | None:
    """Return the license of the primary location, unless only that of the best open-access location is open."""
    places = (_mapping(record.get(name)).get("license") for name in ("primary_location", "best_oa_location"))
    licenses = [license_of(each) for each in places if isinstance(each, str)]
    return next((each for each in licenses if permission_of(each)), None) or next(filter(None, licenses), None)
