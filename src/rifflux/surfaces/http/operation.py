"""`/health`, `/ready`, `/version`, `/stats`, `/metrics` and `/online`: how the service does, and what it holds."""

from __future__ import annotations

from fastapi.responses import Response
from pydantic import Field

from rifflux import UnusableIndex, __version__
from rifflux.service.registry import period
from rifflux.surfaces.http.auth import Admin, Asked, User
from rifflux.surfaces.http.counters import CONTENT_TYPE, Availability
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.usage import DateQuery
from rifflux.surfaces.shared.nouns import version_json
from rifflux.surfaces.shared.shapes import Shape

router = make_router(tags=["operation"])


class OnlineRow(Shape):
    """A day (UTC). Shares are of its questions, null on a day without any."""

    day: str
    questions: int = Field(description="Searches; the same words again within half an hour count once")
    click_through: float | None = Field(description="Something that was found was clicked")
    saved: float | None = Field(description="Something was saved or exported")
    reformulated: float | None = Field(
        description="Asked again in similar words within five minutes, with nothing used"
    )
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


class Health(Shape):
    """It answers."""

    status: str
    version: str


class VersionOut(Shape):
    """What answers here."""

    version: str
    api_version: int


@router.get("/health", summary="Whether the process answers", responses={})
async def health() -> Health:
    """Needs no token and reads nothing: a process that does not answer this is to be started again."""
    return Health(status="ok", version=__version__)


@router.get("/ready", summary="Whether the service can answer questions", responses={})
def ready(service: Asked) -> Health:
    """Needs no token, and tells nothing of what is indexed: 503 while the index cannot be read.

    That is found out by reading a little of each table; and for a minute after a request met a damaged index, this is
    503 too, since damage may lie where only some requests read.
    """
    service.index.admin.probe()
    if service.damage.is_recent:
        raise UnusableIndex("a request met a damaged index within the last minute")
    return Health(status="ok", version=__version__)


@router.get("/version", summary="Which version answers", responses={})
def version() -> VersionOut:
    """Needs no token. `api_version` grows when a key of an answer goes or changes, not when one is added."""
    return VersionOut.of(version_json())


class Stats(Shape):
    """How much is indexed that the caller has or reads."""

    documents: int
    chunks: int
    embedded_chunks: int
    files: int
    conversations: int
    messages: int
    memories: int = Field(description="In force or not")


@router.get("/stats", summary="How much is indexed for you")
def stats(service: Asked, caller: User) -> Stats:
    """Counts of what belongs to the caller, and of what is shared with them."""
    admin = service.of(caller).admin
    return Stats(**admin.counts(), **admin.personal_counts())


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
def metrics(service: Asked, caller: Admin) -> Response:
    """Requests, stages, failures, refreshes: counts and times, never contents."""
    availability = Availability(*service.index.admin.refreshing())
    return Response(service.counters.exposed(availability), media_type=CONTENT_TYPE)
