"""The engine under a store: one connection, guarded by a lock, its transactions, and what is derived from its rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

from rifflux.store.sqlite.connect import translated
from rifflux.store.sqlite.vectors import Matrix

__all__ = ["Engine", "View"]


class Engine:
    """A connection to share: each call holds the lock for its own duration. `matrix` and `counted` are derived."""

    def __init__(self, connection: apsw.Connection, location: str, *, read_only: bool = False) -> None:
        self.connection = connection
        self.location = location
        self.read_only = read_only
        self.lock = threading.RLock()
        self.matrix: Matrix | None = None
        self.counted: tuple[int, Mapping[str, int]] | None = None

    def close(self) -> None:
        """Close the database; pending work was committed or is rolled back."""
        with self.lock:
            self.connection.close()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """The connection, held until the block ends."""
        with self.lock, translated(self.location):
            yield self.connection

    def rows(self, statement: str, bound: apsw.Bindings = ()) -> list[Any]:
        """All rows that a statement finds."""
        with self.reading() as connection:
            return connection.execute(statement, bound).fetchall()

    @contextmanager
    def writing(self, *, content: bool = True) -> Iterator[apsw.Connection]:
        """A transaction; one that changes no `content` leaves valid what is derived from it. Nested ones join."""
        with self.reading() as connection:
            if connection.in_transaction:
                yield connection
                return
            connection.execute("begin immediate")
            try:
                yield connection
                if content:
                    connection.execute("update setting set value = value + 1 where name = 'generation'")
                connection.execute("commit")
            finally:
                _end(connection)

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
