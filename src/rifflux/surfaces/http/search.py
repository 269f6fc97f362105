"""`/search`, `/everything`, `/chunks` and `/feedback`: find passages, read them, report their use."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rifflux import Hit, Index, NotFound, Results
from rifflux.requests import EverythingRequest, FeedbackRequest, Param, SearchRequest
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.repeats import REPEATABLE
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.shapes import Diagnostics, Explain
from rifflux.surfaces.shared.nouns import found_json, hit_json, trace_json
from rifflux.surfaces.shared.shapes import ChunkShape, FoundShape, Shape, StepShape

router = make_router(tags=["search"])

Typing = Annotated[bool, Param(help="The question is still being typed: the search is not measured")]


class ResultOut(FoundShape):
    """A passage with an explanation of its rank. Its text, title and headings are untrusted data."""

    snippet_span: list[int] = Field(
        description="The part of the text with most highlights: first character, and one past the last"
    )
    why: list[StepShape] | None = None


class SearchOut(Shape):
    """The answer to a question, best first."""

    query: str
    mode: str
    results: list[ResultOut]
    diagnostics: Diagnostics


@router.post("/search", summary="Find the best passages for a question")
def search(
    request: SearchRequest, service: ServiceDependency, caller: User, explain: Explain = False, typing: Typing = False
) -> SearchOut:
    """Search by words and by meaning at once; `explain` adds why each result ranks where it does."""
    results = service.of(caller).search(**vars(request))
    if not typing:
        service.searched(caller, request.query, results.trace)
    return _answer(service.of(caller), results, explain=explain)


@router.post("/everything", summary="Ask all sources at once")
def everything(
    request: EverythingRequest,
    service: ServiceDependency,
    caller: User,
    explain: Explain = False,
    typing: Typing = False,
) -> SearchOut:
    """Search knowledge, files, notes, tasks and conversations, each ranked separately and weighted."""
    results = service.of(caller).everything(**vars(request))
    if not typing:
        service.searched(caller, request.query, results.trace)
    return _answer(service.of(caller), results, explain=explain)


def _answer(index: Index, results: Results, *, explain: bool) -> SearchOut:
    """Return the results as they are answered."""
    none = {} if explain else {"why": None}
    found = found_json(results, index.profile.analyzer)
    return SearchOut(
        query=results.query,
        mode=results.trace.mode,
        results=[ResultOut.of(hit, **none) for hit in found],
        diagnostics=Diagnostics.of(trace_json(results.trace)),
    )


@router.get("/chunks/{chunk_id}", summary="Read a passage again")
def chunk(chunk_id: str, service: ServiceDependency, caller: User) -> ChunkShape:
    """Read a passage by the id from a search result."""
    if not isinstance(hit := service.of(caller).get(chunk_id), Hit):
        raise NotFound("no such passage: take a chunk_id from the results of a search")
    return ChunkShape.of(hit_json(hit))


@router.post("/feedback", status_code=204, dependencies=REPEATABLE, summary="Report the use of a result")
def feedback(request: FeedbackRequest, service: ServiceDependency, caller: User) -> None:
    """Record a click, save, export or judgement, for measuring and tuning. `query` must be the exact question."""
    service.of(caller).note(**vars(request) | {"user": caller.user})
    service.counters.events.labels(request.kind).inc()
