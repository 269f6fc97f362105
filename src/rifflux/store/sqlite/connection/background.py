"""Keeping a derived file up to date in the background, by a thread that is only there while there is work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import apsw

from rifflux.store.sqlite.connection.connect import connect, translated

#: Seconds without a further change before work begins, and the longest that it waits for such a pause.
PAUSE = 0.3
LONGEST_WAIT = 60.0
#: Seconds until work begins that only a search asked for: a process that answers one question is gone by then.
READER_PAUSE = 2.0

#: Brings a derived file up to date, on a connection of its own; False if somebody else is at it.
Task = Callable[[apsw.Connection], bool]


class BackgroundBuilder:
    """Does a task of one index when there is need, never twice at a time. `trouble` is why it last failed, or None."""

    def __init__(self, location: str, task: Task) -> None:
        self._location = location
        self._task = task
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._connection: apsw.Connection | None = None
        self._due: float | None = None
        self._latest = 0.0
        self._required = self._closing = False
        self.trouble: str | None = None

    def require(self) -> None:
        """Plan to follow what this process changed: after a pause, at the latest when closing."""
        self._plan(PAUSE, required=True)

    def suggest(self) -> None:
        """Plan to build the file, which a search could do with."""
        if self._due is None and not self.trouble:
            self._plan(READER_PAUSE, required=False)

    def _plan(self, pause: float, *, required: bool) -> None:
        with self._changed:
            if self._closing:
                return
            now = time.monotonic()
            if self._due is None:
                self._latest = now + LONGEST_WAIT
            self._due = min(now + pause, self._latest)
            self._required = self._required or required
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="rifflux-builder", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Do what this process owes, and end; what only searches wished for is broken off."""
        with self._changed:
            self._closing = True
            thread = self._thread
            if self._connection and not self._required:
                self._connection.interrupt()
            self._changed.notify_all()
        if thread:
            thread.join()

    def _work(self) -> None:
        while self._begun():
            try:
                done = self.once()
                self.trouble = None
            except Exception as error:
                # Whoever asks gets the answer without the file; the next change tries again.
                done = True
                self.trouble = str(error)
            with self._changed:
                if not done and not self._closing:
                    self._due = time.monotonic() + PAUSE
                elif self._due is None:
                    self._required = False

    def _begun(self) -> bool:
        """Wait until work is due; False, and no thread any more, if there is none."""
        with self._changed:
            while self._due is not None and not self._closing and (left := self._due - time.monotonic()) > 0:
                self._changed.wait(left)
            if self._due is None or (self._closing and not self._required):
                self._thread = None
                return False
            self._due = None
            return True

    def once(self, task: Task | None = None) -> bool:
        """Do the task now, or another one; False if somebody else is at it."""
        with translated(self._location):
            connection, _ = connect(self._location, create=False)
            self._connection = connection
            try:
                return (task or self._task)(connection)
            finally:
                with self._changed:
                    self._connection = None
                connection.close()
