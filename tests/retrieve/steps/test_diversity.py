"""Pages that do not repeat themselves: what each stage keeps, in which order, and that pages stay full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, Hit, Index, InvalidArgument
from rifflux.retrieve.fuse.base import IndexFacts
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.steps.diversity import Diversity, Mmr, NearDuplicates, one_per_document
from rifflux.store import ModelInfo, Placed, open_store
from rifflux.testing import change
from rifflux.types import Query
from tests.support.hits import stepped

QUERY = Plan(Query("cache"))
WORDS = ["cache", "entries", "live", "an", "hour", "queue", "holds", "jobs"]


def hits(*texts: str, documents: Sequence[str] = ()) -> list[Hit]:
    """A hit for each text, the best first."""
    keys = documents or [f"d{number}" for number in range(len(texts))]
    return [
        Hit(f"{number:016x}", keys[number], "", "", "", 0, text, (0, 0), score=1 / (1 + number))
        for number, text in enumerate(texts)
    ]


texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=12)


@pytest.fixture(scope="module")
def mmr() -> Mmr:
    """By words, for no vectors are known."""
    return Mmr()


class TestOnePerDocument:
    def test_the_best_of_each_stays_and_tells_of_the_others(self) -> None:
        found = stepped(one_per_document, QUERY, hits("a", "b", "c", "d", documents=["x", "y", "x", "x"]))
        assert [hit.text for hit in found] == ["a", "b"]
        assert found[0].why[-1].detail == {"others": 2}
        assert found[1].why == ()

    def test_the_same_key_in_two_namespaces_is_two_documents(self) -> None:
        one, two = hits("a", "b", documents=["x", "x"])
        assert len(stepped(one_per_document, QUERY, [one, replace(two, namespace="other")])) == 2


class TestNearDuplicates:
    def test_texts_that_are_all_but_equal_count_once(self) -> None:
        text = "entries of the cache live for an hour, and the oldest of them is the first to go"
        found = stepped(NearDuplicates(), QUERY, hits(text, "the queue holds jobs", text.upper() + "!", text + " away"))
        assert [hit.text for hit in found] == [text, "the queue holds jobs"]
        assert found[0].why[-1].detail == {"others": 2}

    def test_the_threshold_is_the_share_of_common_runs(self) -> None:
        pair = hits("one two three four", "one two three five")  # one common run of three, of three
        assert len(stepped(NearDuplicates(0.33), QUERY, pair)) == 1
        assert len(stepped(NearDuplicates(0.34), QUERY, pair)) == 2

    def test_texts_without_words_are_never_alike(self) -> None:
        assert len(stepped(NearDuplicates(), QUERY, hits("", "", "…", "…"))) == 4

    @given(texts)
    def test_the_best_is_never_dropped_and_equal_texts_never_stay(self, texts: list[str]) -> None:
        given = hits(*texts)
        kept = stepped(NearDuplicates(), QUERY, given)
        assert [hit.id for hit in kept[:1]] == [hit.id for hit in given[:1]]
        scores = [hit.score for hit in kept]
        assert scores == sorted(scores, reverse=True)
        worded = [hit.text for hit in kept if hit.text]
        assert len(worded) == len(set(worded))
        dropped = {hit.id for hit in given} - {hit.id for hit in kept}
        assert sum(hit.why[-1].detail["others"] for hit in kept if hit.why) == len(dropped)

    @pytest.mark.parametrize("threshold", [0.0, -1.0, 1.1, float("nan")])
    def test_a_threshold_that_means_nothing_is_refused(self, threshold: float) -> None:
        with pytest.raises(InvalidArgument, match="threshold"):
            NearDuplicates(threshold)


class TestMmr:
    @given(texts)
    def test_it_is_a_permutation_whose_first_stays_and_whose_scores_fall(self, mmr: Mmr, texts: list[str]) -> None:
        given = hits(*texts)
        found = stepped(mmr, QUERY, given)
        assert sorted(hit.id for hit in found) == sorted(hit.id for hit in given)
        assert [hit.id for hit in found[:1]] == [hit.id for hit in given[:1]]
        scores = [hit.score for hit in found]
        assert scores == sorted(scores, reverse=True)
        for hit in found:
            assert sum(hit.why[-1].detail.values()) == pytest.approx(hit.score, abs=1e-9)

    def test_what_repeats_a_better_hit_falls_behind_what_is_new(self, mmr: Mmr) -> None:
        found = stepped(Mmr(0.4), QUERY, hits("cache entries live", "cache entries live", "queue holds jobs"))
        assert [hit.text for hit in found] == ["cache entries live", "queue holds jobs", "cache entries live"]
        assert [hit.why[-1].rank for hit in found] == [1, 2, 3]

    @given(texts)
    def test_relevance_alone_changes_nothing(self, mmr: Mmr, texts: list[str]) -> None:
        given = hits(*texts)
        assert [hit.id for hit in stepped(Mmr(1.0), QUERY, given)] == [hit.id for hit in given]

    def test_below_the_pool_the_order_stays(self, mmr: Mmr) -> None:
        found = stepped(Mmr(0.5, pool=2), QUERY, hits("a", "a", "b", "c"))
        assert [hit.text for hit in found] == ["a", "a", "b", "c"]
        assert np.all(np.diff([hit.score for hit in found]) <= 0)

    def test_vectors_decide_where_there_are_any(self) -> None:
        with closing(open_store(":memory:")) as store:
            store.semantic.use_model(ModelInfo("tiny", "hash", 2, "f1", "tiny"))
            for number, vector in enumerate([(1, 0), (1, 0), (0, 1)]):
                put = change(f"d{number}", f"text {number}", first_id=number)
                store.catalog.write(Placed("c", put))
                store.semantic.put_vectors([number], [put.chunks[0].hash], np.array([vector], np.float32))
            plan = replace(QUERY, evidence=IndexFacts(QUERY, store))
            found = stepped(Mmr(0.5), plan, hits("text 0", "text 1", "text 2"))
        assert [hit.text for hit in found] == ["text 0", "text 2", "text 1"]
        assert found[1].why[-1].detail == {"relevance": 0.0, "redundancy": 0.0}


@pytest.fixture
def repetitive(tmp_path) -> Iterator[Index]:  # type: ignore[no-untyped-def]
    """Ten long documents of equal parts, and as many short ones."""
    with rifflux.open(tmp_path / "index.db", model="hash:32") as index:
        for number in range(10):
            text = "\n\n".join(f"cache entries live for an hour, part {part}. {'cache ' * 150}" for part in range(30))
            index.add(Document(f"long{number}", text))
            index.add(Document(f"short{number}", f"a cache of {number} kinds"))
        yield index


class TestSearch:
    def test_a_page_is_full_while_there_are_documents(self, repetitive: Index) -> None:
        results = repetitive.search("cache entries", top_k=15, one_per_document=True)
        assert len({hit.key for hit in results}) == len(results) == 15
        assert results.trace.dropped["one per document"] > 0

    def test_near_duplicates_are_dropped_and_counted(self, repetitive: Index) -> None:
        results = repetitive.search("cache entries", collapse=True)
        assert len({hit.text for hit in results}) == len(results)
        assert results.trace.dropped["collapse"] > 0

    def test_a_profile_can_turn_it_on_and_an_argument_off(self, repetitive: Index) -> None:
        grouping = repetitive.using(replace(repetitive.profile, diversity=Diversity(group="document")))
        assert len({hit.key for hit in grouping.search("cache entries")}) == 10
        plain = repetitive.search("cache entries")
        assert grouping.search("cache entries", one_per_document=False).hits == plain.hits
        assert plain.trace.dropped == {}

    @pytest.mark.parametrize("wrong", [{"one_per_document": "page"}, {"diversify": 2}, {"diversify": "much"}])
    def test_what_cannot_be_meant_is_refused(self, repetitive: Index, wrong: dict[str, object]) -> None:
        with pytest.raises(InvalidArgument):
            repetitive.search("cache", **wrong)  # type: ignore[arg-type]
