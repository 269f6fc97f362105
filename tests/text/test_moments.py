"""Times in questions and texts: what is one, which days it has, and what only looks like one."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.text.moments import dates_in, moments_in


def spans(text: str) -> list[str]:
    return [each.span for each in moments_in(text, lambda: date(2024, 5, 15))]


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("what was decided in June 2015", "2015-06-01 to 2015-06-30"),
        ("minutes, Jun. 2015", "2015-06-01 to 2015-06-30"),
        ("committee 2016-02", "2016-02-01 to 2016-02-29"),
        ("2015-06-12", "2015-06-12"),
        ("12.06.2015", "2015-06-12"),
        ("June 12th, 2015", "2015-06-12"),
        ("the 12th of june 2015", "2015-06-12"),
        ("was beschloss der Verein am 12. Juni 2015", "2015-06-12"),
        ("Sitzung vom März 2015", "2015-03-01 to 2015-03-31"),
        ("le 1er août 2015", "2015-08-01"),
        ("el 12 de junio de 2015", "2015-06-12"),
        ("giugno 2015", "2015-06-01 to 2015-06-30"),
        ("em março de 2015", "2015-03-01 to 2015-03-31"),
        ("notulen 3 mei 2015", "2015-05-03"),
        ("minutes of 3 may 2015", "2015-05-03"),
        ("a study in 2010", "2010-01-01 to 2010-12-31"),
        ("since June 2015", "2015-06-01 to 2024-05-15"),
        ("before 2015", "until 2014-12-31"),
        ("after 12 June 2015", "2015-06-13 to 2024-05-15"),
        ("camping in June", "06-01 to 06-30 of any year"),
        ("the storm in may", "05-01 to 05-31 of any year"),
        ("the party on May 3", "05-03 of any year"),
        ("last June", "2023-06-01 to 2023-06-30"),
        ("last April", "2024-04-01 to 2024-04-30"),
        ("today", "2024-05-15"),
        ("Yesterday's walk", "2024-05-14"),
        ("this week", "2024-05-13 to 2024-05-19"),
        ("what did I read last week?", "2024-05-06 to 2024-05-12"),
        ("in the past week", "2024-05-08 to 2024-05-15"),
        ("last month", "2024-04-01 to 2024-04-30"),
        ("last year", "2023-01-01 to 2023-12-31"),
        ("the last 3 months", "2024-02-15 to 2024-05-15"),
        ("two weeks ago", "2024-04-29 to 2024-05-05"),
    ],
)
def test_a_time_is_its_first_and_last_day(text: str, span: str) -> None:
    assert spans(text) == [span]


@pytest.mark.parametrize(
    "text",
    [
        "Windows 2000",
        "you may 12 times",
        "the march of time",
        "may I ask",
        "august company",
        "CVE-2015-04-01",
        "version 2015.04",
        "the seasons 2015/16",
        "31 February 2015",
        "the weekend before 4 October 2023",
        "the last week of term",
        "999 years of 20151 things",
        "9999 years ago",
    ],
)
def test_what_looks_like_a_time_is_none(text: str) -> None:
    assert spans(text) == []


def test_several_times_come_in_their_order_with_the_words_they_are_told_by() -> None:
    words = [each.words for each in moments_in("notes of last week, June 2015 and 2016-01")]
    assert words == ["last week", "June 2015", "2016-01"]


def test_a_month_of_any_year_has_the_days_of_each() -> None:
    (june,) = moments_in("in June")
    assert june.covers(date(2015, 6, 1), date(2015, 6, 30))
    assert june.covers(date(1999, 6, 12), date(1999, 6, 12))
    assert not june.covers(date(2015, 6, 30), date(2015, 7, 1))


def test_dates_of_a_text_have_their_year_and_stand_in_their_order() -> None:
    text = "Held on 12 June 2015, in June, last week; again in Oct. 2016. See 2015-06-12T10:00 and 2017."
    june, october = date(2015, 6, 12), (date(2016, 10, 1), date(2016, 10, 31))
    assert list(dates_in(text)) == [(june, june), october, (june, june)]


def test_a_date_in_a_path_is_read() -> None:
    day = date(2015, 6, 12)
    assert list(dates_in("daily/2015-06-12_walk.md")) == [(day, day)]


@given(st.lists(st.sampled_from(["the", "last", "past", "this", "in", "before", "since", "ago", "set", "dec", "mar"])))
def test_without_a_number_a_month_or_a_whole_unit_nothing_is_a_time(words: list[str]) -> None:
    assert spans(" ".join(words)) == []


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_around_a_year_is_read_without_trouble(before: str, after: str) -> None:
    text = f"{before} 2015 {after}"
    assert all(each.since <= each.until for each in moments_in(text))
    assert all(since <= until for since, until in dates_in(text))
