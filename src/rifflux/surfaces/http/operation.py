"""`/health`, `/ready`, `/version`, `/stats`, `/metrics` and `/online`: the state of the service, and what it holds."""

from __future__ import annotations

from fastapi.responses import Response
from pydantic import Field

from rifflux import UnusableIndex, __version__
from rifflux.requests import Since, Until
from rifflux.service.registry import period
from rifflux.surfaces.http.auth import Admin, ServiceDependency, User
from rifflux.surfaces.http.counters import CONTENT_TYPE, Availability
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.shared.nouns import version_json
from rifflux.surfaces.shared.shapes import Shape

router = make_router(tags=["operation"])


class OnlineRow(Shape):
    """A day (UTC). Shares are of its questions, null on a day without any."""

    day: str
    questions: int = Field(description="Searches; the same words again within half an hour count once")
    click_through: float | None = Field(description="A result was clicked")
    saved: float | None = Field(description="A result was saved or exported")
    reformulated: float | None = Field(description="Rephrased within five minutes without using a result")
    not_relevant: float | None = Field(description="A result was marked as not relevant")
    unmatched: int = Field(description="Feedback without a matching question")


class OnlineOut(Shape):
    """Online measures by day."""

    rows: list[OnlineRow]


@router.get("/online", summary="Online measures of searches")
def online(service: ServiceDependency, caller: Admin, since: Since = None, until: Until = None) -> OnlineOut:
    """Clicks, saves, rephrasings and complaints by day, summed over all users; for administrators."""
    return OnlineOut(rows=online_rows(service, *period(since, until)))


def online_rows(service: ServiceDependency, since: float, until: float | None = None) -> list[OnlineRow]:
    """Return the days of a span of time."""
    return [OnlineRow.model_validate(day.row()) for day in service.diary.days(since, until)]


class Health(Shape):
    """The service is up."""

    status: str
    version: str


class VersionOut(Shape):
    """The version of the service."""

    version: str
    api_version: int


@router.get("/health", summary="Whether the process answers", responses={})
async def health() -> Health:
    """Needs no token and reads nothing: restart a process that does not answer this."""
    return Health(status="ok", version=__version__)


@router.get("/ready", summary="Whether the service can answer questions", responses={})
def ready(service: ServiceDependency) -> Health:
    """Needs no token, and reveals nothing about the content: 503 while the index cannot be read.

    It reads a little of each table. For a minute after a request met a damaged index this is 503 too, since damage may
    lie where only some requests read.
    """
    service.index.admin.probe()
    if service.damage.is_recent:
        raise UnusableIndex("a request met a damaged index within the last minute")
    return Health(status="ok", version=__version__)


@router.get("/version", summary="Which version answers", responses={})
def version() -> VersionOut:
    """Needs no token. `api_version` increases when a key of an answer is removed or changes, not when one is added."""
    return VersionOut.of(version_json())


class Stats(Shape):
    """Counts of what the caller owns and may read."""

    documents: int
    chunks: int
    embedded_chunks: int
    files: int
    conversations: int
    messages: int
    memories: int = Field(description="In force or not")


@router.get("/stats", summary="How much is indexed for you")
def stats(service: ServiceDependency, caller: User) -> Stats:
    """Count what belongs to the caller and what is shared with them."""
    admin = service.of(caller).admin
    return Stats(**admin.counts(), **admin.personal_counts())


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
def metrics(service: ServiceDependency, caller: Admin) -> Response:
    """Requests, stages, failures, refreshes: counts and times, never contents."""
    availability = Availability(*service.index.admin.refreshing())
    return Response(service.counters.exposed(availability), media_type=CONTENT_TYPE)
