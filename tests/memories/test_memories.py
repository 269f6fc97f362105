"""Memories: saved if they matter, not twice, superseded with their history, forgotten in time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from rifflux.errors import InvalidArgument, NotFound
from rifflux.index import Index, open_index
from rifflux.memories import Memories, Rules
from rifflux.memories.model import Recalled
from rifflux.memories.profile import MEMORIES
from rifflux.types import Scope

DAY = 86_400.0


def iso(seconds: float) -> str:
    """A time as memories have it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


class Clock:
    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def index() -> Iterator[Index]:
    with open_index(":memory:", model="hash") as index:
        yield index


@pytest.fixture
def memories(index: Index, clock: Clock) -> Memories:
    return at(index, clock)


def at(index: Index, clock: Clock, rules: Rules | None = None) -> Memories:
    return Memories(index.admin.view.part(MEMORIES.name, MEMORIES), rules, clock)


def contents(recalled: Recalled) -> list[str]:
    return [memory.text for memory, _ in recalled.memories]


class TestFinding:
    def test_a_name_in_every_memory_explains_nothing(self, memories: Memories) -> None:
        for each in ("takes tea without milk", "owns a boat", "lives at a lake", "speaks Danish", "has a bike"):
            memories.add(f"Ann Mary {each}")
        memories.add("Ann Mary, who was born in Oslo and has lived in many places since then, drinks coffee at noon")
        assert "coffee" in contents(memories.search("when does Ann Mary have coffee"))[0]

    def test_ranks_alone_decide_where_that_is_asked_for(self, memories: Memories) -> None:
        memories.add("Ann takes tea without milk")
        assert memories.search("tea").trace.fusion == "adaptive"
        assert memories.search("tea", fusion="rrf").trace.fusion == "rrf"


class TestSaving:
    def test_a_near_duplicate_in_another_category_is_not_saved_twice(self, memories: Memories) -> None:
        memories.add("Ann likes tea without milk", category="preference")
        assert memories.add("Ann likes tea without milk", category="fact").outcome == "duplicate"
        assert len(memories.all()) == 1

    @pytest.mark.parametrize(
        ("importance", "confidence", "outcome"),
        [(7, 0.7, "saved"), (6, 1.0, "refused"), (10, 0.69, "refused"), (10, 0.0, "refused")],
    )
    def test_what_matters_is_saved(self, memories: Memories, importance: int, confidence: float, outcome: str) -> None:
        saved = memories.add("Ann likes tea", importance=importance, confidence=confidence)
        assert saved.outcome == outcome
        assert bool(memories.all()) == (outcome == "saved")
        assert bool(saved.reason) == (outcome == "refused")

    def test_the_same_is_saved_once_and_confirmed(self, memories: Memories, clock: Clock) -> None:
        first = memories.add("Ann likes green tea in the morning", confidence=0.8, expires_at=clock.time + DAY).memory
        clock.time += 10
        again = memories.add("Ann likes green tea in the morning!", importance=9)
        assert again.outcome == "duplicate"
        (kept,) = memories.all()
        assert (kept.id, kept.importance, kept.confidence, kept.version) == (first.id, 9, 1.0, 2)
        assert (kept.created_at, kept.updated_at, kept.expires_at) == (iso(clock.time - 10), iso(clock.time), None)
        assert memories.add("Bob plays chess on Sundays").outcome == "saved"

    def test_what_is_superseded_stays_as_history(self, memories: Memories) -> None:
        old = memories.add("Ann lives in Oslo").memory
        new = memories.add("Ann lives in Bergen", supersedes=old.id).memory
        newer = memories.add("Ann lives in Paris", supersedes=new.id).memory
        assert [memory.text for memory in memories.all()] == ["Ann lives in Paris"]
        assert [memory.version for memory in memories.history(newer.id)] == [3, 2, 1]
        assert memories.get(old.id).superseded_by == new.id
        assert contents(memories.search("where does Ann live")) == ["Ann lives in Paris"]
        with pytest.raises(NotFound):
            memories.add("x y z", supersedes="none")

    def test_superseding_what_was_superseded_goes_to_the_head(self, memories: Memories) -> None:
        first = memories.add("Ann lives in Graz").memory
        second = memories.add("Ann lives in Linz", supersedes=first.id).memory
        third = memories.add("Ann lives in Wels", supersedes=first.id).memory
        assert [memory.text for memory in memories.all()] == ["Ann lives in Wels"]
        assert [memory.id for memory in memories.history(third.id)] == [third.id, second.id, first.id]
        assert (memories.get(second.id).superseded_by, third.version) == (third.id, 3)

    def test_what_has_expired_already_is_refused(self, memories: Memories, clock: Clock) -> None:
        saved = memories.add("Ann is in Linz today", expires_at=clock.time - 1)
        assert (saved.outcome, memories.all(everything=True)) == ("refused", [])
        assert "expired already" in saved.reason

    def test_what_is_given_is_edited(self, memories: Memories, clock: Clock) -> None:
        memory = memories.add("Ann likes tea", category="task", source="m1").memory
        clock.time += 5
        edited = memories.edit(memory.id, text=" Ann likes mint tea ", importance=9, expires_at="never")
        assert edited == memories.get(memory.id)
        assert (edited.text, edited.importance, edited.category, edited.source) == (
            "Ann likes mint tea", 9, "task", "m1"
        )  # fmt: skip
        assert (edited.expires_at, edited.version, edited.updated_at) == (None, 2, iso(clock.time))
        assert contents(memories.search("mint")) == ["Ann likes mint tea"]
        assert memories.edit(memory.id, importance=9).version == 2
        memories.edit(memory.id, confidence=0.5)
        assert contents(memories.search("mint")) == []
        with pytest.raises(NotFound, match="list the memories"):
            memories.edit("none", importance=9)
        for wrong in ({"text": " "}, {"importance": 0}, {"confidence": 2.0}, {"expires_at": "soon"}):
            with pytest.raises(InvalidArgument):
                memories.edit(memory.id, **wrong)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"text": " "},
            {"text": "x" * 4001},
            {"importance": 11},
            {"importance": True},
            {"confidence": 1.5},
            {"confidence": float("nan")},
            {"category": ""},
            {"expires_at": "someday"},
            {"expires_at": float("inf")},
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, memories: Memories, wrong: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgument):
            memories.add(**{"text": "Ann likes tea"} | wrong)
        assert memories.all() == []


class TestTime:
    def test_categories_have_their_time_to_live(self, memories: Memories, clock: Clock) -> None:
        memories.add("Ann is writing a letter now", category="context")
        memories.add("Ann was born in Oslo")
        clock.time += 7 * DAY
        assert len(memories.all()) == 2
        clock.time += 1
        assert contents(memories.search("Ann")) == ["Ann was born in Oslo"]

    def test_expired_is_strictly_before_now(self, memories: Memories, clock: Clock) -> None:
        memories.add("Ann likes tea", expires_at=clock.time + 5)
        clock.time += 5
        assert contents(memories.search("tea")) == ["Ann likes tea"]
        clock.time += 0.5
        assert contents(memories.search("tea")) == []
        assert len(memories.all(everything=True)) == 1

    def test_the_expired_are_deleted_in_the_end(self, memories: Memories, clock: Clock) -> None:
        memories.add("Ann likes tea", expires_at=clock.time)
        clock.time += 90 * DAY - 1
        assert memories.purge() == 0
        clock.time += 1
        assert memories.purge() == 1
        assert memories.all(everything=True) == []

    def test_purging_brings_nothing_back_that_was_superseded(self, memories: Memories, clock: Clock) -> None:
        old = memories.add("Ann lives in Oslo").memory
        new = memories.add("Ann stays in Bergen", expires_at=clock.time + DAY, supersedes=old.id).memory
        clock.time += 100 * DAY
        assert (memories.purge(), memories.all()) == (0, [])
        assert memories.get(old.id).superseded_by == new.id
        newest = memories.add("Ann lives in Paris", supersedes=old.id).memory
        assert memories.get(old.id).superseded_by == newest.id, "what expired in between is purged, and the link mended"
        with pytest.raises(NotFound):
            memories.get(new.id)


class TestRecalling:
    def test_least_importance_and_confidence_narrow_before_ranking(self, index: Index, clock: Clock) -> None:
        memories = at(index, clock, Rules(least_importance=1, least_confidence=0.5, same_cosine=2))
        for number in range(50):
            memories.add(f"tea tea number {number} {'abcdefghij'[number % 10] * 9}", importance=3)
        memories.add("Ann likes tea", importance=9, confidence=0.8)
        memories.add("Bob may drink some tea", importance=8, confidence=0.6)
        assert set(contents(memories.search("tea", min_importance=8))) == {"Ann likes tea", "Bob may drink some tea"}
        assert contents(memories.search("tea", min_importance=8, min_confidence=0.7)) == ["Ann likes tea"]
        assert [each.text for each in memories.all(min_importance=9)] == ["Ann likes tea"]
        assert len(memories.all(min_confidence=0.7)) == 51
        strict = at(index, clock)
        assert "Bob may drink some tea" in contents(strict.search("tea", top_k=5, min_importance=8, min_confidence=0.5))
        for wrong in ({"min_importance": 11}, {"min_importance": True}, {"min_confidence": 1.5}):
            with pytest.raises(InvalidArgument, match="min_"):
                memories.search("tea", **wrong)

    def test_a_page_of_a_hundred_is_full(self, index: Index, clock: Clock) -> None:
        memories = at(index, clock, Rules(same_cosine=2))
        for number in range(64):
            memories.add(f"tea {chr(97 + number % 26) * 5} {chr(97 + number // 26) * 7} {number * 'z'}")
        assert len(memories.search("tea", top_k=100).memories) == 64

    def test_confidence_is_judged_before_ranking(self, index: Index, clock: Clock) -> None:
        lenient = at(index, clock, Rules(least_confidence=0.0, least_importance=1))
        for number in range(50):
            lenient.add(f"tea tea number {number} {'abcdefghij'[number % 10] * 9}", confidence=0.69)
        lenient.add("Ann likes tea", confidence=0.7)
        assert contents(at(index, clock).search("tea", top_k=5)) == ["Ann likes tea"]

    def test_recalling_counts_as_use(self, memories: Memories, clock: Clock) -> None:
        memories.add("Ann likes tea")
        memories.add("Bob plays chess on Sundays")
        for _ in range(3):
            clock.time += 1
            memories.search("who likes tea", top_k=1)
        uses = {memory.text: (memory.uses, memory.used_at) for memory in memories.all()}
        assert uses == {"Ann likes tea": (3, iso(clock.time)), "Bob plays chess on Sundays": (0, None)}

    def test_scores_are_explained_to_the_last_bit(self, memories: Memories) -> None:
        for text in ("Ann likes tea", "Ann likes coffee", "Bob plays chess"):
            memories.add(text)
        for _, hit in memories.search("what does Ann like").memories:
            parts = hit.because("rerank:recall").detail
            assert sum(parts.values()) == pytest.approx(hit.score, abs=1e-9)
            assert {"freshness", "usage", "importance"} <= set(parts)

    def test_the_recent_and_the_used_score_higher_for_it(self, memories: Memories, clock: Clock) -> None:
        memories.add("Ann's locker code is 1234 red")
        clock.time += 200 * DAY
        memories.add("Ann's locker code is 9876 blue")
        memories.search("blue", top_k=1)
        found = memories.search("what is Ann's locker code").memories
        parts = {memory.text[-4:]: hit.because("rerank:recall").detail for memory, hit in found}
        for name in ("freshness", "usage"):
            assert parts["blue"][name] > parts[" red"][name]

    def test_categories_narrow(self, memories: Memories) -> None:
        memories.add("Ann likes tea", category="preference")
        memories.add("tea was bought on Monday", category="event")
        assert contents(memories.search("tea", category="event")) == ["tea was bought on Monday"]

    def test_forgotten_is_gone(self, memories: Memories) -> None:
        memory = memories.add("Ann likes tea").memory
        with pytest.raises(NotFound, match="list the memories"):
            memories.forget(memory.id, "none")
        assert memories.forget(memory.id) == 1
        assert contents(memories.search("tea")) == []

    def test_forgetting_relinks_what_was_superseded(self, memories: Memories) -> None:
        first = memories.add("Ann lives in Graz").memory
        second = memories.add("Ann lives in Linz", supersedes=first.id).memory
        third = memories.add("Ann lives in Wels", supersedes=second.id).memory
        memories.forget(second.id)
        assert [memory.id for memory in memories.history(third.id)] == [third.id, first.id]
        memories.forget(third.id)
        assert contents(memories.search("where does Ann live")) == ["Ann lives in Graz"]
        memories.forget(memories.add("Ann lives in Enns", supersedes=first.id).memory.id, first.id)
        assert memories.all(everything=True) == []

    @pytest.mark.parametrize(("limit", "pool"), [(1, 4), (3, 12), (5, 20), (10, 40), (20, 40), (100, 100)])
    def test_the_pool_is_four_times_the_page(self, limit: int, pool: int) -> None:
        from rifflux.memories.profile import memory_pool

        assert memory_pool(limit) == pool


def test_memories_are_their_users(index: Index) -> None:
    ann, bob = (index.scoped(Scope(user)).memories for user in ("ann", "bob"))
    memory = ann.add("Ann likes tea").memory
    assert contents(bob.search("tea")) == []
    assert bob.all(everything=True) == []
    with pytest.raises(NotFound):
        bob.get(memory.id)
    with pytest.raises(NotFound):
        bob.forget(memory.id)
    assert bob.add("Ann likes tea").outcome == "saved"
    assert contents(ann.search("tea")) == ["Ann likes tea"]
