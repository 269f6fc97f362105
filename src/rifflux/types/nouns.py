"""The JSON form of every noun, with one key for one thing.

Times are ISO 8601; identifiers and tags are `scheme:value`; `document` is the key of a document, unique within its
`collection`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import Any

#: JSON names of fields that differ from the attribute.
_NAMES = {
    "chunk": "chunk_id",
    "key": "document",
    "time": "created_at",
    "updated": "updated_at",
}

_PLAIN = frozenset((str, bool, type(None)))
_NAMING = {"scheme": "scheme", "value": "value"}


def noun_json(noun: Any, **more: object) -> dict[str, Any]:
    """Return a value as a dictionary of plain values, in the JSON form of every surface, extended by `more`."""
    kind: Any = type(noun)
    return {
        now: value if type(value := getattr(noun, name)) in _PLAIN else _value(now, value)
        for name, now in json_names(kind).items()
    } | more


@cache
def json_names(kind: Any) -> Mapping[str, str]:
    """Return a dataclass's fields with their JSON names, without private ones."""
    public = (each.name for each in fields(kind) if not each.metadata.get("untold"))
    return {name: _NAMES.get(name, name) for name in public}


def _value(name: str, value: Any) -> Any:
    """Convert a field's value: times to ISO 8601, identifiers and tags to `scheme:value`."""
    kind: Any = type(value)
    if kind is float or kind is int:
        if name.endswith("_at"):
            return iso_time(value)
        return value
    if isinstance(value, (tuple, list)):
        return [each if type(each) in _PLAIN else _value("", each) for each in value]
    if kind is dict or not hasattr(kind, "__dataclass_fields__"):
        if isinstance(value, Mapping):
            return dict(value)
        return value
    if json_names(kind) == _NAMING:
        return f"{value.scheme}:{value.value}"
    return noun_json(value)


def iso_time(seconds: float, timespec: str = "seconds") -> str:
    """Return seconds since 1970 as ISO 8601 in UTC, clamped to the calendar's range.

    `timespec` is that of `datetime.isoformat`: `auto` keeps microseconds, so that texts sort like times.
    """
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = datetime.max.replace(tzinfo=UTC)
    return moment.isoformat(timespec=timespec)
