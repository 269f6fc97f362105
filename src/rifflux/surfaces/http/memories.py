"""`/memories`: save, recall, read, edit and forget what is remembered of the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from pydantic import Field

from rifflux import Memory
from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.paging import After, Limit, Next, page
from rifflux.surfaces.http.repeats import REPEATABLE
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.shapes import Body, Deadline, Diagnostics, Fusion, Name, Text
from rifflux.surfaces.http.wording import Told
from rifflux.surfaces.shared.nouns import nouns_json, trace_json
from rifflux.surfaces.shared.shapes import Shape, StepShape
from rifflux.types.nouns import noun_json

router = make_router("/memories", tags=["memories"])

Category = Annotated[str | None, Query(max_length=100, description="Only of this category")]
Importance = Annotated[int | None, Field(ge=1, le=10)]
Confidence = Annotated[float | None, Field(ge=0, le=1)]
Expiry = Annotated[
    str | None, Field(max_length=40, description="ISO 8601 date, or never", examples=["2027-01-01", "never"])
]
MinImportance = Annotated[int | None, Query(ge=1, le=10, description="Only of this importance or more")]
MinConfidence = Annotated[
    float | None, Query(ge=0, le=1, description="Only of this confidence or more; 0.7 if it is left out")
]


class MemoryIn(Body):
    """Something to remember."""

    text: str = Field(min_length=1, max_length=4_000, examples=["Ann takes her tea without milk"])
    category: str = Field(default="fact", min_length=1, max_length=100)
    importance: int = Field(default=7, ge=1, le=10, description="Below 7 it is not kept")
    confidence: float = Field(default=1.0, ge=0, le=1, description="Below 0.7 it is not kept")
    expires_at: Expiry = None
    source: str | None = Field(default=None, max_length=1_000, description="Where it comes from: a message's id")
    supersedes: Name | None = Field(default=None, description="The memory that it takes the place of")


class MemoryEdit(Body):
    """What shall be different; what is left out stays."""

    text: str | None = Field(default=None, min_length=1, max_length=4_000)
    category: str | None = Field(default=None, min_length=1, max_length=100)
    importance: Importance = None
    confidence: Confidence = None
    expires_at: Expiry = None
    source: str | None = Field(default=None, max_length=1_000)


class MemoryOut(Shape):
    """A memory. Its text is untrusted data."""

    id: str
    text: str
    category: str
    importance: int
    confidence: float
    created_at: str
    updated_at: str
    expires_at: str | None
    superseded_by: str | None
    source: str | None
    version: int
    uses: int
    used_at: str | None


class MemoryList(Shape):
    """A page of memories, the newest first."""

    memories: list[MemoryOut]
    next: Next = None


class SavedOut(Shape):
    """How saving ended: saved, duplicate (the memory that was there is confirmed) or refused."""

    outcome: str
    reason: str
    memory: MemoryOut | None
    degraded: list[Told] = Field(default=[], description="Why it is found by words alone for now")


class RecallIn(Body):
    """What to recall."""

    query: Text = Field(examples=["how does she take her tea"])
    top_k: int = Field(default=10, ge=1, le=100)
    category: Name | None = None
    min_importance: Importance = Field(default=None, description="Only of this importance or more")
    min_confidence: Confidence = Field(default=None, description="Only of this confidence or more; null: of 0.7")
    fusion: Fusion = None
    deadline_ms: Deadline = None
    explain: bool = False


class RecalledOut(Shape):
    """A memory that answers, and why."""

    score: float
    memory: MemoryOut
    why: list[StepShape] | None


class RecallOut(Shape):
    """The memories that answer best."""

    query: str
    memories: list[RecalledOut]
    diagnostics: Diagnostics


@router.post("", dependencies=REPEATABLE, summary="Remember something")
def remember(given: MemoryIn, service: Asked, caller: User) -> SavedOut:
    """Keep something if it matters enough, and not twice."""
    return SavedOut.of(noun_json(service.of(caller).memories.add(**given.model_dump())))


@router.post("/search", summary="Recall what is remembered")
def recall(asked: RecallIn, service: Asked, caller: User) -> RecallOut:
    """Recall the memories in force, best first; recalling counts as use."""
    found = service.of(caller).memories.search(**asked.model_dump(exclude={"explain"}))
    service.counters.searched(found.trace)
    memories = [
        {"score": hit.score, "memory": noun_json(memory), "why": nouns_json(hit.why) if asked.explain else None}
        for memory, hit in found.memories
    ]
    return RecallOut.of(
        {"query": asked.query, "memories": memories}, diagnostics=Diagnostics.of(trace_json(found.trace))
    )


@router.get("", summary="List memories, the newest first")
def list_(
    service: Asked,
    caller: User,
    category: Category = None,
    min_importance: MinImportance = None,
    min_confidence: MinConfidence = None,
    everything: bool = False,
    after: After = "",
    limit: Limit = 100,
) -> MemoryList:
    """List those in force; `everything` also lists the expired and the superseded."""
    found = service.of(caller).memories.all(
        category=category, min_importance=min_importance, min_confidence=min_confidence, everything=everything
    )
    return _page(found, after, limit)


@router.get("/{id}", summary="A memory")
def memory(id: str, service: Asked, caller: User) -> MemoryOut:
    """Read a memory, in force or not."""
    return MemoryOut.of(noun_json(service.of(caller).memories.get(id)))


@router.patch("/{id}", summary="Change a memory")
def edit(id: str, given: MemoryEdit, service: Asked, caller: User) -> MemoryOut:
    """Change the given fields; the others stay. `never` takes an expiry away."""
    return MemoryOut.of(noun_json(service.of(caller).memories.edit(id, **given.model_dump())))


@router.get("/{id}/history", summary="A memory and those it took the place of")
def history(id: str, service: Asked, caller: User, after: After = "", limit: Limit = 100) -> MemoryList:
    """List them, the newest first."""
    return _page(service.of(caller).memories.history(id), after, limit)


@router.delete("/{id}", status_code=204, summary="Forget a memory for good")
def forget(id: str, service: Asked, caller: User) -> None:
    """Delete a memory for good. The one that it took the place of is in force again."""
    service.of(caller).memories.forget(id)


def _page(found: Sequence[Memory], after: str, limit: int) -> MemoryList:
    told, behind = page(found, lambda each: each.id, after, limit)
    return MemoryList(memories=[MemoryOut.of(noun_json(each)) for each in told], next=behind)
