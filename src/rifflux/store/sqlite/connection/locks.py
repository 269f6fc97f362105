"""Concurrency of processes on one file: locks, fair waiting, and a log that stays short.

Locks between processes are the operating system's, on a file beside the index, and are released when their owner ends.
The file names the owner. It is never removed, and is meaningless while unlocked: a removed one could be locked twice,
through the old file that somebody has open and through the new one.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import apsw

from rifflux.errors import UnusableIndex

#: How long anything waits for other connections before it fails with `Busy`.
BUSY_TIMEOUT_MS = 60_000
#: The maximum seconds between retries of a waiting connection.
PAUSE = 0.005
#: The log size in pages from which it is moved into the database, and from which readers that hold it are waited for.
MOVE_FROM = 1_000
WAIT_FROM = 8_000
#: The time to wait for readers; writers wait meanwhile.
READERS_TIMEOUT_MS = 200
#: After a transaction longer than `LONG`, a process pauses for longer than any other one's retry; both in seconds.
LONG = 0.03
ASIDE = 1.2 * PAUSE
#: Seconds between retries of a waiting process.
LOOK_AGAIN = 0.05
#: The locked byte in the file, on systems where locks hide what they cover: far after the owner's number.
_FAR = 1 << 20


@contextmanager
def file_lock(path: Path, waiting: Callable[[str], None] | None = None) -> Iterator[bool]:
    """Hold a lock file, which is released when its owner ends in any way.

    If another process holds it, `waiting` is called with its name (`process 4711`) and this one waits; without
    `waiting`, the block gets False at once.
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnusableIndex(f"{path} cannot be written ({reason}): check the permissions of its folder") from error
    with os.fdopen(number, "r+b", buffering=0) as file:
        mine = _lock(file)
        if not mine and waiting:
            waiting(_owner(path))
            while not (mine := _lock(file)):
                time.sleep(LOOK_AGAIN)
        if mine:
            # Waiting processes read the owner; a full disk must not stop the work.
            with suppress(OSError):
                file.seek(0)
                # Always of the same length, since truncating a file takes milliseconds.
                file.write(f"{os.getpid():<20}".encode())
        try:
            yield mine
        finally:
            if mine:
                _unlock(file)


def _owner(path: Path) -> str:
    number = path.read_bytes()[:20].decode("ascii", "replace").strip()
    if number.isdigit():
        return f"process {number}"
    return "another process"


if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO) -> bool:
        try:
            file.seek(_FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: BinaryIO) -> None:
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # A file system without locks: as with SQLite's own, two users at once are the owner's responsibility.
            return True
        return True

    def _unlock(file: BinaryIO) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)


def retry_while_busy(work: Callable[[], object]) -> None:
    """Retry what SQLite itself never waits for: changing the journal mode while others open the same new file."""
    patience = BusyHandler()
    for tries in itertools.count():
        try:
            work()
        except apsw.BusyError:
            if not patience(tries):
                raise
        else:
            return


class BusyHandler:
    """Decides whether SQLite retries, after a pause, while another connection is in the way.

    SQLite's own pauses grow, so that of many writers the last to come are served first. Here all have the same chance
    at every retry, and `OwnerView.writing` pauses after a long transaction.
    """

    def __init__(self) -> None:
        self._until = 0.0

    def __call__(self, tries: int) -> bool:
        """Wait a moment; return False once the busy timeout has passed since the first try."""
        if tries == 0:
            self._until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
        time.sleep(random.uniform(PAUSE / 10, PAUSE))
        return time.monotonic() < self._until


class WalCheckpointer:
    """Moves the log into the database after a commit, as SQLite does by default, but also under constant reading.

    A log restarts only at a moment when nobody reads from it. With many readers there may be none, so from `WAIT_FROM`
    pages on it waits for them.
    """

    def __init__(self) -> None:
        self._wait_from = WAIT_FROM

    def __call__(self, connection: apsw.Connection, name: str, pages: int) -> int:
        """Handle a commit; SQLite calls this with the number of pages in the log."""
        if pages >= self._wait_from:
            self._wait(connection, name, pages)
        elif pages >= MOVE_FROM:
            _move(connection, name, apsw.SQLITE_CHECKPOINT_PASSIVE)
        return apsw.SQLITE_OK

    def _wait(self, connection: apsw.Connection, name: str, pages: int) -> None:
        connection.set_busy_timeout(READERS_TIMEOUT_MS)
        try:
            done = _move(connection, name, apsw.SQLITE_CHECKPOINT_RESTART)
        finally:
            connection.set_busy_handler(BusyHandler())
        self._wait_from = WAIT_FROM if done else pages + WAIT_FROM


def _move(connection: apsw.Connection, name: str, mode: int) -> bool:
    """Move the log; return False on failure. The commit stands either way, and the next one tries again."""
    try:
        connection.wal_checkpoint(name, mode)
    except apsw.Error:
        return False
    return True
