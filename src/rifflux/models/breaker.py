"""Memory of failures: a model that keeps failing is left alone for a while, so that nobody waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

#: After so many failures in a row a model is left alone, and tried once in so many seconds.
FAILURES = 3
PAUSE_S = 10.0


@dataclass
class Breaker:
    """Says of one model if it may be called. Safe to share between threads.

    It opens after `FAILURES` failures in a row, then lets one call through in `PAUSE_S` seconds, and closes with the
    first that succeeds. While as many calls have waited for half of their time, no other is let through: it would most
    likely wait as long for nothing. `answered` is True once one did. `now` is a clock, in seconds.
    """

    now: Callable[[], float] = time.monotonic
    answered: bool = False
    _failures: int = 0
    _again_at: float = 0.0
    _slow_at: list[float] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def lets_through(self) -> bool:
        """Return True if a call may be made now; the one of its kind while the breaker is open."""
        with self._lock:
            now = self.now()
            if sum(moment <= now for moment in self._slow_at) >= FAILURES:
                return False
            if self._failures < FAILURES:
                return True
            if now < self._again_at:
                return False
            self._again_at = now + PAUSE_S
            return True

    @contextmanager
    def under_way(self, seconds: float) -> Iterator[None]:
        """Note that a call of so many seconds is under way, until the block ends."""
        with self._lock:
            self._slow_at.append(slow_at := self.now() + seconds / 2)
        try:
            yield
        finally:
            with self._lock:
                self._slow_at.remove(slow_at)

    def undecided(self) -> None:
        """Note that the call that was let through says nothing of the model: another may be made at once."""
        with self._lock:
            self._again_at = min(self._again_at, self.now())

    def failed(self) -> None:
        """Note that a call failed."""
        with self._lock:
            self._failures += 1
            self._again_at = self.now() + PAUSE_S

    def succeeded(self) -> None:
        """Note that a call succeeded."""
        with self._lock:
            self._failures = 0
            self.answered = True


@dataclass
class Breakers:
    """Keep a breaker for each model. Safe to share between threads."""

    now: Callable[[], float] = time.monotonic
    _by_model: dict[str, Breaker] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __call__(self, model: str) -> Breaker:
        """Return the breaker of a model."""
        with self._lock:
            return self._by_model.setdefault(model, Breaker(self.now))
