"""What the readers of chat exports share: dates, texts and ids as the exports write them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rifflux.errors import InvalidArgument, Unreadable
from rifflux.text.dates import parse_time

__all__ = ["date_of", "load_json", "role_of", "string_of", "text_of"]

#: Seconds since 1970 beyond this are milliseconds.
_MILLISECONDS = 1e11
#: Who speaks, by other names that exports have for it.
_ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"}


def load_json(path: Path) -> Any:
    """The content of a JSON file. Raises `Unreadable` with the place of the fault."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not JSON: {error}") from None


def date_of(value: Any) -> str | None:
    """A date as ISO 8601: from that, or from seconds or milliseconds since 1970. Raises `Unreadable`."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
        try:
            parse_time(value)
        except InvalidArgument as error:
            raise Unreadable(str(error)) from None
        return value
    try:
        seconds = float(value)
        seconds = seconds / 1000 if abs(seconds) > _MILLISECONDS else seconds
        return datetime.fromtimestamp(seconds, UTC).isoformat() if math.isfinite(seconds) else None
    except (TypeError, ValueError, OverflowError, OSError):
        raise Unreadable(f"{value!r} is no date: write 2024-05-01T12:00:00Z, or seconds since 1970") from None


def role_of(value: Any) -> str:
    """Who speaks, by the name that all formats share."""
    name = string_of(value).strip().lower()
    return _ROLES.get(name, name) or "user"


def string_of(value: Any) -> str:
    """A string or number as text; nothing of anything else."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def text_of(content: Any) -> str:
    """The words of a message: a string, or the text parts of a list; pictures and the like have none."""
    if isinstance(content, Mapping):
        content = content.get("parts", content.get("text", content.get("content", "")))
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable):
        return ""
    return "\n".join(filter(None, (text_of(part) if isinstance(part, str | Mapping) else "" for part in content)))
