"""Whether a document that a program gives is stored as it is."""

from __future__ import annotations

import json
from dataclasses import replace

from rifflux.ingest.kind import guess_kind
from rifflux.types import Document

__all__ = ["is_same"]


def is_same(given: Document, stored: Document | None) -> bool:
    """Whether storing a document would leave everything as it is."""
    return stored is not None and _kept(replace(given, kind=guess_kind(given))) == _kept(stored)


def _kept(document: Document) -> Document:
    """A document as the store gives it back: what has no order in one order, metadata as JSON has it."""
    links = {(link.key, link.kind): link for link in document.links}
    return replace(
        document,
        metadata=json.loads(json.dumps(dict(document.metadata), default=str)),
        links=tuple(links[name] for name in sorted(links)),
        identifiers=tuple(sorted(set(document.identifiers), key=str)),
        tags=tuple(sorted(set(document.tags))),
        parts=tuple(document.parts),
    )
