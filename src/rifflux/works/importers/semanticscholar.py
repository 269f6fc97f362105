"""Semantic Scholar papers: the `data` of its API, or one per line.

paperId · externalIds: {DOI, ArXiv, PubMed, CorpusId} · title · abstract · authors: [{authorId, name, externalIds}]
year, publicationDate · venue, journal: {name} · references: [{paperId, externalIds}] · fieldsOfStudy
openAccessPdf: {license} · publicationTypes
"""

from __future__ import annotations

from collections.abc import Iterator

from rifflux.text.licenses import license_of
from rifflux.types import Failure, Identifier, Link
from rifflux.works import Work
from rifflux.works.importers.base import Entry, Placed, Problems, Record, WorkSource, local_link
from rifflux.works.importers.names import people_known
from rifflux.works.importers.readable import unmarked
from rifflux.works.model import WORK

_IDS = {"DOI": "doi", "ArXiv": "arxiv", "PubMed": "pmid"}


def shows(record: Record) -> bool:
    """Return True if a record has the fields specific to Semantic Scholar."""
    return "paperId" in record and "title" in record


def semanticscholar_entry(source: WorkSource, placed: Placed) -> Entry | Failure:
    """Convert a record to a work. Returns a `Failure` without a title or paper id."""
    place, record = placed
    key = str(record.get("paperId") or "")
    title = unmarked(str(record.get("title") or ""))
    if not key or not title:
        return Failure(place, "it has no title" if key else "it has no paperId")
    notes = Problems()
    date = notes.date(record.get("publicationDate"))
    authors, author_ids = people_known([_author(each) for each in _mappings(record.get("authors"))])
    kinds = record.get("publicationTypes")
    work = Work(
        title=title,
        abstract=str(record.get("abstract") or "").strip(),
        authors=authors,
        author_ids=author_ids,
        year=notes.year(record.get("year")) or (int(date[:4]) if date else None),
        venue=unmarked(str(record.get("venue") or _mapping(record.get("journal")).get("name") or "")),
        identifiers=tuple(_identifiers(record, notes)),
        tags=notes.tags("keyword", [each for each in record.get("fieldsOfStudy") or [] if isinstance(each, str)]),
        citations=tuple(_citations(record, source.name, notes)),
        license=license_of(_mapping(record.get("openAccessPdf")).get("license")),
        kind=str(kinds[0]).lower() if isinstance(kinds, list) and kinds else WORK,
        date=date,
    )
    return Entry(place, key, work, tuple(notes))


def _author(given: Record) -> Record:
    """Return an author, with the ORCID iD under `orcid` if given."""
    return {"name": given.get("name") or "", "orcid": _mapping(given.get("externalIds")).get("ORCID")}


def _identifiers(record: Record, notes: Problems) -> Iterator[Identifier]:
    names = _mapping(record.get("externalIds"))
    for name, scheme in _IDS.items():
        yield from notes.identifiers(scheme, names.get(name))


def _citations(record: Record, source: str, notes: Problems) -> Iterator[Link]:
    """Yield the citations of a paper, by an identifier that other sources use or else by the source's own key."""
    for cited in _mappings(record.get("references")):
        known = next(_identifiers(cited, notes), None)
        if known or cited.get("paperId"):
            yield Link(str(known)) if known else local_link(source, str(cited["paperId"]))


def _mapping(value: object) -> Record:
    if isinstance(value, dict):
        return value
    return {}


def _mappings(value: object) -> list[Record]:
    if isinstance(value, list):
        return [each for each in value if isinstance(each, dict)]
    return []
