"""A research work, and the document it is stored as.

The document's text is the abstract and the passages, one after the other, and its parts say which is which. Title,
dates, identifiers, tags, links and license are the document's own; authors, year, venue and sources are in its
metadata, so that they can be asked for as facets. Among the identifiers are the beginning of the title, and its
beginning and end with the names of authors, to find duplicates by, and all of it, which references name. Tags are
stored in the order of the alphabet; which of them comes first in the work, its primary category, is in the metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from operator import attrgetter
from typing import Any

from rifflux.text.schemes import SCHEMES
from rifflux.text.titles import TITLE, title_keys, whole_title
from rifflux.types import Document, Identifier, Link, Part, Tag

#: The kind of a document that is a work, unless its source says which kind of work.
WORK = "work"
ABSTRACT = "abstract"
_BETWEEN = "\n\n"
#: What the primary category is kept under, as `scheme:value`.
PRIMARY = "primary"
#: Schemes that sort works into fields, the finest known for it first.
_CODED = ("arxiv", "msc", "acm", "openalex", "jel", "pacs")
_FACTS = ("authors", "author_ids", "year", "venue", "sources", PRIMARY)


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a work's text: `kind` is its role, such as `section`, `theorem`, `definition`, `proof`, `page`.

    `headings` is the breadcrumb it stands under, its own last; `label` is what references inside the work call it.
    `page` is the page of its file that it begins on, counted from 1.
    """

    text: str
    kind: str = "section"
    headings: tuple[str, ...] = ()
    label: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """A paper, book or statement. `kind` says which; `date` is an ISO 8601 date, the most exact that is known.

    `citations` name what is cited by `scheme:value`; their targets need not be known. `license` is an SPDX identifier
    or what the source says; None means that no license is known: the text must not be shown then. `author_ids` are the
    identifiers of the authors, in their order: `orcid:0000-0002-1825-0097`, several with spaces between them.
    """

    title: str
    abstract: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    identifiers: tuple[Identifier, ...] = ()
    tags: tuple[Tag, ...] = ()
    passages: tuple[Passage, ...] = ()
    citations: tuple[Link, ...] = ()
    license: str | None = None
    kind: str = WORK
    date: str | None = None
    updated: str | None = None
    sources: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    author_ids: tuple[str, ...] = ()

    def identifier(self, scheme: str) -> str | None:
        """Return its first identifier in a scheme, or None."""
        return next((each.value for each in self.identifiers if each.scheme == scheme), None)


def document_of(work: Work, key: str, records: Iterable[Work] = ()) -> Document:
    """Return the document that a work is stored as, under `key`; it is found by the titles of its `records`, too."""
    text, parts = _composed(work)
    facts = {
        "authors": list(work.authors),
        "author_ids": list(work.author_ids) if any(work.author_ids) else [],
        "year": work.year,
        "venue": work.venue,
        "sources": list(work.sources),
        PRIMARY: f"{tag.scheme}:{tag.value}" if (tag := primary_of(work.tags)) else "",
    }
    # Each link once, with its highest confidence.
    strongest = {(link.key, link.kind): link for link in sorted(work.citations, key=attrgetter("confidence"))}
    titles = {part for told in (work, *records) for part in title_keys(told.title, told.authors)}
    titles |= {whole for told in (work, *records) if (whole := whole_title(told.title))}
    names = {*work.identifiers, *(Identifier(TITLE, part) for part in titles)}
    return Document(
        key=key,
        text=text,
        title=work.title,
        kind=work.kind,
        created_at=work.date or (f"{work.year:04}" if work.year else None),
        updated_at=work.updated,
        metadata={**work.metadata, **{name: value for name, value in facts.items() if value}},
        links=tuple(strongest[each] for each in sorted(strongest)),
        license=work.license,
        identifiers=tuple(sorted(names, key=lambda each: (each.scheme, each.value))),
        tags=tuple(sorted(set(work.tags))),
        parts=parts,
    )


def work_of(document: Document) -> Work:
    """Return the work that is stored as a document."""
    passages = [*map(_passage, repeat(document.text), document.parts)]
    abstract = next((each.text for each in passages if each.kind == ABSTRACT), "")
    facts = document.metadata
    year = facts.get("year")
    return Work(
        title=document.title,
        abstract=abstract,
        authors=tuple(facts.get("authors", ())),
        year=year if isinstance(year, int) else None,
        venue=str(facts.get("venue", "")),
        identifiers=names_of(document.identifiers),
        tags=tuple(sorted(document.tags, key=lambda tag: f"{tag.scheme}:{tag.value}" != facts.get(PRIMARY))),
        passages=tuple(each for each in passages if each.kind != ABSTRACT),
        citations=tuple(document.links),
        license=document.license,
        kind=document.kind,
        date=document.created_at,
        updated=document.updated_at,
        sources=tuple(facts.get("sources", ())),
        metadata={name: value for name, value in facts.items() if name not in _FACTS},
        author_ids=tuple(facts.get("author_ids", ())),
    )


def names_of(identifiers: Iterable[Identifier]) -> tuple[Identifier, ...]:
    """Return the identifiers that name a work, without what its title is looked for by."""
    return tuple(each for each in identifiers if each.scheme != TITLE)


def display_identifiers(identifiers: Iterable[Identifier]) -> tuple[Identifier, ...]:
    """Return the identifiers to display of a work, without keys of sources that repeat another identifier."""
    names = names_of(identifiers)
    known = {text.casefold() for each in names if each.scheme in SCHEMES for text in (each.value, str(each))}
    return tuple(each for each in names if each.scheme in SCHEMES or each.value.casefold() not in known)


def primary_of(tags: Iterable[Tag]) -> Tag | None:
    """Return the first code of a work whose tags come in the order that its source has, None without codes."""
    ranks = {tag.scheme: tag for tag in reversed([*tags])}
    return next(filter(None, (ranks.get(each) for each in _CODED)), None)


def _composed(work: Work) -> tuple[str, tuple[Part, ...]]:
    """Return the text of a work, and its parts."""
    parts: list[Part] = []
    pieces: list[str] = []
    start = 0
    for passage in (Passage(work.abstract, ABSTRACT), *work.passages):
        if passage.text:
            end = start + len(passage.text)
            parts.append(Part(passage.kind, (start, end), passage.headings, passage.label, passage.page))
            pieces.append(passage.text)
            start = end + len(_BETWEEN)
    return _BETWEEN.join(pieces), tuple(parts)


def _passage(text: str, part: Part) -> Passage:
    start, end = part.span
    return Passage(text[start:end], part.kind, part.headings, part.label, part.page)
