"""Reciprocal rank fusion: the checked vectors, and what holds for all rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.retrieve.fuse import ReciprocalRank
from rifflux.retrieve.fuse.spelled import fusion_of
from rifflux.retrieve.table import SCORE, joined, places_in
from rifflux.types import Ranking


def ranking(*ids: int) -> Ranking:
    """A ranking of these ids with descending scores."""
    return Ranking(np.array(ids, np.int64), np.arange(len(ids), 0, -1, dtype=np.float64))


def fused(k: float = 60, **lists: Ranking) -> list[tuple[int, Any]]:
    result = ReciprocalRank(k=k)(joined(lists))
    return list(zip(result.ids.tolist(), result[SCORE].tolist(), strict=True))


ids = st.lists(st.integers(0, 30), unique=True, max_size=15)


def test_two_lists_of_two() -> None:
    assert fused(lexical=ranking(1, 2), semantic=ranking(2, 3)) == [
        (2, pytest.approx(0.0325225, abs=1e-7)),
        (1, pytest.approx(0.0163934, abs=1e-7)),
        (3, pytest.approx(0.0161290, abs=1e-7)),
    ]


def test_two_lists_of_three() -> None:
    a, b, c, d = 1, 2, 3, 4
    assert fused(lexical=ranking(a, b, c), semantic=ranking(b, d, a)) == [
        (b, pytest.approx(0.0325225, abs=1e-7)),
        (a, pytest.approx(0.0322665, abs=1e-7)),
        (d, pytest.approx(0.0161290, abs=1e-7)),
        (c, pytest.approx(0.0158730, abs=1e-7)),
    ]


def test_ties_go_to_the_best_rank_then_to_the_lower_id() -> None:
    assert [id for id, _ in fused(lexical=ranking(9), semantic=ranking(3))] == [3, 9]
    # 1/60 in one list equals 1/120 twice: the better single rank wins though its id is higher.
    assert next(id for id, _ in fused(k=59, one=ranking(5, *range(100, 160), 2), two=ranking(2))) == 2
    even = fused(k=0, one=ranking(7, 1), two=ranking(8, 1))
    assert [id for id, _ in even] == [7, 8, 1]


def test_a_repeated_id_counts_once_at_its_best_rank() -> None:
    assert fused(lexical=ranking(4, 5, 4)) == fused(lexical=ranking(4, 5))


def test_weights_scale_a_channel() -> None:
    result = ReciprocalRank(weights={"knowledge": 1.5})(joined({"knowledge": ranking(1), "notes": ranking(2)}))
    assert result[SCORE].tolist() == pytest.approx([0.02459, 0.01639], abs=1e-5)


@pytest.mark.parametrize("lists", [{}, {"lexical": Ranking.empty(), "semantic": Ranking.empty()}])
def test_nothing_fused_is_nothing(lists: dict[str, Ranking]) -> None:
    assert len(ReciprocalRank()(joined(lists))) == 0


@pytest.mark.parametrize("arguments", [{"k": -1}, {"weights": {"lexical": -0.5}}])
def test_senseless_knobs_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match="negative"):
        ReciprocalRank(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "60", None, True])
@pytest.mark.parametrize("knob", ["k", "weight"])
def test_knobs_that_are_no_finite_numbers_are_refused(knob: str, value: object) -> None:
    with pytest.raises(InvalidArgument, match="finite number"):
        ReciprocalRank(**({"k": value} if knob == "k" else {"weights": {"lexical": value}}))


def test_weights_of_unknown_channels_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="'titles' to weigh; choose from lexical, semantic"):
        ReciprocalRank(weights={"titles": 1.0})(joined({"lexical": ranking(1), "semantic": ranking(2)}))


def test_a_channel_that_is_missing_may_be_weighed() -> None:
    assert len(ReciprocalRank(weights={"semantic": 2.0})(joined({"lexical": ranking(1)}))) == 1


def test_an_unknown_fusion_names_the_known_ones() -> None:
    with pytest.raises(InvalidArgument, match="rrf"):
        fusion_of("magic")


@given(ids, ids, ids)
def test_the_order_of_channels_does_not_matter(one: list[int], two: list[int], three: list[int]) -> None:
    forward = {"a": ranking(*one), "b": ranking(*two), "c": ranking(*three)}
    backward = dict(reversed(forward.items()))
    first, second = ReciprocalRank()(joined(forward)), ReciprocalRank()(joined(backward))
    assert first.ids.tolist() == second.ids.tolist()
    assert first[SCORE].tolist() == second[SCORE].tolist()


@given(ids, ids)
def test_contributions_add_up_to_the_score(one: list[int], two: list[int]) -> None:
    lists = {"a": ranking(*one), "b": ranking(*two)}
    result = ReciprocalRank()(joined(lists))
    shares = result.parts("rrf")
    assert sum(shares.values()) == pytest.approx(result[SCORE], abs=1e-12)


@given(ids, ids)
def test_every_id_is_ranked_once_best_first(one: list[int], two: list[int]) -> None:
    result = ReciprocalRank()(joined({"a": ranking(*one), "b": ranking(*two)}))
    assert sorted(result.ids.tolist()) == sorted({*one, *two})
    assert all(result[SCORE][:-1] >= result[SCORE][1:] - 1e-12)


@given(ids)
def test_one_channel_keeps_its_order(one: list[int]) -> None:
    assert ReciprocalRank()(joined({"a": ranking(*one)})).ids.tolist() == one


@given(st.integers(0, 700), st.integers(0, 1200), st.sampled_from([1, 512, 1 << 20]), st.integers(0, 99))
def test_ranks_are_found_for_any_number_of_ids(wanted: int, ranked: int, step: int, seed: int) -> None:
    """`step` decides how many ids end in the same bits."""
    random = np.random.default_rng(seed)
    known = random.permutation(1500) * step
    ids, found = random.permutation(1500)[:wanted] * step, np.concatenate([known[:ranked], known[: ranked // 3]])
    first = {id: rank for rank, id in reversed(list(enumerate(found.tolist(), 1)))}
    ranks, scores = places_in(Ranking(found, -np.arange(1.0, len(found) + 1)), ids)
    assert np.nan_to_num(ranks).tolist() == [first.get(id, 0.0) for id in ids.tolist()]
    np.testing.assert_array_equal(scores, -ranks)
