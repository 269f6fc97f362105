"""`rifflux chat`: answer questions in a conversation."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

import typer

from rifflux import RiffluxError
from rifflux.requests import AnswerRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import app
from rifflux.surfaces.cli.ask import AskOptions, answered, printed
from rifflux.surfaces.cli.cures import CURES
from rifflux.surfaces.shared.answers import answer_json
from rifflux.surfaces.shared.cures import with_cure

#: Before each line that is read from a terminal.
PROMPT = "> "
#: Lines that end a conversation, and one that begins a new one.
ENDS = ("/quit", "/exit")
AGAIN = "/new"


@app.command(
    epilog="""Examples:  rifflux chat

printf 'how long do cache entries live\\nand jobs?\\n' | rifflux chat --json"""
)
def chat(request: AnswerRequest, here: AskOptions) -> None:
    """Answer questions as they are typed, a line each, until /quit or the end of the input.

    A question that depends on the one before is completed, and the completed question is printed. /new starts over.
    """
    with here.opened() as index:
        history: list[dict[str, str]] = []
        while (line := _line()) is not None:
            question = line.strip()
            if question in ENDS:
                break
            if question == AGAIN or not question:
                history = [] if question else history
                if question and request.chat:
                    request = replace(request, chat="new")
                continue
            try:
                if here.json:
                    answer = answered(index.answering(question, history, **vars(request)))
                else:
                    answer = printed(partial(index.answering, question, history), request)
            except RiffluxError as error:  # the next question may do better
                show.note(with_cure(error, CURES))
                continue
            if here.json:
                show.print_json(answer_json(answer), one_line=True)
            if request.chat:  # what was said stands in the chat
                request = replace(request, chat=answer.chat or request.chat)
                continue
            reply = answer.text or answer.reason
            history += [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]


def _line() -> str | None:
    """Return the next line that is typed; None at the end."""
    if sys.stdin.isatty():
        try:
            return input(PROMPT)
        except EOFError:
            typer.echo()
            return None
    return sys.stdin.readline() or None
