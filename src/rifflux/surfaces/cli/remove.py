"""`rifflux remove`: remove documents and files from the index."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import WhoseCommonOptions, app

#: The most names that are printed.
MOST_LISTED = 20


@app.command(
    epilog="""Examples:  rifflux remove ~/notes/old.md

rifflux remove '*.log' 'drafts/' --dry-run

rifflux remove doi:10.1000/182"""
)
def remove(
    here: WhoseCommonOptions,
    names: Annotated[
        list[str], typer.Argument(help="Files, folders, patterns as in .gitignore, or documents by key or identifier.")
    ],
    collection: Annotated[
        str, typer.Option(help="Only of this collection.  [default: all of your own]", metavar="NAME")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Remove documents and files from the index. The files themselves stay.

    What is removed of a folder, or matches a pattern, stays removed until it is named again, as by 'rifflux index
    PATH'; 'rifflux status' lists it.
    """
    with here.opened() as index:
        done = index.remove(*names, collection=collection, dry_run=dry_run)
    if here.json:
        show.print_json(asdict(done))
        return
    for name in done.names[:MOST_LISTED]:
        show.console().print(show.one_line(name))
    if len(done.names) > MOST_LISTED:
        show.console().print(f"and {len(done.names) - MOST_LISTED:,} more (--json lists all)")
    verb = "would be removed" if dry_run else "removed"
    show.console().print(f"{show.counted(done.documents, 'document')} {verb}")
