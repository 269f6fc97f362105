"""`rifflux judge`: record how well a document answers a question."""

from __future__ import annotations

from rifflux.requests import JudgeRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, app, local
from rifflux.types.nouns import noun_json


@app.command(epilog="Example: rifflux judge 'how long do cache entries live' notes/cache.md --grade 2")
def judge(request: JudgeRequest, here: CommonOptions) -> None:
    """Record how well a document answers a query, for 'rifflux eval --from-feedback'.

    A later judgement of the same query and document replaces an earlier one.
    """
    with here.opened() as index:
        event = index.judge(**vars(request) | {"document": local(request.document, index)})
    if here.json:
        show.print_json(noun_json(event, chunk_id=event.chunk or None))
    else:
        told = f"recorded: {event.key} has grade {event.grade} for {event.query!r}"
        show.console(error=True).print(show.one_line(told))
