"""Pages of a list: so many entries at a time, from the one behind that which was told last."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query
from pydantic import Field

from rifflux import InvalidArgument

Entry = TypeVar("Entry")

#: Entries of a list that are told at once.
MOST_LISTED = 1000

#: What SQLite can count to has up to nineteen digits.
_NUMBER = re.compile(r"[1-9]\d{0,17}", re.ASCII)

After = Annotated[str, Query(max_length=8_000, description="The `next` of the page before")]
Limit = Annotated[int, Query(ge=1, le=MOST_LISTED)]
Next = Annotated[str | None, Field(description="Send it as `after` for the next page; null at the end")]


def page(
    entries: Sequence[Entry], name: Callable[[Entry], str], after: str, limit: int
) -> tuple[Sequence[Entry], str | None]:
    """Return so many entries behind that of a name, and the name to ask on with. Raises `InvalidArgument`."""
    if after:
        start = next((number for number, each in enumerate(entries, 1) if name(each) == after), 0)
    else:
        start = 0
    if after and not start:
        raise _nowhere()
    end = start + limit
    return entries[start:end], name(entries[end - 1]) if end < len(entries) else None


def number_of(after: str) -> int | None:
    """Return the number of the entry that a page goes on behind, None for the first page. Raises `InvalidArgument`."""
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
