"""`rifflux backup`: copy the index while others use it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, app


@app.command(epilog="Example: rifflux backup ~/backups/notes.db")
def backup(
    here: CommonOptions,
    file: Annotated[Path, typer.Argument(help="Where the copy shall be.")],
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Copy the index as it is at this moment, while others may go on using it; a state file to FILE.state."""
    with here.opened() as index, show.progress() as progress:
        copied = index.admin.backup(file, force=force, progress=progress)
    told = f"copied to {copied.path} ({copied.bytes / 1e6:.1f} MB), in {copied.seconds:.1f} s"
    told += f"; the state to {copied.state}" if copied.state else ""
    show.outcome(show.one_line(told), asdict(copied), as_json=here.json)
