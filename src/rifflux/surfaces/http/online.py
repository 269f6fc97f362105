"""What became of the questions that were asked: online measures by day."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from rifflux.surfaces.http.auth import Admin, Asked
from rifflux.surfaces.http.metering import Date
from rifflux.surfaces.http.shapes import Reply
from rifflux.text.dates import parse_time, whole_day_end

__all__ = ["OnlineRow", "online_rows", "router"]

router = APIRouter(tags=["operation"])


class OnlineRow(Reply):
    """A day (UTC). Shares are of its questions, null on a day without any."""

    day: str
    questions: int = Field(description="Searches; the same words again within half an hour count once")
    click_through: float | None = Field(description="Something that was found was clicked")
    saved: float | None = Field(description="Something was saved or exported")
    reformulated: float | None = Field(description="Asked in other words within five minutes, nothing being used")
    not_relevant: float | None = Field(description="Something was called not relevant")
    unmatched: int = Field(description="Feedback that belongs to no question that was asked here")


class OnlineOut(Reply):
    """What became of questions, by day."""

    rows: list[OnlineRow]


@router.get("/online", summary="What became of the questions that were asked")
def online(service: Asked, caller: Admin, since: Date = None, until: Date = None) -> OnlineOut:
    """Clicks, saves, other words and complaints by day, of all users together; for administrators."""
    start = parse_time(since).timestamp() if since else 0.0
    return OnlineOut(rows=online_rows(service, start, whole_day_end(until) if until else None))


def online_rows(service: Asked, since: float, until: float | None = None) -> list[OnlineRow]:
    """The days of a span of time."""
    return [OnlineRow.model_validate(day.row()) for day in service.diary.days(since, until)]
