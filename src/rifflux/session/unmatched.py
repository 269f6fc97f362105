"""Conditions of a filter that left nothing of what is indexed: a misspelt one finds nothing, and should say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rifflux.types import Filter


def unmatched(filter: Filter, passes: Callable[[Filter], bool]) -> tuple[str, ...]:
    """Return notes on the conditions that no document meets, or on all of them if none meets all; `passes` asks."""
    if not filter or passes(filter):
        return ()
    told = [f"nothing {wanted}" for wanted, alone in _conditions(filter) if not passes(alone)]
    return tuple(told or ["nothing meets all of what it is narrowed to"])


def _conditions(filter: Filter) -> Iterator[tuple[str, Filter]]:
    """Yield each condition in words, with a filter of it alone."""
    yield from ((f"has a path like {each!r}", Filter(paths=(each,))) for each in filter.paths)
    if filter.folders:
        yield "is in a folder that was named", Filter(folders=filter.folders)
    yield from ((f"is of the kind {each!r}", Filter(kinds=(each,))) for each in filter.kinds)
    if filter.since:
        yield f"is from {filter.since} or later", Filter(since=filter.since)
    if filter.until:
        yield f"is from {filter.until} or before", Filter(until=filter.until)
    for name, value in filter.metadata.items():
        yield f"has {name}={_spelled(value)}", Filter(metadata={name: value})
    yield from ((f"has the subject {each!r}", Filter(tags=(each,))) for each in filter.tags)


def _spelled(value: Any) -> str:
    """Return a value, or its alternatives, each in one way: a number may stand there as text too."""
    several = isinstance(value, Sequence) and not isinstance(value, str)
    values: Mapping[str, None] = dict.fromkeys(map(str, value if several else [value]))
    return " or ".join(values)
