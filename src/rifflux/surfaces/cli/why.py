"""`rifflux why`: why a document is where it is for a question."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import (
    Db,
    Fusion,
    Json,
    Kinds,
    Mode,
    Model,
    Paths,
    Since,
    Synonyms,
    Threads,
    Until,
    Where,
    app,
    filter_of,
    local,
)
from rifflux.surfaces.shared.config import load, open_configured
from rifflux.surfaces.shared.verdicts import verdict_json, verdict_lines


@app.command(
    epilog="""Examples:  rifflux why "how long do cache entries live" notes/cache.md

rifflux why "cache ttl" notes/cache.md -k 5 --fusion rrf --kind markdown"""
)
def why(
    query: Annotated[str, typer.Argument(help="The question, as in search.")],
    document: Annotated[
        str, typer.Argument(help="A document's path, key or identifier, or a chunk id.", metavar="DOCUMENT")
    ],
    top_k: Annotated[
        int | None, typer.Option("-k", "--top-k", help="How many results the page has.  [default: 10]")
    ] = None,
    mode: Mode = None,
    fusion: Fusion = None,
    rerank: Annotated[str | None, typer.Option(help="The reranker, as in search.", metavar="NAME")] = None,
    path: Paths = None,
    kind: Kinds = None,
    since: Since = None,
    until: Until = None,
    where: Where = None,
    synonyms: Synonyms = None,
    db: Db = None,
    model: Model = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Tell why a document ranks where it does for a question, or what keeps it off the page and what would help."""
    settings = load(db=db, model=model, threads=threads, top_k=top_k, mode=mode, synonyms=synonyms)
    with open_configured(settings) as index:
        verdict = index.why(
            query,
            local(document, index),
            top_k=settings.top_k,
            mode=settings.mode,
            fusion=fusion,
            rerank=rerank,
            filter=filter_of(path, kind, since, until, where),
        )
    if json:
        show.print_json(verdict_json(verdict))
        return
    console = show.console()
    headline, *lines = map(show.safe, verdict_lines(verdict))
    console.print(headline, style="bold green" if verdict.found else "bold yellow")
    for line in lines:
        console.print(line)
