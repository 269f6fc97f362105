"""Licenses fail closed: without a license record, only title and identifiers of a document are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from rifflux.types import Document, Hit, is_withheld

__all__ = ["WITHHELD", "Visibility", "closed_document", "closed_hit"]

#: Stands for the text that is not shown.
WITHHELD = "[no license is recorded for this work: only its title and its identifiers are told]"


def closed_hit(hit: Hit) -> Hit:
    """Return a hit as it may be shown: if withheld, its title, and where and why it was found."""
    if not hit.withheld:
        return hit
    return replace(hit, content=WITHHELD, heading_path="", kind="", created_at=None, updated_at=None, metadata={})


def closed_document(collection: str, document: Document) -> Document:
    """Return a document as it may be shown: if withheld, its title and identifiers."""
    if not is_withheld(collection, document.license):
        return document
    return Document(document.key, WITHHELD, document.title, identifiers=document.identifiers)


@dataclass(frozen=True, slots=True)
class Visibility:
    """How a profile shows hits and documents; by default, licenses fail closed."""

    hit: Callable[[Hit], Hit] = closed_hit
    document: Callable[[str, Document], Document] = closed_document

    def hits(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """Return hits as they may be shown."""
        return tuple(map(self.hit, hits))
