"""`rifflux online`: online measures of questions over HTTP."""

from __future__ import annotations

from rifflux.requests import Since, Until
from rifflux.service.analytics import Diary
from rifflux.service.registry import period
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, app


@app.command(epilog="Example: rifflux online --since 2026-01-01")
def online(
    here: CommonOptions,
    since: Since = None,
    until: Until = None,
) -> None:
    """Show online measures of questions over HTTP by day: shares clicked, saved, rephrased, marked not relevant."""
    with here.registry() as registry:
        rows = [day.row() for day in Diary(registry).days(*period(since, until))]
    columns = ("day", "questions", "click_through", "saved", "reformulated", "not_relevant", "unmatched")
    show.table(rows, columns, nothing="nothing was asked over HTTP yet", as_json=here.json)
