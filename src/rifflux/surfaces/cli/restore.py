"""`rifflux restore`: restore the index from a copy."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rifflux import InvalidArgument
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, app
from rifflux.surfaces.cli.cures import CURES
from rifflux.surfaces.shared.cures import with_cure


@app.command(epilog="Example: rifflux restore ~/backups/notes.db")
def restore(
    here: CommonOptions,
    file: Annotated[Path, typer.Argument(help="A copy that 'rifflux backup' made.")],
    beside: Annotated[
        Path | None,
        typer.Option("--as", help="Put it there and leave the index alone.  [default: in its place]", metavar="FILE"),
    ] = None,
) -> None:
    """Restore the index from a copy.

    The copy is checked first, and the replaced index is kept next to it. Nothing is changed if the copy is damaged, or
    while a process has the index open. A state file that was copied with the index is restored by the same command:
    --db STATE.
    """
    import rifflux

    if beside is not None and beside.expanduser().exists():
        raise InvalidArgument(f"{beside} exists: name another file")
    path = here.settings().index_path(create=True) if beside is None else beside.expanduser()
    restored = rifflux.restore(file, path)
    text = f"restored {restored.documents:,} documents to {restored.path}"
    if restored.previous:
        text += f"; what was there is kept as {restored.previous}"
    show.outcome(show.one_line(text), asdict(restored), as_json=here.json)
    for problem in restored.problems:
        show.note(with_cure(problem, CURES))
