"""Messages as clients of the service can follow them: commands, flags and variables are for whoever runs it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator

ASK = "ask an administrator"
SEND = f"send something, or {ASK} to index or share something"
#: Commands with a cure that a client has too, and that cure.
_CURES = (
    (re.compile(r"; text is kept, and 'rifflux [^']*' makes its vectors later"), "; text is kept, and found by words"),
    (re.compile(r": 'rifflux [^']*' makes them"), ""),
    (
        re.compile(r"name no model to search by meaning, or run 'rifflux models switch [^']*' to make vectors of it"),
        f"{ASK} to switch the index to it, or to search with the former one",
    ),
    (re.compile(r"run 'rifflux conversations embed'"), "send POST /conversations/vectors"),
    (re.compile(r"run 'rifflux [^']*'( without --no-embed)?"), f"{ASK} to index again"),
    (re.compile(r"; an administrator can mend that: 'rifflux index .*"), f": {SEND}"),
    (re.compile(r"'rifflux index PATH' does that"), SEND),
    (re.compile(r",? (?:who says|(?:made )?with) 'rifflux [^']*'(?: and 'rifflux [^']*')?"), ""),
    (re.compile(r"make one with 'rifflux tokens [^']*' or 'rifflux groups [^']*'"), "POST /tokens or PUT /groups/NAME"),
    (re.compile(r"'rifflux tokens create [^']*' makes one"), "POST /tokens makes one"),
    (re.compile(r"(say what it opens): rifflux config set licenses '[^']*'"), r"\1"),
    (re.compile(r": 'rifflux works list' tells the identifiers of all"), ""),
    (re.compile(r"see 'rifflux conversations import --help'"), "see POST /conversations/import at /docs"),
    (re.compile(r"'rifflux (memories|collections|groups|tokens) list'"), r"GET /\1"),
    (re.compile(r"save one with --json"), "send one as POST /retrieve gives it"),
)
_COMMAND = re.compile(r"'rifflux [^']*'|\brifflux (?:config|models) [a-z]|pip install |\bRIFFLUX_[A-Z]")
#: What only a message of an error may hold without being a command: notes quote questions.
_SETTING = re.compile(r"(?<![\w'-])--[a-z]|\bset [a-z]+_[a-z_]+\b")
Report = TypeVar("Report")


def for_clients(text: str) -> str:
    """Return a note without commands: with the client's own cure where there is one, else with `ASK`."""
    for command, cure in _CURES:
        text = command.sub(cure, text)
    return _without_cures(text, _COMMAND)


def error_for_clients(text: str) -> str:
    """Return the message of an error without commands, settings and flags."""
    return _without_cures(for_clients(text), _SETTING)


def _without_cures(text: str, command: re.Pattern[str]) -> str:
    """Return a message whose cures that name a command are `ASK`; a cure is what follows a colon."""
    if not command.search(text):
        return text
    statements = []
    for statement in text.split("; "):
        problem, colon, cure = statement.partition(": ")
        if command.search(problem):
            statements.append(ASK)
        elif command.search(cure):
            statements.append(f"{problem}{colon}{ASK}")
        else:
            statements.append(statement)
    return "; ".join(statements)


#: A message in an answer.
Told = Annotated[str, AfterValidator(for_clients)]


def worded(report: Report) -> Report:
    """Return a report whose `degraded` and `notes`, as far as it has them, are told as clients can follow them."""
    told: Any = report
    lists = {name: getattr(told, name) for name in ("degraded", "notes") if hasattr(told, name)}
    return replace(told, **{name: tuple(map(for_clients, each)) for name, each in lists.items()})  # type: ignore[no-any-return]
