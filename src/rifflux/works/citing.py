"""How works are cited, and packs of works verified."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rifflux.evidence.pack import Citing, EvidencePack, Reference
from rifflux.evidence.verify import verify as verify_pack
from rifflux.store import Store
from rifflux.types import Document
from rifflux.works.export import cite_keys, style_of
from rifflux.works.model import work_of

__all__ = ["CITING", "verify"]


def _reference(document: Document) -> Reference:
    work = work_of(document)
    names = tuple(map(str, work.identifiers))
    return Reference(work.title, tuple(map(str, work.authors)), work.year, work.venue, names)


def _entry(document: Document, key: str, style: str) -> Any:
    """Return a work in a style, without its abstract: what is quoted of that is evidence, and counted."""
    return style_of(style)(replace(work_of(document), abstract=""), key)


CITING = Citing(_reference, lambda references: list(cite_keys(references)), _entry)


def verify(pack: EvidencePack, store: Store | None = None) -> list[str]:
    """Return the problems of a pack of works, a line each; with a store, also those beside its documents."""
    return verify_pack(pack, CITING, store)
