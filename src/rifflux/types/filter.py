"""Conditions that a hit must satisfy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from rifflux.errors import InvalidArgument

__all__ = ["Bound", "Filter"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A range of a numeric metadata field, both ends inclusive; `missing` also accepts documents without the field."""

    field: str
    least: float | None = None
    most: float | None = None
    missing: bool = True


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that a hit must satisfy.

    Empty parts restrict nothing. All parts must match; within a part, one value suffices. `paths` are globs over the
    document's path (`notes/**`, `*.md`; a star also crosses folders). `since` and `until` are ISO 8601 dates, both
    inclusive, compared with `created_at`, or with `updated_at` where that is missing; a day means the whole day. A
    metadata value may be a scalar or a sequence of alternatives; a list in a document's metadata matches if any of its
    items does. `collections` use the caller's names, such as `wiki` or `bob/wiki`; content outside them is ignored
    entirely. `documents` are keys; `namespaces` are what a document's key is unique within: a root, a file of records
    or a conversation. `folders` are leading path components (`src`), preceded by the name of the root (`guide/src`) if
    another root has a folder of that name. `bounds` are ranges of numeric metadata; `without` lists fields that must be
    absent or null; `not_kinds` lists kinds to exclude. `tags` are subjects, as `scheme:value` or as the value alone.
    """

    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    without: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(_CONDITIONS(self))

    def of_works(
        self, authors: str | Iterable[str] = (), venues: str | Iterable[str] = (), year: str | int | None = None
    ) -> Filter:
        """Return this filter restricted to works by one of the authors, in one of the venues, from the given years.

        Names may have any spelling: `Dijkstra`, `Dijkstra, E. W.`, `Acta Math.`, an ORCID iD. `year` is one or several:
        `1974`, `1970-1979`, `1970-`, `-1979`; it narrows the dates. Raises `InvalidArgument`.
        """
        named = {"authors": _names("authors", authors), "venue": _names("venues", venues)}
        first, last = _years(year)
        return self.narrowed(
            Filter(since=first, until=last, metadata={role: names for role, names in named.items() if names})
        )

    def narrowed(self, other: Filter) -> Filter:
        """Return this filter intersected with the dates of another; its values win for metadata that both set.

        A year or a month covers all of its days, so of two dates with a common prefix the shorter one is the later.
        """
        return replace(
            self,
            since=max(self.since or "", other.since or "") or None,
            until=min(filter(None, (self.until, other.until)), key="{}~".format, default=None),
            metadata={**self.metadata, **other.metadata},
        )


def _names(what: str, value: str | Iterable[str]) -> list[str]:
    if isinstance(value, str):
        names = [value]
    else:
        names = [*value]
    if not all(isinstance(each, str) and each.strip() for each in names):
        raise InvalidArgument(f"{what} must be names such as 'Dijkstra, E. W.', not {value!r}")
    return [*dict.fromkeys(name.strip() for name in names)]


def _years(value: str | int | None) -> tuple[str, str]:
    """Return the first and last year of a range; an open end is empty."""
    text = "" if value is None else str(value).strip()
    found = _YEARS.fullmatch(text)
    if isinstance(value, bool) or not found or (text and not (found["first"] or found["last"])):
        raise InvalidArgument(f"year must be one or several, such as 1974, 1970-1979 or 1970-, not {value!r}")
    first = found["first"] or ""
    between = found["to"]
    last = found["last"] or ""
    if first and last and last < first:
        raise InvalidArgument(f"no year is from {first} to {last}: give the earlier one first")
    return first, last if between else first


_YEARS = re.compile(r"(?P<first>\d{4})?(?:\s*(?P<to>-|–|\.\.)\s*(?P<last>\d{4})?)?")
_CONDITIONS = attrgetter(*Filter.__dataclass_fields__)
