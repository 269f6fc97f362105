"""`rifflux copy`: copy an index to another place, a file or a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux import Conflict
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import Json, app
from rifflux.surfaces.shared.config import load

if TYPE_CHECKING:
    from rifflux.index.copying import CopiedPart

_COLUMNS = ("part", "source", "copy", "equal", "hash")


@app.command("copy", epilog="Example: rifflux copy notes.db opensearch://localhost:9200/notes")
def copy_(
    source: Annotated[str, typer.Argument(help="The index: a file, or opensearch://HOST:PORT/NAME.", metavar="FROM")],
    target: Annotated[str, typer.Argument(help="Where the copy shall be, in the same way.", metavar="TO")],
    json: Json = False,
) -> None:
    """Copy the index at FROM to TO, a file or a cluster, and verify the copy.

    Others may go on using FROM. If this is ended before it is complete, run it again: it goes on. A complete copy takes
    what came since, as long as nobody has changed it.
    """
    from rifflux.index.copying import copy

    places = [load(db=each).location(create=True) for each in (source, target)]
    try:
        with show.progress() as progress:
            report = copy(*places, progress=progress)
    except KeyboardInterrupt:
        show.note("what was copied so far is kept: run the same command again to go on")
        raise
    except Conflict as error:
        _show(error.data.get("parts", ()), as_json=json)  # type: ignore[arg-type]
        raise
    if json:
        show.print_json(asdict(report))
    else:
        _show(report.parts, as_json=False)
    show.degraded(report.notices)


def _show(parts: Sequence[CopiedPart], *, as_json: bool) -> None:
    rows = [
        {
            "part": each.name,
            "source": each.source,
            "copy": each.target,
            "equal": "yes" if each.equal else "no",
            "hash": each.hash[:12],
        }
        for each in parts
    ]
    show.table(rows, _COLUMNS, nothing="nothing was compared", as_json=as_json)
