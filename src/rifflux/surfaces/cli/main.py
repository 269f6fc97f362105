"""The `rifflux` command: runs the application and turns errors into one line and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from rifflux.errors import RiffluxError

__all__ = ["HOMES", "homes", "main"]

#: 1 is "done with failures", so what went wrong before anything was done is 2, as usage errors are.
UNUSABLE = 2
INTERRUPTED = 130


#: The modules beside this one that add commands to the application, and which.
HOMES = {
    "commands": ("index", "search", "get", "status", "config", "mcp"),
    "conversations": ("conversations",),
    "eval": ("eval", "judge"),
    "why": ("why",),
    "doctor": ("doctor", "backup", "models"),
    "memories": ("memories",),
    "retrieve": ("retrieve", "verify"),
    "serve": ("serve", "tokens", "usage", "online", "users"),
    "tune": ("tune",),
    "works": ("works",),
}


def main() -> None:
    """Run the command line and exit with its status."""
    # Before numpy is loaded: what it computes here is done sooner than its threads are started, and they get in the way
    # of those that embed.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for home in homes(sys.argv[1:2]):
        import_module(f"rifflux.surfaces.cli.{home}")
    from rifflux.surfaces.cli.commands import app

    try:
        app(prog_name="rifflux")
    except RiffluxError as error:
        sys.exit(_complain(str(error), UNUSABLE))
    except SystemExit as end:
        sys.exit(_status(end))


def homes(first: Sequence[str]) -> list[str]:
    """The modules that know the command which is the first argument; all of them if it is none, for help is asked."""
    return [home for home, names in HOMES.items() if set(names) >= set(first)] or list(HOMES)


def _status(end: SystemExit) -> int | str | None:
    """The exit status; Typer ends the program itself at Ctrl-C, and where nobody reads on."""
    if isinstance(end.__context__, BrokenPipeError):
        # The reader, such as `head`, has seen enough. Python would complain again while flushing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if end.code == INTERRUPTED:
        _complain("interrupted; what was done so far is kept", INTERRUPTED)
    return end.code


def _complain(message: str, status: int) -> int:
    print(f"rifflux: {message}", file=sys.stderr)  # noqa: T201
    return status
