"""The components, one by one, and their sum."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux import Hit
from rifflux.errors import InvalidArgument
from rifflux.retrieve.steps.rerank import reranker_of
from rifflux.retrieve.steps.rerank.features import COMPONENTS, WEIGHTS, Features, trust, words_of_the_best
from rifflux.retrieve.table import NAMED
from tests.support.hits import asked, hit, idf, resources, stepped, table

NOTHING = dict.fromkeys(WEIGHTS, 0.0)
DAY = 86_400.0


def only(component: str, query: str, hits: Sequence[Hit], **settings: Any) -> list[float]:
    """The component's value for each hit."""
    features = Features(resources(), WEIGHTS.but(**{**NOTHING, component: 2.5}), **settings)
    return features(asked(query), table(hits)).scores.tolist()


def test_each_weight_has_a_component() -> None:
    assert list(COMPONENTS) == list(WEIGHTS)


def test_fused_goes_from_the_least_to_the_greatest() -> None:
    assert only("fused", "q", [hit(1, score=5), hit(2, score=2), hit(3, score=1)]) == [1, 0.25, 0]
    assert only("fused", "q", [hit(1, score=5), hit(2, score=5)]) == [0, 0]


def test_stubs_among_longer_passages_count_less() -> None:
    stub, long = hit(1, "cache", score=5), [hit(number, "cache " * 40, score=4.0 - number / 10) for number in (2, 3, 4)]
    scores = only("fused", "cache", [stub, *long])
    assert scores[0] < scores[1] == 1
    notes = [hit(number, "short note", score=5 - number) for number in range(4)]
    assert only("fused", "note", notes) == pytest.approx([1, 2 / 3, 1 / 3, 0])


def test_what_is_named_comes_first_and_nothing_else_is_lowered() -> None:
    hits = [hit(1, "a red thing", score=5), hit(2, "blue", score=1)]
    plain = Features(resources())(asked("red"), table(hits)).scores
    named = table(hits).with_column(NAMED, np.array([0.0, 1.0]))
    first, second = Features(resources())(asked("red"), named).scores
    assert second > first
    assert plain[0] > plain[1]
    assert only("named", "red", hits) == [0, 0]


def test_lexical_is_a_share_of_the_greatest() -> None:
    assert only("lexical", "q", [hit(1, lexical=8), hit(2, lexical=2), hit(3)]) == [1, 0.25, 0]
    assert only("lexical", "q", [hit(1), hit(2)]) == [0, 0]


def test_semantic_takes_what_has_no_cosine_for_the_least() -> None:
    assert only("semantic", "q", [hit(1, semantic=0.8), hit(2, semantic=0.6), hit(3)]) == pytest.approx([1, 0, 0])
    assert only("semantic", "q", [hit(1), hit(2)]) == [0, 0]


def test_coverage_counts_terms_by_their_rarity() -> None:
    hits = [hit(1, "the cache has a TTL"), hit(2, "a cached red thing"), hit(3, "blue"), hit(4, title="Red caches")]
    total = idf(20) + idf(2) + idf(500)
    common = (idf(20) + idf(500)) / total
    expected = [(idf(20) + idf(2)) / total, common, 0, common]
    assert only("coverage", "red cache ttl", hits) == pytest.approx(expected)


def test_phrase_counts_pairs_of_neighbours() -> None:
    hits = [
        hit(1, "red cache ttl"),
        hit(2, "ttl of a cache, red"),
        hit(3, "the red caches"),
        hit(4, "cache", title="red"),
    ]
    share = (idf(500) + idf(20)) / (idf(500) + 2 * idf(20) + idf(2))
    assert only("phrase", "red cache ttl", hits) == pytest.approx([1, 0, share, 0])
    assert only("phrase", "red", hits) == [0, 0, 0, 0]


def test_title_is_how_much_of_it_was_asked_for() -> None:
    hits = [hit(1, title="Cache"), hit(2, title="Cache of red stores and bears"), hit(3, "cache")]
    assert only("title", "cache ttl", hits) == [1, 0.25, 0]


def test_identifiers_must_be_whole() -> None:
    hits = [hit(1, "see D40, please"), hit(2, "see D4"), hit(3, "D401"), hit(4, "d40 and 250.1725")]
    assert only("identifier", "what is D40", hits) == [1, 0, 0, 1]
    assert only("identifier", "D40 in 250.1725", hits) == [0.5, 0, 0, 1]
    assert only("identifier", "what is it", hits) == [0, 0, 0, 0]


def test_centroid_is_nearness_to_the_best_of_the_others() -> None:
    vectors = {1: [1, 0], 2: [0.6, 0.8], 3: [0, 1]}
    known = {number: np.array(vector, np.float32) for number, vector in vectors.items()}
    hits = [hit(1, score=3), hit(2, score=2), hit(3, score=1)]
    # To the others: (2 * .6 + 0) / 3, (3 * .6 + .8) / 4, (0 + 2 * .8) / 5.
    features = Features(resources(), WEIGHTS.but(**{**NOTHING, "centroid": 1}))
    found = features(asked("q", vectors=known), table(hits)).scores
    assert found == pytest.approx([(0.4 - 0.32) / (0.65 - 0.32), 1, 0])


def test_without_vectors_nothing_is_near() -> None:
    assert only("centroid", "q", [hit(1), hit(2)]) == [0, 0]


def test_expansion_is_what_the_best_of_the_others_say_too() -> None:
    hits = [
        hit(1, "cache ttl minutes", score=3),
        hit(2, "minutes pass", score=2),
        hit(3, "rivers", score=1),
        hit(4, "ttl cache", score=1),
    ]
    # What was asked is nothing new, and what a hit says itself is no confirmation.
    found = only("expansion", "cache ttl", hits)
    assert found[1] == 1 > found[0] > 0 == found[2] == found[3]


def test_nothing_confirms_itself() -> None:
    assert only("expansion", "q", [hit(1, "cache of rivers")]) == [0]


def by_definition(texts: Sequence[Sequence[str]], weights: Sequence[float], asked: set[str], words: int) -> list[float]:
    """The share of the relevance model of the others that each text holds, term by term."""
    shares = [
        {term: count * (weight / max(1, len(text))) for term, count in Counter(text).items() if term not in asked}
        for text, weight in zip(texts, weights, strict=False)
    ]
    whole: dict[str, float] = {}
    for share in shares:
        for term, value in share.items():
            whole[term] = whole.get(term, 0.0) + value
    found = []
    for place, text in enumerate(texts):
        own = shares[place] if place < len(shares) else {}
        model = {term: value - own.get(term, 0.0) for term, value in whole.items()}
        best = sorted((term for term, value in model.items() if value > 1e-12), key=lambda term: _order(model, term))
        held = sum(model[term] for term in best[:words] if term in text)
        found.append(held / (sum(model[term] for term in best[:words]) or 1.0))
    return found


def _order(model: Mapping[str, float], term: str) -> tuple[float, str]:
    """The greatest first; what differs by rounding alone is equal."""
    return -float(np.round(model[term], 12)), term


texts = st.lists(st.lists(st.sampled_from("abcdefghijklmnop"), max_size=30), min_size=1, max_size=9)


@given(texts, st.lists(st.integers(0, 9), min_size=9, max_size=9), st.sets(st.sampled_from("abcd")), st.integers(1, 9))
def test_the_words_of_the_best_are_those_of_the_definition_to_the_last_digit(
    texts: list[list[str]], scores: list[int], asked: set[str], words: int
) -> None:
    weights = trust(np.array(scores[: len(texts)], np.float64), 5)
    numbers = np.array([ord(term) for text in texts for term in text], np.int32)
    rows = np.repeat(np.arange(len(texts)), [*map(len, texts)])
    found = words_of_the_best(numbers, rows, weights, [*map(ord, asked)], len(texts), words)
    assert found.tolist() == by_definition(texts, weights.tolist(), asked, words)
    assert only("centroid", "q", [hit(1)]) == [0]


def test_freshness_halves() -> None:
    hits = [
        hit(1, updated_at="1970-01-11", created_at="1970-01-01"),
        hit(2, created_at="1970-01-01"),
        hit(3),
        hit(4, created_at="1999-01-01"),
    ]
    found = only("freshness", "q", hits, half_life_days=10.0, now=lambda: 10 * DAY)
    assert found == pytest.approx([1, 0.5, 0, 1])


TEXT = st.text(alphabet="red cachettl D40.\n", max_size=40)
CANDIDATES = st.lists(st.tuples(TEXT, TEXT, st.floats(0, 1), st.none() | st.floats(-1, 1)), min_size=1, max_size=8)


@given(TEXT, CANDIDATES)
def test_contributions_add_up_to_a_score_between_0_and_1(query: str, rows: Any) -> None:
    hits = [
        hit(number, text, title=title, score=score, semantic=cosine, lexical=score)
        for number, (text, title, score, cosine) in enumerate(rows)
    ]
    weights = WEIGHTS.but(lexical=0.3, freshness=0.2)
    scored = Features(resources(), weights)(asked(query), table(hits))
    for score, *parts in zip(scored.scores, *scored.parts.values(), strict=True):
        assert math.fsum(parts) == pytest.approx(score, abs=1e-9)
        assert -1e-9 <= score <= 1 + 1e-9
        assert all(part >= 0 for part in parts)


def test_only_proportions_count() -> None:
    hits = [hit(1, "red"), hit(2, "cache ttl")]
    doubled = WEIGHTS.but(**{name: 2 * share for name, share in WEIGHTS.shares().items()})
    one, two = (Features(resources(), weights)(asked("red ttl"), table(hits)).scores for weights in (WEIGHTS, doubled))
    assert one == pytest.approx(two)


def test_what_is_off_is_not_shown() -> None:
    assert "freshness" not in Features(resources())(asked("red"), table([hit(1, "red")])).parts


@pytest.mark.parametrize("wrong", [{"fused": -1.0}, {"phrase": math.nan}, {"title": math.inf}, NOTHING])
def test_weights_that_cannot_be_meant(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="weights"):
        WEIGHTS.but(**wrong)


def test_the_stage_prefers_what_answers() -> None:
    hits = [hit(1, "elsewhere", score=3), hit(2, "the cache TTL is ten minutes", score=2), hit(3, "far", score=1)]
    found = stepped(reranker_of("features", resources()), asked("cache ttl"), hits)
    assert [each.key for each in found] == ["d2", "d1", "d3"]
