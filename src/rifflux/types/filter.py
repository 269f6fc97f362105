"""What a hit must satisfy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

__all__ = ["Bound", "Filter"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A number in a document's metadata from `least` to `most`, both inclusive; `missing` is whether it may lack."""

    field: str
    least: float | None = None
    most: float | None = None
    missing: bool = True


@dataclass(frozen=True, slots=True)
class Filter:
    """What a hit must satisfy; empty parts are not asked. All parts must hold, one value of each suffices.

    `paths` are globs over the document's path (`notes/**`, `*.md`; a star crosses folders too). `since` and `until`
    are ISO 8601 dates, both inclusive, compared with `created_at`, or `updated_at` where that is missing; a day means
    the whole day. A metadata value may be a scalar or a sequence of alternatives; a list in a document's metadata
    matches by any of its items. `collections` are named as the caller sees them, such as `wiki` or `bob/wiki`: what is
    outside them counts for nothing. `documents` are keys; `namespaces` are what a document's key is unique within: a
    root, a file of records, a conversation.
    `bounds` are on numbers in the metadata, `without` are fields that it must not have (or only as null), and
    `not_kinds` are kinds that are left out. `tags` are subjects, as `scheme:value` or by their value alone.
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

    def __bool__(self) -> bool:
        return any(_CONDITIONS(self))


_CONDITIONS = attrgetter(*Filter.__dataclass_fields__)
