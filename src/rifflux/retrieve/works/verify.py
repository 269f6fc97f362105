"""Checking evidence: every passage of a pack against its hash, and against what its work says."""

from __future__ import annotations

from rifflux.retrieve.works.licences import is_withheld
from rifflux.retrieve.works.pack import EvidencePack, Item, digest
from rifflux.store.base import Store

__all__ = ["verify"]


def verify(pack: EvidencePack, store: Store | None = None) -> list[str]:
    """What is wrong with a pack: texts that are not what their hash says, or, with a store, not in their work.

    An empty list means that every passage is as it was.
    """
    problems = [problem for item in pack.items for problem in _problems(item, store)]
    numbers = [item.number for item in pack.items]
    if numbers != list(range(1, len(numbers) + 1)):
        problems.append("the items are not numbered from 1 on")
    return problems


def _problems(item: Item, store: Store | None) -> list[str]:
    name = f"[{item.number}] {item.citation_key}"
    problems = []
    if item.withheld:
        if item.text or item.hash:
            problems.append(f"{name}: no licence is recorded, and there is a text")
    elif digest(item.text) != item.hash:
        problems.append(f"{name}: the text is not the one that was hashed")
    if store is None:
        return problems
    document = store.document(item.collection, item.key)
    if document is None:
        return [*problems, f"{name}: the work {item.key!r} is not in the index"]
    start, end = item.span
    if is_withheld(item.collection, document.licence):
        # Whether a text is the work's is not told either.
        return [f"{name}: no licence is recorded, and there is a text"] if item.text else problems
    if not item.withheld and document.text[start:end] != item.text:
        problems.append(f"{name}: the work says something else at {start}-{end}")
    return problems
