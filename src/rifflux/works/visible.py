"""Licenses fail closed: of a work without a license record, its title and its identifiers are told and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rifflux.types import Document, Hit

__all__ = ["WITHHELD", "WORKS", "is_withheld", "shown", "shown_document"]

#: Works live in collections whose names begin so.
WORKS = "works/"
WITHHELD = "[no license is recorded for this work: only its title and its identifiers are told]"


def is_withheld(collection: str, license: str | None) -> bool:
    """Whether only title and identifiers of a document may be told."""
    return license is None and collection.startswith(WORKS)


def shown(hits: Iterable[Hit]) -> list[Hit]:
    """The hits as they may be shown."""
    return [_closed(hit) if is_withheld(hit.collection, hit.license) else hit for hit in hits]


def shown_document(collection: str, document: Document) -> Document:
    """A document as it may be shown."""
    if not is_withheld(collection, document.license):
        return document
    return Document(document.key, WITHHELD, document.title, identifiers=document.identifiers)


def _closed(hit: Hit) -> Hit:
    """A hit of which only the title, and where and why it was found, is left."""
    return replace(hit, content=WITHHELD, heading_path="", kind="", created_at=None, updated_at=None, metadata={})
