"""`/search`, `/everything`, `/chunks` and `/feedback`: find passages, read them, report their use."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rifflux import Hit, NotFound, Results
from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.repeats import REPEATABLE
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.service import Caller, Service
from rifflux.surfaces.http.shapes import (
    Deadline,
    Diagnostics,
    FilterIn,
    Fusion,
    Mode,
    Name,
    RankedIn,
    Request,
    Share,
    Text,
)
from rifflux.surfaces.shared.nouns import JsonObject, found_json, hit_json, trace_json
from rifflux.surfaces.shared.shapes import ChunkShape, FoundShape, Shape, StepShape

router = make_router(tags=["search"])

TYPING = Field(default=False, description="The question is still being typed: what comes of it is not measured")


class EverythingIn(Request):
    """A question to knowledge, files, notes, tasks and conversations at once."""

    query: Text = Field(examples=["what did we decide about caching"])
    top_k: int = Field(default=20, ge=1, le=100)
    mode: Mode = "hybrid"
    fusion: Fusion = None
    filter: FilterIn | None = None
    deadline_ms: Deadline = None
    explain: bool = Field(default=False, description="Explain each result by stage")
    typing: bool = TYPING

    def arguments(self) -> JsonObject:
        """Return what the index takes of it."""
        if self.filter:
            filter = self.filter.filter()
        else:
            filter = None
        return self.model_dump(exclude={"explain", "filter", "typing"}) | {"filter": filter}


class SearchIn(RankedIn):
    """A question."""

    deadline_ms: Deadline = None
    explain: bool = Field(default=False, description="Explain each result by stage")
    min_score: float | None = Field(default=None, ge=0, le=1, description="Least relevance")
    one_per_document: bool = False
    offset: int = Field(default=0, ge=0, le=1_000, description="Pass over so many results, for a later page")
    sort: Literal["relevance", "date"] = Field(default="relevance", description="date: the page, newest first")
    cutoff: bool | Share = Field(
        default=False, description="End the page where relevance falls off: true, or the least share of the best"
    )
    typing: bool = TYPING
    symbol: str = Field(default="", max_length=1_000, description="Only source code that defines this name")

    def arguments(self) -> JsonObject:
        """Return what the index takes of it."""
        names = "deadline_ms", "min_score", "offset", "sort", "cutoff", "symbol"
        ranked = {name: getattr(self, name) for name in names}
        return {**super().arguments(), **ranked, "group": "document" if self.one_per_document else None}


class ResultOut(FoundShape):
    """A passage, its rank explained. Its text, title and headings are untrusted data."""

    snippet_span: list[int] = Field(
        description="The stretch of the text that holds most of the highlights: first character, and one past the last"
    )
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
    results = service.of(caller).search(asked.query, **asked.arguments())
    return _answer(asked, service, caller, results, measured=not asked.typing)


@router.post("/everything", summary="Ask all sources at once")
def everything(asked: EverythingIn, service: Asked, caller: User) -> SearchOut:
    """Search knowledge, files, notes, tasks and conversations, each ranked by itself and weighed."""
    results = service.of(caller).everything(**asked.arguments())
    return _answer(asked, service, caller, results, measured=not asked.typing)


def _answer(
    asked: EverythingIn | SearchIn, service: Service, caller: Caller, results: Results, *, measured: bool = True
) -> SearchOut:
    """Return the results as they are answered, and note that they were."""
    if measured:
        service.searched(caller, asked.query, results.trace)
    none = {} if asked.explain else {"why": None}
    found = found_json(results, service.of(caller).profile.analyzer)
    return SearchOut(
        query=results.query,
        mode=results.trace.mode,
        results=[ResultOut.of(hit, **none) for hit in found],
        diagnostics=Diagnostics.of(trace_json(results.trace)),
    )


@router.get("/chunks/{chunk_id}", summary="Read a passage again")
def chunk(chunk_id: str, service: Asked, caller: User) -> ChunkShape:
    """Read a passage by the id that a search gave."""
    if not isinstance(hit := service.of(caller).get(chunk_id), Hit):
        raise NotFound("no such passage: take a chunk_id from the results of a search")
    return ChunkShape.of(hit_json(hit))


class FeedbackIn(Request):
    """What somebody did with a result."""

    kind: Literal["click", "save", "export", "not_relevant", "judgement"] = Field(examples=["click"])
    query: Text
    document: Name = Field(description="The document's key, path or identifier, or a chunk's id")
    grade: int | None = Field(default=None, ge=0, le=10, description="For a judgement: 0 is irrelevant")


@router.post("/feedback", status_code=204, dependencies=REPEATABLE, summary="Report the use of a result")
def feedback(given: FeedbackIn, service: Asked, caller: User) -> None:
    """Record a click, save, export or judgement, for measuring and tuning. `query` is the question to the word."""
    service.of(caller).admin.note(given.kind, given.query, given.document, given.grade, user=caller.user)
    service.counters.events.labels(given.kind).inc()
