"""`POST /feedback`: tell what was done with a result."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import Field

from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.shapes import Name, Request, Text

__all__ = ["router"]

router = APIRouter(tags=["search"])


class FeedbackIn(Request):
    """What somebody did with a result."""

    kind: Literal["click", "save", "export", "not_relevant", "judgement"] = Field(examples=["click"])
    query: Text
    document: Name = Field(description="The document's key, path or identifier, or a chunk's id")
    grade: int | None = Field(default=None, ge=0, le=10, description="For a judgement: 0 is irrelevant")


@router.post("/feedback", status_code=204, summary="Tell what was done with a result")
def feedback(told: FeedbackIn, service: Asked, caller: User) -> None:
    """Recorded for measuring and tuning: clicks, saves, exports, judgements. `query` is what was asked, to the word."""
    service.of(caller).note(told.kind, told.query, told.document, told.grade, user=caller.user)
    service.counters.events.labels(told.kind).inc()
