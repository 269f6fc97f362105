"""What model calls cost: summed as asked, and held against a budget."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from rifflux.errors import InvalidArgument
from rifflux.service.usage import Ledger, Meter, Prices, read_prices, summed
from rifflux.store import Registry, open_store


@pytest.fixture
def register() -> Iterator[Registry]:
    store = open_store(":memory:")
    yield store.registry
    store.close()


def at(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()


def test_spendings_are_summed_by_what_is_asked(register: Registry) -> None:
    clock = at("2026-03-01")
    ledger = Ledger(register, Prices({"big": 2.0}), now=lambda: clock)
    for user, model, tokens in (("ann", "big", 500_000), ("bob", "big", 1_000_000), ("ann", "small", 10)):
        ledger.note(user, "search", model, tokens)
    clock = at("2026-03-02")
    ledger.note("ann", "rerank", "big", 500_000)
    spent = ledger.spent()
    assert summed(spent, ["user"]) == [
        {"user": "ann", "calls": 3, "tokens": 1_000_010, "cost": 2.0},
        {"user": "bob", "calls": 1, "tokens": 1_000_000, "cost": 2.0},
    ]
    assert [row["day"] for row in summed(spent, ["day"])] == ["2026-03-01", "2026-03-02"]
    assert [row["cost"] for row in summed(ledger.spent("ann", since=at("2026-03-02")), ["model"])] == [1.0]
    with pytest.raises(InvalidArgument, match="feature"):
        summed(spent, ["colour"])


def test_a_spent_budget_refuses_until_the_next_month(register: Registry) -> None:
    clock = at("2026-03-30")
    ledger = Ledger(register, Prices({"big": 1.0}), budget=1.0, now=lambda: clock)
    ann, bob = Meter(ledger, "ann"), Meter(ledger, "bob")
    assert ann.refusal() is None
    ann.note("big", 1_000_000)
    assert "budget" in (ann.refusal() or "")
    assert bob.refusal() is None
    ledger.flush()
    restarted = Ledger(register, budget=1.0, now=lambda: clock)
    assert "budget" in (Meter(restarted, "ann").refusal() or "")
    clock = at("2026-04-01")
    assert ann.refusal() is None


def test_what_a_model_was_called_for_is_told(register: Registry) -> None:
    ledger = Ledger(register, seconds=0)
    meter = Meter(ledger, "ann")
    meter.note("small", 3, "search")
    meter.note("small", 40, "store")
    meter.note("chat", 500)
    told = {row["feature"]: row["tokens"] for row in summed(ledger.spent("ann"), ["feature"])}
    assert told == {"search": 3, "store": 40, "rerank": 500}


def test_what_waits_is_written_by_the_next_call(register: Registry) -> None:
    clock = 0.0
    ledger = Ledger(register, seconds=5.0, now=lambda: clock)
    ledger.note("ann", "search", "m", 1)
    assert register.spent() == []
    clock = 6.0
    ledger.note("ann", "search", "m", 2)
    assert register.spent()[0].tokens == 3


def test_prices_are_read_or_refused() -> None:
    assert read_prices(["openai:small=0.02", "a=b=3"]).by_model == {"openai:small": 0.02, "a=b": 3.0}
    for wrong in ("model", "model=", "=1", "model=-1", "model=nan", "model=inf"):
        with pytest.raises(InvalidArgument, match="MODEL=PRICE"):
            read_prices([wrong])
