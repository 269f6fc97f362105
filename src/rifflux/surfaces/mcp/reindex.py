"""The tool `reindex`."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from anyio import from_thread
from mcp.types import CallToolResult
from pydantic import Field

from rifflux import IndexReport
from rifflux.requests import ReindexRequest
from rifflux.surfaces.mcp.desk import Desk
from rifflux.surfaces.mcp.reply import MOST_NOTED, UNTRUSTED, reply
from rifflux.surfaces.mcp.tool import ToolContext
from rifflux.surfaces.shared.shapes import FailureShape, Shape

SECONDS_BETWEEN_REPORTS = 0.2


class ReindexNotes(Shape):
    """Remarks on a run of indexing. The lists hold the first few; the counts are complete."""

    warning: str = Field(description="How to treat the names of files")
    index: str = Field(description="The index file that was written")
    found_files: int = Field(description="Files that were found: indexed, unchanged, failed or left out")
    unchanged_files: int = Field(description="Files that had not changed")
    deleted_files: int = Field(description="Files that are gone")
    chunks: int = Field(description="Chunks that were written")
    embedded_chunks: int = Field(description="Chunks that got a vector")
    seconds: float
    failed_files: int = Field(description="Files that could not be read")
    failed: list[FailureShape] = Field(default=[], description="The first failures, with the reason")
    failed_kinds: dict[str, int] = Field(default={}, description="All failed files, by the kind of reason")
    left_out: list[FailureShape] = Field(default=[], description="The first files left out, with the reason")
    left_out_kinds: dict[str, int] = Field(default={}, description="All files left out, by kind")
    degraded: list[str] = Field(default=[], description="Why it can only be found by words for now")
    remarks: list[str] = Field(default=[], description="Other remarks, such as analysis in another language")


class ReindexOutput(Shape):
    """The answer of reindex."""

    indexed_files: int = Field(description="New or changed files")
    skipped_files: int = Field(description="Files unchanged or left out on purpose")
    indexed_paths: list[str] = Field(default=[], description="The locations; present only if paths was used")
    embedding_model: str = Field(description="Label of the active embedding model")
    embedding_backend: str = Field(description="What runs the embedding model")
    notes: ReindexNotes


def reindex(desk: Desk, context: ToolContext, request: ReindexRequest) -> Annotated[CallToolResult, ReindexOutput]:
    """Update the index from files and folders; only changes are read.

    Deleted files are removed from the index. Places outside the allowed folders are refused. Start what may take
    minutes with reindex_job.
    """
    places = places_of(desk, request)
    opened = desk.filling()
    with desk.workspace.jobs.turn():
        report = opened.index.add(
            *places,
            language=request.language or "",
            force=request.force,
            progress=_Progress(context),
            finder=desk.workspace.finder,
        )
    return reply(report_output(desk, opened.index.path, report, several=bool(request.paths)))


def places_of(desk: Desk, request: ReindexRequest) -> list[Path]:
    """Return the places of a call: the list, else the single one, else the default ones."""
    return desk.places(request.paths or (desk.workspace.usual if request.path is None else [request.path]))


def report_output(desk: Desk, path: str, report: IndexReport, *, several: bool) -> ReindexOutput:
    """Return the report of a run on the index at `path`; `several` for a list of locations."""
    done = asdict(report)
    skipped = report.skipped[:MOST_NOTED]
    left_out = [FailureShape(path=each.path, reason=each.reason, kind=each.kind) for each in skipped]
    lists: dict[str, object] = {
        "failed": desk.failures(report.failed, MOST_NOTED),
        "failed_kinds": report.failed_kinds,
        "left_out": left_out,
        "left_out_kinds": report.skipped_kinds,
        "degraded": [desk.sentence(each) for each in report.degraded],
        "remarks": [desk.sentence(each) for each in report.remarks],
    }
    for name in ("failed", "failed_kinds", "skipped", "skipped_kinds", "degraded", "remarks"):
        del done[name]
    few = {name: each for name, each in lists.items() if each}
    notes = ReindexNotes.of(done | few, warning=UNTRUSTED, index=path)
    if not several:
        del done["indexed_paths"]
    return ReindexOutput.of(done, notes=notes)


@dataclass
class _Progress:
    """Reports progress to the client from the worker thread, and stops the run once the client has given up.

    Counts continue from stage to stage: the protocol requires increasing progress.
    """

    context: ToolContext
    base: int = 0
    done: int = 0
    stage: str = ""
    sofar: int = -1
    reported_at: float = 0.0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Report `done` of `total` of a stage, unless the last report is too recent."""
        from_thread.check_cancelled()
        if stage != self.stage or done < self.done:
            self.base = self.base + self.done
            self.stage = stage
        self.done = done
        now = time.monotonic()
        sofar = self.base + done
        if sofar > self.sofar and now - self.reported_at >= SECONDS_BETWEEN_REPORTS:
            self.reported_at = now
            self.sofar = sofar
            from_thread.run(self.context.report_progress, sofar, total and self.base + total, stage)
