"""An amount is the same in words and in digits, and in another unit of its kind; another amount is not."""

from __future__ import annotations

import pytest

from rifflux.answer.amounts import amounts_in

SAME = (
    ("after twenty minutes", "after 20 min"),
    ("kept for two weeks", "kept for 14 days"),
    ("a timeout of 90 seconds", "a timeout of 90s"),
    ("at half past ten", "at 10:30"),
    ("at quarter to four", "at 15:45"),
    ("at 3 pm", "at 15:00"),
    ("over half an hour", "more than 30 minutes"),
    ("one thousand two hundred euros", "€1,200"),
    ("twenty-five people", "25 people"),
    ("64 KB", "64,000 bytes"),
    ("38 per cent", "38%"),
    ("every week", "weekly"),
    ("it costs 79", "it costs 79 euros"),
)
OTHER = (
    ("after 20 hours", "after 20 minutes"),
    ("six tablets", "every six hours"),
    ("wash at 30 °F", "wash at 30 °C"),
    ("at half past ten", "at 9:30"),
    ("100 dollars", "100 francs"),
    ("every hour", "every second"),
    ("a year", "two years"),
)


@pytest.mark.parametrize(("claim", "source"), SAME)
def test_an_amount_stands_in_another_form(claim: str, source: str) -> None:
    assert amounts_in(claim).stand_in(amounts_in(source))


@pytest.mark.parametrize(("claim", "source"), OTHER)
def test_another_amount_does_not_stand(claim: str, source: str) -> None:
    assert not amounts_in(claim).stand_in(amounts_in(source))
