"""How documents are cited: the facts that a reference tells, the keys it goes by, its entry in a bibliography."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rifflux.types import Document

__all__ = ["Citing", "Reference"]


@dataclass(frozen=True, slots=True)
class Reference:
    """The facts by which a document is cited."""

    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    identifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citing:
    """How documents of a kind are cited.

    `refer` reads the reference of a document as it may be shown, `keys` gives each of several references a key of its
    own, `entry` writes a document under its key in a style of bibliography.
    """

    refer: Callable[[Document], Reference]
    keys: Callable[[Sequence[Reference]], list[str]]
    entry: Callable[[Document, str, str], Any]

    def bibliography(self, documents: Mapping[str, Document], style: str) -> dict[str, Any]:
        """Return the entry of each document by its key."""
        return {key: self.entry(document, key, style) for key, document in documents.items()}
