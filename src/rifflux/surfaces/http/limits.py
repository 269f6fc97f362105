"""Limits per caller, shared by all worker processes: token buckets and leases."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

_TABLE = (
    "create table if not exists bucket (name text primary key, level real not null, at real not null) without rowid"
)
_LEVEL = "select level, at from bucket where name = ?"
_PUT = "insert or replace into bucket values (?, ?, ?)"
_SWEEP = "delete from bucket where at < ?"
_LEASES = "create table if not exists lease (id text primary key, name text not null, until real not null)"
_EXPIRE = "delete from lease where until < ?"
_LEASE_IDS = "select id from lease where name = ?"
_LEASE = "insert into lease values (?, ?, ?)"
_GIVE_BACK = "delete from lease where id = ?"
#: A bucket that was not used for this long is full again.
_FORGET_S = 3600.0


class Buckets:
    """Token buckets by name: each fills at `rate` a second up to `burst`, and a request takes one.

    `folder` holds the levels, in a small database that all workers of a service share; None keeps them in memory. It
    can be deleted. Safe to share between threads.
    """

    def __init__(self, folder: str | None, rate: float, burst: int, now: Callable[[], float] = time.time) -> None:
        self.rate = rate
        self.burst = float(burst)
        self._now = now
        self._lock = threading.Lock()
        self._connection = _opened(folder, _TABLE)
        self._swept = now()

    def take(self, name: str) -> float:
        """Take one token from a bucket; return 0, or the seconds until there is one.

        If the levels cannot be read in time or the disk is full, the request goes uncounted: a limit is not worth
        failing for.
        """
        with suppress(apsw.BusyError, apsw.FullError), _changing(self._lock, self._connection):
            return self._take(name, self._now())
        return 0.0

    def _take(self, name: str, now: float) -> float:
        found = self._connection.execute(_LEVEL, (name,)).fetchone()
        level, at = map(float, found) if found else (self.burst, now)
        level = min(self.burst, level + max(0.0, now - at) * self.rate)
        if level >= 1.0:
            wait = 0.0
        else:
            wait = (1.0 - level) / self.rate
        self._connection.execute(_PUT, (name, level if wait else level - 1.0, now))
        if now - self._swept > _FORGET_S:
            self._swept = now
            self._connection.execute(_SWEEP, (now - _FORGET_S,))
        return wait

    def close(self) -> None:
        """Close the database of levels."""
        with self._lock:
            self._connection.close()


class Leases:
    """Leases of which each name may have `most` at a time; one that is not returned expires.

    `folder` is as for `Buckets`: the leases of all workers of a service count. Safe to share between threads.
    """

    def __init__(self, folder: str | None, most: int, now: Callable[[], float] = time.time) -> None:
        self.most = most
        self._now = now
        self._lock = threading.Lock()
        self._connection = _opened(folder, _LEASES)

    def take(self, name: str, seconds: float) -> str | None:
        """Return a lease for at most `seconds`; None if the name has `most` already.

        If the leases cannot be read in time, it is granted uncounted.
        """
        with suppress(apsw.BusyError, apsw.FullError), _changing(self._lock, self._connection):
            return self._take(name, self._now(), seconds)
        return secrets.token_hex(8)

    def _take(self, name: str, now: float, seconds: float) -> str | None:
        self._connection.execute(_EXPIRE, (now,))
        if len(self._connection.execute(_LEASE_IDS, (name,)).fetchall()) >= self.most:
            return None
        lease = secrets.token_hex(8)
        self._connection.execute(_LEASE, (lease, name, now + seconds))
        return lease

    def give_back(self, lease: str) -> None:
        """End a lease."""
        with self._lock, suppress(apsw.Error):  # it expires by itself
            self._connection.execute(_GIVE_BACK, (lease,))

    def close(self) -> None:
        """Close the database of leases."""
        with self._lock:
            self._connection.close()


@contextmanager
def _changing(lock: threading.Lock, connection: apsw.Connection) -> Iterator[None]:
    """Lock the limits for an atomic change."""
    with lock:
        connection.execute("begin immediate")
        try:
            yield
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise


def _opened(folder: str | None, table: str) -> apsw.Connection:
    """Open the database of limits and create its table."""
    connection = apsw.Connection(str(Path(folder) / "limits.db") if folder else ":memory:")
    connection.set_busy_timeout(1000)
    # A request must not wait for the disk, and these counts can be lost. Each pragma has a call of its own: statements
    # that follow one with a result run only when that is read.
    connection.pragma("journal_mode", "memory")
    connection.pragma("synchronous", "off")
    connection.execute(table)
    return connection
