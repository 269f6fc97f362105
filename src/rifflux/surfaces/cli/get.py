"""`rifflux get`: print a chunk or a document."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import WhoseCommonOptions, app, local
from rifflux.surfaces.shared.nouns import document_json, hit_json


@app.command(epilog="Examples: rifflux get notes/cache.md · rifflux get notes/cache.md:10-40 · rifflux get cache")
def get(
    here: WhoseCommonOptions,
    id: Annotated[
        str,
        typer.Argument(
            help="A chunk id, or a document's path, name, key or identifier; lines of it as PATH:10-40.",
            metavar="CHUNK_OR_PATH",
        ),
    ],
) -> None:
    """Print a chunk, a whole document or some lines of it; on a pipe, its exact text."""
    from rifflux import Hit

    with here.opened() as index:
        found = index.get(local(id, index))
    if here.json:
        show.print_json(hit_json(found) if isinstance(found, Hit) else document_json(found))
        return
    if isinstance(found, Hit):
        text = found.text
    else:
        text = found.text
    if sys.stdout.isatty():
        text = show.safe(text)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()
