"""The scale of an index's cosines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.models.scale import ModelScale
from rifflux.retrieve.scale import FEWEST, SAMPLE, USUAL_REACH, VectorScale, agreement_of, scale_of
from rifflux.types import Scores, Vectors

MODEL = ModelScale(noise=0.7, spread=0.05, reach=0.1, missed=0.75, found=0.9)


def passages(count: int, seed: int = 0) -> Vectors:
    """Unit vectors around ten directions."""
    choice = np.random.default_rng(seed)
    middles, places = choice.normal(size=(10, 24)), choice.integers(0, 10, count)
    return unit(middles[places] + 0.7 * choice.normal(size=(count, 24)))


def unit(vectors: Scores) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)


def raised(vectors: Vectors, share: float) -> Vectors:
    """Vectors with a component in common, so that each cosine c is share · c + 1 - share."""
    common = np.full((*vectors.shape[:-1], 1), np.sqrt(1 - share), np.float32)
    return np.concatenate([np.sqrt(share, dtype=np.float32) * vectors, common], axis=-1)


def known(scale: VectorScale | None) -> VectorScale:
    assert scale is not None
    return scale


@given(share=st.floats(0.05, 1), count=st.integers(FEWEST, 300))
def test_an_affine_function_of_cosines_has_the_same_gaps(share: float, count: int) -> None:
    vectors = passages(count)
    one, other = known(scale_of(vectors)), known(scale_of(raised(vectors, share)))
    assert other.gap(share * 0.2) == pytest.approx(one.gap(0.2), rel=1e-3)


def test_noise_spread_and_reach_are_those_of_the_vectors() -> None:
    vectors = passages(SAMPLE)
    cosines = (vectors @ vectors.T)[np.triu_indices(SAMPLE, 1)]
    scale = known(scale_of(vectors))
    assert (scale.noise, scale.spread) == pytest.approx((cosines.mean(), cosines.std()), abs=1e-5)
    assert scale.spread < scale.reach < 1 - scale.noise
    assert scale.gap(scale.reach) == pytest.approx(USUAL_REACH)


def test_with_few_passages_the_model_weighs_in() -> None:
    vectors = passages(SAMPLE)
    full = known(scale_of(vectors))
    assert known(scale_of(vectors, MODEL)) == replace(full, model=MODEL)
    half = known(scale_of(vectors[: SAMPLE // 2], MODEL))
    assert min(full.reach, MODEL.reach) < half.reach < max(full.reach, MODEL.reach)
    none = known(scale_of(vectors[:3], MODEL))
    assert (none.noise, none.reach, none.sampled) == (MODEL.noise, MODEL.reach, 3)


def test_with_few_passages_of_an_unknown_model_nothing_is_said() -> None:
    assert scale_of(passages(FEWEST - 1)) is None
    assert scale_of(np.repeat(passages(1), FEWEST, axis=0)) is None, "all are equal"


def test_agreement_is_the_share_of_pairs_in_which_what_words_found_is_nearer() -> None:
    sample = np.eye(4, dtype=np.float32)
    assert agreement_of(sample, [(sample[0], sample[:1])]) == pytest.approx(7 / 8), "a tie counts half"
    assert agreement_of(sample, [(sample[0], sample[1:2])]) == pytest.approx(3 / 8)
    assert agreement_of(sample, []) is None


@pytest.mark.parametrize(("agreement", "sign"), [(0.5, -1), (0.8, -1), (0.95, 1), (0.99999, 1), (None, 0)])
def test_trust_grows_with_agreement_within_bounds(agreement: float | None, sign: int) -> None:
    trust = known(scale_of(passages(SAMPLE), agreement=agreement)).trust
    assert np.sign(trust) == sign
    assert abs(trust) <= 1
