"""`rifflux usage`: what calls of models cost."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.requests import Since, SummedBy, Until
from rifflux.service.registry import period
from rifflux.service.usage import summed
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, app


@app.command(epilog="Example: rifflux usage --by user,model --since 2026-01-01")
def usage(
    here: CommonOptions,
    user: Annotated[str | None, typer.Option(help="Only of this user.  [default: all]")] = None,
    by: SummedBy = "day,user,model",
    since: Since = None,
    until: Until = None,
) -> None:
    """Show what calls of models cost."""
    with here.registry() as registry:
        sums = registry.spent(user, *period(since, until))
    names = [name.strip() for name in by.split(",") if name.strip()]
    show.table(
        summed(sums, names), (*names, "calls", "tokens", "cost"), nothing="no model was called yet", as_json=here.json
    )
