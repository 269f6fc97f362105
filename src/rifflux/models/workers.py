"""Run work that may take too long in a thread of its own, and abandon it when time is up.

Python can't stop a thread. Abandoned work runs on, so the number of such threads is bounded; at the bound, no work of
that name starts until one of them has ended.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


class Late(Exception):
    """Work was not finished in time, or not even started; the message tells which."""


@dataclass
class Workers:
    """Runs work with a deadline, and refuses while `most_abandoned` earlier calls of the same name are overdue.

    The threads are daemons, so the interpreter exits without waiting for them. Safe to share between threads.
    """

    most_abandoned: int = 4
    _abandoned: Counter[str] = field(default_factory=Counter, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __call__(self, work: Callable[[], T], deadline: float | None, name: str = "work", *, retries: bool = True) -> T:
        """Return the value of `work()`, if it is available at `deadline`, a moment of `time.perf_counter()`.

        Without a deadline, the work runs in the calling thread. Errors of the work propagate. Raises `Late` if time was
        up, or if too many earlier calls hang. Requests sent by the work end at the deadline too, and are retried only
        if it `retries`.
        """
        if deadline is None:
            return work()
        if time.perf_counter() >= deadline:
            raise Late("no time was left")
        if (busy := self._abandoned[name]) >= self.most_abandoned:
            raise Late(f"still busy with {busy} earlier requests")
        future: Future[T] = Future()
        threading.Thread(target=_run, args=(work, future, Patience(deadline, retries)), name=name, daemon=True).start()
        try:
            return future.result(timeout=deadline - time.perf_counter())
        except TimeoutError:
            if future.done():  # the work's own error, or it ended just now
                return future.result()
            self._abandon(name, future)
            raise Late("it did not finish in time") from None

    def _abandon(self, name: str, future: Future[T]) -> None:
        self._count(name, 1)
        future.add_done_callback(lambda _: self._count(name, -1))

    def _count(self, name: str, change: int) -> None:
        with self._lock:
            self._abandoned[name] += change


def _run(work: Callable[[], T], future: Future[T], patience: Patience) -> None:
    _PATIENCE.set(patience)
    try:
        future.set_result(work())
    except BaseException as error:  # for the caller to handle; uncaught, it would be lost in the thread
        future.set_exception(error)


# Limits on a thread's requests, which the code that sends them observes


@dataclass(frozen=True, slots=True)
class Patience:
    """The limits on a thread's calls: a moment of `time.perf_counter()`, and whether to retry."""

    until: float
    retries: bool


_PATIENCE: ContextVar[Patience | None] = ContextVar("patience", default=None)


def current_patience() -> Patience:
    """Return the limits of this thread, which are none outside work with a deadline."""
    return _PATIENCE.get() or Patience(math.inf, retries=True)
