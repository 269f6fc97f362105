"""The engine under a store: connections, transactions, and what is derived from rows.

One connection writes, and reads too while nobody else holds it. A thread that finds it held, mostly by a transaction,
reads through a connection of its own (`Readers`) and sees what was committed before: no search waits for indexing.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

import apsw

from rifflux.store.sqlite.connection.connect import connect, frozen, raise_ours

#: Owners of whom something small is kept in memory.
MOST_OWNERS = 4096
#: How often what is derived follows while a long task goes on, in seconds.
FOLLOW = 60.0
#: As many connections are kept for the next thread; each may remember some pages of the file.
IDLE_READERS = 4
READER_CACHE_KB = 8_000

# Looks at the file: from then on the connection knows whether anybody changed it.
LOOK = "pragma data_version"

#: What the database says of a derived file: the columns of `Current`.
CURRENT = """
select coalesce((select seq from sqlite_sequence where name = 'touched'), 0), covered, token
from derived where name = :name"""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Current:
    """What the database says of a derived file: the log's last entry, the last one covered, and the copy's token."""

    latest: int
    covered: int
    token: str


@dataclass(frozen=True, slots=True)
class StateMemo:
    """The rows that a connection read in one state of the file, by statement and bound values."""

    state: tuple[int, int]
    rows: dict[Hashable, list[Any]] = field(default_factory=dict)


class GenerationCache(Generic[Value]):
    """Cache a value by owner (or a longer key), derived from their rows at some generation.

    Values count by their `nbytes` where they have such, else as one. The least recently used go when it gets too much.
    """

    def __init__(self, most: int = MOST_OWNERS) -> None:
        self._most = most
        self._used = 0
        self._values: OrderedDict[Hashable, tuple[object, Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, generation: object) -> Value | None:
        """Return the value of this generation; None if there is none, or one of another generation."""
        with self._lock:
            found = self._values.get(key)
            if found is None or found[0] != generation:
                return None
            self._values.move_to_end(key)
            return found[1]

    def put(self, key: Hashable, generation: object, value: Value) -> Value:
        """Replace the value of a key, and return it."""
        size = getattr(value, "nbytes", 1)
        with self._lock:
            former = self._values.pop(key, None)
            if former:
                self._used -= former[2]
            self._values[key] = (generation, value, size)
            self._used += size
            while self._used > self._most and len(self._values) > 1:
                _, (_, _, freed) = self._values.popitem(last=False)
                self._used -= freed
        return value


class DerivedFiles(Protocol):
    """Files derived from the database, which follow the rows of all owners."""

    def changed(self, connection: apsw.Connection, owners: Collection[int]) -> None:
        """Follow what was just committed for some owners."""

    def erased(self, owners: Collection[int], *, documents: bool) -> None:
        """Keep nothing of owners of whom all was deleted; without `documents` there was nothing to find."""

    def close(self) -> None:
        """End what goes on in the background."""


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
            connection = None
            if self._identity is not None and not self._closed and _identity(self._location) == self._identity:
                connection, _ = connect(self._location, create=False, read_only=self._read_only)
                connection.execute(f"pragma cache_size = -{READER_CACHE_KB}")
        try:
            yield connection
        finally:
            if connection and not self._closed and len(self._idle) < IDLE_READERS:
                self._idle.append(connection)
            elif connection:
                connection.close()

    def close(self) -> None:
        """Close all that are not lent; those that are will be when they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


def _identity(location: str) -> tuple[int, int] | None:
    """Return device and inode of a file; None for an index in memory."""
    try:
        status = os.stat(os.path.expanduser(location))  # noqa: PTH111, PTH116
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
        self.sums: GenerationCache[Any] = GenerationCache()
        self.frozen = frozen(self.connection)
        #: What each connection read since it last saw a change, and the connections that looked for one in this block.
        self._memos: WeakKeyDictionary[apsw.Connection, StateMemo] = WeakKeyDictionary()
        self._block = threading.local()
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
        """Let this thread, within the block, look for changes once; a block within another joins it."""
        if getattr(self._block, "looked", None) is not None:
            yield
            return
        self._block.looked = set()
        try:
            yield
        finally:
            self._block.looked = None

    def known(self, connection: apsw.Connection, statement: str, **bound: Hashable) -> list[Any]:
        """Return the rows of a statement; within `memoized` those that were read, as long as there was no change."""
        looked = getattr(self._block, "looked", None)
        if looked is None:
            return connection.execute(statement, bound).fetchall()
        if connection not in looked:
            connection.execute(LOOK).fetchall()
            looked.add(connection)
        state = state_of(connection)
        memo = self._memos.get(connection)
        if memo is None or memo.state != state or len(memo.rows) > MOST_OWNERS:
            memo = self._memos[connection] = StateMemo(state)
        key = (statement, *bound.values())
        if key not in memo.rows:
            rows = connection.execute(statement, bound).fetchall()
            if (now := state_of(connection)) != state:
                memo = self._memos[connection] = StateMemo(now)
            memo.rows[key] = rows
        return memo.rows[key]

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
        except (apsw.Error, OSError, UnicodeDecodeError) as error:
            raise_ours(self.location, error)

    def undo(self) -> None:
        """Roll back what is still open, if SQLite has not by itself, and remember nothing of it."""
        self._memos.pop(self.connection, None)
        if self.connection.in_transaction:
            self.connection.execute("rollback")


def state_of(connection: apsw.Connection) -> tuple[int, int]:
    """Return what changes with whatever a connection changed, and with the changes of others once it saw them."""
    return connection.data_version(), connection.total_changes()


def location_of(database: str | Path, name: str) -> Path:
    """Return where the derived file or folder of a name lies."""
    path = Path(database).expanduser()
    return path.with_name(f"{path.name}.{name}")


def current(connection: apsw.Connection, name: str) -> Current | None:
    """Return what the database records of a derived file; None if no build was ever begun."""
    row = connection.execute(CURRENT, {"name": name}).fetchone()
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
