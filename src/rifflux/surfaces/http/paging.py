"""Pages of a list: a limited number of entries after the last one of the page before."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from pydantic import Field

from rifflux import InvalidArgument

Entry = TypeVar("Entry")

#: SQLite's integers have up to nineteen digits.
_NUMBER = re.compile(r"[1-9]\d{0,17}", re.ASCII)

Next = Annotated[str | None, Field(description="Send it as `after` for the next page; null at the end")]


def page(
    entries: Sequence[Entry], name: Callable[[Entry], str], after: str, limit: int
) -> tuple[Sequence[Entry], str | None]:
    """Return the entries after the one of a name, and the cursor of the next page. Raises `InvalidArgument`."""
    if after:
        start = next((number for number, each in enumerate(entries, 1) if name(each) == after), 0)
    else:
        start = 0
    if after and not start:
        raise _nowhere()
    end = start + limit
    return entries[start:end], name(entries[end - 1]) if end < len(entries) else None


def number_of(after: str) -> int | None:
    """Return the number of the entry after which a page starts, None for the first page. Raises `InvalidArgument`."""
    if after and not _NUMBER.fullmatch(after):
        raise _nowhere()
    if after:
        return int(after)
    return None


def _nowhere() -> InvalidArgument:
    return InvalidArgument(
        "that is no place in this list, or it was deleted meanwhile: give the `next` of the page before as it is, "
        "or begin again without it"
    )
