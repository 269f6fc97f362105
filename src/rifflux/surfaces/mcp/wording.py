"""Messages as an agent can follow them: it has tools, and commands are for the people it works for."""

from __future__ import annotations

import re

#: Commands that a tool stands for, and how the tool is named in their place.
_ALWAYS = ((re.compile(r"an id from 'rifflux memories list'"), "an id from recall"),)
_TOOLS = (
    (re.compile(r"run 'rifflux index[^']*' without --no-embed"), "call reindex"),
    (re.compile(r"(?:run|make (?:one|them) with) 'rifflux index[^']*'"), "call reindex"),
    *_ALWAYS,
    (re.compile(r"'rifflux index[^']*'"), "reindex"),
)
#: A command that no tool stands for.
_TO_RUN = re.compile(r"((?:run|make (?:one|them) with) 'rifflux [^']*')")


def for_agents(text: str, *, may_fill: bool = True) -> str:
    """Return a message of ours with tools in place of commands; what has no tool is for the user to run.

    Indexing is for administrators to do unless the agent `may_fill` the index.
    """
    for pattern, tool in _TOOLS if may_fill else _ALWAYS:
        text = pattern.sub(tool, text)
    return _TO_RUN.sub(rf"ask {'the user' if may_fill else 'an administrator'} to \1", text)
