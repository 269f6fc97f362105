"""Start commands by forking: a real process for each, without importing the package again.

A server imports the package once. For each request it forks a handler, the handler forks the command, and the command
runs as `python -m rifflux` would, or that of another module: its own arguments, folder, environment and standard
streams, its own exit status.
Signals that reach the caller are passed on. Tests of what a cold start imports start Python themselves.

    server:  python -m tests.support.command_server serve SOCKET
    client:  python tests/support/command_server.py run SOCKET ARGUMENTS...

The client imports nothing of the package, so that shell scripts can use it as their `rifflux`.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from runpy import run_module
from types import FrameType
from typing import Any

__all__ = ["CONSTANTS", "PROGRAM", "main", "request"]

#: A request is one message: the descriptors come with its first bytes, and a line feed ends it.
LARGEST = 1 << 22
#: What commands import when they need it.
LATE = (
    "Stemmer",
    "encodings.idna",
    "onnxruntime",
    "rifflux.conversations.importers.sent",
    "rifflux.conversations.profile",
    "rifflux.conversations.writing",
    "rifflux.index.admin",
    "rifflux.index.contract",
    "rifflux.index.documents",
    "rifflux.index.salvage",
    "rifflux.index.sources",
    "rifflux.index.status",
    "rifflux.ingest.embed",
    "rifflux.ingest.read.markdown",
    "rifflux.ingest.sync",
    "rifflux.models.custom",
    "rifflux.models.hashing",
    "rifflux.retrieve.explain.changes",
    "rifflux.retrieve.query.credits",
    "rifflux.retrieve.steps.anchors",
    "rifflux.retrieve.steps.code",
    "rifflux.session.maintenance",
    "rifflux.store.sqlite",
    "rifflux.store.sqlite.lexical.visible",
    "rifflux.store.sqlite.lexical.words_build",
    "rifflux.store.sqlite.maintenance.check",
    "rifflux.surfaces.cli.app",
    "rifflux.surfaces.http.app",
    "rifflux.surfaces.http.serve",
    "rifflux.surfaces.mcp.server",
    "rifflux.works.catalog",
    "rifflux.works.merging.importing",
    "typer._click.decorators",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.websockets.auto",
)
#: The variable that has other values of constants for a command, by "module:NAME", such as how long it waits.
CONSTANTS = "CONSTANTS_OF_A_TEST"
#: The variable that has a Python program for a command to run before it begins.
PROGRAM = "PROGRAM_OF_A_TEST"
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


def request(
    path: str,
    arguments: list[str],
    cwd: str,
    environment: dict[str, str],
    streams: tuple[int, int, int],
    module: str = "rifflux",
) -> socket.socket:
    """Ask the server at `path` to start a command; return the connection on which its pid and status arrive."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)
    asked = {"module": module, "arguments": arguments, "cwd": cwd, "environment": environment}
    message = json.dumps(asked).encode() + b"\n"
    sent = socket.send_fds(connection, [message], list(streams))
    connection.sendall(message[sent:])
    return connection


def main(arguments: list[str]) -> int:
    """Serve, or run one command and return its exit status."""
    action, path, *rest = arguments
    if action == "serve":
        _serve(path)
        return 0
    return _run(path, rest)


def _run(path: str, arguments: list[str]) -> int:
    # What comes before the command's process is known is passed on then.
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    connection = request(path, arguments, os.getcwd(), dict(os.environ), (0, 1, 2))  # noqa: PTH109 - pathlib takes long to load
    replies = connection.makefile("r")
    pid = int(replies.readline())

    def forward(number: int, _: FrameType | None) -> None:
        os.kill(pid, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    status = int(replies.readline() or -signal.SIGKILL)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def _serve(path: str) -> None:
    """Accept requests until the input ends, which is when the tests end."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _preload()
    # What is imported here is left alone by the collectors of the commands: each would copy all its pages at its end.
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        readable, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in readable:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _handle(connection)
        connection.close()


def _preload() -> None:
    """Import what most commands need. Nothing here may start a thread, which a fork would lose."""
    from rifflux.surfaces.cli.main import COMMANDS

    for command in COMMANDS:
        import_module(f"rifflux.surfaces.cli.{command}")
    for module in LATE:
        import_module(module)
    from tests.support.patient import be_patient

    be_patient()


def _handle(connection: socket.socket) -> None:
    """Start the command, report its pid and its status; end it if the caller goes away."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, descriptors, _, _ = socket.recv_fds(connection, LARGEST, 3)
    while not message.endswith(b"\n"):
        message += connection.recv(LARGEST)
    asked: dict[str, Any] = json.loads(message)
    pid = os.fork()
    if pid == 0:
        connection.close()
        _become(asked, descriptors)
        return
    for descriptor in (*descriptors, 0, 1):
        os.close(descriptor)
    try:
        connection.sendall(f"{pid}\n".encode())
        status = _status_of(pid, connection)
        connection.sendall(f"{status}\n".encode())
    except OSError:
        pass
    os._exit(0)


def _status_of(pid: int, connection: socket.socket) -> int:
    """Return the exit status of a process, negative for a signal, as `subprocess` does."""
    ended = os.pidfd_open(pid)
    readable, _, _ = select.select([ended, connection.fileno()], [], [])
    if ended not in readable:
        os.kill(pid, signal.SIGTERM)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _become(asked: dict[str, Any], descriptors: list[int]) -> None:
    """Turn this process into the command."""
    for number in (*FORWARDED, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
    for descriptor in descriptors:
        if descriptor > 2:
            os.close(descriptor)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    _fork_servers_are_forked()
    for place, value in json.loads(os.environ.pop(CONSTANTS, "{}")).items():
        module, _, name = place.partition(":")
        setattr(import_module(module), name, value)
    exec(os.environ.pop(PROGRAM, ""), {})
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = [asked["module"], *asked["arguments"]]
    if asked["module"] == "rifflux":
        _forget_others(asked["arguments"])

    try:
        run_module(asked["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _end(ended.code or 0)
    _end(0)


def _forget_others(arguments: Sequence[str]) -> None:
    """Leave the application only the commands that a process of its own would have imported for these arguments."""
    from rifflux.surfaces.cli.app import app
    from rifflux.surfaces.cli.main import needed

    modules = {f"rifflux.surfaces.cli.{command}" for command in needed(arguments[:1])}
    commands = app.registered_commands
    app.registered_commands = [each for each in commands if _module_of(each.callback) in modules]
    groups = []
    for group in app.registered_groups:
        inner = group.typer_instance
        assert inner
        if _module_of(inner.registered_commands[0].callback) in modules:
            groups.append(group)
    app.registered_groups = groups


def _module_of(callback: Callable[..., Any] | None) -> str:
    assert callback
    return callback.__module__


def _end(status: int) -> None:
    """End as any program does: threads are joined, functions for the end are called, buffers are written.

    The modules are not taken apart, for which all their pages would be copied: that takes half of a command's time.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # the interpreter tells of it, and has a status for it
        sys.exit(status)
    os._exit(status)


def _fork_servers_are_forked() -> None:
    """Fork what `multiprocessing` would start to fork the workers of a service from: that imports what is here already.

    No other thread runs yet where a service has it started.
    """
    from multiprocessing import util
    from pathlib import Path

    from prometheus_client import values

    spawn: Callable[..., int] = util.spawnv_passfds

    def forked(path: str, arguments: Sequence[str], descriptors: Sequence[int]) -> int:
        program = arguments[-1]
        if "forkserver" not in program:
            return spawn(path, arguments, descriptors)
        pid = os.fork()
        if pid:
            return pid
        try:
            _close_other_ends(descriptors)
            for number in FORWARDED:
                signal.signal(number, signal.SIG_DFL)
            Path("/proc/self/comm").write_text("forkserver")
            # Whether processes count together is decided by the environment of what imports it.
            values.ValueClass = values.get_value_class()  # type: ignore[no-untyped-call]
            exec(program, {})
        finally:
            os._exit(0)

    util.spawnv_passfds = forked  # type: ignore[assignment]


def _close_other_ends(descriptors: Sequence[int]) -> None:
    """Close the other ends of the pipes among these: a process ends when nobody else has them."""
    from pathlib import Path

    def of(descriptor: int) -> tuple[int, int]:
        status = os.fstat(descriptor)
        return status.st_dev, status.st_ino

    ends = {of(each) for each in descriptors}
    for path in [*Path("/proc/self/fd").iterdir()]:
        other = int(path.name)
        # That of the folder itself is closed already.
        if path.exists() and other not in descriptors and of(other) in ends:
            os.close(other)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
