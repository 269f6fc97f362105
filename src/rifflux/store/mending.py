"""Values for checking and mending a store: how terms and hashes derive from stored chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rifflux.errors import Cure

__all__ = ["NAMING", "REVISION", "Analysis", "Mended", "Problem", "StoredChunk"]

#: The schemes of identifiers that people type to find a document, besides its key.
NAMING = ("arxiv", "doi", "tag")

#: The setting with the revision of the analyzer that made an index's terms; without it, the first.
REVISION = "analysis"


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """The sources of a chunk's terms and hash; `text` is empty for a document that has only a title.

    `subjects` are the values of the document's tags and of searchable identifiers, which only add terms. `metadata` and
    `key` may be searchable too; the key is empty for records, and if identifiers name the document. `position` is the
    chunk's, `language` the document's.
    """

    title: str
    headings: tuple[str, ...]
    text: str
    subjects: tuple[str, ...] = ()
    kind: str = ""
    key: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    position: int = 0
    language: str = ""


@dataclass(frozen=True, slots=True)
class Analysis:
    """Recomputes the terms of a chunk's title, headings and body, and the hash of its embedded text.

    `revision` is the analyzer's: terms made by another one no longer match those of queries. Documents of the kinds
    `without_vectors` intentionally have none.
    """

    terms: Callable[[StoredChunk], tuple[str, str, str]]
    hash: Callable[[StoredChunk], int]
    revision: int = 1
    without_vectors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Mended:
    """Descriptions of what was mended, and the documents to chunk again: (owner, namespace, key)."""

    done: tuple[str, ...]
    incomplete: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem found by `doctor`, and its cure. `unreadable` is True if parts of the file cannot be read."""

    what: str
    cure: Cure | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    unreadable: bool = False

    @property
    def is_damage(self) -> bool:
        """Return True if stored rows have changed, rather than being outdated or by another analyzer version."""
        return self.unreadable or (self.cure is Cure.REPAIR and "revision" not in self.data)

    def __str__(self) -> str:
        """Return the description of the problem."""
        return self.what
