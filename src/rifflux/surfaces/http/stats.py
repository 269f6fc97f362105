"""`GET /stats`: how much is indexed."""

from __future__ import annotations

from fastapi import APIRouter

from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.shared.shapes import Shape

__all__ = ["router"]

router = APIRouter(tags=["operation"])


class Stats(Shape):
    """How much of the caller's is indexed."""

    documents: int
    chunks: int
    embedded_chunks: int
    files: int


@router.get("/stats", summary="How much of yours is indexed")
def stats(service: Asked, caller: User) -> Stats:
    """Counts of what belongs to the caller."""
    return Stats(**service.of(caller).admin.counts())
