"""The compiled kernels compare the terms of passages as numpy does, to the last digit."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux import kernels
from rifflux.retrieve.steps.calibrate import PassageTerms, _columns
from rifflux.retrieve.steps.rerank.features import shares_of_names, trust, words_of_the_best

pytestmark = pytest.mark.skipif(not kernels.compiled, reason="nothing was compiled for this installation")

seeds = st.integers(0, 1 << 32)
#: The number of passages, of different terms, and of terms of a passage.
sizes = st.tuples(st.integers(1, 24), st.sampled_from([2, 9, 400, 1 << 30]), st.sampled_from([1, 8, 300]))


def _both(compute: Callable[[], Any]) -> tuple[Any, list[Any]]:
    """Return what numpy computes, and what the kernels compute with all instructions of this processor."""
    known: ModuleType | None = kernels.compiled
    assert known
    kernels.compiled = None
    try:
        expected = compute()
    finally:
        kernels.compiled = known
    found = []
    for way in range(known.WAYS + 1):
        known.use(way)
        found.append(compute())
    return expected, found


def _passages(random: np.random.Generator, size: tuple[int, int, int]) -> tuple[Any, Any]:
    """Return the terms of passages, each followed by a gap, and the passage of each."""
    count, different, longest = size
    parts = [random.integers(0, different, int(random.integers(0, longest + 1))) for _ in range(count)]
    numbers = np.concatenate([np.append(part, -1) for part in parts]).astype(np.int32)
    return numbers, np.repeat(np.arange(count), [len(part) + 1 for part in parts])


@given(seeds, sizes, st.sampled_from(["u1", "u2", "u4"]))
def test_the_columns_of_segments_are_those_of_numpy(seed: int, size: tuple[int, int, int], kind: str) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(0, 1 << 7, 50).astype(kind)
    further = random.integers(0, 1 << 31, 20).tolist()
    segments = []
    for row in range(size[0]):
        marks = int(random.integers(0, 4))
        start, end = sorted(random.integers(0, 21 if marks & 2 else 51, 2).tolist())
        segments.append((start, end, row, marks))
    phrases = segments[: size[0] // 3]

    def compute() -> list[Any]:
        found = _columns(np.arange(size[0]), values, further, segments, phrases, [segments[:2]], lambda _: None)
        names = [name.tolist() for name in found.names[0]]
        return [found.own, found.numbers.tolist(), found.rows.tolist(), found.naming.tolist(), names]

    expected, found = _both(compute)
    assert all(each == expected for each in found)


@given(seeds, sizes, st.integers(0, 9))
def test_the_holders_of_clauses_are_those_of_numpy(seed: int, size: tuple[int, int, int], clauses: int) -> None:
    random = np.random.default_rng(seed)
    numbers, rows = _passages(random, size)
    count, different, _ = size
    wanted = []
    for width in random.integers(0, 4, clauses).tolist():
        start = int(random.integers(0, len(numbers)))
        # Some are in a passage; a term of no passage has no number.
        wanted.append(tuple(map(str, numbers[start : start + width].tolist())))
        wanted.append(tuple(map(str, random.integers(0, min(different, 20), width).tolist())))
    known = {str(number): number for number in numbers.tolist() if number >= 0}
    own = int(rows.searchsorted(random.integers(1, count + 1)))

    def compute() -> list[list[list[bool]]]:
        at = np.arange(count)[::-1]
        terms = PassageTerms(np.arange(count), numbers, own, rows, numbers[:own] >= 0, [], known.get, at)
        clauses = [*dict.fromkeys(wanted)]
        return [terms.holders(clauses, own=each).tolist() for each in (True, False)]

    expected, found = _both(compute)
    assert all(each == expected for each in found)


@given(seeds, sizes, st.lists(st.sampled_from([0.0, 1e-13, 0.1, 0.3, 1.0]), max_size=7), st.integers(1, 30))
def test_the_words_of_the_best_are_those_of_numpy(
    seed: int, size: tuple[int, int, int], scores: list[float], words: int
) -> None:
    random = np.random.default_rng(seed)
    numbers, rows = _passages(random, size)
    weights = trust(np.array(scores[: size[0]]), 5)
    asked = random.choice(numbers, 6).tolist()
    asked = [number for number in asked if number >= 0]
    expected, found = _both(lambda: words_of_the_best(numbers, rows, weights, asked, size[0], words).tolist())
    assert all(each == expected for each in found)


@given(seeds, sizes)
def test_the_shares_of_names_are_those_of_numpy(seed: int, size: tuple[int, int, int]) -> None:
    random = np.random.default_rng(seed)
    numbers, rows = _passages(random, size)
    naming = (numbers >= 0) & (random.random(len(numbers)) < 0.5)
    naming = naming[: int(random.integers(0, len(naming) + 1))]
    asked = [number for number in random.choice(numbers, 6).tolist() if number >= 0]
    expected, found = _both(lambda: shares_of_names(numbers, rows, naming, asked, size[0]).tolist())
    assert all(each == expected for each in found)


def test_rows_and_shapes_that_do_not_fit_are_refused() -> None:
    compiled = kernels.compiled
    assert compiled
    numbers = np.array([1, 2, -1], np.int32)
    known = np.array([1], np.int32)
    weights = np.ones(1)
    for rows in ([0, 0, 2], [-1, 0, 0], [0]):
        places = np.array(rows, np.int64)
        with pytest.raises(ValueError, match="fit"):
            compiled.likely(numbers, places, weights, known, 5, np.zeros(2))
        with pytest.raises(ValueError, match="fit"):
            compiled.asked(numbers, places, np.ones(3, np.bool_), known, np.zeros(2))
        with pytest.raises(ValueError, match="fit"):
            compiled.holders(numbers, places, numbers, np.array([1, 2, 3]), np.zeros((3, 2), np.bool_))
    for ends in ([2], [-1], [1, 0], [1, 1]):
        with pytest.raises(ValueError, match="fit"):
            compiled.holders(numbers, np.zeros(3, np.int64), known, np.array(ends), np.zeros((1, 2), np.bool_))
    for segment in ([0, 4, 0, 0], [-1, 0, 0, 0], [2, 1, 0, 0], [0, 2, 0, 2], [0, 1, 0, 0]):
        given = np.array([segment], np.int64)
        columns = np.empty(3, np.int32), np.empty(3, np.int64), np.empty(3, np.bool_)
        with pytest.raises(ValueError, match="fit"):
            compiled.gather(numbers, known, given, *columns)
    with pytest.raises(ValueError, match="fit"):
        compiled.likely(numbers, np.zeros(3, np.int64), weights, known, -1, np.zeros(2))
    with pytest.raises(ValueError, match="dimensions"):
        compiled.asked(numbers.astype(np.int64), np.zeros(3, np.int64), np.ones(3, np.bool_), known, np.zeros(2))
