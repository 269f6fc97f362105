"""Run `rifflux` as its users do, in a process of its own, without waiting for Python to import it each time."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.support import command_server

__all__ = ["PATIENCE", "ForkedCommand", "client", "run_command", "start_command"]

ROOT = Path(__file__).parents[2]

#: Seconds until a test gives up on what must happen sooner or later; a busy machine takes its time.
PATIENCE = 180


class ForkedCommand:
    """A command that runs in a process of its own, forked by the server; it is used like `subprocess.Popen`."""

    def __init__(self, arguments: list[str], connection: socket.socket) -> None:
        self.args = ["rifflux", *arguments]
        self.returncode: int | None = None
        self._connection = connection
        self._replies = connection.makefile("r")
        self.pid = int(self._replies.readline())

    def poll(self) -> int | None:
        """Return its exit status, negative for a signal, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for its end and return its exit status."""
        if self.returncode is None:
            ended, _, _ = select.select([self._connection], [], [], timeout)
            if not ended:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = int(self._replies.readline() or -signal.SIGKILL)
            self._replies.close()
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def start_command(
    arguments: list[str],
    cwd: Path,
    environment: Mapping[str, str],
    stdout: IO[bytes],
    stderr: IO[bytes],
    module: str = "rifflux",
) -> ForkedCommand:
    """Start a command whose input is empty and which writes into these files."""
    with Path(os.devnull).open("rb") as nothing:
        streams = (nothing.fileno(), stdout.fileno(), stderr.fileno())
        connection = command_server.request(_socket(), arguments, str(cwd), dict(environment), streams, module)
    return ForkedCommand(arguments, connection)


def run_command(
    arguments: list[str],
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float = PATIENCE,
    module: str = "rifflux",
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and return its status and what it printed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        command = start_command(arguments, cwd, environment, out, err, module)
        try:
            status = command.wait(timeout)
        finally:
            command.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(
            args=command.args, returncode=status, stdout=out.read().decode(), stderr=err.read().decode()
        )


def client() -> list[str]:
    """Return the words that start a command, which has their process's streams and gets its signals."""
    return [sys.executable, "-S", "-E", command_server.__file__, "run", _socket()]


@functools.cache
def _socket() -> str:
    """Start the server, once for all tests of this process; return the socket on which it listens."""
    folder = tempfile.mkdtemp(prefix="rifflux-commands-")
    path = f"{folder}/socket"
    server = subprocess.Popen(
        [sys.executable, "-m", command_server.__name__, "serve", path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin
    assert server.stdout
    assert server.stdout.readline() == "ready\n"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.communicate)
    return path
