"""Values to check and mend a store with: how a chunk's terms and hash are made of what is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rifflux.errors import Cure

__all__ = ["NAMING", "REVISION", "Analysis", "Mended", "Problem", "StoredChunk"]

#: The schemes of identifiers that people type to find a document; its own key is one too.
NAMING = ("arxiv", "doi", "tag")

#: The setting that says which revision of the analyzer made the terms of an index; without it, the first.
REVISION = "analysis"


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """What a chunk's terms and hash are made of; `text` is empty for a document that has only a title.

    `subjects` are the values of the document's tags and of the identifiers that are searched: terms, and no more. Its
    `metadata` and its `key` may be searched too; the key is empty for records, and where identifiers name the document.
    `position` is the chunk's, `language` that of its document.
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
    """Makes the terms of a chunk again, those of title, headings and body, and the hash of what is embedded.

    `revision` is the analyzer's: terms that were made by another are no longer what a question's are. Documents of the
    kinds `without_vectors` are meant to have none.
    """

    terms: Callable[[StoredChunk], tuple[str, str, str]]
    hash: Callable[[StoredChunk], int]
    revision: int = 1
    without_vectors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Mended:
    """What was done, in words, and the documents whose chunks have to be made again: (owner, namespace, key)."""

    done: tuple[str, ...]
    incomplete: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something `doctor` found wrong, and what mends it. `unreadable` says that parts of the file cannot be read."""

    what: str
    cure: Cure | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    unreadable: bool = False

    @property
    def is_damage(self) -> bool:
        """Return True if rows are not what they were: neither behind, nor made by another version of the analyzer."""
        return self.unreadable or (self.cure is Cure.REPAIR and "revision" not in self.data)

    def __str__(self) -> str:
        """Return what is wrong."""
        return self.what
