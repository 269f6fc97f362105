"""`rifflux everything`: ask knowledge, files, notes, tasks and conversations at once."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import Explain, OnlyIn, OpenOptions, Query, Since, Until, app
from rifflux.surfaces.cli.search import print_results
from rifflux.surfaces.shared.nouns import search_json


@app.command(epilog="Example: rifflux everything 'what did we decide about caching' --user ann")
def everything(
    here: OpenOptions,
    query: Query,
    top_k: Annotated[int, typer.Option("-k", "--top-k", help="How many results, 1 to 1000.")] = 20,
    mode: Annotated[str, typer.Option(help="lexical, semantic or hybrid.")] = "hybrid",
    fusion: Annotated[
        str | None,
        typer.Option(help="How words and meaning are fused in each source: rrf, ...  [default: the profile's]"),
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind: note, task, message, ...")] = None,
    collection: OnlyIn = None,
    since: Since = None,
    until: Until = None,
    user: Annotated[str, typer.Option(help="Whose.  [default: what belongs to nobody in particular]")] = "",
    explain: Explain = False,
    full: Annotated[bool, typer.Option("--full", help="Print whole passages.")] = False,
) -> None:
    """Search all sources at once: knowledge, files, notes, tasks and conversations, each ranked by itself and weighed.

    Conversations belong to users: name one with --user.
    """
    from rifflux import Filter

    with here.opened(user) as index:
        filter = Filter((), tuple(kind or ()), since, until, collections=tuple(collection or ()))
        results = index.everything(query, top_k=top_k, mode=mode, fusion=fusion, filter=filter)
        if here.json:
            show.print_json(search_json(results))
        else:
            print_results(results, index.profile.analyzer, 0, explain=explain, full=full)
