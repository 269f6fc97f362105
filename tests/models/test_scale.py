"""The scale of a model's cosines for texts of any kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.models.hashing import HashEmbedder
from rifflux.models.scale import ModelScale, measured_scale

PLAIN = ModelScale(noise=0.04, spread=0.08, reach=0.3, missed=0.12, found=0.8)


@given(share=st.floats(0.05, 1), cosine=st.floats(-1, 1))
def test_cosines_that_are_an_affine_function_have_the_same_relative_ones(share: float, cosine: float) -> None:
    raised = ModelScale(
        noise=share * PLAIN.noise + 1 - share,
        spread=share * PLAIN.spread,
        reach=share * PLAIN.reach,
        missed=share * PLAIN.missed + 1 - share,
        found=share * PLAIN.found + 1 - share,
    )
    one, other = PLAIN.relative(np.array([cosine])), raised.relative(np.array([share * cosine + 1 - share]))
    assert other == pytest.approx(one, abs=1e-9)


def test_what_is_about_the_same_thing_is_above_what_is_not() -> None:
    scale = measured_scale(HashEmbedder(256))
    missed, found = scale.relative(np.array([scale.missed, scale.found]))
    assert (missed, found) == (pytest.approx(0), pytest.approx(1))
    assert scale.reach >= scale.spread > 0
    assert scale.missed < scale.found
