"""A research work and its stored document.

The document's text is the abstract followed by the passages; its parts tell which is which. Title, dates, identifiers,
tags, links and license are the document's own; authors, year, venue and sources are in its metadata, so that they can
be facets. For finding duplicates, the identifiers include the beginning of the title, and its beginning and end
combined with the authors' names; the whole title is included for references that name it. Tags are stored in
alphabetical order; the metadata records which of them the work lists first, its primary category.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from operator import attrgetter
from typing import Any

from rifflux.evidence.pack import Reference
from rifflux.text.names import TITLE, plain, title_keys, whole_title
from rifflux.text.schemes import SCHEMES
from rifflux.types import Document, Identifier, Link, Part, Tag

#: The document kind of a work whose source does not give a more specific one.
WORK = "work"
ABSTRACT = "abstract"
_BETWEEN = "\n\n"
#: The metadata field of the primary category, as `scheme:value`.
PRIMARY = "primary"
#: Classification schemes, the finest first.
_CODED = ("arxiv", "msc", "acm", "openalex", "jel", "pacs")
#: A word of a title that can be part of a citation key.
_LONG = re.compile(r"\S{4,}")
_FACTS = ("authors", "author_ids", "year", "venue", "sources", PRIMARY)


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a work's text; `kind` is its role: `section`, `theorem`, `definition`, `proof`, `page` ...

    `headings` is its breadcrumb, ending with its own heading; `label` is the name that references inside the work use.
    `page` is the page of the file on which it begins, counted from 1.
    """

    text: str
    kind: str = "section"
    headings: tuple[str, ...] = ()
    label: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """A paper, book or statement. `kind` tells which; `date` is an ISO 8601 date, as exact as is known.

    `citations` are `scheme:value` names of cited works, which need not be stored. `license` is an SPDX identifier or
    the source's wording; None means that no license is known, so the text must not be displayed. `author_ids` are the
    authors' identifiers, in order: `orcid:0000-0002-1825-0097`, several separated by spaces.
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
        """Return the work's first identifier in a scheme, or None."""
        return next((each.value for each in self.identifiers if each.scheme == scheme), None)


def document_of(work: Work, key: str, records: Iterable[Work] = ()) -> Document:
    """Return the document that stores a work under `key`; it is also found by the titles of its `records`."""
    text, parts = _composed(work)
    facts = {
        "authors": list(work.authors),
        "author_ids": list(work.author_ids) if any(work.author_ids) else [],
        "year": work.year,
        "venue": work.venue,
        "sources": list(work.sources),
        PRIMARY: f"{tag.scheme}:{tag.value}" if (tag := primary_of(work.tags)) else "",
    }
    # Keep each link once, with its highest confidence.
    strongest = {(link.key, link.kind): link for link in sorted(work.citations, key=attrgetter("confidence"))}
    titles = {part for record in (work, *records) for part in title_keys(record.title, record.authors)}
    titles |= {whole for record in (work, *records) if (whole := whole_title(record.title))}
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
    """Return the work that a document stores."""
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
        identifiers=tuple(each for each in document.identifiers if each.scheme != TITLE),
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


def display_identifiers(identifiers: Iterable[Identifier]) -> tuple[Identifier, ...]:
    """Return the identifiers to display: no keys for title lookup, nor source keys that repeat another identifier."""
    names = tuple(each for each in identifiers if each.scheme != TITLE)
    known = {text.casefold() for each in names if each.scheme in SCHEMES for text in (each.value, str(each))}
    return tuple(each for each in names if each.scheme in SCHEMES or each.value.casefold() not in known)


def reference_of(document: Document) -> Reference:
    """Return what evidence says of the work that a document stores."""
    facts = document.metadata
    names = tuple(map(str, display_identifiers(document.identifiers)))
    authors = tuple(map(str, facts.get("authors", ())))
    year = facts.get("year")
    return Reference(
        document.title, authors, year if isinstance(year, int) else None, str(facts.get("venue", "")), names
    )


def cite_keys(works: Iterable[Work | Reference]) -> list[str]:
    """Return a unique key per work: family name, year, first long word of the title (`serre1955faisceaux`)."""
    keys = []
    seen = Counter[str]()
    for work in works:
        if work.authors:
            family = plain(work.authors[0]).split()[-1:]
        else:
            family = []
        word = _LONG.search(plain(work.title))
        key = "".join([*family, str(work.year or ""), word[0] if word else ""]) or "work"
        seen[key] += 1
        keys.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return keys


def primary_of(tags: Iterable[Tag]) -> Tag | None:
    """Return the primary category of a work whose tags are in its source's order, or None without codes."""
    ranks = {tag.scheme: tag for tag in reversed([*tags])}
    return next(filter(None, (ranks.get(each) for each in _CODED)), None)


def _composed(work: Work) -> tuple[str, tuple[Part, ...]]:
    """Return the text of a work and its parts."""
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
