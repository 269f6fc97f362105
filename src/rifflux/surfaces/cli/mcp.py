"""`rifflux mcp`: serve the index to agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rifflux.surfaces.cli.app import EngineOptions, app, finder
from rifflux.surfaces.shared.config import opening


@app.command(epilog="Example: rifflux mcp --http 127.0.0.1:8765")
def mcp(
    here: EngineOptions,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder that reindex may read.  [default: the working directory, if it is no home or disk]"
        ),
    ] = None,
    http: Annotated[
        str | None, typer.Option(help="Serve streamable HTTP here.  [default: stdio]", metavar="HOST:PORT")
    ] = None,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Ask for tokens on this machine too, as on every other address.")
    ] = False,
    user: Annotated[str, typer.Option(help="Whose memories the agent keeps.")] = "",
    watch: Annotated[bool, typer.Option("--watch", help="Follow all files of the index as they change.")] = False,
) -> None:
    """Serve the index to agents over the Model Context Protocol: they search it, and keep memories in it.

    Over HTTP, whoever comes from another machine needs a token of 'rifflux tokens create', and sees what is theirs.
    """
    from rifflux.service.usage import read_prices
    from rifflux.surfaces.mcp import serve

    settings = here.settings()
    serve(
        settings.index_path(create=True),
        roots=root,
        finder=finder(settings),
        http=_address(http) if http else None,
        tokens=tokens,
        user=user,
        watch=watch,
        rrf_k=settings.rrf_k,
        prices=read_prices(settings.prices),
        budget=settings.budget,
        **opening(settings),
    )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) <= 65535:
        raise typer.BadParameter(f"{text!r} is not HOST:PORT", param_hint="--http")
    return host.strip("[]") or "127.0.0.1", int(port)
