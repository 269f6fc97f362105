"""Messages as an agent can follow them: it has tools, and commands are for the people it works for."""

from __future__ import annotations

import re

__all__ = ["for_agents"]

#: Commands that a tool stands for, and how the tool is named in their place.
_TOOLS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), tool)
    for pattern, tool in (
        (r"run 'rifflux index[^']*' without --no-embed", "call reindex"),
        (r"(?:run|make (?:one|them) with) 'rifflux index[^']*'", "call reindex"),
        (r"an id from 'rifflux memories list'", "an id from recall"),
        (r"'rifflux index[^']*'", "reindex"),
    )
)
#: A command that no tool stands for.
_TO_RUN = re.compile(r"run ('rifflux [^']*')")


def for_agents(text: str) -> str:
    """Return a message of ours with tools in place of commands; what has no tool is for the user to run."""
    for pattern, tool in _TOOLS:
        text = pattern.sub(tool, text)
    return _TO_RUN.sub(r"ask the user to run \1", text)
