"""Batches of records, and writes that complete before their target is closed."""

from __future__ import annotations

import logging
import operator
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypedDict, TypeVar

Entry = TypeVar("Entry")
_log = logging.getLogger(__name__)
#: Runs a piece of work: immediately, or in the background.
Later = Callable[[Callable[[], None]], object]


@dataclass
class WriteGate:
    """Admits writes until it is closed; closing waits for admitted ones. Safe to share between threads."""

    is_closed: bool = False
    _under_way: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def passing(self) -> Iterator[bool]:
        """Count a write as under way until the block ends; yield False if the gate is closed."""
        with self._changed:
            passed = not self.is_closed
            self._under_way += passed
        try:
            yield passed
        finally:
            with self._changed:
                self._under_way -= passed
                self._changed.notify_all()

    def close(self, seconds: float) -> bool:
        """Admit no more writes; return True if those under way end within `seconds`."""
        with self._changed:
            self.is_closed = True
            until = time.monotonic() + seconds
            while self._under_way and self._changed.wait(max(until - time.monotonic(), 0.0)):
                pass
            return not self._under_way


class BatchOptions(TypedDict, total=False):
    """The keywords of a `Batch`."""

    seconds: float
    now: Callable[[], float]
    later: Later


class Batch(Generic[Entry]):
    """Collects entries and passes them to `write` in order. Safe to share between threads.

    An entry waits at most `seconds`, then `later` does the writing. A crash loses pending entries; what could not be
    written stays pending. Entries after `close` are dropped.
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
        self._closed = False

    def add(self, entry: Entry) -> None:
        """Queue an entry to be written soon."""
        now = self.now()
        with self._lock:
            if self._closed:
                _log.info("an entry came after the record was closed, and was dropped")
                return
            self._waiting.append(entry)
            due = now - self._flushed >= self._seconds
            if due:
                self._flushed = now
            elif self._timer is None:
                # There may be no further entry.
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
        """Write pending entries, including those that another thread is writing."""
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

    def close(self) -> None:
        """Write pending entries if possible, and drop later ones: no write is under way when this returns."""
        with self._lock:
            self._closed = True
        try:
            self.flush()
        except Exception as error:  # whatever keeps it from being written, such as a disk that is full
            _log.warning("what waited was not written: %s", error)
            with self._lock:
                self._waiting = []

    def drop(self, unwanted: Callable[[Entry], bool]) -> None:
        """Drop pending entries that are unwanted."""
        with self._lock:
            self._waiting = [each for each in self._waiting if not unwanted(each)]
