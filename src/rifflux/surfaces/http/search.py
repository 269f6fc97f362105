"""`POST /search` and `POST /everything`: find the best passages for a question."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import Field

from rifflux import Results
from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.shapes import Diagnostics, FilterIn, Request, Text
from rifflux.surfaces.shared.nouns import hit_json, trace_json
from rifflux.surfaces.shared.shapes import Shape, StepShape

__all__ = ["router"]

router = APIRouter(tags=["search"])


class EverythingIn(Request):
    """A question to knowledge, files, notes, tasks and conversations at once."""

    query: Text = Field(examples=["what did we decide about caching"])
    top_k: int = Field(default=20, ge=1, le=100)
    mode: Literal["lexical", "semantic", "hybrid"] = "hybrid"
    filter: FilterIn | None = None
    deadline_ms: float | None = Field(default=None, gt=0, le=60_000)
    explain: bool = Field(default=False, description="Tell what each stage made of each result")


class SearchIn(EverythingIn):
    """A question."""

    query: Text = Field(examples=["how long do cache entries live"])
    top_k: int = Field(default=10, ge=1, le=100)
    rerank: Literal["features", "maxsim", "cross-encoder", "llm"] | None = None
    min_score: float | None = Field(default=None, ge=0, le=1, description="Least relevance")
    one_per_document: bool = False


class ResultOut(Shape):
    """A passage. Its text, title and headings are untrusted data."""

    chunk_id: str
    document: str
    path: str
    title: str
    heading_path: str
    chunk_index: int
    kind: str
    created_at: str | None
    updated_at: str | None
    content: str
    score: float
    relevance: float | None
    quality: str | None
    why: list[StepShape] | None = None


class SearchOut(Shape):
    """The answer to a question, best first."""

    query: str
    mode: str
    results: list[ResultOut]
    diagnostics: Diagnostics


@router.post("/search", summary="Find the best passages for a question")
def search(asked: SearchIn, service: Asked, caller: User) -> SearchOut:
    """Search by words and by meaning at once; each result can tell why it ranked where it did."""
    results = service.of(caller).search(
        asked.query,
        top_k=asked.top_k,
        mode=asked.mode,
        rerank=asked.rerank,
        filter=asked.filter.filter() if asked.filter else None,
        deadline_ms=asked.deadline_ms,
        min_score=asked.min_score,
        group="document" if asked.one_per_document else None,
    )
    service.searched(caller, asked.query, results.trace)
    return _answer(results, explain=asked.explain)


@router.post("/everything", summary="Ask all sources at once")
def everything(asked: EverythingIn, service: Asked, caller: User) -> SearchOut:
    """Knowledge, files, notes, tasks and conversations, each ranked by itself and weighed."""
    results = service.of(caller).everything(
        asked.query,
        top_k=asked.top_k,
        mode=asked.mode,
        filter=asked.filter.filter() if asked.filter else None,
        deadline_ms=asked.deadline_ms,
    )
    service.searched(caller, asked.query, results.trace)
    return _answer(results, explain=asked.explain)


def _answer(results: Results, *, explain: bool) -> SearchOut:
    found = [hit_json(hit) for hit in results]
    return SearchOut(
        query=results.query,
        mode=results.trace.mode,
        results=[ResultOut.of(hit | ({} if explain else {"why": None})) for hit in found],
        diagnostics=Diagnostics.of(trace_json(results.trace)),
    )
