"""The values of a function, remembered: natural language repeats itself, so most words are looked at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST = 65_536


class Memo(dict[K, V], Generic[K, V]):
    """A cache that makes missing values; it is emptied when full. `keep` rejects rare keys."""

    def __init__(self, make: Callable[[K], V], keep: Callable[[K], bool] | None = None) -> None:
        super().__init__()
        self._make = make
        self._keep = keep

    def __missing__(self, key: K) -> V:
        value = self._make(key)
        if self._keep is None or self._keep(key):
            if len(self) >= MOST:
                self.clear()
            self[key] = value
        return value
