"""Run work that may take too long in another thread, and abandon it when time is up.

Python can't stop a thread. Abandoned work runs on, so the number of such threads is bounded; at the bound, no work of
that name starts until one of them has ended. A thread that finished its work in time waits a while for more.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: The maximum number of threads that wait for work, the seconds after which each of them ends, and their name.
MOST_IDLE = 4
IDLE_S = 60.0
IDLE = "rifflux-worker"


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
        task = _Task(work, Patience(deadline, retries))
        waiting: _Thread | None = None
        priority = _priority() if _idle else 0
        for each in tuple(_idle):
            if each.priority == priority:
                try:
                    _idle.remove(each)
                except ValueError:  # another caller took it, or it ended
                    continue
                waiting = each
                break
        thread = waiting or _Thread()
        thread.name = name
        thread.tasks.put(task)
        if waiting is None:
            thread.start()
        # A lock waits no longer than this in one go; a later deadline is none.
        patience = min(deadline - time.perf_counter(), threading.TIMEOUT_MAX)
        if not task.ended.acquire(timeout=max(patience, 0.0)) and not task.abandoned_by(self, name):
            raise Late("it did not finish in time")
        if task.error is not None:
            try:
                raise task.error
            finally:
                # The traceback of an error refers to this frame.
                del task
        return task.value

    def count_abandoned(self, name: str, change: int) -> None:
        """Change the number of overdue calls of a name."""
        with self._lock:
            self._abandoned[name] += change


class _Task(Generic[T]):
    """Work with its limits, and its value or error once it `ended`."""

    value: T

    def __init__(self, work: Callable[[], T], patience: Patience) -> None:
        self.work = work
        self.patience = patience
        self.error: BaseException | None = None
        self.ended = threading.Lock()
        self.ended.acquire()
        self._deciding = threading.Lock()
        self._is_done = False
        self._overdue: tuple[Workers, str] | None = None

    def run(self) -> bool:
        """Do the work and store its value or error; return False if nobody waits for it any more."""
        _PATIENCE.set(self.patience)
        try:
            self.value = self.work()
        except BaseException as error:  # for the caller to handle; uncaught, it would be lost in the thread
            self.error = error
        with self._deciding:
            self._is_done = True
        if self._overdue is None:
            return True
        workers, name = self._overdue
        workers.count_abandoned(name, -1)
        return False

    def abandoned_by(self, workers: Workers, name: str) -> bool:
        """Count the work as overdue and return False, or return True if it ended just now."""
        with self._deciding:
            if self._is_done:
                return True
            self._overdue = workers, name
            workers.count_abandoned(name, 1)
            return False


class _Thread(threading.Thread):
    """A thread that runs one task after another, until nobody had one for a while or one of them was overdue."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.tasks: SimpleQueue[_Task[Any]] = SimpleQueue()
        self.priority = _priority()

    def run(self) -> None:
        while True:
            try:
                task = self.tasks.get(timeout=IDLE_S)
            except Empty:
                try:
                    _idle.remove(self)
                except ValueError:  # somebody took this thread just now, and hands its task over
                    continue
                return
            stays = task.run() and len(_idle) < MOST_IDLE
            if stays:
                self.name = IDLE
                self.priority = _priority()
                _idle.append(self)
            task.ended.release()
            # What the work refers to must not live as long as this thread waits.
            del task
            if not stays:
                return


#: The threads that wait for work. Lists append and remove atomically, also between threads.
_idle: list[_Thread] = []
if hasattr(os, "register_at_fork"):
    # A fork has none of its parent's threads.
    os.register_at_fork(after_in_child=_idle.clear)


def _priority() -> int:
    """Return the priority of this thread, which only Linux has."""
    if sys.platform != "linux":
        return 0
    return os.getpriority(os.PRIO_PROCESS, 0)


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
