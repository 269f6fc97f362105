"""Many processes on one file: waiting for each other so that all get their turn, and a log that stays short."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable

import apsw

__all__ = ["ASIDE", "LONG", "BusyHandler", "WalCheckpointer", "retry_while_busy"]

#: How long anything waits for other connections before it fails with `Busy`.
BUSY_TIMEOUT_MS = 60_000
#: One that waits looks again after at most this long, in seconds.
PAUSE = 0.005
#: Pages in the log from which it is moved into the database, and from which readers that keep it long are waited for.
MOVE_FROM, WAIT_FROM = 1_000, 8_000
#: How long they are waited for; writers wait meanwhile.
READERS_TIMEOUT_MS = 200
#: A transaction longer than this stands aside after it for longer than any other one pauses; both in seconds.
LONG, ASIDE = 0.1, 1.2 * PAUSE


def retry_while_busy(work: Callable[[], object]) -> None:
    """Do what SQLite itself never waits with: changing the journal's mode while others open the same new file."""
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
    """What SQLite asks while another connection is in the way: whether to try again, after a pause.

    SQLite's own pauses grow, so that of many writers those who came last are served first. Here all have the same
    chance at every try, and `View.writing` stands aside after a long transaction.
    """

    def __init__(self) -> None:
        self._until = 0.0

    def __call__(self, tries: int) -> bool:
        """Wait a moment; False once the busy timeout has passed since the first try."""
        if tries == 0:
            self._until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
        time.sleep(random.uniform(PAUSE / 10, PAUSE))
        return time.monotonic() < self._until


class WalCheckpointer:
    """Moves the log into the database after a commit, as SQLite does by itself; readers cannot keep it growing.

    A log starts anew only in a moment when nobody reads from it. With many readers there may be none, so from
    `WAIT_FROM` pages on it is waited for.
    """

    def __init__(self) -> None:
        self._wait_from = WAIT_FROM

    def __call__(self, connection: apsw.Connection, name: str, pages: int) -> int:
        """Called by SQLite after each commit with the number of pages in the log."""
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
    """Whether the log could be moved; the commit stands either way, and the next one tries again."""
    try:
        connection.wal_checkpoint(name, mode)
    except apsw.Error:
        return False
    return True
