"""Measures agree with values worked out by hand, and chance is told from difference."""

from __future__ import annotations

import sys
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import MissingExtra
from rifflux.evaluate import Bootstrap, JudgedQuestion
from rifflux.evaluate.measures import measured
from tests.support.exploring import examples

QUESTIONS = [
    JudgedQuestion("q1", "first", {"a": 2, "b": 1, "c": 0}),
    JudgedQuestion("q2", "second", {"d": 1}),
    JudgedQuestion("q3", "third", {"e": 1, "f": 1}),
]


def test_measures_are_those_worked_out_by_hand() -> None:
    values = measured(QUESTIONS, {"q1": ["x", "a", "b"], "q2": ["d"], "q3": []})
    ideal = 2 + 1 / log2(3)
    assert values["ndcg@10"] == pytest.approx([(2 / log2(3) + 1 / log2(4)) / ideal, 1, 0])
    assert values["mrr@10"] == pytest.approx([1 / 2, 1, 0])
    assert values["recall@20"] == pytest.approx([1, 1, 0])
    assert values["p@5"] == pytest.approx([2 / 5, 1 / 5, 0])


def test_what_is_below_a_measures_depth_does_not_count() -> None:
    filler = [f"x{number}" for number in range(30)]
    eleventh = measured(QUESTIONS[1:2], {"q2": [*filler[:10], "d"]})
    assert (eleventh["ndcg@10"][0], eleventh["mrr@10"][0], eleventh["recall@20"][0]) == (0, 0, 1)
    assert measured(QUESTIONS[1:2], {"q2": [*filler[:20], "d"]})["recall@20"][0] == 0


def test_a_question_without_a_ranking_counts_zero() -> None:
    assert measured(QUESTIONS, {})["ndcg@10"].tolist() == [0, 0, 0]


def test_order_decides_even_where_scores_would_hardly_differ() -> None:
    long = [f"x{number}" for number in range(900)]
    assert measured(QUESTIONS[1:2], {"q2": ["d", *long]})["mrr@10"][0] == 1


def test_without_ir_measures_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"pip install 'rifflux\[eval\]'"):
        measured(QUESTIONS, {})


def test_no_difference_has_p_one() -> None:
    assert Bootstrap().p_value(np.zeros(50)) == 1.0


def test_a_clear_difference_is_significant_in_both_directions() -> None:
    differences = np.random.default_rng(1).normal(0.2, 0.3, 100)
    assert Bootstrap().p_value(differences) < 0.05
    assert Bootstrap().p_value(-differences) < 0.05


def test_noise_around_zero_is_not_significant() -> None:
    noise = np.random.default_rng(2).normal(0, 0.3, 100)
    assert Bootstrap().p_value(noise - noise.mean() + 0.005) > 0.5


def test_p_agrees_with_the_normal_approximation() -> None:
    differences = np.random.default_rng(3).normal(0.03, 0.2, 400)
    z = differences.mean() / (differences.std() / np.sqrt(len(differences)))
    normal = 2 * (1 - 0.5 * (1 + np.vectorize(_erf)(abs(z) / np.sqrt(2))))
    assert Bootstrap().p_value(differences) == pytest.approx(float(normal), abs=0.01)


def _erf(x: float) -> float:
    from math import erf

    return erf(x)


def test_the_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    values = np.random.default_rng(4).uniform(0, 1, 1000)
    few, many = Bootstrap().interval(values[:50]), Bootstrap().interval(values)
    assert few[0] < values[:50].mean() < few[1]
    assert many[1] - many[0] < few[1] - few[0]


def test_the_same_values_give_the_same_answer() -> None:
    differences = np.random.default_rng(5).normal(0.05, 0.3, 3000)
    assert Bootstrap().p_value(differences) == Bootstrap().p_value(differences)


@examples(30)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_p_is_a_probability_and_ignores_the_sign(values: list[float]) -> None:
    bootstrap, differences = Bootstrap(resamples=200), np.array(values)
    assert 0 < bootstrap.p_value(differences) <= 1
    assert bootstrap.p_value(differences) == bootstrap.p_value(-differences)
