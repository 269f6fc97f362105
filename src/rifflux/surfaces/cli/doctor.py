"""`rifflux doctor`: find and repair damage in the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux import kernels
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, app
from rifflux.surfaces.cli.cures import CURES
from rifflux.surfaces.shared.config import exposed_keys
from rifflux.surfaces.shared.cures import cure_of

if TYPE_CHECKING:
    from rifflux.session.maintenance import Repaired
    from rifflux.store import Problem


@app.command(epilog="Example: rifflux doctor --repair")
def doctor(
    here: CommonOptions,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be rebuilt.")] = False,
    build: Annotated[bool, typer.Option("--build", help="First build what makes a large index fast.")] = False,
) -> None:
    """Find and repair damage in the index. Exit status 0 only if nothing is damaged in the end.

    An unreadable database is rebuilt from what can be read, and kept next to the new one. Files of the index that
    everybody on this machine may read are reported, and closed to them; permissions of groups stay. A configuration
    file with keys that everybody may read is reported. The model of an endpoint embeds one text, which shows whether it
    made the vectors. A state file is checked too; --db repairs it.
    """
    import rifflux

    settings = here.settings()
    path = settings.index_path()
    exposed = [*(_exposed(each) for each in exposed_keys(settings))]
    if build:
        with here.opened() as index:
            index.admin.accelerate()
    if repair:
        with show.progress() as progress:
            repaired = rifflux.repair(path, progress=progress)
        repaired = replace(repaired, problems=(*repaired.problems, *exposed))
        _print_repaired(repaired, path, as_json=here.json)
        problems: Sequence[Problem] = repaired.problems
    else:
        found = rifflux.diagnose(
            path,
            state=settings.state,
            model=(settings.model or None) if settings.api_key else None,
            base_url=settings.base_url or None,
            api_key=settings.api_key or None,
        )
        problems = [*found, *exposed]
        if here.json:
            show.print_json(_json(problems))
        else:
            _print(problems, path)
    if problems:
        raise typer.Exit(1)


def _exposed(path: Path) -> Problem:
    from rifflux import Cure
    from rifflux.store import Problem

    return Problem(f"everybody on this machine may read the keys in {path}", Cure.HIDE_KEYS, {"place": str(path)})


def _json(problems: Sequence[Problem]) -> dict[str, object]:
    found = [asdict(problem) for problem in problems]
    return {"sound": not problems, "problems": found, "kernels": kernels.description}


def _print_repaired(done: Repaired, path: str | Path, *, as_json: bool) -> None:
    if as_json:
        show.print_json({**_json(done.problems), "done": done.done, "original": done.original})
        return
    for line in done.done:
        show.console().print(show.one_line(line))
    if done.original:
        show.console().print(f"the damaged file is kept as {show.one_line(done.original)}", style="yellow")
    _print(done.problems, path)


def _print(problems: Sequence[Problem], path: str | Path) -> None:
    from rifflux.store import former_versions

    console = show.console()
    for problem in problems:
        console.print(show.one_line(problem.what), style="red")
        if problem.cure:
            console.print(f"   {show.one_line(cure_of(problem, CURES))}", style="red")
    if not problems:
        console.print("the index is sound", style="green")
    for notice in former_versions(path):
        console.print(show.one_line(notice.text))
    console.print(f"searches compute by {show.safe(kernels.description)}")
