"""`rifflux classify`: classify a question."""

from __future__ import annotations

from rifflux.requests import ClassifyRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, app
from rifflux.surfaces.shared.verdicts import understanding_line
from rifflux.types.nouns import noun_json


@app.command(epilog="Example: rifflux classify 'what does error E404 mean'")
def classify(request: ClassifyRequest, here: CommonOptions) -> None:
    """Tell what sort of question it is for this index: one identifier, mixed or conceptual, and why."""
    with here.opened() as index:
        understood = index.classify(request.query)
    show.outcome(understanding_line(understood), noun_json(understood), as_json=here.json)
