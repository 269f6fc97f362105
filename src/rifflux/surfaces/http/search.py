"""Searching, reading and judging what belongs to the caller."""

from __future__ import annotations

from fastapi import APIRouter

from rifflux.errors import NotFound
from rifflux.surfaces.http import shapes
from rifflux.surfaces.http.auth import Asked, User
from rifflux.types import Hit
from rifflux.works.model import names_of

__all__ = ["router"]

router = APIRouter(tags=["search"])


@router.post("/search", summary="Find the best passages for a question")
def search(asked: shapes.SearchIn, service: Asked, caller: User) -> shapes.SearchOut:
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
    service.asked(caller, asked.query)
    service.metrics.searched(results.trace)
    return shapes.SearchOut.of(results, explain=asked.explain)


@router.post("/everything", summary="Ask all sources at once")
def everything(asked: shapes.EverythingIn, service: Asked, caller: User) -> shapes.SearchOut:
    """Knowledge, files, notes, tasks and conversations, each ranked by itself and weighed."""
    results = service.of(caller).everything(
        asked.query,
        top_k=asked.top_k,
        mode=asked.mode,
        filter=asked.filter.filter() if asked.filter else None,
        deadline_ms=asked.deadline_ms,
    )
    service.asked(caller, asked.query)
    service.metrics.searched(results.trace)
    return shapes.SearchOut.of(results, explain=asked.explain)


@router.get("/chunks/{chunk_id}", summary="Read a passage again")
def chunk(chunk_id: str, service: Asked, caller: User) -> shapes.ChunkOut:
    """A passage by the id that a search gave."""
    if not isinstance(hit := service.of(caller).get(chunk_id), Hit):
        raise NotFound("no such passage: take a chunk_id from the results of a search")
    return shapes.ChunkOut.of(hit)


@router.get("/documents/{key:path}", summary="Read a whole document")
def document(key: str, service: Asked, caller: User) -> shapes.DocumentOut:
    """A document by its key, its path, or an identifier such as doi:10.1000/182."""
    found = service.of(caller).document(key)
    values = {name: getattr(found, name) for name in shapes.DocumentOut.model_fields}
    told = {"metadata": dict(found.metadata), "identifiers": [*map(str, names_of(found.identifiers))]}
    return shapes.DocumentOut(**values | told)


@router.post("/feedback", status_code=204, summary="Tell what was done with a result")
def feedback(told: shapes.FeedbackIn, service: Asked, caller: User) -> None:
    """Recorded for measuring and tuning: clicks, saves, exports, judgements. `query` is what was asked, to the word."""
    service.of(caller).note(told.kind, told.query, told.document, told.grade, user=caller.user)
    service.metrics.events.labels(told.kind).inc()
