"""Licences fail closed: of a work without a licence record no text is told, only how it is found and cited."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rifflux.types import Document, Hit

__all__ = ["WITHHELD", "is_withheld", "shown", "shown_document"]

#: Works live in collections whose names begin so.
WORKS = "works/"
#: The scheme of tags that are made from a work's text.
TERM = "term"
WITHHELD = "[no licence is recorded for this work: its text is not shown]"


def is_withheld(collection: str, licence: str | None) -> bool:
    """Whether the text of a document may not be shown."""
    return licence is None and collection.startswith(WORKS)


def shown(hits: Iterable[Hit]) -> list[Hit]:
    """The hits as they may be shown."""
    return [
        replace(hit, content=WITHHELD, heading_path="") if is_withheld(hit.collection, hit.licence) else hit
        for hit in hits
    ]


def shown_document(collection: str, document: Document) -> Document:
    """A document as it may be shown; terms that its text sets apart are words of the text."""
    if not is_withheld(collection, document.licence):
        return document
    tags = tuple(tag for tag in document.tags if tag.scheme != TERM)
    return replace(document, text=WITHHELD, parts=(), tags=tags)
