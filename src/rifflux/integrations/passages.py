"""What all retrievers do: search an index, and tell of each passage what JSON tells of a hit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from rifflux import Cure, MissingExtra

if TYPE_CHECKING:
    from rifflux import Hit, Index

#: A hit, and what is known of it.
FoundHit: TypeAlias = "tuple[Hit, dict[str, Any]]"
#: What a language model should know of a passage besides its text.
SHOWN = ("path", "title", "heading_path", "page", "lines")


@dataclass(frozen=True, slots=True)
class PassageSearch:
    """A search of an index with settled arguments, of which each call may change any."""

    index: Index
    arguments: Mapping[str, Any]

    def __call__(self, query: str, changes: Mapping[str, Any]) -> list[FoundHit]:
        """Return the passages that answer a question, best first; a change to None is none."""
        changed = {name: value for name, value in changes.items() if value is not None}
        found = self.index.search(query, **(dict(self.arguments) | changed))
        degraded = {"degraded": [notice.text for notice in found.trace.degraded]}
        return [(hit, _metadata(told) | degraded) for told, hit in zip(found.to_dicts(), found, strict=True)]

    async def later(self, query: str, changes: Mapping[str, Any]) -> list[FoundHit]:
        """Return the same from a thread of its own: the loop goes on meanwhile."""
        return await asyncio.to_thread(self, query, changes)


def _metadata(passage: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in passage.items() if name not in ("text", "why")}


def missing(package: str) -> MissingExtra:
    """Return the error for a framework that is not installed."""
    return MissingExtra(f"this retriever needs {package}", cure=Cure.INSTALL, package=package)
