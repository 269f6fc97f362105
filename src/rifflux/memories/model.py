"""The values of memories, and their form as stored documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rifflux.errors import InvalidArgument
from rifflux.session.arguments import checked_share, checked_whole
from rifflux.text.dates import parse_time
from rifflux.types import Document, Hit, Notice, Trace
from rifflux.types.nouns import iso_time

#: The document kind of memories.
KIND = "memory"
LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class Memory:
    """One remembered statement. `importance` ranges from 1 to 10, `confidence` from 0 to 1; times are ISO 8601.

    `expires_at` is None for a memory without expiry; `superseded_by` is the id of its replacement. `source` names its
    origin, such as a message id. `version` counts confirmations and changes, `uses` counts recalls.
    """

    id: str
    text: str
    category: str = "fact"
    importance: int = 7
    confidence: float = 1.0
    created_at: str = ""
    updated_at: str = ""
    expires_at: str | None = None
    superseded_by: str | None = None
    source: str | None = None
    version: int = 1
    uses: int = 0
    used_at: str | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """The outcome of saving: `saved`, `duplicate` (the existing memory was confirmed) or `refused`, with the reason.

    `degraded` says why a stored memory has no vector yet, so that only word search finds it.
    """

    outcome: str
    memory: Memory | None
    reason: str = ""
    degraded: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """Memories that answer a question, best first, each with its explaining hit, and the trace of the search."""

    memories: tuple[tuple[Memory, Hit], ...]
    trace: Trace


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules about what to store, for how long, and what counts as a duplicate.

    Memories below `least_importance` or `least_confidence` are refused; searches apply the latter too. `days_to_live`,
    by category, applies to memories saved without an expiry; other categories never expire. Expired memories are
    deleted `purge_after_days` later. `same_cosine` and `same_words` are the thresholds for duplicates: vector
    similarity, and the share of common runs of three words.
    """

    least_importance: int = 7
    least_confidence: float = 0.7
    days_to_live: Mapping[str, float] = field(default_factory=lambda: {"context": 7.0, "task": 30.0, "event": 180.0})
    purge_after_days: float = 90.0
    same_cosine: float = 0.95
    same_words: float = 0.8


def checked_memory(text: str, category: str, importance: int, confidence: float) -> None:
    """Validate the fields of a memory. Raises `InvalidArgument`."""
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        raise InvalidArgument(f"a memory is a text of 1 to {LONGEST} characters")
    if not isinstance(category, str) or not category.strip() or len(category) > 100:
        raise InvalidArgument("a category is a name of 1 to 100 characters, such as fact, preference or task")
    checked_whole("importance", importance, 1, 10)
    checked_share("confidence", confidence)


#: Fields that are stored unchanged; times are stored as seconds since 1970, for filters.
_STORED = ("category", "importance", "confidence", "superseded_by", "source", "version")


def memory_row(memory: Memory) -> Document:
    """Return the stored form of a memory."""
    metadata = {name: getattr(memory, name) for name in _STORED if getattr(memory, name) is not None}
    if memory.expires_at is not None:
        metadata["expires_at"] = parse_time(memory.expires_at).timestamp()
    created = parse_time(memory.created_at).timestamp()
    updated = parse_time(memory.updated_at).timestamp()
    return Document(
        memory.id,
        memory.text,
        kind=KIND,
        created_at=iso_time(created),
        updated_at=iso_time(updated),
        metadata=metadata | {"created": created, "updated": updated},
    )


def memory_of(id: str, text: str, metadata: Mapping[str, Any]) -> Memory:
    """Rebuild a memory from its stored form."""
    stored = {name: metadata[name] for name in _STORED if name in metadata}
    expires = metadata.get("expires_at")
    return Memory(
        id,
        text,
        created_at=iso_time(metadata["created"], "auto"),
        updated_at=iso_time(metadata["updated"], "auto"),
        expires_at=None if expires is None else iso_time(expires, "auto"),
        **stored,
    )
