"""`rifflux export`: make a folder that serves collections elsewhere."""

from __future__ import annotations

from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from rifflux import MissingExtra
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, app


@app.command(
    epilog="""Examples:  rifflux export ~/wiki-server && ~/wiki-server/run.sh

rifflux export ~/wiki-server --collection wiki --collection bob/plans --force

rifflux export /media/stick/wiki --offline"""
)
def export(
    here: CommonOptions,
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    collection: Annotated[
        list[str] | None,
        typer.Option(
            help="This collection.  [default: those shared with everyone, and those of nobody in particular]",
            metavar="NAME",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port that it listens on, unless told otherwise.", min=1, max=65535)] = 8642,
    offline: Annotated[
        bool, typer.Option("--offline", help="Bring all packages along, for this system and Python alone.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a former export; its tokens stay valid.")] = False,
) -> None:
    """Make a folder that serves collections elsewhere: index, program and three ways to start them.

    It contains nothing of other collections, no tokens, usage or feedback of this index, and no locations of files.
    Anybody with a token of it may read everything in it; tokens.json has two. The server only reads the folder, which
    appears once it is complete; its README.md says how to start it.
    """
    if not all(find_spec(each) for each in ("fastapi", "jinja2", "packaging")):
        raise MissingExtra("what is exported serves, and goes along as it is here: pip install 'rifflux[serve]'")
    from rifflux.surfaces.export.export import export as make

    settings = here.settings()
    with here.opened() as index, show.progress() as progress:
        made = make(
            index, settings, folder, collection or (), port=port, offline=offline, force=force, progress=progress
        )
    told = (
        f"exported {', '.join(made.collections)} ({made.documents:,} documents) to {made.path} "
        f"({made.bytes / 1e6:.1f} MB), in {made.seconds:.1f} s"
    )
    show.outcome(show.one_line(told), asdict(made), as_json=here.json)
    for note in made.notes:
        show.note(note)
    if not here.json:
        show.note(f"start it with {Path(made.path) / 'run.sh'}; tokens are in {Path(made.path) / 'tokens.json'}")
