"""The common base of retrievers: search an index, and describe each passage like a hit in JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from rifflux import Cure, MissingExtra

if TYPE_CHECKING:
    from rifflux import Hit, Index

#: A hit, and its metadata.
FoundHit: TypeAlias = "tuple[Hit, dict[str, Any]]"
#: The metadata of a passage that is useful to a language model.
SHOWN = ("path", "title", "heading_path", "page", "lines")


@dataclass(frozen=True, slots=True)
class PassageSearch:
    """A search of an index with fixed arguments, any of which a call may override."""

    index: Index
    arguments: Mapping[str, Any]

    def __call__(self, query: str, changes: Mapping[str, Any]) -> list[FoundHit]:
        """Return the passages that answer a question, best first; changes to None are ignored."""
        changed = {name: value for name, value in changes.items() if value is not None}
        found = self.index.search(query, **(dict(self.arguments) | changed))
        degraded = {"degraded": [notice.text for notice in found.trace.degraded]}
        return [(hit, _metadata(row) | degraded) for row, hit in zip(found.to_dicts(), found, strict=True)]

    async def later(self, query: str, changes: Mapping[str, Any]) -> list[FoundHit]:
        """Return the same from another thread, without blocking the event loop."""
        return await asyncio.to_thread(self, query, changes)


def _metadata(passage: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in passage.items() if name not in ("text", "why")}


def missing(package: str) -> MissingExtra:
    """Return the error for a framework that is not installed."""
    return MissingExtra(f"this retriever needs {package}", cure=Cure.INSTALL, package=package)
