"""What an administrator decides for everybody. Everybody may read it."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from rifflux.policies import HYBRID_SEARCH
from rifflux.surfaces.http.auth import Admin, Asked, User
from rifflux.surfaces.http.shapes import Reply, Request

__all__ = ["router"]

router = APIRouter(prefix="/admin", tags=["administration"])


class SettingsOut(Reply):
    """The settings in force."""

    hybrid_search: bool = Field(description="Conversations are searched by meaning too, not by words alone")


class SettingsIn(Request):
    """What shall be different; what is left out stays."""

    hybrid_search: bool | None = None


@router.get("/settings", summary="The settings in force")
def settings(service: Asked, caller: User) -> SettingsOut:
    """For every user to read."""
    return SettingsOut(**{name: service.index.policies.get(name) for name in SettingsOut.model_fields})


@router.put("/settings", summary="Change settings")
def change(told: SettingsIn, service: Asked, caller: Admin) -> SettingsOut:
    """For administrators."""
    if told.hybrid_search is not None:
        service.index.policies.set(HYBRID_SEARCH, told.hybrid_search)
    return settings(service, caller)
