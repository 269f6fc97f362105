"""`GET /online`: what became of the questions that were asked, by day."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from rifflux.service.registry import period
from rifflux.surfaces.http.auth import Admin, Asked
from rifflux.surfaces.http.usage import DateQuery
from rifflux.surfaces.shared.shapes import Shape

__all__ = ["OnlineRow", "online_rows", "router"]

router = APIRouter(tags=["operation"])


class OnlineRow(Shape):
    """A day (UTC). Shares are of its questions, null on a day without any."""

    day: str
    questions: int = Field(description="Searches; the same words again within half an hour count once")
    click_through: float | None = Field(description="Something that was found was clicked")
    saved: float | None = Field(description="Something was saved or exported")
    reformulated: float | None = Field(description="Asked in other words within five minutes, nothing being used")
    not_relevant: float | None = Field(description="Something was called not relevant")
    unmatched: int = Field(description="Feedback that belongs to no question that was asked here")


class OnlineOut(Shape):
    """What became of questions, by day."""

    rows: list[OnlineRow]


@router.get("/online", summary="What became of the questions that were asked")
def online(service: Asked, caller: Admin, since: DateQuery = None, until: DateQuery = None) -> OnlineOut:
    """Clicks, saves, other words and complaints by day, of all users together; for administrators."""
    return OnlineOut(rows=online_rows(service, *period(since, until)))


def online_rows(service: Asked, since: float, until: float | None = None) -> list[OnlineRow]:
    """Return the days of a span of time."""
    return [OnlineRow.model_validate(day.row()) for day in service.diary.days(since, until)]
