"""Files derived from the database, next to it: never the truth, rebuilt when stale, deleted at any time without harm.

`index.db.vectors` and `index.db.words` hold what the tables hold, in a shape that is faster to search. Each has a name,
the part behind the dot, and the same life:

- **Building.** `rebuild` lets one process at a time write a new copy under a temporary name, from one snapshot of the
  database, and puts it in place of the old one by a rename. The lock dies with its owner, what a killed build left is
  swept away by the next. Readers keep the copy they have mapped until they look again.
- **Knowing it.** Every copy carries a `StateStamp`: its name and format, a random token, and the number of the last
  entry of the log that it covers. The database remembers the token of the newest copy, so one that belongs to another
  database, or to an older or newer state of a restored one, is not taken for its own: `current` says what is expected.
- **Following changes.** From the first build on, triggers (in `tables`) write to the table `touched` every chunk whose
  words or vector were put, changed or dropped, in the transaction that did it. The function `touched` reads the entries
  after the last one that was covered: whatever the copy says of those chunks no longer counts, and the tables say how
  they are now. Before the first build nothing is logged, so that filling an empty index costs nothing. A build trims
  the entries that it made superfluous.

So a reader does, in one read transaction: `current`, then map the copy if its stamp fits, then `touched` after what the
stamp covers; where there is no fitting copy, it answers from the tables and has one built.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import apsw

from rifflux.store.sqlite.connection.connect import connect, translated
from rifflux.store.sqlite.connection.engine import Current, current, location_of, transaction
from rifflux.store.sqlite.connection.locks import file_lock

#: Seconds without a further change before work begins, and the maximum wait for such a pause.
PAUSE = 0.3
LONGEST_WAIT = 60.0
#: Seconds before work requested only by a search begins: a process that answers one query has ended by then.
READER_PAUSE = 2.0

#: Updates a derived file, on a connection of its own; returns False if another process is doing so.
Task = Callable[[apsw.Connection], bool]

#: The size of a stamp at the start of a file, so that what follows begins on a memory page.
STAMP_BYTES = 4096
_MAGIC = b"RFLXDERV"
#: The size of a file, in bytes, whose building leaves much freed memory.
LARGE = 4 << 20
_DIGEST_BYTES = 16

_TOUCHED = "select distinct chunk from touched where seq > :after and what = :name"

# The log is complete after the entry that is the last when the name is registered.
_REGISTER = """
insert or ignore into derived (name, covered, token)
values (?, coalesce((select seq from sqlite_sequence where name = 'touched'), 0), '')"""

#: Deletes the words of chunks that the words file covers.
FORGET_FRESH = """
delete from fresh_terms where chunk not in (select chunk from touched where what = 'words')"""
_COVER = "update derived set covered = :covered, token = :token where name = :name"
_FORGET = "update derived set token = '' where name glob ?"
# The copy being built, so that `forget` reaches that one too.
_BUILDING = "insert or replace into derived (name, covered, token) values (:name || '.building', 0, :token)"
_BUILT = "delete from derived where name = :name || '.building' and token = :token"
_BUILT_FOR_NOTHING = "delete from derived where name glob ? || '.building'"
_TRIM = "delete from touched where what = :name and seq <= :covered"


class Unfit(Exception):
    """Raised if a derived file cannot be used. Unless it is `NotBuilt`, the file is damaged."""


class NotBuilt(Unfit):
    """Raised if there is no copy of the present state: no file, or one of another format, database or state.

    That is not damage: copying, moving or restoring the database alone leaves derived files behind.
    """


@dataclass(frozen=True, slots=True)
class StateStamp:
    """The description stored in a copy. `size` is in bytes, 0 for a folder; `facts` are its own JSON values."""

    name: str
    format: int
    token: str
    covered: int
    size: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """Return the stamp as `STAMP_BYTES` bytes: magic, checksum, JSON, zeros."""
        text = json.dumps(asdict(self)).encode()
        return (_MAGIC + _checksum(text) + text).ljust(STAMP_BYTES, b"\0")

    @classmethod
    def decoded(cls, data: bytes) -> StateStamp:
        """Return the stamp that `encoded` wrote. Raises `Unfit` if a single bit differs."""
        text = data[len(_MAGIC) + _DIGEST_BYTES : STAMP_BYTES].rstrip(b"\0")
        if len(data) < STAMP_BYTES or data[:STAMP_BYTES] != (_MAGIC + _checksum(text) + text).ljust(STAMP_BYTES, b"\0"):
            raise Unfit("its stamp is damaged")
        return cls(**json.loads(text))

    def check(self, expected: Current | None, name: str, format: int) -> None:
        """Raise `NotBuilt` unless this is the copy recorded in the database, in the given format."""
        if (self.name, self.format) != (name, format):
            raise NotBuilt(f"it holds {self.name} in format {self.format}, not {name} in format {format}")
        if expected is None or (self.token, self.covered) != (expected.token, expected.covered):
            raise NotBuilt("it belongs to another state of the database")


def _checksum(text: bytes) -> bytes:
    return blake2b(text, digest_size=_DIGEST_BYTES).digest()


class BackgroundBuilder:
    """Runs a task of one index on demand, never twice at a time. `trouble` is why it last failed, or None."""

    def __init__(self, location: str, task: Task, afterwards: Callable[[], None]) -> None:
        self._location = location
        self._task = task
        self._afterwards = afterwards
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._connection: apsw.Connection | None = None
        self._build_at: float | None = None
        self._latest = 0.0
        self._required = self._closing = False
        self.trouble: str | None = None

    def require(self) -> None:
        """Schedule following this process's changes: after a pause, at the latest when closing."""
        self._plan(PAUSE, required=True)

    def suggest(self) -> None:
        """Schedule building the file, for the benefit of a search."""
        if self._build_at is None and not self.trouble:
            self._plan(READER_PAUSE, required=False)

    def _plan(self, pause: float, *, required: bool) -> None:
        with self._changed:
            if self._closing:
                return
            now = time.monotonic()
            if self._build_at is None:
                self._latest = now + LONGEST_WAIT
            self._build_at = min(now + pause, self._latest)
            self._required = self._required or required
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="rifflux-builder", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Finish this process's required work, and end; work only suggested by searches is interrupted."""
        with self._changed:
            self._closing = True
            thread = self._thread
            if self._connection and not self._required:
                self._connection.interrupt()
            self._changed.notify_all()
        if thread:
            thread.join()

    def _work(self) -> None:
        while self._is_due():
            try:
                done = self.once()
                self.trouble = None
            except Exception as error:
                # Searches are answered without the file; the next change tries again.
                done = True
                self.trouble = str(error)
            with self._changed:
                if not done and not self._closing:
                    self._build_at = time.monotonic() + PAUSE
                elif self._build_at is None:
                    self._required = False

    def _is_due(self) -> bool:
        """Wait until work is due; end the thread and return False if there is none."""
        with self._changed:
            while self._build_at is not None and not self._closing and (left := self._build_at - time.monotonic()) > 0:
                self._changed.wait(left)
            if self._build_at is None or (self._closing and not self._required):
                self._thread = None
                return False
            self._build_at = None
            return True

    def once(self, task: Task | None = None) -> bool:
        """Run the task now, or another one; return False if another process is doing so."""
        with translated(self._location):
            connection, _ = connect(self._location, create=False)
            self._connection = connection
            try:
                return (task or self._task)(connection)
            finally:
                with self._changed:
                    self._connection = None
                connection.close()
                self._afterwards()


class DerivedFile:
    """A derived file in this process: maintained by a thread of its own, and not used while it is unfit.

    If another process builds it (`elsewhere`), this one only records in the database what it needs.
    """

    #: The name used in messages.
    title: str
    elsewhere = False

    def __init__(self, location: str, name: str, *, read_only: bool) -> None:
        self.name, self.place = name, location_of(location, name)
        #: The token of the copy that cannot be used, and its damage; empty if it was not built.
        self._refused = ""
        self.damage = ""
        self._changed_at = float("-inf")
        self._inode = self._large()
        self.builder = None if read_only else BackgroundBuilder(location, self._maintain, self._give_back)

    def _maintain(self, connection: apsw.Connection) -> bool:
        if self.elsewhere:
            return self._note(connection)
        return self._keep(connection)

    def _large(self) -> int:
        """Return the inode of a file whose building takes much memory; 0 without one."""
        with suppress(OSError):
            state = self.place.stat()
            return state.st_ino if state.st_size >= LARGE else 0
        return 0

    def _give_back(self) -> None:
        """Return memory to the system if a large file was built."""
        former = self._inode
        self._inode = self._large()
        if self._inode not in (former, 0):
            give_back()

    def _note(self, connection: apsw.Connection) -> bool:
        """Record for the building process that there is no copy, or that it cannot be used."""
        known = current(connection, self.name)
        if known is None:
            connection.execute(_REGISTER, (self.name,))
        elif known.token and known.token == self._refused:
            self.forget(connection)
        return True

    def _keep(self, connection: apsw.Connection) -> bool:
        """Update the file; return False if postponed, or if another process is doing so."""
        raise NotImplementedError

    def _verify(self, connection: apsw.Connection, known: Current) -> None:
        """Verify all of the copy recorded in the database. Raises `Unfit`."""
        raise NotImplementedError

    def check(self, connection: apsw.Connection) -> str | None:
        """Return the damage of the copy recorded in the database; None if it is sound or was not built."""
        known = current(connection, self.name)
        try:
            if known and known.token:
                self._verify(connection, known)
        except NotBuilt:
            return None
        except Unfit as error:
            return str(error)
        return None

    def _set_aside(self, token: str, error: Unfit) -> None:
        """Stop using the copy with this token. Only damage is reported as `trouble`."""
        self._refused = token
        self.damage = "" if isinstance(error, NotBuilt) else str(error)

    def forget(self, connection: apsw.Connection) -> None:
        """Forget any copy."""
        forget(connection, self.name)

    def build(self) -> None:
        """Update or build the file now, if that pays."""
        while self.builder and not self.builder.once(self._keep):
            time.sleep(PAUSE)

    def changed(self, connection: apsw.Connection, owners: Collection[int] = ()) -> None:
        """Schedule following the changes just committed for some owners, once that pays."""
        self._changed_at = time.monotonic()
        if self.builder and not self.elsewhere and self._is_behind(connection):
            self.builder.require()

    def _is_behind(self, connection: apsw.Connection) -> bool:
        """Return True if it is time to follow."""
        raise NotImplementedError

    def follow(self, connection: apsw.Connection) -> None:
        """Follow other processes' commits, and build what they recorded as needed."""
        self.changed(connection)
        known = current(connection, self.name)
        if self.builder and known and not known.token:
            self.builder.require()

    def suggest(self) -> None:
        """Schedule building the file, for the benefit of a search."""
        if self.builder:
            self.builder.suggest()

    def close(self) -> None:
        """End background work."""
        if self.builder:
            self.builder.close()

    @property
    def trouble(self) -> str | None:
        """Return the damage or failure because of which it is not used, for the log, or None."""
        return self.damage or (self.builder.trouble if self.builder else None)

    @property
    def condition(self) -> str:
        """Return the trouble without details, for every user: an error may name files and quote their content."""
        if self.damage:
            return "it is damaged"
        return "it could not be built"


def touched(connection: apsw.Connection, name: str, after: int) -> list[int]:
    """Return the distinct rows of chunks that were put, changed or dropped after an entry of the log."""
    return [chunk for (chunk,) in connection.execute(_TOUCHED, {"after": after, "name": name})]


def forget(connection: apsw.Connection, name: str) -> None:
    """Forget any copy of a derived file, even one being built, so that it is rebuilt.

    A star in the name matches anything.
    """
    connection.execute(_FORGET, (name,))
    connection.execute(_BUILT_FOR_NOTHING, (name,))


def rebuild(
    connection: apsw.Connection, place: Path, name: str, format: int, write: Callable[[Path, StateStamp], None]
) -> bool:
    """Build a new copy and put it in place; return False if another process or thread is doing so.

    `write(path, stamp)` creates the file or folder at `path`, reading from `connection`, which must be this build's
    own: it stays within one read transaction meanwhile. The given stamp only lacks size and facts.
    """
    with file_lock(place.with_name(place.name + ".lock")) as mine:
        if not mine:
            return False
        new = place.with_name(place.name + ".new")
        old = place.with_name(place.name + ".old")
        _sweep(new, old)
        connection.execute(_REGISTER, (name,))
        try:
            return _made(connection, name, format, partial(write, new), lambda: _replace(new, place, old, name))
        finally:
            _sweep(new, old)


def give_back() -> None:
    """Return freed memory to the system, where the C library (glibc) keeps it: a build takes much for a short time."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _made(
    connection: apsw.Connection, name: str, format: int, make: Callable[[StateStamp], None], put: Callable[[], None]
) -> bool:
    """Build a copy and put it in place; return False if it was forgotten meanwhile.

    It is put in place within the transaction that records it: a failure or kill leaves either the old copy in place, or
    one that the database does not know.
    """
    bound = {"name": name, "token": secrets.token_hex(16)}
    connection.execute(_BUILDING, bound)
    with transaction(connection):
        known = current(connection, name)
        if known is None:
            raise Unfit("none was ever built")
        make(StateStamp(name, format, bound["token"], known.latest))
    with transaction(connection, "begin immediate"):
        connection.execute(_BUILT, bound)
        if not connection.changes():
            return False
        connection.execute(_COVER, {**bound, "covered": known.latest})
        connection.execute(_TRIM, {"name": name, "covered": known.latest})
        put()
    return True


def private(path: str, flags: int) -> int:
    """Open a file for `open`; a new one is only readable by its owner until it is put in place."""
    return os.open(path, flags, 0o600)


def _replace(new: Path, place: Path, old: Path, name: str) -> None:
    """Move `new` to `place`, readable by whoever may read the database.

    Only files are replaced atomically; between two folders there is a moment without one.
    """
    mode = place.with_name(place.name.removesuffix(f".{name}")).stat().st_mode & 0o777
    new.chmod(mode | (mode & 0o444) >> 2 if new.is_dir() else mode)
    if place.is_dir() or (new.is_dir() and place.exists()):
        place.rename(old)
    new.replace(place)


def _sweep(*paths: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
