"""`rifflux browse`: the page for one person."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from rifflux import MissingExtra
from rifflux.surfaces.cli.app import EngineOptions, app


@app.command(
    epilog="""Examples:  rifflux index ~/notes && rifflux browse

rifflux browse --user ann --watch"""
)
def browse(
    here: EngineOptions,
    user: Annotated[
        str, typer.Option(help="As this user has it.  [default: what belongs to nobody in particular]")
    ] = "",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 0,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the files of all collections as they change.")] = False,
    window: Annotated[
        bool, typer.Option("--window/--no-window", help="Open a browser, or print the address alone.")
    ] = True,
) -> None:
    """Search, read and ask in a browser: serve the page for you alone, until Ctrl-C.

    It listens on this machine only, and the printed address opens it once. `rifflux serve` has the same page for
    several people, each with a token.
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtra("the page needs more packages: pip install 'rifflux[serve]'")
    from rifflux.surfaces.http.browse import browse as run

    options = {name: value for name, value in vars(here).items() if value is not None}
    run(options, user, port, watch=watch, window=window, opened=lambda address: typer.echo(address))
