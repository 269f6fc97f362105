"""Slots for reading files: a few for all workers of a service, one per user, granted in turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

_TABLES = """
create table if not exists ticket (id integer primary key autoincrement, user text not null, until real not null,
    holds integer not null default 0);
create table if not exists served (user text primary key, at real not null) without rowid"""
_DRAW = "insert into ticket (user, until) values (?, ?)"
_EXPIRE = "delete from ticket where until < ?"
# A ticket that expired because its process was suspended gets its old position back.
_WAITING = """
insert into ticket (id, user, until) values (?, ?, ?) on conflict (id) do update set until = excluded.until"""
_COUNT_SLOTS = "select count(*) from ticket where holds"
# Of the users without a slot, the one who was served longest ago; of that user's files, the first.
_NEXT = """
select ticket.id from ticket left join served using (user)
where not holds and user not in (select user from ticket where holds)
order by coalesce(served.at, 0), ticket.id limit 1"""
_HOLD = "update ticket set holds = true, until = ? where id = ?"
_SERVED = "insert or replace into served values (?, ?)"
_FORGET = "delete from served where at < ?"
_GIVE_BACK = "delete from ticket where id = ?"
#: Seconds between two polls, and after which a ticket that was not renewed expires.
LOOK_S = 0.05
WAITS_S = 10.0
#: Seconds after which it no longer matters who was served before.
_FORGET_S = 3600.0


class Places:
    """Slots for at most `most` files at a time, one per user, in turn.

    `folder` holds a small database that all workers of a service share; None keeps it in memory. The slot of a process
    that has died is free again after `seconds`. Safe to share between threads.
    """

    def __init__(self, folder: str | None, most: int, seconds: float, now: Callable[[], float] = time.time) -> None:
        self.most = most
        self._seconds = seconds
        self._now = now
        self._lock = threading.Lock()
        self._connection = apsw.Connection(str(Path(folder) / "places.db") if folder else ":memory:")
        self._connection.set_busy_timeout(5000)
        # Tickets end with the service, so nothing needs to reach the disk.
        self._connection.execute("pragma journal_mode = memory").fetchall()
        self._connection.execute("pragma synchronous = off")
        self._connection.execute(_TABLES)

    @contextmanager
    def claimed(self, user: str, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold a slot for a file of a user until the block ends.

        `waiting` is called repeatedly until there is one, and may raise to give up.
        """
        ticket = self._draw(user)
        try:
            while not self._is_next(ticket, user):
                waiting()
                time.sleep(LOOK_S)
            yield
        finally:
            with self._lock, suppress(apsw.Error):  # it expires by itself
                self._connection.execute(_GIVE_BACK, (ticket,))

    def _draw(self, user: str) -> int:
        with self._lock:
            self._connection.execute(_DRAW, (user, self._now() + WAITS_S))
            return self._connection.last_insert_rowid()

    def _is_next(self, ticket: int, user: str) -> bool:
        """Take a slot if one is free and it is this ticket's turn."""
        with self._lock, suppress(apsw.BusyError):
            self._connection.execute("begin immediate")
            try:
                return self._take(ticket, user, self._now())
            finally:
                self._connection.execute("commit")
        return False

    def _take(self, ticket: int, user: str, now: float) -> bool:
        self._connection.execute(_EXPIRE, (now,))
        self._connection.execute(_WAITING, (ticket, user, now + WAITS_S))
        in_use: Any = self._connection.execute(_COUNT_SLOTS).get
        first = self._connection.execute(_NEXT).fetchall()
        if in_use >= self.most or first != [(ticket,)]:
            return False
        self._connection.execute(_HOLD, (now + self._seconds, ticket))
        self._connection.execute(_SERVED, (user, now))
        self._connection.execute(_FORGET, (now - _FORGET_S,))
        return True

    def close(self) -> None:
        """Close the database of slots."""
        with self._lock:
            self._connection.close()
