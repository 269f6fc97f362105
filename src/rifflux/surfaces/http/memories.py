"""Memories of the caller: saving, recalling, forgetting."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from rifflux.memories import Memory
from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.shapes import Diagnostics, Name, Reply, Request, StageOut, Text

__all__ = ["router"]

router = APIRouter(prefix="/memories", tags=["memories"])

Category = Annotated[str | None, Query(max_length=100, description="Only of this category")]


class MemoryIn(Request):
    """Something to remember."""

    content: str = Field(min_length=1, max_length=4_000, examples=["Ann takes her tea without milk"])
    category: str = Field(default="fact", min_length=1, max_length=100)
    importance: int = Field(default=7, ge=1, le=10, description="Below 7 it is not kept")
    confidence: float = Field(default=1.0, ge=0, le=1, description="Below 0.7 it is not kept")
    expires_at: str | None = Field(default=None, max_length=40, description="ISO 8601 date")
    source: str | None = Field(default=None, max_length=1_000, description="Where it comes from: a message's id")
    supersedes: Name | None = Field(default=None, description="The memory that it takes the place of")


class MemoryOut(Reply):
    """A memory. Its content is untrusted data. Times are seconds since 1970."""

    id: str
    content: str
    category: str
    importance: int
    confidence: float
    created_at: float
    updated_at: float
    expires_at: float | None
    superseded_by: str | None
    source: str | None
    version: int
    uses: int
    used_at: float | None

    @classmethod
    def of(cls, memory: Memory) -> MemoryOut:
        """A memory as it is answered."""
        return cls(**{name: getattr(memory, name) for name in cls.model_fields})


class SavedOut(Reply):
    """How saving ended: saved, duplicate (the memory that was there is confirmed) or refused."""

    outcome: str
    reason: str
    memory: MemoryOut | None


class RecallIn(Request):
    """What to recall."""

    query: Text = Field(examples=["how does she take her tea"])
    limit: int = Field(default=10, ge=1, le=100)
    category: Name | None = None
    explain: bool = False


class RecalledOut(Reply):
    """A memory that answers, and why."""

    score: float
    memory: MemoryOut
    why: list[StageOut] | None


class RecallOut(Reply):
    """The memories that answer best."""

    query: str
    memories: list[RecalledOut]
    diagnostics: Diagnostics


@router.post("", summary="Remember something")
def remember(told: MemoryIn, service: Asked, caller: User) -> SavedOut:
    """Kept if it matters enough, and not twice."""
    saved = service.of(caller).memories.add(
        told.content,
        category=told.category,
        importance=told.importance,
        confidence=told.confidence,
        expires_at=told.expires_at,
        source=told.source,
        supersedes=told.supersedes,
    )
    memory = MemoryOut.of(saved.memory) if saved.memory else None
    return SavedOut(outcome=saved.outcome, reason=saved.reason, memory=memory)


@router.post("/search", summary="Recall what is remembered")
def recall(asked: RecallIn, service: Asked, caller: User) -> RecallOut:
    """What is in force, best first; recalling counts as use."""
    found = service.of(caller).memories.search(asked.query, limit=asked.limit, category=asked.category)
    service.metrics.searched(found.trace)
    memories = [
        RecalledOut(score=hit.score, memory=MemoryOut.of(memory), why=StageOut.of(hit) if asked.explain else None)
        for memory, hit in found.memories
    ]
    return RecallOut(query=asked.query, memories=memories, diagnostics=Diagnostics.of(found.trace))


@router.get("", summary="List memories, the newest first")
def list_(service: Asked, caller: User, category: Category = None, everything: bool = False) -> list[MemoryOut]:
    """Those in force; `everything` also lists the expired and the superseded."""
    return [MemoryOut.of(each) for each in service.of(caller).memories.all(category=category, everything=everything)]


@router.get("/{id}/history", summary="A memory and those it took the place of")
def history(id: str, service: Asked, caller: User) -> list[MemoryOut]:
    """The newest first."""
    return [MemoryOut.of(each) for each in service.of(caller).memories.history(id)]


@router.delete("/{id}", status_code=204, summary="Forget a memory for good")
def forget(id: str, service: Asked, caller: User) -> None:
    """It cannot be brought back."""
    service.of(caller).memories.forget(id)
