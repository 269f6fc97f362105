"""`rifflux log`: decisions on accounts, sharing and settings."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, app
from rifflux.surfaces.shared.nouns import nouns_json


@app.command(epilog="Example: rifflux log --limit 20")
def log(
    here: CommonOptions,
    limit: Annotated[int, typer.Option(help="How many entries, 1 to 1000.", min=1, max=1000)] = 50,
    after: Annotated[int | None, typer.Option(help="Those that are older than the entry of this id.", min=1)] = None,
) -> None:
    """List who decided what, the newest first: tokens, sharing, groups, collections, users and settings.

    Entries are kept for two years, the newest 10,000 of each user; without a user, it was done on the command line.
    """
    with here.registry() as registry:
        found = nouns_json(registry.log(after, limit))
    show.table(
        found,
        ("id", "done_at", "user", "action", "target", "owner", "who", "detail"),
        nothing="nothing was decided yet" if after is None else "no older entries",
        as_json=here.json,
    )
