"""Methods of a facade that call those of a part of its view."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from rifflux.session.session import IndexView

P = ParamSpec("P")
R = TypeVar("R")
Part = TypeVar("Part")


class Viewing(Protocol):
    """Holds a view of an index."""

    _view: IndexView


def delegated(
    part: Callable[[IndexView], Part], method: Callable[Concatenate[Part, P], R]
) -> Callable[Concatenate[Viewing, P], R]:
    """Return a method that calls one of a part of the view, with its signature and its documentation."""

    @wraps(method)
    def call(self: Viewing, /, *arguments: P.args, **named: P.kwargs) -> R:
        return method(part(self._view), *arguments, **named)

    return call
