"""Run `rifflux` as its users do, in a process of its own, without waiting for Python to import it each time."""

from __future__ import annotations

import atexit
import functools
import os
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.support import command_server

__all__ = ["PATIENCE", "client", "run_command"]

ROOT = Path(__file__).parents[2]

#: Seconds until a test gives up on what must happen sooner or later; a busy machine takes its time.
PATIENCE = 180


def run_command(
    arguments: list[str], cwd: Path, environment: Mapping[str, str], timeout: float = PATIENCE
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and return its status and what it printed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open("rb") as nothing:
        streams = (nothing.fileno(), out.fileno(), err.fileno())
        with command_server.request(_socket(), arguments, str(cwd), dict(environment), streams) as connection:
            replies = b""
            while replies.count(b"\n") < 2:
                readable, _, _ = select.select([connection], [], [], timeout)
                received = connection.recv(100) if readable else b""
                if not received:
                    raise subprocess.TimeoutExpired(["rifflux", *arguments], timeout)
                replies += received
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(
            args=["rifflux", *arguments],
            returncode=int(replies.split()[1]),
            stdout=out.read().decode(),
            stderr=err.read().decode(),
        )


def client() -> str:
    """Return the words with which a shell starts a command: they stand in for `rifflux`."""
    return shlex.join([sys.executable, "-S", "-E", command_server.__file__, "run", _socket()])


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
