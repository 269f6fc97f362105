"""Every call of a guarded model ends in a value or in a reason, bounded and paid for."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from rifflux.errors import ModelError
from rifflux.index import open_index
from rifflux.models.guarded import (
    FAILURES,
    PAUSE_S,
    Bill,
    Breaker,
    BudgetExhausted,
    CachingEmbedder,
    Guard,
    GuardedEmbedder,
    ModelCallFailed,
)
from rifflux.models.hashing import HashEmbedder
from rifflux.types import Document, Vectors
from tests.support.commands import PATIENCE


@dataclass(frozen=True)
class Hanging(HashEmbedder):
    """An embedder that answers questions only once it is let go."""

    backend: str = field(default="custom", init=False)

    def embed_query(self, text: str) -> Vectors:
        LET_GO.wait(PATIENCE)
        return HashEmbedder.embed_query(self, text)


LET_GO = threading.Event()


def named(name: str) -> set[threading.Thread]:
    """Return the threads that work under a name."""
    return {thread for thread in threading.enumerate() if thread.name == name}


@pytest.fixture(autouse=True)
def _let_go() -> Iterator[None]:
    LET_GO.clear()
    yield
    LET_GO.set()


@dataclass
class Purse:
    """Pays until it is empty, and remembers what for."""

    left: int = 1_000
    empty: str = "the purse is empty"

    def __post_init__(self) -> None:
        self.paid: list[tuple[str, str, int]] = []
        self.cancelled = 0

    def __hash__(self) -> int:
        return id(self)

    def bill(self, user: str, model: str, feature: str, tokens: Callable[[], int], *, here: bool) -> Bill:
        purse, read = self, tokens()
        if read > self.left:
            raise BudgetExhausted(self.empty)

        class Paid:
            def settle(self, tokens: int | None = None) -> None:
                purse.left -= read
                purse.paid.append((model, feature, tokens or read))

            def cancel(self) -> None:
                purse.cancelled += 1

        return Paid()


def stopped() -> tuple[list[ModelCallFailed], Callable[[ModelCallFailed], None]]:
    told: list[ModelCallFailed] = []
    return told, told.append


def test_vectors_are_those_of_the_model_and_are_paid_for() -> None:
    model, purse = HashEmbedder(), Purse()
    guarded = GuardedEmbedder(model, Guard(payer=purse))
    assert np.array_equal(guarded.embed_query("two words"), model.embed_query("two words"))
    assert np.array_equal(guarded.embed_documents(["a b c"]), model.embed_documents(["a b c"]))
    assert purse.paid == [("hash", "search", 2), ("hash", "store", 3)]
    assert (guarded.fingerprint, guarded.spec, guarded.name) == (model.fingerprint, model.spec, model.name)


def test_what_cannot_be_paid_is_not_asked_and_says_nothing_against_the_model() -> None:
    told, note = stopped()
    with open_index(":memory:", model="hash", prices={"hash": 1_000_000.0}, budget=9.0) as index:
        index.add(Document("a", "cache entries"), Document("b", "apples"))
        index.search("cache and all other entries")
        for _ in range(FAILURES + 1):
            results = index.using(stopped=note).search("cache entries")
    assert [hit.key for hit in results] == ["a"]
    assert results.trace.effective_mode == "lexical"
    assert any("budget is spent" in reason.text for reason in results.trace.degraded)
    assert {each.sort for each in told} == {"refused"}


def test_a_model_that_hangs_is_given_up_then_left_alone_and_tried_again() -> None:
    told, note = stopped()
    clock = 100.0
    guard = Guard(0.05, stopped=note, breakers={"hash": Breaker(lambda: clock)})
    guarded = GuardedEmbedder(Hanging(), guard)
    before = named("model hash")
    for _ in range(FAILURES + 2):
        with pytest.raises(ModelError, match=r"given up|retried within 10 s"):
            guarded.embed_query("cache")
    assert [each.sort for each in told] == ["late"] * FAILURES + ["open"] * 2
    assert len(named("model hash") - before) == FAILURES
    clock += PAUSE_S
    for expected in ("late", "open"):
        with pytest.raises(ModelError):
            guarded.embed_query("cache")
        assert told[-1].sort == expected
    LET_GO.set()
    clock += PAUSE_S
    patient = GuardedEmbedder(Hanging(), replace(guard, question_s=PATIENCE))
    assert patient.embed_query("cache").any()
    assert patient.embed_query("cache").any()


def test_others_do_not_wait_where_some_calls_hang() -> None:
    clock = 100.0
    breaker = Breaker(lambda: clock)
    with ExitStack() as calls:
        for _ in range(FAILURES):
            assert breaker.lets_through()
            calls.enter_context(breaker.under_way(2.0))
        clock += 0.9
        assert breaker.lets_through()
        clock += 0.1
        assert not breaker.lets_through()
    assert breaker.lets_through()


def test_a_deadline_of_the_caller_says_nothing_against_the_model() -> None:
    guarded = GuardedEmbedder(Hanging(), Guard(60.0))
    for _ in range(FAILURES + 1):
        with pytest.raises(ModelError, match="given up"):
            guarded.question_vector("cache", 256, time.perf_counter() + 0.02)
    LET_GO.set()
    assert guarded.embed_query("cache").any()


@dataclass(frozen=True)
class Failing(HashEmbedder):
    """An embedder whose errors are not ours, and hold a secret."""

    backend: str = field(default="custom", init=False)

    def embed_query(self, text: str) -> Vectors:
        raise ConnectionError("http://10.0.0.7/v1 said sk-SECRET")

    def embed_documents(self, texts: Any) -> Vectors:
        raise ConnectionError("http://10.0.0.7/v1 said sk-SECRET")


def test_the_cause_is_in_the_log_and_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    purse = Purse()
    guarded = GuardedEmbedder(Failing(), Guard(payer=purse))
    asks: list[Callable[[], object]] = [
        lambda: guarded.embed_query("cache"),
        lambda: guarded.embed_documents(["cache"]),
    ]
    for ask in asks:
        with caplog.at_level(logging.WARNING), pytest.raises(ModelError, match="ConnectionError") as caught:
            ask()
        assert "SECRET" not in str(caught.value)
        assert "10.0.0.7" not in str(caught.value)
        assert "10.0.0.7/v1 said sk-SECRET" in caplog.text
    assert (purse.paid, purse.cancelled) == ([], 2)


GIVES: dict[str, Any] = {
    "NaN": np.full(8, np.nan, np.float32),
    "another dimension": np.ones(9, np.float32),
    "no numbers": "heron",
}


@dataclass(frozen=True)
class Giving(HashEmbedder):
    """An embedder that gives something else."""

    given: str = ""

    def embed_query(self, text: str) -> Any:
        return GIVES[self.given]

    def embed_documents(self, texts: Any) -> Any:
        return [GIVES[self.given]] * len(texts)


@pytest.mark.parametrize("given", GIVES)
def test_nonsense_is_paid_for_and_opens_the_breaker(given: str) -> None:
    told, note = stopped()
    purse = Purse()
    guarded = GuardedEmbedder(Giving(8, given=given), Guard(payer=purse, stopped=note))

    def store(text: str) -> Vectors:
        return guarded.embed_documents([text])

    asks: list[Callable[[str], Vectors]] = [guarded.embed_query, store]
    for ask in [*asks, *asks]:
        with pytest.raises(ModelError):
            ask("heron")
    assert [each.sort for each in told] == ["error"] * FAILURES + ["open"]
    assert len(purse.paid) == FAILURES


class Zeros(HashEmbedder):
    """An embedder that sees nothing in anything."""

    def embed_query(self, text: str) -> Vectors:
        return np.zeros(self.dimension, np.float32)

    def embed_documents(self, texts: Any) -> Vectors:
        return np.zeros((len(texts), self.dimension), np.float32)


def test_zeros_are_no_vectors() -> None:
    guarded = GuardedEmbedder(Zeros(), Guard())
    for _ in range(FAILURES + 1):  # a question without a word that a model knows says nothing against it
        with pytest.raises(ModelError, match="knows no word of the question"):
            guarded.embed_query("???")
    with pytest.raises(ModelError, match="only zero vectors"):
        guarded.embed_documents(["heron", "egret"])
    assert not guarded.embed_documents(["", "---"]).any()


def test_parts_of_one_request_wait_for_a_failing_model_once() -> None:
    told, note = stopped()
    once = CachingEmbedder(GuardedEmbedder(Failing(), Guard(stopped=note)))
    for _ in range(3):
        with pytest.raises(ModelError):
            once.embed_query("heron")
        with pytest.raises(ModelError):
            once.embed_documents(["egret"])
    assert len(told) == 1


def test_other_processes_count_tokens_without_the_guard() -> None:
    guarded = GuardedEmbedder(HashEmbedder(), Guard())
    assert pickle.loads(pickle.dumps(guarded.count_tokens))("two words") == 2


def test_a_search_waits_as_long_as_it_is_told() -> None:
    for limit, deadline in ((60.0, 20), (0.02, None)):
        with open_index(":memory:", model=Hanging(), embed_timeout=limit) as index:
            index.add(Document("a", "cache entries"))
            assert "given up" in index.search("cache", deadline_ms=deadline).trace.degraded[0].text
            assert "given up" in index.everything("cache", deadline_ms=deadline).trace.degraded[0].text
