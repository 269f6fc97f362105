"""`GET /health` and `GET /version`: is the service well, and which one is it."""

from __future__ import annotations

from fastapi import APIRouter

from rifflux import __version__
from rifflux.surfaces.http.auth import Asked
from rifflux.surfaces.shared.nouns import version_json
from rifflux.surfaces.shared.shapes import Shape

__all__ = ["router"]

router = APIRouter(tags=["operation"])


class Health(Shape):
    """The service answers."""

    status: str
    version: str


class VersionOut(Shape):
    """What answers here."""

    version: str
    api_version: int


@router.get("/health", summary="Whether the service can answer", responses={})
def health(service: Asked) -> Health:
    """Needs no token, and tells nothing of what is indexed."""
    service.index.admin.registry.setting("generation")
    return Health(status="ok", version=__version__)


@router.get("/version", summary="Which version answers", responses={})
def version() -> VersionOut:
    """Needs no token. `api_version` grows when a key of an answer goes or changes, not when one is added."""
    return VersionOut.of(version_json())
