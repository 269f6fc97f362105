"""The names of people as sources write them, brought to `Given Family`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["people", "person"]

_AND = re.compile(r"\s+and\s+|\s*;\s*")


def people(value: Any) -> tuple[str, ...]:
    """The names in a list of texts or objects, or in one text with `and` or semicolons between them."""
    if isinstance(value, str):
        value = _AND.split(value)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(name for each in value if (name := person(each)))


def person(value: Any) -> str:
    """One name: `Family, Given`, `Given Family`, or an object with `name`, or with `given` and `family`."""
    if isinstance(value, Mapping):
        if isinstance(value.get("literal") or value.get("name"), str):
            return person(value.get("literal") or value["name"])
        parts = [value.get(name) or "" for name in ("given", "non-dropping-particle", "family", "suffix")]
        return " ".join(str(part) for part in parts if part)
    if isinstance(value, list | tuple):  # arXiv's [family, given, suffix]
        family, *rest = [str(part) for part in value] or [""]
        return " ".join(part for part in [*rest[:1], family, *rest[1:2]] if part)
    if not isinstance(value, str):
        return ""
    family, comma, given = " ".join(value.split()).partition(",")
    return f"{given.strip()} {family}".strip() if comma else family
