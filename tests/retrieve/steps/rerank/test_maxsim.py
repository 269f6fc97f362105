"""Late interaction, with an embedder whose token vectors can be worked out by hand, and with the bundled one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux.errors import InvalidArgument
from rifflux.retrieve.pipeline import StepSkipped
from rifflux.retrieve.steps.rerank import reranker_of
from rifflux.retrieve.steps.rerank.maxsim import MaxSim, Windows, max_sim
from rifflux.types import Document, Vectors
from tests.support.hits import asked, hit, resources, stepped, table


class Letters:
    """One token a word; its vector is the direction of its first letter."""

    fingerprint = "letters"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def token_vectors(self, texts: list[str]) -> list[Vectors]:
        self.asked.append(list(texts))
        return [np.eye(256, dtype=np.float32)[[ord(word[0]) for word in text.split()]] for text in texts]

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def test_max_sim_is_the_weighted_mean_of_the_best() -> None:
    query = np.array([[1, 0], [0, 1]], np.float32)
    passages = [
        np.array([[1, 0], [0.6, 0.8]], np.float32),
        np.array([[0, 1]], np.float32),
        np.zeros((0, 2), np.float32),
    ]
    assert max_sim(query, np.array([1.0, 3.0]), passages) == pytest.approx([(1 + 3 * 0.8) / 4, 0.75, 0])
    assert max_sim(query[:0], np.ones(0), passages).tolist() == [0, 0, 0]


def test_rare_words_count_more() -> None:
    hits = [hit(1, "r only", score=1), hit(2, "t only", score=1)]
    found = stepped(reranker_of("maxsim", resources(Letters())), asked("red ttl"), hits)
    assert [each.key for each in found] == ["d2", "d1"]


def test_stop_words_alone_count_alike() -> None:
    likeness = MaxSim(resources(Letters())).likeness(asked("to be"), table([hit(1, "tb"), hit(2, "t b")]))
    assert likeness.tolist() == [0.5, 1.0]


def test_addends_add_up() -> None:
    hits = [hit(number, text) for number, text in enumerate(["r", "t", "r t", "c t"], 1)]
    scored = MaxSim(resources(Letters()), weight=0.3)(asked("red cache ttl"), table(hits))
    sums = np.sum(list(scored.parts.values()), axis=0).tolist()
    assert "maxsim" in scored.parts
    assert scored.scores.tolist() == pytest.approx(sums, abs=1e-9)
    assert all(0 <= score <= 1 for score in sums)


def test_the_title_is_read_too() -> None:
    embedder = Letters()
    hits = [hit(1, "text", title="one two three"), hit(2, "alone")]
    MaxSim(resources(embedder), title_words=2)(asked("red"), table(hits))
    assert embedder.asked == [["red", "one two. text", "alone"]]


def test_what_is_remembered_is_not_asked_again_and_changes_nothing() -> None:
    embedder = Letters()
    scorer = MaxSim(resources(embedder), remembered=3)
    hits = [hit(1, "r x"), hit(2, "t y"), hit(3, "r x")]
    first, second = scorer(asked("red ttl"), table(hits)), scorer(asked("red ttl"), table(hits))
    assert embedder.asked == [["red ttl", "r x", "t y"]]
    assert first.scores.tolist() == second.scores.tolist()
    scorer(asked("cache"), table([hit(4, "c z")]))
    assert [len(each) for each in embedder.asked] == [3, 2]


def test_what_another_model_made_of_a_text_is_not_used() -> None:
    """The index was switched to it meanwhile."""

    class Switched(Letters):
        width = 256

        def token_vectors(self, texts: list[str]) -> list[Vectors]:
            return [each[:, : self.width] for each in super().token_vectors(texts)]

    embedder = Switched()
    hits = [hit(1, "r x"), hit(2, "t y")]
    scorer = MaxSim(resources(embedder))
    first = scorer(asked("red ttl"), table(hits))
    embedder.fingerprint, embedder.width = "narrow", 200
    assert scorer(asked("red"), table(hits)).parts["maxsim"].tolist() == [1 * scorer.weight, 0.0]
    assert scorer(asked("red ttl"), table(hits)).scores.tolist() == first.scores.tolist()
    assert embedder.asked == [["red ttl", "r x", "t y"], ["red", "r x", "t y"], ["red ttl"]]


def test_an_embedder_without_token_vectors() -> None:
    with pytest.raises(StepSkipped, match="not of their tokens"):
        MaxSim(resources())(asked("red"), table([hit(1, "red")]))


@pytest.mark.parametrize("wrong", [{"weight": -0.1}, {"weight": 2}, {"window": 0}, {"title_words": -1}])
def test_settings_that_cannot_be_meant(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        MaxSim(resources(), **wrong)


WEIGHTS = {"red": 1.0, "ttl": 5.0, "cach": 3.0}


def windows(size: int) -> Windows:
    return Windows(WEIGHTS, lambda word: [word.lower()], size)


def test_the_window_holds_the_heaviest_words() -> None:
    text = "red a b c d e f g cach h ttl i j k l m red"
    assert windows(5)(text) == "g cach h ttl i"
    assert windows(3)(text) == "cach h ttl"


def test_a_window_at_either_end_is_whole() -> None:
    assert windows(3)("ttl a b c d") == "ttl a b"
    assert windows(3)("a b c d ttl") == "c d ttl"


def test_without_any_word_it_is_the_beginning() -> None:
    assert windows(3)("a b c d") == "a b c"
    assert windows(3)(" a b ") == "a b"
    assert windows(3)("") == ""


def test_words_are_never_long() -> None:
    assert len(windows(2)("x" * 1000)) == 40
    assert windows(4)("漢字" * 50) == "漢字漢字"


@given(st.text(alphabet="ab \nred ttl漢", max_size=200), st.integers(1, 10))
def test_a_window_is_a_part_of_the_text_and_no_longer_than_asked(text: str, size: int) -> None:
    found = windows(size)(text)
    assert found in text
    assert len(windows(size)._terms) <= len(text)
    assert len(found.split()) <= size


def test_with_the_bundled_model() -> None:
    with rifflux.open(":memory:") as index:
        index.add(
            Document("ttl", "Entries of the cache live for ten minutes, then they are dropped."),
            Document("pool", "The connection pool keeps ten connections and drops idle ones."),
            Document("bread", "Knead the dough for ten minutes, then let it rest."),
        )
        found = index.search("how long do cache entries live", rerank="maxsim")
        assert found[0].key == "ttl"
        assert found.trace.reranker == "maxsim"
        assert not found.trace.degraded
        again = index.search("how long do cache entries live", rerank="maxsim")
        assert [(each.key, each.score) for each in again] == [(each.key, each.score) for each in found]
