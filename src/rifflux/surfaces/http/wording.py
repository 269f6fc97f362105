"""Messages as a client of the service can follow them: commands are for who runs it, and are not told."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator

__all__ = ["Told", "for_clients", "worded"]

#: What a command would do, and what is told in its place.
_WORDS = (
    (re.compile(r"; text is kept, and 'rifflux [^']*' makes its vectors later"), "; text is kept, and found by words"),
    (re.compile(r": 'rifflux [^']*' makes them"), ""),
    (re.compile(r"an id from 'rifflux memories list'"), "an id from GET /memories"),
    (re.compile(r"run 'rifflux [^']*'( without --no-embed)?"), "ask an administrator to index again"),
)
Report = TypeVar("Report")


def for_clients(text: str) -> str:
    """Return a message of ours without commands."""
    for command, instead in _WORDS:
        text = command.sub(instead, text)
    return text


#: A message in an answer.
Told = Annotated[str, AfterValidator(for_clients)]


def worded(report: Report) -> Report:
    """Return a report whose `degraded` and `notes`, as far as it has them, are told as clients can follow them."""
    told: Any = report
    lists = {name: getattr(told, name) for name in ("degraded", "notes") if hasattr(told, name)}
    return replace(told, **{name: tuple(map(for_clients, each)) for name, each in lists.items()})  # type: ignore[no-any-return]
