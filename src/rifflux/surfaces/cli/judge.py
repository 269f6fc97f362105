"""`rifflux judge`: record how well a document answers a question."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, app, local
from rifflux.types.nouns import noun_json


@app.command(epilog="Example: rifflux judge 'how long do cache entries live' notes/cache.md --grade 2")
def judge(
    here: CommonOptions,
    query: Annotated[str, typer.Argument(help="What was asked.")],
    document: Annotated[str, typer.Argument(help="A path, a key, or the id of a chunk.", metavar="DOCUMENT")],
    grade: Annotated[int, typer.Option(help="How well it answers: 0 is not at all, up to 10.")] = 1,
    user: Annotated[str, typer.Option(help="Whose judgement it is.")] = "",
) -> None:
    """Record how well a document answers a query, for 'rifflux eval --from-feedback'.

    A later judgement of the same query and document replaces an earlier one.
    """
    with here.opened() as index:
        event = index.judge(query, local(document, index), grade, user=user)
    if here.json:
        show.print_json(noun_json(event, chunk_id=event.chunk or None))
    else:
        told = f"recorded: {event.key} has grade {event.grade} for {event.query!r}"
        show.console(error=True).print(show.safe(told))
