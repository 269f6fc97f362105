"""`rifflux everything`: search knowledge, files, notes, tasks and conversations at once."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.requests import EverythingRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import Explain, OpenOptions, app
from rifflux.surfaces.cli.search import print_results
from rifflux.surfaces.shared.nouns import search_json


@app.command(epilog="Example: rifflux everything 'what did we decide about caching' --user ann")
def everything(
    request: EverythingRequest,
    here: OpenOptions,
    user: Annotated[str, typer.Option(help="Whose.  [default: what belongs to nobody in particular]")] = "",
    explain: Explain = False,
    full: Annotated[bool, typer.Option("--full", help="Print whole passages.")] = False,
) -> None:
    """Search knowledge, files, notes, tasks and conversations at once, each ranked separately and weighted.

    Conversations belong to users: name one with --user.
    """
    with here.opened(user) as index:
        results = index.everything(**vars(request))
        if here.json:
            show.print_json(search_json(results))
        else:
            print_results(results, index.profile.analyzer, 0, explain=explain, full=full)
