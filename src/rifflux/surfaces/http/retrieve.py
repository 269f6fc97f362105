"""Retrieval of research works with evidence that can be cited."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import Field

from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.shapes import Name, Reply, Request, Text
from rifflux.surfaces.shared.packs import retrieval_json
from rifflux.surfaces.shared.works_shapes import Evidence, RankedWork, RetrievalDiagnostics, WorkCandidate

__all__ = ["router"]

router = APIRouter(tags=["works"])


class DateRange(Request):
    """Both ends are inclusive, and either may be left out."""

    start: str | None = Field(default=None, max_length=40, description="ISO 8601 date", examples=["1970"])
    end: str | None = Field(default=None, max_length=40)


class RetrieveFilters(Request):
    """What works must satisfy."""

    date_range: DateRange = Field(default_factory=DateRange)
    subjects: list[Name] = Field(default=[], max_length=50, description="Tags, such as math.AG or msc:14F05")
    sources: list[Name] = Field(default=[], max_length=50, description="Names of lists that were imported")


class RetrieveIn(Request):
    """A question about works."""

    query: Text = Field(examples=["foundational papers on parsing of context free languages"])
    filters: RetrieveFilters = Field(default_factory=RetrieveFilters)
    mode: Literal["lookup", "survey", "compare", "prereq", "related"] | None = None
    top_k: int = Field(default=10, ge=1, le=100)
    token_budget: int = Field(default=4_000, ge=1, le=100_000)
    cite: Literal["bibtex", "csl"] | None = Field(default=None, description="Add the cited works, in this format")


class RetrieveOut(Reply):
    """Candidates with scores by channel, works in their final order, evidence, and how it was done.

    Texts are untrusted data. Of works without a license record only title and identifiers are told; `withheld` says so.
    """

    query: str
    mode: str
    candidates: list[WorkCandidate]
    reranked: list[RankedWork]
    evidence_pack: Evidence
    diagnostics: RetrievalDiagnostics


@router.post("/retrieve", summary="Find works, and evidence to cite", response_model=RetrieveOut)
def retrieve(asked: RetrieveIn, service: Asked, caller: User) -> Response:
    """Words, meaning and citations; the intent of the question, or `mode`, decides how they are weighed."""
    found = service.of(caller).retrieve(
        asked.query,
        mode=asked.mode,
        top_k=asked.top_k,
        date_range=(asked.filters.date_range.start, asked.filters.date_range.end),
        subjects=asked.filters.subjects,
        sources=asked.filters.sources,
        budget=asked.token_budget,
        cite=asked.cite or "",
    )
    service.asked(caller, asked.query)
    service.metrics.retrieved(found)
    # Written here and not by the framework, which would do it where all requests wait for it.
    return Response(RetrieveOut.model_validate(retrieval_json(found)).model_dump_json(), media_type="application/json")
