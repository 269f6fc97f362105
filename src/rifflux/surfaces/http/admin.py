"""`/admin`: what an administrator decides for everybody, and deleting users."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from rifflux import HYBRID_SEARCH, Erased
from rifflux.surfaces.http.auth import Admin, Asked, User
from rifflux.surfaces.http.shapes import Request
from rifflux.surfaces.shared.shapes import Shape

__all__ = ["router"]

router = APIRouter(prefix="/admin", tags=["administration"])


class SettingsOut(Shape):
    """The settings in force."""

    hybrid_search: bool = Field(description="Conversations are searched by meaning too, not by words alone")


class SettingsIn(Request):
    """What shall be different; what is left out stays."""

    hybrid_search: bool | None = None


@router.get("/settings", summary="The settings in force")
def settings(service: Asked, caller: User) -> SettingsOut:
    """Return the settings, to any user."""
    return SettingsOut(**{name: service.index.admin.policies.get(name) for name in SettingsOut.model_fields})


@router.put("/settings", summary="Change settings")
def change(given: SettingsIn, service: Asked, caller: Admin) -> SettingsOut:
    """Change settings, as an administrator."""
    if given.hybrid_search is not None:
        service.index.admin.policies.set(HYBRID_SEARCH, given.hybrid_search)
    return settings(service, caller)


@router.delete("/users/{user:path}", summary="Delete a user")
def delete(user: str, service: Asked, caller: Admin) -> Erased:
    """Delete all that is kept of a user, their tokens too, as an administrator. It cannot be undone."""
    return service.delete(user)
