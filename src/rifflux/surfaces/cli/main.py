"""The `rifflux` command: runs the application and turns errors into one line and an exit status."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from rifflux import RiffluxError
from rifflux.surfaces.cli.cures import CURES
from rifflux.surfaces.shared.cures import with_cure

#: 1 is "done with failures", so what went wrong before anything was done is 2, as usage errors are.
UNUSABLE = 2
#: What Typer exits with at Ctrl-C.
INTERRUPTED = 130
#: Signals that end a command as Ctrl-C does, but for those that serve, which answer what is under way first.
ENDING = ("SIGTERM", "SIGHUP")
SERVERS = ("serve", "browse", "mcp")


#: The commands, each in a module of that name in this package.
COMMANDS = (
    "index",
    "search",
    "ask",
    "chat",
    "everything",
    "get",
    "status",
    "config",
    "why",
    "classify",
    "mcp",
    "conversations",
    "memories",
    "works",
    "retrieve",
    "verify",
    "eval",
    "judge",
    "tune",
    "doctor",
    "backup",
    "restore",
    "export",
    "models",
    "serve",
    "browse",
    "collections",
    "groups",
    "tokens",
    "log",
    "users",
    "usage",
    "online",
)


def main() -> None:
    """Run the command line and exit with its status."""
    # Before numpy is loaded: what it computes here is done sooner than its threads are started, and they get in the way
    # of those that embed.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    received: list[int] = []
    if not set(sys.argv[1:2]) & set(SERVERS):
        _end_like_ctrl_c(received)
    try:
        _run()
    except RiffluxError as error:
        sys.exit(_complain(with_cure(error, CURES), UNUSABLE))
    except KeyboardInterrupt:  # before the application could catch it
        sys.exit(_interrupted(received))
    except SystemExit as end:
        if end.code == INTERRUPTED:
            sys.exit(_interrupted(received))
        sys.exit(_status(end))


def _run() -> None:
    for command in needed(sys.argv[1:2]):
        import_module(f"rifflux.surfaces.cli.{command}")
    from rifflux.surfaces.cli.app import app
    from rifflux.surfaces.cli.failed_calls import deferred_failures

    with deferred_failures(sys.argv[1:]):
        app(prog_name="rifflux")


def _end_like_ctrl_c(received: list[int]) -> None:
    """Let SIGTERM and SIGHUP interrupt as Ctrl-C does, and note which came first; one that is ignored stays so."""

    def interrupt(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one must not disturb what the first has end well
        received.append(number)
        raise KeyboardInterrupt

    for name in ENDING:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def needed(first: Sequence[str]) -> Sequence[str]:
    """Return the command that is the first argument; all commands if none is, as for `--help`."""
    if set(first) & set(COMMANDS):
        return first
    return COMMANDS


def _status(end: SystemExit) -> int | str | None:
    """Return the exit status; Typer ends the program itself where nobody reads on."""
    if isinstance(end.__context__, BrokenPipeError):
        # The reader, such as `head`, has seen enough. Python would complain again while flushing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return end.code


def _interrupted(received: Sequence[int]) -> int:
    """Say what ended the command, Ctrl-C or a signal that was received, and return the exit status for it."""
    if not received:
        return _complain("interrupted; what was done so far is kept", INTERRUPTED)
    number = signal.Signals(received[0])
    return _complain(f"ended by {number.name}; what was done so far is kept", 128 + number)


def _complain(message: str, status: int) -> int:
    print(f"rifflux: {message}", file=sys.stderr)  # noqa: T201
    return status
