"""More connections to one file, for threads that want to read while another holds the store's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from rifflux.store.sqlite.connection.connect import connect

#: As many connections are kept for the next thread; each may remember some pages of the file.
KEPT = 4
CACHE_KB = 8_000


class Readers:
    """Lends connections to the index at `location`, each to one thread at a time, and opens them when needed."""

    def __init__(self, location: str, *, read_only: bool = False) -> None:
        self._location = location
        self._read_only = read_only
        self._identity = _identity(location)
        # Lists append and pop in one step, also between threads.
        self._idle: list[apsw.Connection] = []
        self._closed = False

    @contextmanager
    def lent(self) -> Iterator[apsw.Connection | None]:
        """Lend a connection that nobody else uses; None if the file at the location is gone, or is another by now."""
        try:
            connection: apsw.Connection | None = self._idle.pop()
        except IndexError:
            connection = self._another()
        try:
            yield connection
        finally:
            if connection:
                self._take_back(connection)

    def close(self) -> None:
        """Close all that are not lent; those that are will be when they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _another(self) -> apsw.Connection | None:
        if self._identity is None or self._closed or _identity(self._location) != self._identity:
            return None
        connection, _ = connect(self._location, create=False, read_only=self._read_only)
        connection.execute(f"pragma cache_size = -{CACHE_KB}")
        return connection

    def _take_back(self, connection: apsw.Connection) -> None:
        if self._closed or len(self._idle) >= KEPT:
            connection.close()
        else:
            self._idle.append(connection)


def _identity(location: str) -> tuple[int, int] | None:
    """Return device and inode of a file; None for an index in memory."""
    try:
        status = os.stat(os.path.expanduser(location))  # noqa: PTH111, PTH116
    except OSError:
        return None
    return status.st_dev, status.st_ino
