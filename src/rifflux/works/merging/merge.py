"""Merging the records that several sources have of one work.

The result does not depend on the order of the records, so importing a source again changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rifflux.text.licenses import joined
from rifflux.text.names import named
from rifflux.types import Identifier, Link, Tag
from rifflux.works.model import WORK, Passage, Work


def merged(records: Mapping[str, Work]) -> Work:
    """Return the work that all records, by their name in each source, describe together.

    Names, tags and citations are combined. The fullest title, list of authors and text win; so do the earliest date,
    and the venue and kind of the first source by name that has them. Different licenses all apply.
    """
    works = [records[name] for name in sorted(records)]
    if len(works) == 1:
        return works[0]
    text = max(works, key=lambda work: (_size(work), work.abstract))
    identifiers = _joined(work.identifiers for work in works)
    own = set(map(str, identifiers))
    citations = _joined(work.citations for work in works)
    date = _earliest(works)
    authors = max((work.authors for work in works), key=lambda names: (len(names), sum(map(len, names)), names))
    return Work(
        title=max((work.title for work in works), key=lambda title: (not title.isupper(), len(title), title)),
        abstract=max((work.abstract for work in works), key=lambda abstract: (len(abstract), abstract)),
        authors=authors,
        author_ids=_ids_of(authors, works),
        year=int(date[:4]) if date else None,
        venue=_first(work.venue for work in works),
        identifiers=identifiers,
        tags=_joined(work.tags for work in works),
        passages=text.passages or max((work.passages for work in works), key=len),
        # A citation in one record may name an identifier that another record gives to this very work.
        citations=tuple(link for link in citations if link.kind != "cites" or link.key not in own),
        license=joined(work.license for work in works),
        kind=_first(work.kind for work in works if work.kind != WORK) or WORK,
        date=date,
        updated=max((work.updated for work in works if work.updated), default=None),
        sources=tuple(sorted({source for work in works for source in work.sources})),
        metadata={name: value for work in reversed(works) for name, value in work.metadata.items()},
    )


def _ids_of(authors: Sequence[str], works: Sequence[Work]) -> tuple[str, ...]:
    """Return the identifiers of each author over all records, matched by name."""
    known = [each for work in works for each in zip(work.authors, work.author_ids, strict=False) if each[1]]
    found = []
    for author in authors if known else ():
        ids = [id for name, author_ids in known if _are_one(name, author) for id in author_ids.split()]
        found.append(" ".join(dict.fromkeys(ids)))
    return tuple(found)


def _are_one(one: str, other: str) -> bool:
    return one == other or named(one).fits(named(other)) > 2 or named(other).fits(named(one)) > 2


def _size(work: Work) -> int:
    return sum(len(passage.text) for passage in work.passages)


def _earliest(works: Sequence[Work]) -> str | None:
    """Return the earliest year, with the most exact date that a source gives."""
    dates = [work.date or f"{work.year:04}" for work in works if work.date or work.year]
    year = min((date[:4] for date in dates), default=None)
    return min((date for date in dates if date[:4] == year), key=lambda date: (-len(date), date), default=None)


def _first(values: Iterable[str]) -> str:
    return next(filter(None, values), "")


def _joined(groups: Iterable[Sequence[Any]]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(each for group in groups for each in group))


# The JSON form in which a work's record of each source is stored


def dump(work: Work) -> str:
    """Return the work as JSON."""
    return json.dumps(asdict(work), ensure_ascii=False, default=str)


def load(text: str) -> Work:
    """Rebuild a work from the JSON of `dump`."""
    read = json.loads(text)
    nouns = {"identifiers": Identifier, "tags": Tag, "passages": Passage, "citations": Link}
    for name, noun in nouns.items():
        read[name] = tuple(noun(**each) for each in read[name])
    read["passages"] = tuple(
        Passage(each.text, each.kind, tuple(each.headings), each.label, each.page) for each in read["passages"]
    )
    return Work(
        **{
            **read,
            "authors": tuple(read["authors"]),
            "sources": tuple(read["sources"]),
            "author_ids": tuple(read["author_ids"]),
        }
    )
