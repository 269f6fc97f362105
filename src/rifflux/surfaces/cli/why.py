"""`rifflux why`: explain the rank of a document."""

from __future__ import annotations

from rifflux.requests import WhyRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import QuestionOptions, RerankByDefault, app, local
from rifflux.surfaces.cli.cures import CURES
from rifflux.surfaces.shared.cures import with_cure
from rifflux.surfaces.shared.verdicts import verdict_json, verdict_lines


@app.command(
    epilog="""Examples:  rifflux why "how long do cache entries live" notes/cache.md

rifflux why "cache ttl" notes/cache.md -k 5 --fusion rrf --kind markdown""",
    cls=RerankByDefault,
)
def why(request: WhyRequest, here: QuestionOptions) -> None:
    """Explain why a document ranks where it does for a question, or what keeps it out of the results and would help."""
    with here.opened() as index:
        verdict = index.why(**here.arguments(request) | {"document": local(request.document, index)})
    if here.json:
        show.print_json(verdict_json(verdict))
        return
    console = show.console()
    headline, *lines = (show.one_line(each) for each in verdict_lines(verdict, lambda notice: with_cure(notice, CURES)))
    console.print(headline, style="bold green" if verdict.found else "bold yellow")
    for line in lines:
        console.print(line)
