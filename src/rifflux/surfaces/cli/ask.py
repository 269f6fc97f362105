"""`rifflux ask`: answer a question, each sentence with its citations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux import Answer, AnswerEvent, Delta, Done, Failed, Sources
from rifflux.requests import AnswerRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import OpenOptions, WhoseOptions, app
from rifflux.surfaces.cli.cures import CURES
from rifflux.surfaces.shared.answers import answer_json, event_json
from rifflux.surfaces.shared.cures import with_cure

if TYPE_CHECKING:
    from rifflux import EvidenceItem


@dataclass(frozen=True)
class AskOptions(OpenOptions, WhoseOptions):
    """The index that answers, and how it is opened and printed, for `ask` and `chat`."""


@app.command(
    epilog="""Examples:  rifflux ask "how long do cache entries live"

rifflux ask "who moves the cache" --json > answer.json && rifflux verify answer.json

RIFFLUX_CHAT_URL=http://localhost:11434/v1 RIFFLUX_CHAT_MODEL=llama3.2 rifflux ask 'explain caching'""",
)
def ask(
    question: Annotated[str, typer.Argument(help="What to answer from what is indexed.")],
    request: AnswerRequest,
    here: AskOptions,
    events: Annotated[bool, typer.Option("--events", help="Print each event as it comes, a line of JSON.")] = False,
    fail_empty: Annotated[bool, typer.Option("--fail-empty", help="Exit status 1 if it is refused.")] = False,
) -> None:
    """Answer a question from what is indexed, each sentence with its citations.

    Sentences are quoted word for word; if a chat model is set (chat_url, chat_model), it writes them, and what no
    source supports is left out. A question that the index does not answer is refused, with the nearest passages.
    """
    with here.opened() as index:
        if events:
            answer = _printed_events(index.answering(question, **vars(request)))
        elif here.json:
            answer = answered(index.answering(question, **vars(request)))
            show.print_json(answer_json(answer))
        else:
            answer = printed(partial(index.answering, question), request)
    if fail_empty and answer.refused:
        raise typer.Exit(1)


def answered(events: Iterator[AnswerEvent]) -> Answer:
    """Return the answer that events end with. Raises the error that they end with instead."""
    for event in events:
        if isinstance(event, Failed):
            raise event.error
        if isinstance(event, Done):
            return event.answer
    raise AssertionError("the last event is an answer or an error")


def printed(answering: Callable[..., Iterator[AnswerEvent]], request: AnswerRequest) -> Answer:
    """Print an answer as it is streamed, then its sources, and return it.

    Ctrl-C while a model is waited for ends that: the answer is quoted instead.
    """
    waits = False

    def printed(events: Iterator[AnswerEvent]) -> Iterator[AnswerEvent]:
        nonlocal waits
        for event in events:
            if isinstance(event, Sources) and event.searched != event.question:
                show.note(f"searched for: {event.searched}", "dim")
            if isinstance(event, Sources) and event.model:
                waits = True
                show.note(f"waiting for {event.model}; Ctrl-C quotes the sources instead", "dim")
            if isinstance(event, Delta):
                first, last = event.answering or (0, 0)
                answering = typer.style(show.safe(event.text[first:last]), bold=True) if last else ""
                before = show.safe(event.text[:first])
                typer.echo(f"{before}{answering}{show.safe(event.text[last:])}", nl=False)
                waits = False
            yield event

    try:
        answer = answered(printed(answering(**vars(request))))
    except KeyboardInterrupt:
        if not waits:
            raise
        answer = answered(printed(answering(**{**vars(request), "extract": True})))
    if answer.text:
        typer.echo()
    _print_sources(answer)
    _print_notes(answer)
    return answer


def _printed_events(events: Iterator[AnswerEvent]) -> Answer:
    def printed() -> Iterator[AnswerEvent]:
        for event in events:
            show.print_json({"event": event.name, **event_json(event)}, one_line=True)
            yield event

    return answered(printed())


def _print_sources(answer: Answer) -> None:
    """Print the cited passages, or the nearest ones of a refused answer, one per line."""
    from rich.text import Text

    console = show.console()
    cited = {citation.number for citation in answer.citations}
    if answer.refused:
        typer.echo(show.safe(answer.reason))
    items = [item for item in answer.pack.items if item.number in cited or answer.refused]
    if items:
        console.print()
    for item in items:
        show.hanging(console, Text.assemble((f"[{item.number}] ", "bold"), (_place(item), "cyan")), 4)


def _place(item: EvidenceItem) -> str:
    if "/" in item.collection:
        collection = f"{item.collection}: "
    else:
        collection = ""
    if item.title and item.title != item.heading_path.partition(" > ")[0]:
        title = f"  {item.title}"
    else:
        title = ""
    if item.heading_path:
        heading = f"  {item.heading_path}"
    else:
        heading = ""
    return show.one_line(f"{collection}{item.key}{title}{heading}")


def _print_notes(answer: Answer) -> None:
    """Print remarks on the answer to stderr."""
    if answer.withdrawn:
        if len(answer.withdrawn) == 1:
            what = "sentence that stands"
        else:
            what = "sentences that stand"
        show.note(f"left out: {len(answer.withdrawn)} {what} in no source")
    show.degraded(answer.degraded)
    for notice in answer.notes:
        show.note(with_cure(notice, CURES), "dim")
