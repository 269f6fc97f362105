"""Read files that were sent in this process: tests of something else need no process of its own for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from rifflux.conversations.importers import sent as conversations
from rifflux.errors import MissingExtra, RiffluxError, Unreadable
from rifflux.ingest.parallel import sent as documents
from rifflux.types.limits import ReaderLimits
from rifflux.works.merging import sent as works

__all__ = ["read_here"]


def read_here(patch: pytest.MonkeyPatch) -> None:
    """Let readers answer as they do from a process of their own, their values JSON, their errors words."""
    for module in (conversations, documents, works):
        patch.setattr(module, "apart", _apart)
    for module in (conversations, works):
        patch.setattr(module, "streamed", _streamed)


def _apart(call: str, path: Path, limits: ReaderLimits | None = None, **options: Any) -> Any:
    with _told():
        return _as_json(_function(call)(path, **options))


def _streamed(call: str, limits: ReaderLimits, **options: Any) -> Iterator[Any]:
    with _told():
        yield from map(_as_json, _function(call)(**options))


def _function(call: str) -> Callable[..., Any]:
    function: Callable[..., Any] = resolve_name(call)
    return function


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except MissingExtra:
        raise
    except RiffluxError as error:
        raise Unreadable(str(error)) from None
