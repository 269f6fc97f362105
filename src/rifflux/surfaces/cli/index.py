"""`rifflux index`: create or update the index, and follow its files."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux import InvalidArgument, NotFound
from rifflux.requests import FORCE, LANGUAGE
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import Embed, OpenOptions, app
from rifflux.surfaces.shared.config import finder, open_configured, view_of

if TYPE_CHECKING:
    from rifflux import IndexReport

#: The most paths named of those just indexed.
MOST_NAMED = 3


@app.command(
    epilog="""Examples:  rifflux index ~/notes ~/papers

rifflux index ~/wiki --collection wiki && rifflux collections share wiki --with everyone"""
)
def index(
    here: OpenOptions,
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Folders and files.  [default: those indexed before]")
    ] = None,
    collection: Annotated[
        str, typer.Option(help="Put them here; it is made if need be.  [default: the library]", metavar="NAME")
    ] = "",
    user: Annotated[str, typer.Option(help="Whose they are.  [default: nobody's in particular]")] = "",
    language: Annotated[str | None, LANGUAGE] = None,
    embed: Embed = True,
    force: Annotated[bool, FORCE] = False,
    prune: Annotated[
        bool | None,
        typer.Option(
            "--prune/--no-prune",
            help="Forget what is gone from the folders, or keep it.  [default: forget it, unless most is gone at once]",
        ),
    ] = None,
    hidden: Annotated[bool | None, typer.Option("--hidden", help="Index hidden files too.")] = None,
    all_files: Annotated[
        bool | None, typer.Option("--all-files", help="Index lock files, generated code and dumps too.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Leave what matches out of the folders, for good; '' takes all.", metavar="PATTERN"),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Then follow all files of the index as they change.")] = False,
) -> None:
    """Create or update the index; only changed files are read.

    Respects .gitignore and .riffluxignore. Exit status 1 if some file could not be read, or has no vectors for now, or
    if a folder seems to have lost its files by accident: it is empty now, lies on another device, or more than half of
    it is gone. With --watch, saved files can be found within a second, until Ctrl-C; --json prints a line for each
    update.
    """
    settings = here.settings(hidden=hidden, all_files=all_files, language=language)
    if exclude and not paths:
        raise InvalidArgument("say which folder to leave it out of: rifflux index PATH --exclude PATTERN")
    location = settings.location(create=True)
    is_there = isinstance(location, Path) and location.exists()
    is_new = isinstance(location, Path) and not is_there
    if paths and is_new and not any(path.expanduser().exists() for path in paths):
        # There is nothing to index or update: a misspelt path must not leave an empty index behind.
        raise NotFound(f"nothing at {paths[0]}: check the path's spelling")
    # Reference counting frees nearly everything that indexing allocates; frequent collections take a tenth of the run.
    gc.set_threshold(50_000, 20, 50)
    files = finder(settings)
    if collection and not paths:
        raise InvalidArgument("say what belongs in the collection: rifflux index PATH --collection NAME")
    if language and not paths:
        raise InvalidArgument("say which files are in that language: rifflux index PATH --language NAME")
    # An index that is there may be of an earlier version, and this is the command that brings it up to date.
    with show.late_progress() as progress:
        opening = open_configured(settings, create=bool(paths) or is_there, progress=progress)
    with opening as opened:
        index = view_of(opened, user)
        if settings.facets:
            index.admin.declare_facets(*settings.facets)
        add = (
            partial(index.add, *paths, collection=collection, language=language or "", exclude=exclude)
            if paths
            else index.sync
        )
        processes = settings.threads or None
        with show.progress() as progress:
            report = add(embed=embed, force=force, prune=prune, progress=progress, finder=files, processes=processes)
        _print(report, as_json=here.json, one_line=watch)
        if watch:
            _follow(index.watch(embed=embed, finder=files), as_json=here.json)
    if (report.failed or report.degraded) and not watch:
        raise typer.Exit(1)


def _print(done: IndexReport, *, as_json: bool, one_line: bool) -> None:
    if as_json:
        show.print_json(asdict(done), one_line=one_line)
        return
    show.console().print(_counts(done))
    show.left_out(done.skipped)
    show.failures("failed", done.failed, "red")
    for remark in done.remarks:
        show.note(remark.text)
    show.degraded(done.degraded)


def _follow(reports: Iterator[IndexReport], *, as_json: bool) -> None:
    """Print reports until the user or the system ends the command."""
    # The first report covers changes since the run before, usually none.
    for place, report in enumerate(reports):
        if place or report.indexed_files or report.deleted_files:
            _print_followed(report, as_json=as_json)


def _print_followed(done: IndexReport, *, as_json: bool) -> None:
    """Print the report on files that have just changed."""
    if as_json:
        show.print_json(asdict(done), one_line=True)
        return
    where = show.named([show.from_here(Path(path)) for path in done.indexed_paths], MOST_NAMED)
    show.console().print(f"{datetime.now():%H:%M:%S}  {_counts(done)}  {show.one_line(where)}")
    show.failures("failed", done.failed, "red")


def _counts(done: IndexReport) -> str:
    left_out = done.skipped_files - done.unchanged_files
    parts = [f"{done.indexed_files:,} indexed", f"{done.unchanged_files:,} unchanged"]
    if left_out:
        parts.append(f"{left_out:,} left out ({show.kinds(done.skipped_kinds)})")
    if done.failed:
        kinds = f" ({show.kinds(done.failed_kinds)})" if done.failed_kinds else ""
        parts.append(f"{done.failed_files or len(done.failed):,} failed{kinds}")
    if done.deleted_files:
        parts.append(f"{done.deleted_files:,} removed")
    made = f"{done.chunks:,} chunks, {done.embedded_chunks:,} embedded"
    return f"{', '.join(parts)}; {made}, in {done.seconds:.1f} s"
