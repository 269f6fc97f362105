"""The engine under a store: its connections, its transactions, and what is derived from its rows.

One connection writes, and reads too while nobody else holds it. A thread that finds it held, mostly by a transaction,
reads through a connection of its own (`Readers`) and sees what was committed before: no search waits for indexing.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

import apsw

from rifflux.store.sqlite.connection.busy import yield_turn
from rifflux.store.sqlite.connection.connect import Translated, connect, frozen
from rifflux.store.sqlite.connection.readers import Readers

__all__ = ["DerivedFiles", "Engine", "GenerationCache"]

#: Owners of whom something small is kept in memory.
MOST_OWNERS = 4096
#: How often what is derived follows while a long task goes on, in seconds.
FOLLOW = 60.0

Value = TypeVar("Value")


class GenerationCache(Generic[Value]):
    """A value by owner (or what says more), derived from their rows at some generation.

    Those used longest ago go when it gets too much.
    """

    def __init__(self, most: int = MOST_OWNERS, size: Callable[[Value], int] = lambda _: 1) -> None:
        self._most, self._size, self._held = most, size, 0
        self._values: OrderedDict[Hashable, tuple[object, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, owner: Hashable, generation: object, make: Callable[[], Value]) -> Value:
        """The owner's value of this generation, made anew where it is of another one."""
        with self._lock:
            known, value = self._values.get(owner, (None, None))
            if value is not None and known == generation:
                self._values.move_to_end(owner)
                return value
        value = make()
        with self._lock:
            self._drop(owner)
            self._values[owner] = generation, value
            self._held += self._size(value)
            while self._held > self._most and len(self._values) > 1:
                self._drop(next(iter(self._values)))
        return value

    def _drop(self, owner: Hashable) -> None:
        if owner in self._values:
            self._held -= self._size(self._values.pop(owner)[1])


class DerivedFiles(Protocol):
    """What is derived from the database, beside it: it follows the rows of all owners."""

    def changed(self, connection: apsw.Connection, owners: Collection[int]) -> None:
        """Follow what was just committed for some owners."""

    def erased(self, owners: Collection[int], *, documents: bool) -> None:
        """Keep nothing of owners of whom all was deleted; without `documents` there was nothing to find."""

    def close(self) -> None:
        """End what goes on in the background."""


class Engine:
    """A store's connections, for all threads. `lock` guards the one that writes. The rest is derived."""

    def __init__(self, connection: apsw.Connection, location: str, *, read_only: bool = False) -> None:
        self.connection = connection
        self.location = location
        self.read_only = read_only
        self.lock = threading.RLock()
        self.readers = Readers(location)
        self.followers: list[DerivedFiles] = []
        self._memo = threading.local()
        self._touched: set[int] = set()
        self._behind: set[int] = set()
        self._tasks, self._followed_at = 0, 0.0
        self._frozen = frozen(connection)

    def close(self) -> None:
        """Close the database; pending work was committed or is rolled back."""
        for each in self.followers:
            each.close()
        with self.lock:
            # The last connection to be closed tidies up, and only one that may write can.
            self.readers.close()
            self.connection.close()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection to read from, until the block ends: within a transaction the one that sees its changes."""
        with Translated(self.location):
            if self._frozen:
                with self.lock:
                    self._look_again()
                    yield self.connection
                return
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

    def _look_again(self) -> None:
        """Open a file anew that was read as unchangeable, if its owner changed it nevertheless."""
        if frozen(self.connection) != self._frozen:
            self.connection.close()
            self.connection, self.read_only = connect(self.location, create=False)
            self._frozen = frozen(self.connection)

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """A connection that nobody else uses until the block ends, to read what is committed."""
        with self.readers.lent() as connection:
            if connection:
                yield connection
                return
        with self.lock:
            yield self.connection

    @contextmanager
    def memoized(self) -> Iterator[None]:
        """Within the block, let this thread remember rows that `known` reads; a block within another joins it."""
        if getattr(self._memo, "values", None) is not None:
            yield
            return
        self._memo.values = {}
        try:
            yield
        finally:
            self._memo.values = None

    def known(self, connection: apsw.Connection, statement: str, *bound: Hashable) -> Any:
        """Return the first row of a statement, or None; within `memoized` as long as the connection saw no change."""
        values = getattr(self._memo, "values", None)
        if values is None or connection.in_transaction:
            return connection.execute(statement, bound).fetchone()
        found = values.get((statement, *bound))
        if found is None or found[:2] != (connection, connection.data_version()):
            row = connection.execute(statement, bound).fetchone()
            found = values[statement, *bound] = connection, connection.data_version(), row
        return found[2]

    def rows(self, statement: str, bound: apsw.Bindings = ()) -> list[Any]:
        """All rows that a statement finds."""
        # A search asks a dozen times: where nobody is in the way, it goes without a context.
        if self._frozen or not self.lock.acquire(blocking=False):
            with self.reading() as connection:
                return connection.execute(statement, bound).fetchall()
        try:
            with Translated(self.location):
                return self.connection.execute(statement, bound).fetchall()
        finally:
            self.lock.release()

    @contextmanager
    def writing(self, owner: str, *, content: bool = True) -> Iterator[tuple[apsw.Connection, int]]:
        """A transaction for an owner, with the owner's number; nested ones join the outermost.

        One that changes no `content` leaves valid what is derived from it.
        """
        with self.lock, Translated(self.location):
            connection = self.connection
            if connection.in_transaction:
                yield connection, self._number(connection, owner, content)
                return
            self._touched.clear()
            connection.execute("begin immediate")
            begun = time.monotonic()
            try:
                yield connection, self._number(connection, owner, content)
                if self._touched:
                    connection.execute("update setting set value = value + 1 where name = 'generation'")
                    touched = [(number,) for number in self._touched]
                    connection.executemany("update owner set generation = generation + 1 where id = ?", touched)
                connection.execute("commit")
            finally:
                _end(connection)
            self._follow(connection)
        yield_turn(begun)

    @contextmanager
    def long_task(self) -> Iterator[None]:
        """While the block writes much, have what is derived follow now and then, and when it is done."""
        with self.lock:
            if not self._tasks:
                self._followed_at = time.monotonic()
            self._tasks += 1
        try:
            yield
        finally:
            with self.lock, Translated(self.location):
                self._tasks -= 1
                self._follow(self.connection)

    def _follow(self, connection: apsw.Connection) -> None:
        """Have what is derived follow what was committed, unless that is to wait for the end of a long task."""
        self._behind |= self._touched
        self._touched.clear()
        if self._tasks and time.monotonic() - self._followed_at < FOLLOW:
            return
        behind, self._behind = self._behind, set()
        self._followed_at = time.monotonic()
        for follower in self.followers if behind else ():
            follower.changed(connection, behind)

    def _number(self, connection: apsw.Connection, owner: str, content: bool) -> int:
        number = 0
        if owner:
            connection.execute("insert or ignore into owner (name) values (?)", (owner,))
            number = connection.execute("select id from owner where name = ?", (owner,)).get
        if content:
            self.touch(number)
        return number

    def touch(self, owner: int) -> None:
        """Say within a transaction that it changes what an owner finds."""
        self._touched.add(owner)


def _end(connection: apsw.Connection) -> None:
    """Roll back what is still open: something went wrong, and the engine has not rolled back by itself."""
    if connection.in_transaction:
        connection.execute("rollback")
