"""Imports as jobs: answered with their report, or with 202 and the address of the job."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field, TypeAdapter
from starlette.concurrency import run_in_threadpool

from rifflux import Progress
from rifflux.service.jobs import CANCELLED, INTERRUPTED, JobOutcome, JobRecord, Stopped
from rifflux.session.intake import Intake
from rifflux.surfaces.http.problems import Refused, problem_json
from rifflux.surfaces.http.service import Caller, Service
from rifflux.surfaces.http.shapes import ProblemOut
from rifflux.surfaces.shared.nouns import JsonObject
from rifflux.surfaces.shared.shapes import Shape
from rifflux.types.nouns import iso_time

Answer = TypeVar("Answer")

#: The share of a request's time that its job may take, so that time is left for an answer.
_SHARE = 0.8
_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*(\d{1,6})\s*(?:$|[,;])")
_ASYNC = re.compile(r"(?:^|[,;])\s*respond-async\s*(?:$|[,;])")
_ENDED: dict[str, tuple[int, str, str]] = {
    CANCELLED: (409, CANCELLED, "it was cancelled: what is counted was stored; send it again to store the rest"),
    INTERRUPTED: (
        503,
        INTERRUPTED,
        "the service was stopped meanwhile: what is counted was stored; send it again to store the rest",
    ),
}


class JobOut(Shape):
    """A job: an import, or making vectors, which goes on without the request that started it."""

    id: str
    kind: str = Field(description="documents, conversations, works or vectors", examples=["conversations"])
    name: str = Field(description="The name of the file; untrusted data")
    user: str
    state: str = Field(description="running, done, failed, cancelled or interrupted", examples=["running"])
    stage: str = Field(
        description="What it does: wait (for other files to be read), read, store, embed", examples=["store"]
    )
    done: int = Field(description="How many documents, conversations or works are stored, unchanged or failed")
    total: int | None = Field(description="Their total; null until the file is read")
    created_at: str
    ended_at: str | None
    report: JsonObject | None = Field(description="The answer to the request; null until it is done")
    error: ProblemOut | None = Field(description="Null unless it failed or was stopped")

    @classmethod
    def of_record(cls, record: JobRecord) -> JobOut:
        """Return a job as JSON has it."""
        if record.error:
            error = json.loads(record.error)
        else:
            error = None
        if record.state in _ENDED:
            error = problem_json(Refused(*_ENDED[record.state]))
        return cls(
            id=record.id,
            kind=record.kind,
            name=record.name,
            user=record.user,
            state=record.state,
            stage=record.stage,
            done=record.done,
            total=record.total,
            created_at=iso_time(record.created_at),
            ended_at=iso_time(record.ended_at) if record.ended_at else None,
            report=json.loads(record.report) if record.report else None,
            error=error,
        )


#: The 202 response of routes that import.
ACCEPTED: dict[int | str, JsonObject] = {
    202: {
        "model": JobOut,
        "description": "It goes on: `Location` has its progress",
        "headers": {"Location": {"schema": {"type": "string"}, "description": "/jobs/ID"}},
    }
}


async def patient(
    prefer: Annotated[
        str | None,
        Header(
            max_length=200,
            description="`respond-async`: answer 202 at once; `wait=N`: after at most N seconds (RFC 7240). "
            "Otherwise the answer waits as long as a request may take",
        ),
    ] = None,
) -> None:
    """Declare the header; `do_as_job` reads it."""


#: Dependencies of routes whose requests run as jobs.
PATIENT = [Depends(patient)]


async def do_as_job(
    request: Request,
    service: Service,
    caller: Caller,
    *,
    kind: str,
    name: str,
    work: Callable[[Intake], Answer],
    answer_type: Any,
    status: Callable[[Answer], int] = lambda _: 200,
) -> Response:
    """Run an import as a job, and answer with its report, or with the job if it takes longer than the request may.

    Raises what the import raises in that time, and `Refused` if the caller has too many running.
    """
    adapter: TypeAdapter[Answer] = TypeAdapter(answer_type)

    def run(progress: Progress) -> JobOutcome:
        progress("read", 0, None)
        done = work(service.intake(caller, progress))
        return JobOutcome(status(done), adapter.dump_json(adapter.validate_python(done)).decode())

    starting = asyncio.ensure_future(run_in_threadpool(service.jobs.begin, caller.user, kind, name))
    try:
        job = await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(lambda late: _abandon(service, late))
        raise
    if job is None:
        message = f"{service.jobs.most} imports of this user are running: wait until one of them is done"
        raise Refused(429, "too_many_jobs", message, {"Retry-After": "5"})
    service.jobs.run(job, run)
    # From here on the import goes on even if the request ends, and this is its answer.
    request.state.accepted = accepted(request, job.record)
    if on_start := getattr(request.state, "on_job", None):
        await on_start(request.state.accepted)
    outcome = asyncio.wrap_future(job.outcome)
    done, _ = await asyncio.wait([outcome], timeout=_patience(request, service))
    if not done:
        outcome.add_done_callback(_ignore)
        return accepted(request, job.record)
    try:
        found = outcome.result()
    except Stopped:
        return accepted(request, job.record)
    return Response(found.report, found.status, media_type="application/json")


def accepted(request: Request, record: JobRecord) -> JSONResponse:
    """Return the 202 response to a request whose job goes on."""
    place = f"{request.scope.get('root_path', '')}/jobs/{record.id}"
    return JSONResponse(JobOut.of_record(record).model_dump(mode="json"), 202, {"Location": place})


def _patience(request: Request, service: Service) -> float:
    """Return the seconds that a request waits for its job."""
    preferred = request.headers.get("prefer", "").lower()
    if _ASYNC.search(preferred):
        return 0.0
    left = request.state.until - time.monotonic() if hasattr(request.state, "until") else service.settings.timeout_s
    most = max(min(service.settings.timeout_s, left * _SHARE), 0.0)
    wait = _WAIT.search(preferred)
    return min(float(wait[1]), most) if wait else most


def _abandon(service: Service, starting: asyncio.Future[Any]) -> None:
    """Drop the recorded job of a request that has ended."""
    if not starting.cancelled() and not starting.exception() and starting.result() is not None:
        asyncio.get_running_loop().run_in_executor(None, service.jobs.abandon, starting.result())


def _ignore(outcome: asyncio.Future[Any]) -> None:
    """Retrieve an exception that the job has already recorded, so that asyncio does not log it."""
    if not outcome.cancelled():
        outcome.exception()
