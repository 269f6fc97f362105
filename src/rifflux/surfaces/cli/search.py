"""`rifflux search`: find the best passages for a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux.requests import SearchRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import Explain, QuestionOptions, RerankByDefault, app
from rifflux.surfaces.shared.nouns import search_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from rifflux import Hit, Results
    from rifflux.text.analyzer import Analyzer

#: The kind of hits that are messages.
MESSAGE = "message"
#: The margin of the lines of a hit, in characters.
MARGIN = 3


@app.command(
    epilog="""Examples:  rifflux search "how long do cache entries live" -k 5

rifflux search '"exact phrase" -without prefix* kind:markdown' --mode lexical

rifflux search "how long do cache entries live" --rerank maxsim --deadline-ms 200

rifflux search --symbol parse_header""",
    cls=RerankByDefault,
)
def search(
    request: SearchRequest,
    here: QuestionOptions,
    explain: Explain = False,
    full: Annotated[bool, typer.Option("--full", help="Print whole passages.")] = False,
    fail_empty: Annotated[bool, typer.Option("--fail-empty", help="Exit status 1 if nothing is found.")] = False,
) -> None:
    """Find the best passages for a question, by words and by meaning."""
    with here.opened() as index:
        results = index.search(**here.arguments(request))
        if here.json:
            show.print_json(search_json(results))
        else:
            print_results(results, index.profile.analyzer, request.offset, explain=explain, full=full)
    if fail_empty and not results:
        raise typer.Exit(1)


def print_results(found: Results, analyzer: Analyzer, offset: int, *, explain: bool, full: bool) -> None:
    """Print a page of results, those from `offset` on."""
    from rifflux.surfaces.shared.verdicts import explanation_lines, understanding_line

    console, errors, trace = show.console(), show.console(error=True), found.trace
    for rank, hit in enumerate(found, offset + 1):
        _print_hit(console, rank, hit)
        for line in _indented(show.excerpt(hit.text, found.query, analyzer.of(hit.language), full=full)):
            show.hanging(console, line, MARGIN)
        for reason in explanation_lines(hit.why) if explain else ():
            console.print(f"   {show.safe(reason)}", style="dim")
        console.print()
    show.notes(trace, nothing=not found)
    if explain:
        if trace.understanding:
            errors.print(show.safe(understanding_line(trace.understanding)), style="dim")
        spent = ", ".join(f"{stage} {ms:.1f} ms" for stage, ms in trace.milliseconds.items())
        errors.print(f"{trace.effective_mode}: {spent}", style="dim")


def _print_hit(console: Console, rank: int, hit: Hit) -> None:
    from rich.text import Text

    place = Text.assemble((f"{rank:>2} ", "bold"), (show.one_line(_place(hit)), "bold cyan"))
    if hit.kind == MESSAGE and hit.root is None:
        place.append(f"  {show.one_line(_speaker_and_time(hit))}", "cyan")
    elif hit.heading_path:
        place.append(f"  {show.one_line(hit.heading_path)}", "cyan")
    if hit.relevance is not None:
        rated = f" {hit.quality} {hit.relevance:.2f}"
    else:
        rated = ""
    place.append(f"  {hit.score:.4f}{rated} {hit.id}", "dim")
    show.hanging(console, place, MARGIN)


def _speaker_and_time(hit: Hit) -> str:
    """Return the speaker and the time of a message."""
    speaker = str(hit.metadata.get("speaker") or hit.metadata.get("role") or "")
    return ", ".join(filter(None, (speaker, (hit.created_at or "")[:10])))


def _place(hit: Hit) -> str:
    """Return the path of a hit from the working directory, and its key if its file holds several documents.

    For a message, return the title and the id of its conversation.
    """
    if hit.kind == MESSAGE and hit.root is None:
        return f"{hit.title or 'untitled'} ({hit.namespace})"
    if not hit.owned:
        return f"{hit.collection}/{hit.key}"
    if hit.root is None:
        return hit.key
    root = Path(hit.root)
    if hit.key == hit.path:
        return show.from_here(root / hit.path) + (f":{hit.lines[0]}" if hit.lines else "")
    return show.from_here(root / hit.key)


def _indented(excerpt: Text) -> list[Text]:
    """Return the non-empty lines of a passage, indented."""
    from rich.text import Text

    lines = [line for line in excerpt.split("\n", allow_blank=True) if line.plain.strip()]
    return [Text(" " * MARGIN).append_text(line) for line in lines]
