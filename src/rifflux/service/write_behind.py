"""Entries of a record that are written together, so that few who cause one wait for a write."""

from __future__ import annotations

import logging
import operator
import threading
import time
from collections.abc import Callable
from typing import Generic, TypedDict, TypeVar

Entry = TypeVar("Entry")
_log = logging.getLogger(__name__)
#: Does a piece of work: at once, or where nobody waits for it.
Later = Callable[[Callable[[], None]], object]


class BatchOptions(TypedDict, total=False):
    """The keywords of a `Batch`."""

    seconds: float
    now: Callable[[], float]
    later: Later


class Batch(Generic[Entry]):
    """Gathers entries and has `write` write them, in their order. Safe to share between threads.

    `seconds` is how long one may wait at most, and `later` does the writing then. A crash loses what waited; what could
    not be written waits on.
    """

    def __init__(
        self,
        write: Callable[[list[Entry]], None],
        *,
        seconds: float = 1.0,
        now: Callable[[], float] = time.time,
        later: Later = operator.call,
    ) -> None:
        self._write = write
        self._seconds = seconds
        self.now = now
        self._later = later
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: list[Entry] = []
        self._flushed = now()
        self._timer: threading.Timer | None = None

    def add(self, entry: Entry) -> None:
        """Have an entry written before long."""
        now = self.now()
        with self._lock:
            self._waiting.append(entry)
            due = now - self._flushed >= self._seconds
            if due:
                self._flushed = now
            elif self._timer is None:
                # Perhaps nothing else comes.
                self._timer = threading.Timer(self._seconds, self._flush_late)
                self._timer.daemon = True
                self._timer.start()
        if due:
            self._later(self.flush)

    def _flush_late(self) -> None:
        try:
            self._later(self.flush)
        except Exception as error:  # whatever keeps it from being written, such as an index that was closed meanwhile
            _log.warning("what waited was not written: %s", error)

    def flush(self) -> None:
        """Write what waits. What another thread writes is written, too, when this returns."""
        with self._writing:
            with self._lock:
                waiting = self._waiting
                self._waiting = []
                self._flushed = self.now()
                if self._timer:
                    self._timer.cancel()
                    self._timer = None
            if not waiting:
                return
            try:
                self._write(waiting)
            except BaseException:
                with self._lock:
                    self._waiting = [*waiting, *self._waiting]
                raise

    def drop(self, unwanted: Callable[[Entry], bool]) -> None:
        """Leave unwritten those waiting entries that are unwanted."""
        with self._lock:
            self._waiting = [each for each in self._waiting if not unwanted(each)]
