"""Parsing of dates, and their timestamps in seconds since 1970 for comparison."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from rifflux.errors import InvalidArgument


def parse_time(text: str) -> datetime:
    """Parse an ISO 8601 date or time, such as `2024`, `2024-05`, `2024-05-01T12:00Z`, in UTC by default.

    Raises `InvalidArgument`.
    """
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
    """Return an ISO date in seconds since 1970, or None if it is missing or invalid."""
    if not text:
        return None
    try:
        return parse_time(text).timestamp()
    except (InvalidArgument, OverflowError):
        return None


def whole_day_end(text: str) -> float:
    """Return the last instant of the day, month or year in `text`, or the instant itself."""
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
