"""How much one caller may ask: a token bucket each, common to all worker processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw

__all__ = ["Buckets"]

_TABLE = (
    "create table if not exists bucket (name text primary key, level real not null, at real not null) without rowid"
)
_LEVEL = "select level, at from bucket where name = ?"
_PUT = "insert or replace into bucket values (?, ?, ?)"
_SWEEP = "delete from bucket where at < ?"
#: A bucket that nobody has used for so long is full again anyway.
_FORGET_S = 3600.0


class Buckets:
    """Token buckets by name: each fills at `rate` a second up to `burst`, and a request takes one.

    `folder` holds the levels, in a small database that all workers of a service share; None keeps them in memory.
    Nothing is lost with it. Safe to share between threads.
    """

    def __init__(self, folder: str | None, rate: float, burst: int, now: Callable[[], float] = time.time) -> None:
        self.rate, self.burst = rate, float(burst)
        self._now = now
        self._lock = threading.Lock()
        self._connection = apsw.Connection(str(Path(folder) / "limits.db") if folder else ":memory:")
        self._connection.set_busy_timeout(1000)
        self._connection.execute("pragma journal_mode = memory; pragma synchronous = off")
        self._connection.execute(_TABLE)
        self._swept = now()

    def take(self, name: str) -> float:
        """Take one from a bucket; 0 if there was one, else the seconds until there will be.

        Where the levels cannot be had in time, as other workers wait for the disk, the request goes uncounted: a limit
        is not worth failing for.
        """
        with self._lock, suppress(apsw.BusyError):
            self._connection.execute("begin immediate")
            try:
                return self._take(name, self._now())
            finally:
                self._connection.execute("commit")
        return 0.0

    def _take(self, name: str, now: float) -> float:
        found = self._connection.execute(_LEVEL, (name,)).fetchone()
        level, at = map(float, found) if found else (self.burst, now)
        level = min(self.burst, level + max(0.0, now - at) * self.rate)
        wait = 0.0 if level >= 1.0 else (1.0 - level) / self.rate
        self._connection.execute(_PUT, (name, level if wait else level - 1.0, now))
        if now - self._swept > _FORGET_S:
            self._swept = now
            self._connection.execute(_SWEEP, (now - _FORGET_S,))
        return wait

    def close(self) -> None:
        """Close the database of levels."""
        with self._lock:
            self._connection.close()
