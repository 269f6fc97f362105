"""The registry of an index alone: tokens, usage and questions, without documents or a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rifflux.store import Registry as Registry
from rifflux.store import open_store
from rifflux.text.dates import parse_time, whole_day_end


@contextmanager
def open_registry(path: str | Path, *, create: bool = False, state: str | Path = "") -> Iterator[Registry]:
    """Open the registry of the index at `path`, with its `state` file if it has one. Raises as `rifflux.open` does."""
    with closing(open_store(path, create=create, state=state)) as store:
        yield store.registry


def period(since: str | None, until: str | None) -> tuple[float, float | None]:
    """Return the first moment of a date and the last of another, in seconds since 1970. Raises `InvalidArgument`."""
    return parse_time(since).timestamp() if since else 0.0, whole_day_end(until) if until else None
