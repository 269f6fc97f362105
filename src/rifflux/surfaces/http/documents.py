"""`/chunks` and `/documents`: read a passage or a document."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from rifflux import Hit, NotFound
from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.shared.nouns import document_json, hit_json
from rifflux.surfaces.shared.shapes import ChunkShape, Shape

__all__ = ["router"]

router = APIRouter(tags=["search"])


class DocumentOut(Shape):
    """A document with its whole text, which is untrusted data.

    Of a work without a license record only title and identifiers are told.
    """

    document: str
    title: str
    identifiers: list[str]
    kind: str
    created_at: str | None
    updated_at: str | None
    license: str | None
    metadata: dict[str, Any]
    text: str


@router.get("/chunks/{chunk_id}", summary="Read a passage again")
def chunk(chunk_id: str, service: Asked, caller: User) -> ChunkShape:
    """A passage by the id that a search gave."""
    if not isinstance(hit := service.of(caller).get(chunk_id), Hit):
        raise NotFound("no such passage: take a chunk_id from the results of a search")
    return ChunkShape.of(hit_json(hit))


@router.get("/documents/{document:path}", summary="Read a whole document")
def document(document: str, service: Asked, caller: User) -> DocumentOut:
    """A document by its key, its path, or an identifier such as doi:10.1000/182."""
    return DocumentOut.of(document_json(service.of(caller).document(document)))
