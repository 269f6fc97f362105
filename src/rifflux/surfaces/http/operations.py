"""Running the service: is it well, what does it hold, what does it cost, how fast is it."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from rifflux import __version__
from rifflux.surfaces.http.auth import Admin, Asked, User
from rifflux.surfaces.http.metrics import CONTENT_TYPE
from rifflux.surfaces.http.shapes import Reply

__all__ = ["router"]

router = APIRouter(tags=["operation"])


class Health(Reply):
    """The service answers."""

    status: str
    version: str


class Stats(Reply):
    """How much of the caller's is indexed."""

    documents: int
    chunks: int
    embedded_chunks: int
    files: int


@router.get("/health", summary="Whether the service can answer", responses={})
def health(service: Asked) -> Health:
    """Needs no token, and tells nothing of what is indexed."""
    service.index.admin.store.registry.setting("generation")
    return Health(status="ok", version=__version__)


@router.get("/stats", summary="How much of yours is indexed")
def stats(service: Asked, caller: User) -> Stats:
    """Counts of what belongs to the caller."""
    return Stats(**service.of(caller).admin.store.counts())


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
def metrics(service: Asked, caller: Admin) -> Response:
    """Requests, stages, failures: counts and times, never contents."""
    return Response(service.metrics.exposed(), media_type=CONTENT_TYPE)
