"""The JSON of every noun: one key for one thing.

Times are ISO 8601, identifiers and tags `scheme:value`; `document` is the key of a document, unique within its
`collection`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import Any

#: What a field is called in JSON, where that is otherwise.
_NAMES = {
    "chunk": "chunk_id",
    "key": "document",
    "time": "created_at",
    "updated": "updated_at",
}

_PLAIN = frozenset((str, bool, type(None)))
_NAMING = {"scheme": "scheme", "value": "value"}


def noun_json(noun: Any, **more: object) -> dict[str, Any]:
    """Return a value of Rifflux as JSON has it on every surface, and `more`: a dictionary of plain values."""
    kind: Any = type(noun)
    return {
        now: value if type(value := getattr(noun, name)) in _PLAIN else _value(now, value)
        for name, now in json_names(kind).items()
    } | more


@cache
def json_names(kind: Any) -> Mapping[str, str]:
    """Return the fields of a dataclass with their names in JSON, without those that are marked as untold."""
    told = (each.name for each in fields(kind) if not each.metadata.get("untold"))
    return {name: _NAMES.get(name, name) for name in told}


def _value(name: str, value: Any) -> Any:
    """Return the value of a field: times as ISO 8601, names and tags as `scheme:value`."""
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
    """Return seconds since 1970 as ISO 8601 in UTC; for a moment beyond the calendar, the calendar's last.

    `timespec` is as in `datetime.isoformat`: `auto` keeps microseconds, so that the texts sort as the times do.
    """
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = datetime.max.replace(tzinfo=UTC)
    return moment.isoformat(timespec=timespec)
