"""The engine under a store: connections, transactions, and what is derived from rows.

One connection writes, and reads too while nobody else holds it. A thread that finds it held, mostly by a transaction,
reads through a connection of its own (`Readers`) and sees what was committed before: no search waits for indexing.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import apsw

from rifflux.store.sqlite.connection.connect import connect, frozen, raise_ours
from rifflux.store.sqlite.connection.readers import Readers

#: Owners of whom something small is kept in memory.
MOST_OWNERS = 4096
#: How often what is derived follows while a long task goes on, in seconds.
FOLLOW = 60.0

_CURRENT = """
select coalesce((select seq from sqlite_sequence where name = 'touched'), 0), covered, token
from derived where name = ?"""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Current:
    """What the database says of a derived file: the log's last entry, the last one covered, and the copy's token."""

    latest: int
    covered: int
    token: str


class GenerationCache(Generic[Value]):
    """A value by owner (or a longer key), derived from their rows at some generation.

    Values count by their `nbytes` where they have such, else as one. The least recently used go when it gets too much.
    """

    def __init__(self, most: int = MOST_OWNERS) -> None:
        self._most = most
        self._held = 0
        self._values: OrderedDict[Hashable, tuple[object, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, generation: object, make: Callable[..., Value], *given: object) -> Value:
        """Return the value of this generation; `make` it of what is given where it is of another one."""
        with self._lock:
            known, value = self._values.get(key, (None, None))
            if value is not None and known == generation:
                self._values.move_to_end(key)
                return value
        made = make(*given)
        with self._lock:
            if key in self._values:
                self._held -= _size(self._values.pop(key)[1])
            self._values[key] = generation, made
            self._held += _size(made)
            while self._held > self._most and len(self._values) > 1:
                self._held -= _size(self._values.popitem(last=False)[1][1])
        return made


def _size(value: object) -> int:
    return getattr(value, "nbytes", 1)


class DerivedFiles(Protocol):
    """Files derived from the database, which follow the rows of all owners."""

    def changed(self, connection: apsw.Connection, owners: Collection[int]) -> None:
        """Follow what was just committed for some owners."""

    def erased(self, owners: Collection[int], *, documents: bool) -> None:
        """Keep nothing of owners of whom all was deleted; without `documents` there was nothing to find."""

    def close(self) -> None:
        """End what goes on in the background."""


class Engine:
    """A store's connections, for all views and threads. `lock` guards the one that writes.

    With `only_reads` the file is never written, also where it could be.
    """

    def __init__(self, location: str, *, create: bool = True, only_reads: bool = False) -> None:
        self.connection, self.read_only = connect(location, create=create, read_only=only_reads)
        self.location = location
        self._only_reads = only_reads
        self.lock = threading.RLock()
        self.readers = Readers(location, read_only=only_reads)
        self.followers: list[DerivedFiles] = []
        #: First rows by owner and statement, such as counts, which go through all rows.
        self.kept: GenerationCache[Any] = GenerationCache()
        self.frozen = frozen(self.connection)
        self._memo = threading.local()
        #: Owners of whom the open transaction changes what they find.
        self.touched: set[int] = set()
        self._behind: set[int] = set()
        self._tasks = 0
        self._followed_at = 0.0

    def close(self) -> None:
        """Close the database; pending work was committed or is rolled back."""
        for each in self.followers:
            each.close()
        with self.lock:
            # The last connection to be closed tidies up, and only one that may write can.
            self.readers.close()
            self.connection.close()

    def look_again(self) -> None:
        """Open a file again that was read as unchangeable, if its owner changed it nevertheless."""
        if frozen(self.connection) != self.frozen:
            self.connection.close()
            self.connection, self.read_only = connect(self.location, create=False, read_only=self._only_reads)
            self.frozen = frozen(self.connection)

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """Lend a connection that nobody else uses until the block ends, to read what is committed."""
        with self.readers.lent() as connection:
            if connection:
                yield connection
                return
        with self.lock:
            yield self.connection

    @contextmanager
    def memoized(self) -> Iterator[None]:
        """Let this thread, within the block, remember rows that `known` reads; a block within another joins it."""
        if getattr(self._memo, "values", None) is not None:
            yield
            return
        self._memo.values = {}
        try:
            yield
        finally:
            self._memo.values = None

    def known(self, connection: apsw.Connection, statement: str, **bound: Hashable) -> Any:
        """Return the first row of a statement, or None; within `memoized` as long as the connection saw no change."""
        values = getattr(self._memo, "values", None)
        if values is None:
            return connection.execute(statement, bound).fetchone()
        state = connection, connection.data_version(), connection.total_changes()
        key = (statement, *bound.values())
        found = values.get(key)
        if found is None or found[0] != state:
            found = values[key] = state, connection.execute(statement, bound).fetchone()
        return found[1]

    @contextmanager
    def long_task(self) -> Iterator[None]:
        """Have what is derived follow now and then while the block writes much, and when it is done."""
        with self.lock:
            if not self._tasks:
                self._followed_at = time.monotonic()
            self._tasks += 1
        try:
            yield
        finally:
            with self.lock:
                self._tasks -= 1
                self.follow()

    def follow(self) -> None:
        """Have what is derived follow what was committed, unless that is to wait for the end of a long task."""
        self._behind |= self.touched
        self.touched.clear()
        if self._tasks and time.monotonic() - self._followed_at < FOLLOW:
            return
        behind = self._behind
        self._behind = set()
        self._followed_at = time.monotonic()
        try:
            for follower in self.followers if behind else ():
                follower.changed(self.connection, behind)
        except (apsw.Error, OSError) as error:
            raise_ours(self.location, error)

    def undo(self) -> None:
        """Roll back what is still open, if SQLite has not by itself, and remember nothing of it."""
        if getattr(self._memo, "values", None):
            self._memo.values.clear()
        if self.connection.in_transaction:
            self.connection.execute("rollback")


def location_of(database: str | Path, name: str) -> Path:
    """Return where the derived file or folder of a name lies."""
    path = Path(database).expanduser()
    return path.with_name(f"{path.name}.{name}")


def current(connection: apsw.Connection, name: str) -> Current | None:
    """Return what the database records of a derived file; None if no build was ever begun."""
    row = connection.execute(_CURRENT, (name,)).fetchone()
    if row:
        return Current(*row)
    return None


@contextmanager
def transaction(connection: apsw.Connection, begin: str = "begin") -> Iterator[None]:
    """Open a transaction of a connection that is nobody else's."""
    connection.execute(begin)
    try:
        yield
        connection.execute("commit")
    finally:
        if connection.in_transaction:
            connection.execute("rollback")


@contextmanager
def unmoved(connection: apsw.Connection) -> Iterator[bool]:
    """Hold one state of the database for several statements; False if it is one that nobody else sees yet."""
    outermost = not connection.in_transaction
    if outermost:
        connection.execute("begin")
    try:
        yield outermost
    finally:
        if outermost and connection.in_transaction:
            connection.execute("commit")
