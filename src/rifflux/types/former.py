"""Former names of arguments: still taken, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from rifflux.errors import InvalidArgument

__all__ = ["takes_former"]

P = ParamSpec("P")
R = TypeVar("R")


def takes_former(**names: str | tuple[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Take arguments under former names too, with a `DeprecationWarning`; a former name of two took a pair.

    Raises `InvalidArgument` for one that is given under both names.
    """

    def taking(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> R:
            if not names.keys().isdisjoint(given):
                _rename(given, names)
            return function(*args, **given)

        return call

    return taking


def _rename(given: dict[str, object], names: dict[str, str | tuple[str, str]]) -> None:
    for former in names.keys() & given.keys():
        now, value = names[former], given.pop(former)
        warnings.warn(f"{former!r} is now {now!r}", DeprecationWarning, stacklevel=3)
        renamed = {now: value} if isinstance(now, str) else _ends(former, value, now)
        if twice := sorted(renamed.keys() & given.keys()):
            raise InvalidArgument(f"{twice[0]} is given twice, once under a former name: leave one out")
        given |= renamed


def _ends(former: str, value: object, names: tuple[str, str]) -> dict[str, object]:
    """Return both ends of a pair."""
    ends = (None, None) if value is None else value
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise InvalidArgument(f"{former} must be a pair or None, not {value!r}; better, give {' and '.join(names)}")
    return dict(zip(names, ends, strict=True))
