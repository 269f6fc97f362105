"""`/admin`: what an administrator decides for everybody, and deleting users."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import Field

from rifflux import HYBRID_SEARCH
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


class ErasedOut(Shape):
    """What was deleted of a user."""

    documents: dict[str, int] = Field(description="By kind: message, conversation, memory, note, ...")
    files: int
    events: int = Field(description="Judgements and other feedback")
    settings: int
    tokens: int
    calls: int = Field(description="Recorded calls of models")
    questions: int = Field(description="Digests of what was asked")


@router.get("/settings", summary="The settings in force")
def settings(service: Asked, caller: User) -> SettingsOut:
    """For every user to read."""
    return SettingsOut(**{name: service.index.admin.policies.get(name) for name in SettingsOut.model_fields})


@router.put("/settings", summary="Change settings")
def change(told: SettingsIn, service: Asked, caller: Admin) -> SettingsOut:
    """For administrators."""
    if told.hybrid_search is not None:
        service.index.admin.policies.set(HYBRID_SEARCH, told.hybrid_search)
    return settings(service, caller)


@router.delete("/users/{user:path}", summary="Delete a user")
def delete(user: str, service: Asked, caller: Admin) -> ErasedOut:
    """For administrators: all that is kept of a user goes, their tokens too. It cannot be undone."""
    return ErasedOut(**asdict(service.delete(user)))
