"""Dates as people and files write them, as seconds since 1970 for comparing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from rifflux.errors import InvalidArgument


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 date or time: `2024`, `2024-05`, `2024-05-01`, `2024-05-01T12:00Z`; UTC if no zone is given."""
    text = text.strip()
    if len(text) == 4 and text.isdigit():
        text += "-01-01"
    elif len(text) == 7:
        text += "-01"
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(f"{text!r} is not a date: write it as 2024-05-01 or 2024-05-01T12:00:00Z") from None
    if parsed.tzinfo:
        return parsed
    return parsed.replace(tzinfo=UTC)


def timestamp(text: str | None) -> float | None:
    """Seconds since 1970 of an ISO date, or None for a missing or unreadable one."""
    if not text:
        return None
    try:
        return parse_time(text).timestamp()
    except (InvalidArgument, OverflowError):
        return None


def whole_day_end(text: str) -> float:
    """Return the last instant that `text` covers: a day, month or year means all of it."""
    start = parse_time(text)
    text = text.strip()
    try:
        if len(text) == 4:
            end = start.replace(year=start.year + 1)
        elif len(text) == 7:
            end = (start.replace(day=28) + timedelta(days=4)).replace(day=1)
        elif _is_day(text):
            end = start + timedelta(days=1)
        else:
            return start.timestamp()
    except (ValueError, OverflowError):  # the calendar ends with the year 9999
        return datetime.max.replace(tzinfo=UTC).timestamp()
    return end.timestamp() - 1e-6


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
