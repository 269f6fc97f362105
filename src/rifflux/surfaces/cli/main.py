"""The `rifflux` command: runs the application and turns errors into one line and an exit status."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from rifflux.surfaces.shared.ending import ENDING, ended_by

#: 1 is "done with failures", so errors before anything was done are 2, like usage errors.
UNUSABLE = 2
#: Typer's exit status at Ctrl-C.
INTERRUPTED = 130


#: The commands, each in a module of that name in this package.
COMMANDS = (
    "index",
    "search",
    "ask",
    "chat",
    "everything",
    "get",
    "remove",
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
    "copy",
    "cluster",
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
    # Set before numpy is loaded: its computations here are shorter than starting its threads, which compete with
    # embedding.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    received: list[int] = []
    atexit.register(_ignore_signals)
    _end_like_ctrl_c(received)
    try:
        _run()
    except KeyboardInterrupt:  # before the application can catch it
        sys.exit(_interrupted(received))
    except SystemExit as end:
        if end.code == INTERRUPTED:
            sys.exit(_interrupted(received))
        _ignore_signals()  # not only at exit: Python waits for threads before
        sys.exit(_status(end))
    except Exception as error:
        if not _is_from_interrupt(error):
            raise
        sys.exit(_interrupted(received))


def _is_from_interrupt(error: BaseException | None) -> bool:
    """Return True if an error was raised because of an interrupt.

    Python 3.11 raises a RuntimeError if one comes while a class is created, as by a module that is imported late.
    """
    while error and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _run() -> None:
    # Imported here because loading them takes long enough to be interrupted.
    with _without_signals():
        from rifflux import RiffluxError
        from rifflux.surfaces.cli.cures import CURES
        from rifflux.surfaces.cli.show import one_line
        from rifflux.surfaces.shared.cures import with_cure

        for command in needed(sys.argv[1:2]):
            import_module(f"rifflux.surfaces.cli.{command}")
        from rifflux.surfaces.cli.app import app
        from rifflux.surfaces.cli.failed_calls import deferred_failures

    try:
        with deferred_failures(sys.argv[1:]):
            app(prog_name="rifflux")
    except RiffluxError as error:
        sys.exit(_complain(f"rifflux: {one_line(with_cure(error, CURES))}", UNUSABLE))


@contextmanager
def _without_signals() -> Iterator[None]:
    """Deliver signals after the block: what they raise while a module is imported is lost, or is another error."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_like_ctrl_c(received: list[int]) -> None:
    """Let SIGTERM and SIGHUP interrupt as Ctrl-C does, and note which came first; one that is ignored stays so."""

    def interrupt(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second signal must not disturb the shutdown of the first
        received.append(number)
        raise KeyboardInterrupt

    for name in ENDING:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def _ignore_signals() -> None:
    """Let no signal change the status of a command that has ended: Python would restore what ends a process."""
    for name in ("SIGINT", *ENDING):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, signal.SIG_IGN)


def needed(first: Sequence[str]) -> Sequence[str]:
    """Return the command that is the first argument; all commands if none is, as for `--help`."""
    if set(first) & set(COMMANDS):
        return first
    return COMMANDS


def _status(end: SystemExit) -> int | str | None:
    """Run the application and return the exit status; Typer exits by itself if the reader is gone."""
    if isinstance(end.__context__, BrokenPipeError):
        # The reader, such as `head`, has closed the pipe. Python would complain again when flushing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return end.code


def _interrupted(received: Sequence[int]) -> int:
    """Print what ended the command, Ctrl-C or a signal, and return its exit status."""
    _ignore_signals()
    number = received[0] if received else signal.SIGINT
    return _complain(ended_by(number), 128 + number)


def _complain(message: str, status: int) -> int:
    print(message, file=sys.stderr)  # noqa: T201
    return status
