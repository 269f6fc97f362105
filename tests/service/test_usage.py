"""What model calls cost: summed as asked, and held against a budget."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rifflux.errors import Busy, InvalidArgument
from rifflux.models.guarded import BudgetExhausted
from rifflux.service.registry import Registry
from rifflux.service.usage import Ledger, read_prices, summed
from rifflux.store import open_store


@pytest.fixture
def register() -> Iterator[Registry]:
    store = open_store(":memory:")
    yield Registry(store)
    store.close()


def at(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()


def call(ledger: Ledger, user: str, feature: str, model: str, tokens: int, told: int | None = None) -> None:
    """A call that is answered."""
    ledger.bill(user, model, feature, lambda: tokens, here=False).settle(told)


def test_spendings_are_summed_by_what_is_asked(register: Registry) -> None:
    clock = at("2026-03-01")
    ledger = Ledger(register, {"big": 2.0}, now=lambda: clock)
    for user, model, tokens in (("ann", "big", 500_000), ("bob", "big", 1_000_000), ("ann", "small", 10)):
        call(ledger, user, "search", model, tokens)
    clock = at("2026-03-02")
    call(ledger, "ann", "rerank", "big", 1, told=500_000)
    spent = ledger.spent()
    assert summed(spent, ["user"]) == [
        {"user": "ann", "calls": 3, "tokens": 1_000_010, "cost": 2.0},
        {"user": "bob", "calls": 1, "tokens": 1_000_000, "cost": 2.0},
    ]
    assert [row["day"] for row in summed(spent, ["day"])] == ["2026-03-01", "2026-03-02"]
    assert [row["cost"] for row in summed(ledger.spent("ann", since=at("2026-03-02")), ["model"])] == [1.0]
    with pytest.raises(InvalidArgument, match="feature"):
        summed(spent, ["colour"])


def test_what_does_not_fit_the_budget_is_refused_until_the_next_month(register: Registry) -> None:
    clock = at("2026-03-30")
    ledger = Ledger(register, {"big": 1.0}, budget=1.0, now=lambda: clock)
    ledger.bill("ann", "big", "store", lambda: 900_000, here=False).settle()
    with pytest.raises(BudgetExhausted, match="budget"):
        ledger.bill("ann", "big", "store", lambda: 200_000, here=False)
    ledger.bill("ann", "free", "store", lambda: 200_000, here=False).settle()
    ledger.bill("bob", "big", "store", lambda: 200_000, here=False).settle()
    assert ledger.left("ann") == pytest.approx(0.1)
    restarted = Ledger(register, {"big": 1.0}, budget=1.0, now=lambda: clock)
    with pytest.raises(BudgetExhausted, match="budget"):
        restarted.bill("ann", "big", "search", lambda: 200_000, here=False)
    clock = at("2026-04-01")
    ledger.bill("ann", "big", "store", lambda: 200_000, here=False)


def test_a_call_that_comes_to_nothing_costs_nothing(register: Registry) -> None:
    ledger = Ledger(register, {"big": 1.0}, budget=1.0)
    ledger.bill("ann", "big", "rerank", lambda: 900_000, here=False).cancel()
    bill = ledger.bill("ann", "big", "rerank", lambda: 900_000, here=False)
    bill.settle(300_000)
    bill.cancel()
    assert ledger.left("ann") == pytest.approx(0.7)
    assert [row.calls for row in ledger.spent("ann")] == [1]


def test_processes_and_threads_share_one_budget(tmp_path: Path) -> None:
    stores = [open_store(tmp_path / "index.db") for _ in range(2)]
    ledgers = [Ledger(Registry(store), {"big": 1.0}, budget=1.0) for store in stores]
    together, made = threading.Barrier(8), []

    def ask(ledger: Ledger) -> None:
        together.wait()
        for _ in range(4):
            try:
                ledger.bill("ann", "big", "search", lambda: 100_000, here=False).settle()
            except BudgetExhausted:
                continue
            made.append(1)

    threads = [threading.Thread(target=ask, args=(ledger,)) for ledger in ledgers * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 10
    assert [ledger.left("ann") for ledger in ledgers] == [pytest.approx(0.0)] * 2
    for store in stores:
        store.close()


def test_what_a_model_was_called_for_is_told(register: Registry) -> None:
    ledger = Ledger(register)
    for feature, tokens in (("search", 3), ("store", 40), ("rerank", 500)):
        call(ledger, "ann", feature, "small", tokens)
    told = {row["feature"]: row["tokens"] for row in summed(ledger.spent("ann"), ["feature"])}
    assert told == {"search": 3, "store": 40, "rerank": 500}


def test_a_model_that_runs_here_for_nothing_is_recorded_by_a_service_alone(register: Registry) -> None:
    ledger = Ledger(register, {"costly": 1.0})
    for model in ("free", "costly"):
        ledger.bill("ann", model, "search", lambda: 3, here=True).settle()
    assert [row.model for row in register.spent()] == ["costly"]
    ledger.served(lambda write: write())
    ledger.bill("ann", "free", "search", lambda: 3, here=True).settle()
    assert [row.model for row in ledger.spent()] == ["costly", "free"]


def test_what_waits_is_written_by_the_next_call(register: Registry) -> None:
    clock = 0.0
    ledger = Ledger(register, now=lambda: clock)
    ledger.served(lambda write: write(), seconds=5.0)
    call(ledger, "ann", "search", "m", 1)
    assert register.spent() == []
    clock = 6.0
    call(ledger, "ann", "search", "m", 2)
    assert register.spent()[0].tokens == 3


def test_an_index_that_cannot_be_written_costs_no_answer_and_no_money(
    register: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise Busy("another process holds the index")

    for name in ("spend", "reserve"):
        monkeypatch.setattr(type(register), name, busy)
    call(Ledger(register), "ann", "search", "m", 1)
    with pytest.raises(BudgetExhausted, match="cannot be recorded"):
        Ledger(register, {"m": 1.0}, budget=1.0).bill("ann", "m", "search", lambda: 1, here=False)


def test_prices_are_read_or_refused() -> None:
    assert read_prices(["openai:small=0.02", "a=b=3"]) == {"openai:small": 0.02, "a=b": 3.0}
    for wrong in ("model", "model=", "=1", "model=-1", "model=nan", "model=inf"):
        with pytest.raises(InvalidArgument, match="MODEL=PRICE"):
            read_prices([wrong])


def test_a_call_that_ends_after_closing_writes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(tmp_path / "index.db")
    ledger = Ledger(Registry(store), {"big": 1.0}, budget=10.0)
    reserved = ledger.bill("ann", "big", "search", lambda: 1_000_000, here=False)
    noted = ledger.bill("ann", "free", "search", lambda: 10, here=False)
    ledger.close()
    store.close()
    reserved.settle(5)
    noted.settle(5)
    assert caplog.text == ""
    with closing(open_store(tmp_path / "index.db")) as again:
        # What was held against the budget remains: it was spent, as far as anybody knows.
        assert [(each.model, each.tokens) for each in Registry(again).spent(None, 0.0, None)] == [("big", 1_000_000)]
