"""`/memories`: save, recall, read, edit and forget memories of the caller."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from rifflux import Memory
from rifflux.requests import After, Limit, MemoriesRequest, MemoryChanges, MemoryRequest, RecallRequest
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.cures import advised
from rifflux.surfaces.http.paging import Next, page
from rifflux.surfaces.http.repeats import REPEATABLE
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.shapes import Diagnostics, Explain
from rifflux.surfaces.shared.nouns import nouns_json, trace_json
from rifflux.surfaces.shared.shapes import NoticeShape, Shape, StepShape
from rifflux.types.nouns import noun_json

router = make_router("/memories", tags=["memories"])


class MemoryList(Shape):
    """A page of memories, the newest first."""

    memories: list[Memory]
    next: Next = None


class SavedOut(Shape):
    """The outcome of saving: saved, duplicate (the existing memory is confirmed) or refused."""

    outcome: str
    reason: str
    memory: Memory | None
    degraded: list[NoticeShape] = Field(default=[], description="Why it can only be found by words for now")


class RecalledOut(Shape):
    """A matching memory, and why it matched."""

    score: float
    memory: Memory
    why: list[StepShape] | None


class RecallOut(Shape):
    """The best matching memories."""

    query: str
    memories: list[RecalledOut]
    diagnostics: Diagnostics


@router.post("", dependencies=REPEATABLE, summary="Remember something")
def remember(request: MemoryRequest, service: ServiceDependency, caller: User) -> SavedOut:
    """Save a memory if it is important enough and not known yet."""
    return SavedOut.of(noun_json(advised(service.of(caller).memories.add(**vars(request)))))


@router.post("/search", summary="Recall what is remembered")
def recall(request: RecallRequest, service: ServiceDependency, caller: User, explain: Explain = False) -> RecallOut:
    """Recall the memories in force, best first; recalling counts as use."""
    found = service.of(caller).memories.search(**vars(request))
    service.counters.searched(found.trace)
    memories = [
        {"score": hit.score, "memory": noun_json(memory), "why": nouns_json(hit.why) if explain else None}
        for memory, hit in found.memories
    ]
    return RecallOut.of(
        {"query": request.query, "memories": memories}, diagnostics=Diagnostics.of(trace_json(found.trace))
    )


@router.get("", summary="List memories, the newest first")
def list_(
    request: MemoriesRequest, service: ServiceDependency, caller: User, after: After = "", limit: Limit = 100
) -> MemoryList:
    """List those in force; `everything` also lists the expired and the superseded."""
    found = service.of(caller).memories.all(**vars(request))
    return _page(found, after, limit)


@router.get("/{id}", summary="A memory")
def memory(id: str, service: ServiceDependency, caller: User) -> Memory:
    """Read a memory, in force or not."""
    return service.of(caller).memories.get(id)


@router.patch("/{id}", summary="Change a memory")
def edit(id: str, request: MemoryChanges, service: ServiceDependency, caller: User) -> Memory:
    """Change the given fields; the others stay. `never` removes an expiry."""
    return service.of(caller).memories.edit(id, **vars(request))


@router.get("/{id}/history", summary="A memory and those it superseded")
def history(id: str, service: ServiceDependency, caller: User, after: After = "", limit: Limit = 100) -> MemoryList:
    """List them, the newest first."""
    return _page(service.of(caller).memories.history(id), after, limit)


@router.delete("/{id}", status_code=204, summary="Forget a memory for good")
def forget(id: str, service: ServiceDependency, caller: User) -> None:
    """Delete a memory for good. The one that it superseded is in force again."""
    service.of(caller).memories.forget(id)


def _page(found: Sequence[Memory], after: str, limit: int) -> MemoryList:
    memories, behind = page(found, lambda each: each.id, after, limit)
    return MemoryList(memories=[*memories], next=behind)
