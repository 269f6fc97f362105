"""Values that are made once and shared between threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["Kept"]

T = TypeVar("T")


@dataclass
class Kept:
    """Keep values by key, the least recently used of more than `most` forgotten. Safe to share between threads.

    Threads that ask for one key wait for the first of them to make its value; other keys are not held up.
    """

    most: int = 1024
    _made: OrderedDict[Hashable, _Once] = field(default_factory=OrderedDict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __call__(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, made when first asked for. An error of `make` is not kept."""
        with self._lock:
            once = self._made.setdefault(key, _Once())
            self._made.move_to_end(key)
            if len(self._made) > self.most:
                self._made.popitem(last=False)
        value: T = once(make)
        return value


class _Once:
    """One value, made by the first thread that needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value: list[Any] = []

    def __call__(self, make: Callable[[], Any]) -> Any:
        if not self._value:
            with self._lock:
                if not self._value:
                    self._value.append(make())
        return self._value[0]
