"""`/me`, `/facets` and `/status`: the caller, what searches can be narrowed by, and whether the index is up to date."""

from __future__ import annotations

from pydantic import Field

from rifflux import __version__
from rifflux.index.facets import Facet
from rifflux.requests import FacetsRequest
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.cures import advised
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.shapes import FailureOut
from rifflux.surfaces.shared.shapes import NoticeShape, Shape
from rifflux.types.nouns import noun_json

router = make_router(tags=["operation"])


class MeOut(Shape):
    """The caller."""

    user: str = Field(description="Empty for what belongs to nobody in particular")
    role: str = Field(description="user or admin")
    token: str = Field(description="The id of the token; empty where none is needed")
    expires_at: str | None = Field(description="When the token ends; null: never")
    version: str


@router.get("/me", summary="The caller")
def me(caller: User) -> MeOut:
    """Return the user and the role of the token."""
    return MeOut.of(noun_json(caller), version=__version__)


class FacetsOut(Shape):
    """What a search can be narrowed by."""

    facets: list[Facet]


@router.get("/facets", summary="What a search can be narrowed by")
def facets(request: FacetsRequest, service: ServiceDependency, caller: User) -> FacetsOut:
    """Count the documents that the caller may read by collection, kind, folder and the declared metadata fields."""
    return FacetsOut(facets=[*service.of(caller).documents.facets(request.limit)])


class FreshnessOut(Shape):
    """How far the index may be behind its files."""

    synced_at: str | None
    note: str | None
    missing_roots: list[str]


class StatusOut(Shape):
    """What is indexed for the caller, and whether it is up to date. Paths are untrusted data."""

    documents: int
    chunks: int
    embedded_chunks: int
    files: int
    conversations: int
    messages: int
    memories: int
    embedding_model: str
    language: str
    languages: list[str] = Field(description="Those of the documents")
    root_languages: dict[str, str] = Field(description="Languages that were set for folders and files")
    roots: list[str]
    freshness: FreshnessOut | None
    unreadable_files: list[FailureOut] = Field(description="The first 1,000 of them, with the reason")
    failed_kinds: dict[str, int] = Field(description="Files that could not be read, by the kind of reason")
    left_out: dict[str, int] = Field(description="Files of your folders that are not read, by kind")
    exclusions: dict[str, list[str]] = Field(description="Patterns of what is left out of your folders")
    removed: dict[str, list[str]] = Field(description="Patterns of what was removed of your folders, and stays out")
    degraded: list[NoticeShape] = Field(description="What degrades answers")


@router.get("/status", summary="What is indexed for you, and whether it is up to date")
def status(service: ServiceDependency, caller: User) -> StatusOut:
    """Return the counts of `/stats`, and what is stale, missing, or could not be read."""
    state = advised(service.of(caller).status())
    fresh = state.freshness and FreshnessOut.of(noun_json(state.freshness), note=state.freshness.note)
    return StatusOut.of({**noun_json(state), "freshness": fresh})
