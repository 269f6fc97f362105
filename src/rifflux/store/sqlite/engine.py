"""The engine under a store: its connections, its transactions, and what is derived from its rows.

One connection writes, and reads too while nobody else holds it. A thread that finds it held, mostly by a transaction,
reads through a connection of its own (`Readers`) and sees what was committed before: no search waits for indexing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

from rifflux.store.sqlite.connect import translated
from rifflux.store.sqlite.patience import stand_aside
from rifflux.store.sqlite.readers import Readers
from rifflux.store.sqlite.vectors import Matrix

__all__ = ["Engine", "View"]


class Engine:
    """A store's connections, for all threads. `lock` guards the one that writes; `matrix` and `counted` are derived."""

    def __init__(self, connection: apsw.Connection, location: str, *, read_only: bool = False) -> None:
        self.connection = connection
        self.location = location
        self.read_only = read_only
        self.lock = threading.RLock()
        self.readers = Readers(location)
        self.matrix: Matrix | None = None
        self.counted: tuple[int, Mapping[str, int]] | None = None

    def close(self) -> None:
        """Close the database; pending work was committed or is rolled back."""
        with self.lock:
            # The last connection to be closed tidies up, and only one that may write can.
            self.readers.close()
            self.connection.close()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection to read from, until the block ends: within a transaction the one that sees its changes."""
        with translated(self.location):
            if self.lock.acquire(blocking=False):
                try:
                    yield self.connection
                finally:
                    self.lock.release()
                return
            with self.readers.lent() as connection:
                if connection:
                    yield connection
                    return
            with self.lock:
                yield self.connection

    def rows(self, statement: str, bound: apsw.Bindings = ()) -> list[Any]:
        """All rows that a statement finds."""
        with self.reading() as connection:
            return connection.execute(statement, bound).fetchall()

    @contextmanager
    def writing(self, *, content: bool = True) -> Iterator[apsw.Connection]:
        """A transaction; one that changes no `content` leaves valid what is derived from it. Nested ones join."""
        with self.lock, translated(self.location):
            connection = self.connection
            if connection.in_transaction:
                yield connection
                return
            connection.execute("begin immediate")
            begun = time.monotonic()
            try:
                yield connection
                if content:
                    connection.execute("update setting set value = value + 1 where name = 'generation'")
                connection.execute("commit")
            finally:
                _end(connection)
        stand_aside(begun)

    def generation(self) -> int:
        """A number that grows with every transaction that changed what is found."""
        ((value,),) = self.rows("select value from setting where name = 'generation'")
        return int(value)


class View:
    """What the halves of a store have in common."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine


def _end(connection: apsw.Connection) -> None:
    """Roll back what is still open: something went wrong, and the engine has not rolled back by itself."""
    if connection.in_transaction:
        connection.execute("rollback")
