"""`rifflux judge`: record how well a document answers a question."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import Db, Json, app, local, opened
from rifflux.surfaces.shared.nouns import event_json


@app.command(epilog="Example: rifflux judge 'how long do cache entries live' notes/cache.md --grade 2")
def judge(
    query: Annotated[str, typer.Argument(help="What was asked.")],
    document: Annotated[str, typer.Argument(help="A path, a key, or the id of a chunk.", metavar="DOCUMENT")],
    grade: Annotated[int, typer.Option(help="How well it answers: 0 is not at all, up to 10.")] = 1,
    user: Annotated[str, typer.Option(help="Whose judgement it is.")] = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Record how well a document answers a query, for 'rifflux eval --from-feedback'.

    A later judgement of the same query and document replaces an earlier one.
    """
    with opened(db=db) as index:
        event = index.judge(query, local(document, index), grade, user=user)
    if json:
        show.print_json(event_json(event))
    else:
        told = f"recorded: {event.key} has grade {event.grade} for {event.query!r}"
        show.console(error=True).print(show.safe(told))
