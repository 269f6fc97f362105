"""`rifflux verify`: check the passages of an evidence pack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rifflux import NotFound
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, WorksOf, app
from rifflux.surfaces.shared.packs import read_pack, verified_json


@app.command(epilog="Example: rifflux verify evidence.json")
def verify(
    here: CommonOptions,
    pack: Annotated[
        Path, typer.Argument(help="A pack, as 'rifflux retrieve --json' and 'rifflux ask --json' print it.")
    ],
    offline: Annotated[bool, typer.Option("--offline", help="Check it by itself, without the index.")] = False,
    user: WorksOf = "",
) -> None:
    """Check every passage of an evidence pack against its hash and its work, and the facts of the work.

    Exit status 1 if something is not as it was.
    """
    from rifflux import verify as check

    if not pack.is_file():
        raise NotFound(f"no file at {pack}: save a pack with 'rifflux retrieve --json'")
    evidence = read_pack(pack.read_text("utf-8", "replace"))
    if offline:
        problems = check(evidence)
    else:
        with here.opened(user) as index:
            problems = index.works.verify(evidence)
    count = len(evidence.items)
    told = "\n".join(problems) or (f"{count} passages are as they were" if count else "it holds no passages to check")
    show.outcome(told, verified_json(evidence, problems), as_json=here.json)
    if problems:
        raise typer.Exit(1)
