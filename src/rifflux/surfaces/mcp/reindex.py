"""The tool `reindex`."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from anyio import from_thread
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from rifflux import IndexReport
from rifflux.surfaces.mcp.reply import MOST_NOTED, UNTRUSTED, reply
from rifflux.surfaces.mcp.workspace import Workspace
from rifflux.surfaces.shared.shapes import FailureShape, Shape

__all__ = ["ReindexTools"]

SECONDS_BETWEEN_REPORTS = 0.2


class ReindexNotes(Shape):
    """What else a run of indexing did. The lists hold the first few; their counts are whole."""

    warning: str = Field(description="How to treat the names of files")
    index: str = Field(description="The index file that was written")
    deleted_files: int = Field(description="Files that are gone, and went from the index too")
    chunks: int = Field(description="Chunks that were written")
    embedded_chunks: int = Field(description="Chunks that got a vector")
    seconds: float
    failed_files: int = Field(description="Files that could not be read; everything else was indexed")
    failed: list[FailureShape] = Field(default=[], description="The first of them, with the reason")
    left_out: list[FailureShape] = Field(default=[], description="Files skipped on purpose, with the reason")


class ReindexOutput(Shape):
    """The answer of reindex."""

    indexed_files: int = Field(description="Files that were new or had changed, over all locations")
    skipped_files: int = Field(description="Files unchanged or left out on purpose, over all locations")
    indexed_paths: list[str] = Field(default=[], description="The locations; present only if paths was used")
    embedding_model: str = Field(description="Label of the active embedding model")
    embedding_backend: str = Field(description="What runs the embedding model")
    notes: ReindexNotes


class ReindexTools:
    """What an agent can call. The docstring of each method is what the agent is told of it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._reindexing = threading.Lock()

    def reindex(
        self,
        context: Context[Any, Any],
        path: Annotated[
            str | None,
            Field(description="File or folder to index; null for the server's working directory"),
        ] = None,
        paths: Annotated[
            list[str] | None,
            Field(description="Several files or folders to index; if not empty, path is ignored"),
        ] = None,
        force: Annotated[bool, Field(description="Read every file again, also those that did not change")] = False,
    ) -> Annotated[CallToolResult, ReindexOutput]:
        """Bring the index up to date with files and folders; only what changed is read.

        Files that are gone from there go from the index too. Places outside the allowed folders are refused.
        """
        places = self._workspace.places(paths or [path or str(Path.cwd())])
        opened = self._workspace.open(create=True)
        with self._reindexing:
            report = opened.index.add(*places, force=force, progress=_Progress(context), finder=self._workspace.finder)
        return _reindex_reply(opened.index.admin.path, report, several=bool(paths))


def _reindex_reply(path: str, report: IndexReport, *, several: bool) -> CallToolResult:
    """Return the report of a run on the index at `path`; `several` if it was asked for a list of locations."""
    notes = ReindexNotes(
        warning=UNTRUSTED,
        index=path,
        deleted_files=report.deleted_files,
        chunks=report.chunks,
        embedded_chunks=report.embedded_chunks,
        seconds=report.seconds,
        failed_files=len(report.failed),
    )
    if report.failed:
        notes.failed = [FailureShape.of(asdict(each)) for each in report.failed[:MOST_NOTED]]
    if report.skipped:
        notes.left_out = [FailureShape.of(asdict(each)) for each in report.skipped[:MOST_NOTED]]
    output = ReindexOutput(
        indexed_files=report.indexed_files,
        skipped_files=report.skipped_files,
        embedding_model=report.embedding_model,
        embedding_backend=report.embedding_backend,
        notes=notes,
    )
    if several:
        output.indexed_paths = list(report.indexed_paths)
    return reply(output)


@dataclass
class _Progress:
    """Tells the client how far a run is, from the worker thread, and stops it once the client gave up.

    Stages and places count on from each other: the protocol wants progress that only grows.
    """

    context: Context[Any, Any]
    base: int = 0
    done: int = 0
    stage: str = ""
    sofar: int = -1
    told: float = 0.0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Report `done` of `total` of a stage, if the last report is not too fresh."""
        from_thread.check_cancelled()
        if stage != self.stage or done < self.done:
            self.base, self.stage = self.base + self.done, stage
        self.done = done
        now, sofar = time.monotonic(), self.base + done
        if sofar > self.sofar and now - self.told >= SECONDS_BETWEEN_REPORTS:
            self.told, self.sofar = now, sofar
            from_thread.run(self.context.report_progress, sofar, total and self.base + total, stage)
