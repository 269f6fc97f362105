"""The tool `reindex_job`: indexing in the background, for runs that take longer than a call may."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from mcp.types import CallToolResult
from pydantic import Field

from rifflux import InvalidArgument
from rifflux.requests import Param, ReindexRequest
from rifflux.surfaces.mcp.desk import Desk
from rifflux.surfaces.mcp.jobs import ToolJob
from rifflux.surfaces.mcp.reindex import ReindexOutput, places_of, report_output
from rifflux.surfaces.mcp.reply import reply
from rifflux.surfaces.shared.shapes import Shape


class JobOutput(Shape):
    """The answer of reindex_job."""

    job: str = Field(description="Its id, for status and cancel")
    state: str = Field(description="running, done, failed or cancelled")
    stage: str = Field(description="Its current stage: read, embed, ...")
    done: int = Field(description="How much of the stage is done")
    total: int | None = Field(description="How much there is of it, if that is known")
    error: str = Field(description="Why it failed")
    report: ReindexOutput | None = Field(description="Its report, as from reindex, once it is done")


def reindex_job(
    desk: Desk,
    action: Annotated[
        Literal["start", "status", "cancel"], Param(help="What to do; status and cancel take the job's id")
    ],
    job: Annotated[str | None, Param(help="The id that start gave")] = None,
    *,
    request: ReindexRequest,
) -> Annotated[CallToolResult, JobOutput]:
    """Index files and folders in the background: start a job, get its progress, or cancel it.

    A job goes on after the call that started it. What a cancelled job has stored stays.
    """
    if action != "start":
        found = desk.workspace.jobs.of(desk.caller, job or "")
        if action == "cancel":
            found.stop.set()
        return _result(desk, found)
    if job:
        raise InvalidArgument("start makes a new job: leave job out")
    places = places_of(desk, request)
    index = desk.filling().index
    add = partial(
        index.add,
        *places,
        language=request.language or "",
        force=request.force,
        finder=desk.workspace.finder,
    )
    return _result(desk, desk.workspace.jobs.start(desk.caller, lambda progress: add(progress=progress)))


def _result(desk: Desk, job: ToolJob) -> CallToolResult:
    progress = {name: getattr(job, name) for name in ("state", "stage", "done", "total")}
    if job.report:
        report = report_output(desk, desk.open().index.path, job.report, several=True)
    else:
        report = None
    return reply(JobOutput(job=job.id, error=desk.sentence(job.error) if job.error else "", report=report, **progress))
