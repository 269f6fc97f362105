"""The commands that look after an index: `doctor`, `backup` and `models`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.commands import Db, Json, Threads, app
from rifflux.surfaces.shared.config import load
from rifflux.surfaces.shared.opening import open_configured

__all__: list[str] = []

#: How much a switch that goes on for hours gives way to whoever searches meanwhile.
NICENESS = 19

models = typer.Typer(
    name="models",
    help="The embedding models: which there are, and switching the index to another one.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(models)

Build = Annotated[bool, typer.Option("--build", help="First build what makes a large index fast.")]


@app.command(epilog="Example: rifflux doctor --repair")
def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be made anew.")] = False,
    build: Build = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Look for damage in the index, and mend it. Exit status 0 only if all is well (in the end).

    A database that cannot be read is put together anew from what can, and kept beside the new one.
    """
    from rifflux.index import salvage as repairing
    from rifflux.surfaces.cli.progress import progress_bar

    settings = load(db=db)
    path = settings.index_path()
    if build:
        with open_configured(settings) as index:
            index.admin.accelerate()
    if repair:
        with progress_bar() as progress:
            repaired = repairing.repair(path, progress=progress)
        show.repaired(repaired, as_json=json)
        problems = repaired.problems
    else:
        problems = tuple(repairing.diagnose(path))
        show.problems(problems, as_json=json)
    if problems:
        raise typer.Exit(1)


@app.command(epilog="Example: rifflux backup ~/backups/notes.db")
def backup(
    file: Annotated[Path, typer.Argument(help="Where the copy shall be.")],
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Copy the index as it is at this moment, while others may go on using it."""
    from rifflux.surfaces.cli.progress import progress_bar

    with open_configured(load(db=db)) as index, progress_bar() as progress:
        copied = index.admin.backup(file, force=force, progress=progress)
    show.copied(copied, as_json=json)


@models.command("list")
def list_models(db: Db = None, json: Json = False) -> None:
    """Show the models whose vectors the index holds, and what else can be named."""
    from rifflux.models.registry import known_models

    with open_configured(load(db=db)) as index:
        generations = index.admin.models()
    show.generations(generations, known_models(), as_json=json)


@models.command(epilog="Example: rifflux models switch ~/models/bge-small")
def switch(
    model: Annotated[str, typer.Argument(help="The other model: a name, a folder or openai:NAME.")],
    db: Db = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Make vectors of another model, and search by them when all are there.

    Until then searches go on with the old ones. An interrupted switch goes on where it was.
    """
    from rifflux.surfaces.cli.progress import progress_bar
    from rifflux.surfaces.shared.opening import configured_as

    settings = load(db=db, threads=threads)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    with open_configured(settings) as index, progress_bar() as progress:
        done = index.admin.switch(configured_as(settings, model), threads=settings.threads or None, progress=progress)
    show.switched(done, named=settings.model, as_json=json)


@models.command()
def abort(db: Db = None, json: Json = False) -> None:
    """Give up a switch that is under way, and drop the vectors that were made for it."""
    with open_configured(load(db=db)) as index:
        ended = index.admin.abort_switch()
    show.aborted(ended, as_json=json)
