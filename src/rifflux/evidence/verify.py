"""Checking evidence: whether a pack agrees with itself, and whether it tells of each work what the index does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rifflux.evidence.pack import EvidencePack, Item, bibliography, digest, keys_of
from rifflux.store.base import Store
from rifflux.types import Document
from rifflux.works.model import Work, names_of, work_of
from rifflux.works.visible import is_withheld, shown_document

__all__ = ["verify"]

_Place = tuple[str, str]


def verify(pack: EvidencePack, store: Store | None = None) -> list[str]:
    """What is wrong with a pack, each problem a line; none where it is as it was.

    By itself a pack shows whether each text has its hash and its span, and whether its items are numbered and cited as
    they tell. With a store, each text must be what its work says there, and everything that is told of the work what
    the index tells of it. Of a work without a license record that is its title and its identifiers.
    """
    problems = [problem for item in pack.items for problem in _within(item)]
    if [item.number for item in pack.items] != list(range(1, len(pack.items) + 1)):
        problems.append("the items are not numbered from 1 on")
    problems += _miscited(pack)
    if pack.tokens > pack.budget:
        problems.append(f"it has {pack.tokens} tokens, more than its budget of {pack.budget}")
    if not pack.items and (pack.tokens or not pack.uncertain):
        problems.append("its items are missing: it tells of tokens, or is certain, and holds no evidence")
    if store is None:
        return problems
    documents = {place: store.document(*place) for place in dict.fromkeys(map(_place, pack.items))}
    problems += [problem for item in pack.items for problem in _against(item, documents[_place(item)], store)]
    return [*problems, *_miswritten(pack, documents)]


def _within(item: Item) -> Iterator[str]:
    """What is wrong with an item in itself."""
    start, end = item.span
    if item.withheld and (item.text or item.hash):
        yield f"{_name(item)}: no license is recorded, and there is a text"
    elif not item.withheld and digest(item.text) != item.hash:
        yield f"{_name(item)}: the text is not the one that was hashed"
    if start < 0 or end - start != len(item.text):
        yield f"{_name(item)}: the span {start}-{end} is not that of its {len(item.text)} characters"


def _miscited(pack: EvidencePack) -> Iterator[str]:
    """Items whose citation key does not follow from what they tell of their works."""
    works = {_place(item): Work(item.title, authors=item.authors, year=item.year) for item in pack.items}
    keys = dict(zip(works, keys_of(list(works.values())), strict=True))
    for item in pack.items:
        if item.citation_key != keys[_place(item)]:
            yield f"{_name(item)}: its citation key should be {keys[_place(item)]}"
    if unknown := sorted(set(pack.bibliography) - set(keys.values())):
        yield f"the bibliography holds {unknown[0]}, which nothing cites"


def _against(item: Item, document: Document | None, store: Store) -> Iterator[str]:
    """What is wrong with an item beside what the index holds."""
    if document is None:
        yield f"{_name(item)}: the work {item.key!r} is not in the index"
        return
    withheld = is_withheld(item.collection, document.license)
    if withheld and item.text:
        # Whether a text is the work's is not told either.
        if not item.withheld:
            yield f"{_name(item)}: no license is recorded, and there is a text"
        return
    if item.withheld and not withheld:
        yield f"{_name(item)}: it is withheld, and a license is recorded"
    elif not withheld and document.text[item.span[0] : item.span[1]] != item.text:
        yield f"{_name(item)}: the work says something else at {item.span[0]}-{item.span[1]}"
    known = _told_of(shown_document(item.collection, document))
    if wrong := [name for name, value in known.items() if getattr(item, name) != value]:
        yield f"{_name(item)}: the index tells otherwise of the work's {', '.join(wrong)}"
    chunk = store.chunk(item.chunk_id)
    if chunk is None or (chunk.collection, chunk.document) != _place(item):
        yield f"{_name(item)}: the chunk {item.chunk_id} is not one of the work's"
    elif not withheld and (chunk.heading_path != item.heading_path or not _holds(chunk.span, item.span)):
        yield f"{_name(item)}: it stands elsewhere in the work: not at {item.span[0]}-{item.span[1]} under its headings"


def _told_of(document: Document) -> Mapping[str, Any]:
    """What an item tells of a document."""
    work = work_of(document)
    names = tuple(map(str, names_of(document.identifiers)))
    return {
        "title": document.title,
        "authors": tuple(map(str, work.authors)),
        "year": work.year,
        "venue": work.venue,
        "identifiers": names,
        "license": document.license,
    }


def _holds(outer: Sequence[int], inner: Sequence[int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _miswritten(pack: EvidencePack, documents: Mapping[_Place, Document | None]) -> Iterator[str]:
    """Entries of the bibliography that are not what the index makes of the works."""
    works = {
        item.citation_key: work_of(shown_document(item.collection, document))
        for item in pack.items
        if (document := documents[_place(item)])
    }
    for key, entry in pack.bibliography.items():
        style = "bibtex" if isinstance(entry, str) else "csl"
        if key in works and entry != json.loads(json.dumps(bibliography({key: works[key]}, style)[key])):
            yield f"the entry of {key} in the bibliography is not what the index tells of the work"


def _name(item: Item) -> str:
    return f"[{item.number}] {item.citation_key}"


def _place(item: Item) -> _Place:
    return item.collection, item.key
