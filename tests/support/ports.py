"""Ports for servers that are told which one to take."""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
import tempfile
from pathlib import Path
from typing import IO

__all__ = ["free_port"]

#: Below the ports that the system gives to connections, where one could be taken before its server binds it.
PORTS = range(20_000, 30_000)
_candidates = itertools.islice(itertools.cycle(PORTS), os.getpid() * 101 % len(PORTS), None)
#: A locked file for each port, open until this process ends.
_locks: list[IO[bytes]] = []


def free_port() -> int:
    """Return a port that nobody listens on and that no other call returns, in any process of this machine."""
    folder = Path(tempfile.gettempdir()) / "rifflux-ports"
    folder.mkdir(exist_ok=True)
    while True:
        port = next(_candidates)
        lock = (folder / str(port)).open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        _locks.append(lock)
        return port
