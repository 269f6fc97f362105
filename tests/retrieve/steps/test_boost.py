"""A boost is worth what its evidence explains of the question, and moves little where most candidates share it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rifflux.retrieve.steps.boost import explained_share, factor, strength
from rifflux.types import Clause, Scores

SHARES = st.floats(0, 1)


def test_what_is_the_question_explains_all_of_it() -> None:
    weights: dict[Clause, float] = {("250.1725",): 7.0}
    assert explained_share(weights, ("250.1725",)) == 1.0


def test_a_year_explains_little_of_a_long_question() -> None:
    weights: dict[Clause, float] = {("journal",): 5.0, ("brain",): 6.0, ("atla",): 8.0, ("2023",): 1.0}
    assert explained_share(weights, ("2023",)) == pytest.approx(0.075)


def test_a_question_without_words_is_not_explained() -> None:
    assert explained_share({}, ("2023",)) == 0.0


def test_a_phrase_counts_only_as_a_whole() -> None:
    weights: dict[Clause, float] = {("cache", "ttl"): 4.0, ("redi",): 4.0}
    assert explained_share(weights, ("cache",)) == 0.0


def test_evidence_that_is_the_question_keeps_its_weight_however_many_share_it() -> None:
    assert strength(1.0, np.ones(5)).tolist() == [1.0] * 5


@given(explained=SHARES, sureness=arrays.arrays(np.float64, st.integers(0, 20), elements=SHARES))
def test_no_boost_is_below_one_or_above_its_greatest(explained: float, sureness: Scores) -> None:
    factors = factor(8.0, strength(explained, sureness))
    known = factors[np.isfinite(factors)]
    assert ((known >= 1) & (known <= 8)).all()
    assert not np.isfinite(factors[sureness == 0]).any()


@given(explained=SHARES, holders=st.integers(1, 19))
def test_evidence_that_more_candidates_share_is_worth_no_more(explained: float, holders: int) -> None:
    few = strength(explained, (np.arange(20) < holders).astype(np.float64))
    many = strength(explained, (np.arange(20) < holders + 1).astype(np.float64))
    assert many[0] <= few[0]
