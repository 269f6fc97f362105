"""The `rifflux` command: runs the application and turns errors into one line and an exit status."""

from __future__ import annotations

import os
import sys

from rifflux.errors import RiffluxError

__all__ = ["main"]

#: 1 is "done with failures", so what went wrong before anything was done is 2, as usage errors are.
UNUSABLE = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit with its status."""
    from rifflux.surfaces.cli import (  # noqa: F401 - they add their commands
        conversing,
        evaluating,
        explaining,
        keeping,
        remembering,
        retrieving,
        serving,
        tuning,
        works,
    )
    from rifflux.surfaces.cli.commands import app

    try:
        app(prog_name="rifflux")
    except RiffluxError as error:
        sys.exit(_complain(str(error), UNUSABLE))
    except SystemExit as end:
        sys.exit(_status(end))


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
