"""Vectors are rounded once: read and stored again, on any engine, they stay the same to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from rifflux.store.sqlite.query import from_bytes, rounded


@pytest.mark.parametrize("dimension", [1, 3, 384])
def test_rounding_what_was_rounded_changes_nothing(dimension: int) -> None:
    random = np.random.default_rng(dimension)
    drawn = random.standard_normal((20_000, dimension), np.float32) * random.random((20_000, 1), np.float32)
    # Next to powers of two, where the last digit of a product is worth half as much.
    drawn[:2_000, 0] = np.float32(1) - np.arange(2_000, dtype=np.float32) * np.float32(2**-24)
    values, scales = rounded(drawn)
    again, same = rounded(values * scales[:, None])
    assert np.array_equal(values, again)
    assert np.array_equal(scales, same)


def test_a_vector_is_read_as_it_was_rounded() -> None:
    vectors = np.array([[0.6, -0.8, 0.0], [0.0, 0.0, 0.0], [1e-3, 5.0, -5.0]], np.float32)
    values, scales = rounded(vectors)
    stored = [scale.tobytes() + value.tobytes() for value, scale in zip(values, scales, strict=True)]
    read, of_each = from_bytes(stored, 3)
    assert np.array_equal(read, values)
    assert np.array_equal(of_each, scales)
    assert read * of_each[:, None] == pytest.approx(vectors, abs=1e-4)
