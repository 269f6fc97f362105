"""Dates as people write them: what is read, what is refused, and where a day, month or year ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.text.dates import parse_time, timestamp, whole_day_end


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        (" 2024-05-01\n", datetime(2024, 5, 1, tzinfo=UTC)),
        ("20240501", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-01T12:30", datetime(2024, 5, 1, 12, 30, tzinfo=UTC)),
        ("2024-05-01 12:30:00", datetime(2024, 5, 1, 12, 30, tzinfo=UTC)),
        ("2024-05-01T12:30:00Z", datetime(2024, 5, 1, 12, 30, tzinfo=UTC)),
        ("2024-05-01T12:30:00+02:00", datetime(2024, 5, 1, 10, 30, tzinfo=UTC)),
    ],
)
def test_iso_dates_are_read_as_utc_unless_they_say_otherwise(text: str, moment: datetime) -> None:
    assert parse_time(text) == moment
    assert timestamp(text) == moment.timestamp()


@pytest.mark.parametrize(
    "text", ["", "soon", "2024-13", "2024-02-30", "24", "0000", "01.05.2024", "2024-05-01T25:00", "٢٠٢٤x"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidArgument, match="2024-05-01"):
        parse_time(text)
    assert timestamp(text) is None


def test_a_missing_date_has_no_time_stamp() -> None:
    assert timestamp(None) is None


@pytest.mark.parametrize(
    ("text", "last", "next"),
    [
        ("2024", "2024-12-31T23:59:59", "2025-01-01"),
        ("2024-02", "2024-02-29T23:59:59", "2024-03-01"),
        ("2023-02", "2023-02-28T23:59:59", "2023-03-01"),
        ("2024-12", "2024-12-31T23:59:59", "2025-01-01"),
        ("2024-12-31", "2024-12-31T23:59:59", "2025-01-01"),
        ("20241231", "2024-12-31T23:59:59", "2025-01-01"),
    ],
)
def test_a_year_month_or_day_ends_with_its_last_instant(text: str, last: str, next: str) -> None:
    assert parse_time(last).timestamp() < whole_day_end(text) < parse_time(next).timestamp()


def test_a_time_of_day_ends_with_itself() -> None:
    assert whole_day_end("2024-05-01T12:00Z") == parse_time("2024-05-01T12:00Z").timestamp()


@pytest.mark.parametrize("text", ["9999", "9999-12", "9999-12-31"])
def test_the_calendar_may_end(text: str) -> None:
    assert whole_day_end(text) >= parse_time("9999-12-31T23:59:59").timestamp()


@given(st.dates())
def test_every_day_holds_its_first_and_last_second_and_no_other_day(day: datetime) -> None:
    text = day.isoformat()
    first, end = parse_time(text).timestamp(), whole_day_end(text)
    assert 86_399 < end - first <= 86_400


@given(st.text(max_size=12))
def test_any_text_is_a_date_or_refused(text: str) -> None:
    try:
        parsed = parse_time(text)
    except InvalidArgument:
        return
    assert parsed.tzinfo is not None
    assert whole_day_end(text) >= parsed.timestamp()
