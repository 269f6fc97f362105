"""The engine under a store: connections, transactions, derived files, and the views of owners.

One connection writes, and also reads while nobody else holds it. A thread that finds it held, mostly by a transaction,
reads through a connection of its own (`Readers`) and sees the previous commit: no search waits for indexing.

A view binds its owner into every statement, which contains `owner = :owner`. For several owners the same text is run
with all of their numbers in its place, so every query for one owner also works for several, and no other owner's rows
are read.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

import apsw

from rifflux.errors import OutOfScope
from rifflux.store.sqlite.connection.connect import connect, frozen, raise_ours
from rifflux.store.sqlite.connection.locks import ASIDE, LONG
from rifflux.types import Progress

#: The maximum number of owners in a cache of small values.
MOST_OWNERS = 4096
#: Seconds between updates of derived files during a long task.
FOLLOW = 60.0
#: The maximum number of idle connections, each of which may cache some pages of the file.
IDLE_READERS = 4
READER_CACHE_KB = 8_000

# Reads the file's state: afterwards the connection knows whether anybody changed it.
LOOK = "pragma data_version"

#: The record of a derived file in the database: the columns of `Current`.
CURRENT = """
select coalesce((select seq from sqlite_sequence where name = 'touched'), 0), covered, token
from derived where name = :name"""

#: The number of an owner without content: no row has it.
NOBODY = -1

OWNER = "select id, generation from owner where name = :name"
# In the order of the names, which is the same in every database that has these owners; their numbers are not.
SEVERAL = """
select json_group_array(json_array(owner.id, owner.name, owner.generation) order by wanted.key)
from json_each(:names) as wanted cross join owner on owner.name = wanted.value"""
INDEX_CHANGED = "update setting set value = value + 1 where name = 'generation'"
OWNER_CHANGED = "update owner set generation = generation + 1 where id = ?"

Numbers = tuple[int, ...]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Current:
    """The record of a derived file: the log's last entry, the last one covered, and the copy's token."""

    latest: int
    covered: int
    token: str


@dataclass(frozen=True, slots=True)
class StateMemo:
    """The rows that a connection read in one state of the file, by statement and bound values."""

    state: tuple[int, int]
    rows: dict[Hashable, list[Any]] = field(default_factory=dict)


class GenerationCache(Generic[Value]):
    """A cache of values derived from an owner's rows, by owner (or a longer key) and generation.

    Values count by their `nbytes` if they have it, otherwise as one. The least recently used are evicted.
    """

    def __init__(self, most: int = MOST_OWNERS) -> None:
        self._most = most
        self._used = 0
        self._values: OrderedDict[Hashable, tuple[object, Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, generation: object) -> Value | None:
        """Return the value of this generation, or None."""
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
        """Follow the changes just committed for some owners."""

    def erased(self, owners: Collection[int], *, documents: bool) -> None:
        """Delete data of owners whose content was deleted; without `documents` there was none."""

    def close(self) -> None:
        """End background work."""


class Readers:
    """Lends connections to the index at `location`, each to one thread at a time, opening them on demand."""

    def __init__(self, location: str, *, read_only: bool = False) -> None:
        self._location = location
        self._read_only = read_only
        self._identity = _identity(location)
        # Lists append and pop atomically, also between threads.
        self._idle: list[apsw.Connection] = []
        self._closed = False

    @contextmanager
    def lent(self) -> Iterator[apsw.Connection | None]:
        """Lend an exclusive connection; None if the file at the location was removed or replaced."""
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
        """Close all idle connections; lent ones are closed when they are returned."""
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

    With `only_reads` the file is never written, even if it could be.
    """

    def __init__(
        self, location: str, *, create: bool = True, only_reads: bool = False, progress: Progress | None = None
    ) -> None:
        self.connection, self.read_only = connect(location, create=create, read_only=only_reads, progress=progress)
        self.location = location
        self._only_reads = only_reads
        self.lock = threading.RLock()
        self.readers = Readers(location, read_only=only_reads)
        self.followers: list[DerivedFiles] = []
        #: First rows by owner and statement, such as counts, which scan all rows.
        self.sums: GenerationCache[Any] = GenerationCache()
        self.frozen = frozen(self.connection)
        #: The rows that each connection read since its last change, and the connections checked for changes in this
        #: block.
        self._memos: WeakKeyDictionary[apsw.Connection, StateMemo] = WeakKeyDictionary()
        self._block = threading.local()
        #: Owners whose search results the open transaction changes.
        self.touched: set[int] = set()
        self._behind: set[int] = set()
        self._tasks = 0
        self._followed_at = 0.0

    def close(self) -> None:
        """Close the database; pending work must have been committed, or is rolled back."""
        for each in self.followers:
            each.close()
        with self.lock:
            # The last connection to be closed cleans up, which only a writable one can do.
            self.readers.close()
            self.connection.close()

    def look_again(self) -> None:
        """Reopen a file that was read as immutable, if it was changed nevertheless."""
        if frozen(self.connection) != self.frozen:
            self.connection.close()
            self.connection, self.read_only = connect(self.location, create=False, read_only=self._only_reads)
            self.frozen = frozen(self.connection)

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """Lend an exclusive connection until the block ends, for reading the committed state."""
        with self.readers.lent() as connection:
            if connection:
                yield connection
                return
        with self.lock:
            yield self.connection

    @contextmanager
    def memoized(self) -> Iterator[None]:
        """Check for changes only once for this thread within the block; nested blocks join it."""
        if getattr(self._block, "looked", None) is not None:
            yield
            return
        self._block.looked = set()
        try:
            yield
        finally:
            self._block.looked = None

    def moment(self, connection: apsw.Connection) -> object:
        """Return a value that changes with everything that this thread reads.

        None if that is unknown: outside `memoized`, in a transaction, or once several connections were used.
        """
        looked = getattr(self._block, "looked", None)
        if looked is None or connection.in_transaction:
            return None
        if connection not in looked:
            connection.execute(LOOK).fetchall()
            looked.add(connection)
        return (connection, *state_of(connection)) if len(looked) == 1 else None

    def known(self, connection: apsw.Connection, statement: str, **bound: Hashable) -> list[Any]:
        """Return the rows of a statement; within `memoized` cached until something changes."""
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
        """Update derived files occasionally while the block writes much, and when it ends."""
        with self.lock:
            if not self._tasks:
                self._followed_at = time.monotonic()
            self._tasks += 1
        try:
            yield
        finally:
            with self.lock:
                self._tasks -= 1
                self.follow(ended=True)

    def follow(self, *, ended: bool = False) -> None:
        """Have derived files follow the committed changes, unless postponed until the end of a long task.

        When it has ended, they also look whether they are there at all.
        """
        self._behind |= self.touched
        self.touched.clear()
        if self._tasks and time.monotonic() - self._followed_at < FOLLOW:
            return
        behind = self._behind
        self._behind = set()
        self._followed_at = time.monotonic()
        try:
            for follower in self.followers if behind or ended else ():
                follower.changed(self.connection, behind)
        except (apsw.Error, OSError, UnicodeDecodeError) as error:
            raise_ours(self.location, error)

    def undo(self) -> None:
        """Roll back an open transaction, unless SQLite already has, and drop its cached rows."""
        self._memos.pop(self.connection, None)
        if self.connection.in_transaction:
            self.connection.execute("rollback")


def state_of(connection: apsw.Connection) -> tuple[int, int]:
    """Return a value that changes with the connection's own changes, and with others' once it saw them."""
    return connection.data_version(), connection.total_changes()


def location_of(database: str | Path, name: str) -> Path:
    """Return the path of the derived file or folder with a name."""
    path = Path(database).expanduser()
    return path.with_name(f"{path.name}.{name}")


def current(connection: apsw.Connection, name: str) -> Current | None:
    """Return the record of a derived file, or None if no build was ever begun."""
    row = connection.execute(CURRENT, {"name": name}).fetchone()
    if row:
        return Current(*row)
    return None


@contextmanager
def transaction(connection: apsw.Connection, begin: str = "begin") -> Iterator[None]:
    """Open a transaction on an exclusive connection."""
    connection.execute(begin)
    try:
        yield
        connection.execute("commit")
    finally:
        if connection.in_transaction:
            connection.execute("rollback")


@contextmanager
def unmoved(connection: apsw.Connection) -> Iterator[bool]:
    """Hold one state of the database for several statements; yield False if it is not visible to others yet."""
    outermost = not connection.in_transaction
    if outermost:
        connection.execute("begin")
    try:
        yield outermost
    finally:
        if outermost and connection.in_transaction:
            connection.execute("commit")


# The views of owners


@dataclass(frozen=True, slots=True)
class OwnerView:
    """One owner's rows in the database, or several owners' together, which are read-only.

    A statement gets an owner's number bound as `:owner`. `owner` is the name of one, or a name for the `several`.
    """

    engine: Engine
    owner: str = ""
    several: tuple[str, ...] = ()

    @contextmanager
    def reading(self) -> Iterator[tuple[apsw.Connection, Numbers]]:
        """Lend a connection to read from until the block ends, with the owners' numbers.

        Within a transaction it is the connection that sees its changes.
        """
        engine = self.engine
        try:
            if not engine.lock.acquire(blocking=False):
                with nullcontext() if engine.frozen else engine.readers.lent() as connection:
                    if connection:
                        yield connection, self._numbers(connection)
                        return
                engine.lock.acquire()
            try:
                if engine.frozen:
                    engine.look_again()
                yield engine.connection, self._numbers(engine.connection)
            finally:
                engine.lock.release()
        except (apsw.Error, OSError, UnicodeDecodeError) as error:
            raise_ours(engine.location, error)

    def _numbers(self, connection: apsw.Connection) -> Numbers:
        """Return the owners' numbers; for an owner without content, a number that no row has."""
        if self.several:
            return tuple(self._known(connection)[0])
        if not self.owner:
            return (0,)
        # Read again after every change: a deleted user may return, with another number.
        rows = self.engine.known(connection, OWNER, name=self.owner)
        return (int(rows[0][0]) if rows else NOBODY,)

    def _known(self, connection: apsw.Connection) -> tuple[Sequence[int], Sequence[str], Sequence[int]]:
        """Return the numbers, names and generations of those of several owners who have content."""
        ((listed,),) = self.engine.known(connection, SEVERAL, names=_listed(self.several))
        return _columns(listed)

    @property
    def names(self) -> Mapping[int, str]:
        """Return the names of several owners by number; empty for one, whose rows do not name it."""
        if not self.several:
            return {}
        with self.reading() as (connection, _):
            numbers, names, _ = self._known(connection)
        return dict(zip(numbers, names, strict=True))

    def rows(self, statement: str, bound: Mapping[str, Any] | None = None) -> list[Any]:
        """Return all rows that a statement selects."""
        with self.reading() as (connection, numbers):
            if self.several:
                given = {**(bound or {}), "owners": json.dumps(numbers)}
                return connection.execute(_of_several(statement), given).fetchall()
            return connection.execute(statement, {**(bound or {}), "owner": numbers[0]}).fetchall()

    def row(self, statement: str, **bound: Hashable) -> Any:
        """Return the first row of a statement, or None; cached as in `Engine.known`."""
        rows = self.known(statement, **bound)
        return rows[0] if rows else None

    def known(self, statement: str, **bound: Hashable) -> list[Any]:
        """Return the rows of a statement; cached as in `Engine.known`."""
        with self.reading() as (connection, _):
            return self.engine.known(connection, statement, **bound)

    def summed(self, statement: str) -> Numbers:
        """Return the numbers in the first row of a statement, summed over the owners.

        They are cached for each state of an owner's rows.
        """
        with self.reading() as (connection, owners):
            owners = owners or (NOBODY,)
            generation = self.generation(connection)
            generations = generation if isinstance(generation, tuple) and generation else [generation] * len(owners)
            total: Numbers = ()
            for owner, each in zip(owners, generations, strict=True):
                row: Numbers | None = self.engine.sums.get((owner, statement), each)
                if row is None:
                    (found,) = connection.execute(statement, {"owner": owner})
                    row = self.engine.sums.put((owner, statement), each, found)
                total = tuple(a + b for a, b in zip(total, row, strict=True)) if total else row
            return total

    def generation(self, connection: apsw.Connection) -> object:
        """Return a value that changes with this owner's searchable content; always a new one during a write."""
        if connection.txn_state("main") == apsw.SQLITE_TXN_WRITE:
            return object()
        if self.several:
            return tuple(self._known(connection)[2])
        rows = self.engine.known(connection, OWNER, name=self.owner)
        return rows[0][1] if rows else None

    @contextmanager
    def writing(self, *, content: bool = True) -> Iterator[tuple[apsw.Connection, int]]:
        """Open a transaction, or join the enclosing one, with the owner's number.

        Without `content`, it does not invalidate values derived from the content. Raises OutOfScope for several owners.
        """
        if self.several:
            raise OutOfScope("what several owners have is only read together: write through the view of one of them")
        engine = self.engine
        with engine.lock:
            connection = engine.connection
            if connection.in_transaction:
                yield connection, self._entered(connection, content)
                return
            engine.touched.clear()
            try:
                connection.execute("begin immediate")
                started_at = time.monotonic()
                yield connection, self._entered(connection, content)
                if engine.touched:
                    connection.execute(INDEX_CHANGED)
                    connection.executemany(OWNER_CHANGED, [*zip(engine.touched, strict=True)])
                connection.execute("commit")
            except BaseException as error:
                engine.undo()
                if isinstance(error, apsw.Error | OSError | UnicodeDecodeError):
                    raise_ours(engine.location, error)
                raise
            engine.follow()
        if time.monotonic() - started_at > LONG:
            time.sleep(ASIDE)

    def _entered(self, connection: apsw.Connection, content: bool) -> int:
        """Return the owner's number, creating one if needed, and record whether content changes."""
        number = 0
        if self.owner:
            connection.execute("insert or ignore into owner (name) values (?)", (self.owner,))
            number = connection.execute("select id from owner where name = ?", (self.owner,)).get
        if content:
            self.engine.touched.add(number)
        return number


@lru_cache(maxsize=1024)
def _of_several(statement: str) -> str:
    """Return a statement on one owner's rows as one on several owners'."""
    return statement.replace("= :owner", "in (select value from json_each(:owners))")


@lru_cache(maxsize=256)
def _listed(names: tuple[str, ...]) -> str:
    return json.dumps(names)


@lru_cache(maxsize=256)
def _columns(listed: str) -> tuple[Sequence[int], Sequence[str], Sequence[int]]:
    numbers, names, generations = zip(*json.loads(listed), strict=True) if listed != "[]" else ((), (), ())
    return numbers, names, generations
