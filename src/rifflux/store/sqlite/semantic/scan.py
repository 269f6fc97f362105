"""Search for the nearest rows of a packed matrix: a scan of the sign bits, then cosines of possible best rows.

The scan counts, for every row, the components whose sign differs from the query's; those where the query is large count
three times. That takes a millisecond for 100,000 rows, half as much again as counting all equally, but then half as
many rows need a cosine.

How many rows get a cosine is not fixed, since the sufficient number depends on the vectors, their number and the
requested number. The cosines of the first few hundred rows show how they depend on the counts (a line, and the
deviation from it), and thereby how many rows of each further count are expected to belong to the best: cosines are
computed until the rows left out are expected to contain less than a hundredth of them. Vectors in tight clusters do not
follow the line, so the result is checked: as long as the outer half still contains some of the best, as many rows again
follow. If more than a hundred are requested, three in a hundred may be missed: that hardly ever affects the first
hundred, and those below only lend their cosines to candidates of other channels.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rifflux import kernels
from rifflux.store.sqlite.semantic.packed import PackedVectors, sign_words
from rifflux.types import Ids, Scores, Vectors

#: The maximum shares of the best rows that are expected to be missed, and found in the outer half of the examined rows.
CLOSE = 0.01, 0.06
#: The same if more than `DEEP` are requested.
LOOSE = (0.03, 0.12)
DEEP = 100
#: Up to this many rows all get a cosine: a scan would not be faster.
FEW = 2048
#: Below this share of allowed rows, their sign bits are gathered first.
SPARSE = 0.2
#: The minimum number of cosines to learn from.
SAMPLE = 200
#: The number of rows scanned at a time, so that their counts stay in the processor's cache.
BLOCK = 1 << 15
#: From this many rows on, every eighth is sampled for the distribution of the counts.
MANY = 1 << 16
EACH = 8

Mask = NDArray[np.bool_]
Counts = NDArray[np.uint16]

#: The upper tail of the normal distribution, tabulated over its relevant range.
_STEPS = np.linspace(-6, 6, 241)
_TAIL = np.array([erfc(step / sqrt(2)) / 2 for step in _STEPS])


def nearest_rows(
    packed: PackedVectors, among: slice, allowed: Mask | None, vector: Vectors, limit: int
) -> tuple[Ids, Scores]:
    """Return rows that include the `limit` of highest cosine, in no order, with their cosines.

    `allowed` selects rows of the slice; `vector` has unit length.
    """
    start, count = among.start, among.stop - among.start
    if allowed is None:
        left = count
    else:
        left = int(np.count_nonzero(allowed))
    if left > max(FEW, limit) and left >= SPARSE * count:
        signs = packed.signs[:, among]
        places, cosines = _likely(signs, allowed, vector, limit, lambda some: packed.cosines(some + start, vector))
        return places + start, cosines
    rows = (np.arange(count) if allowed is None else np.flatnonzero(allowed)) + start
    return nearest_among(packed, rows, vector, limit)


def nearest_among(
    packed: PackedVectors, rows: Ids, vector: Vectors, limit: int, signs: NDArray[np.uint64] | None = None
) -> tuple[Ids, Scores]:
    """Return those of some rows that include the `limit` of highest cosine, in no order, with their cosines.

    `signs` are their sign bits, if already known.
    """
    if len(rows) > max(FEW, limit):
        if signs is None:
            # Indexing would put the words of a row side by side; the scan reads one word of all rows after another.
            signs = np.take(packed.signs, rows, axis=1)
        places, cosines = _likely(signs, None, vector, limit, lambda some: packed.cosines(rows[some], vector))
        return rows[places], cosines
    return rows, packed.cosines(rows, vector)


def apart(signs: NDArray[np.uint64], vector: Vectors) -> Counts:
    """Return the count of differing sign bits per column; those of large components count three times."""
    size = np.abs(vector)
    query, large = sign_words(np.stack([vector >= 0, size > size.mean()]))
    counts = np.zeros(signs.shape[1], np.uint16)
    if kernels.compiled:
        kernels.compiled.apart(signs, query, large, counts)
        return counts
    for start in range(0, len(counts), BLOCK):
        _count(signs[:, start : start + BLOCK], query, large, counts[start : start + BLOCK])
    return counts


def _count(signs: NDArray[np.uint64], query: NDArray[np.uint64], large: NDArray[np.uint64], counts: Counts) -> None:
    """Add the counts of a block; arrays are reused, since allocating them takes as long as counting."""
    differing = np.empty(signs.shape[1], np.uint64)
    all, heavy = np.empty((2, signs.shape[1]), np.uint8)
    for word, ours, mask in zip(signs, query, large, strict=True):
        np.bitwise_xor(word, ours, out=differing)
        np.bitwise_count(differing, out=all)
        np.bitwise_and(differing, mask, out=differing)
        np.bitwise_count(differing, out=heavy)
        # At most 64 + 2 * 64, so that eight bits suffice.
        np.add(all, heavy, out=all)
        np.add(all, heavy, out=all)
        np.add(counts, all, out=counts)


def _likely(
    signs: NDArray[np.uint64],
    allowed: Mask | None,
    vector: Vectors,
    limit: int,
    cosines: Callable[[Ids], Scores],
) -> tuple[Ids, Scores]:
    """Return the positions of the columns that may be among the best, and their cosines."""
    missed, outside = LOOSE if limit > DEEP else CLOSE
    counts = apart(signs, vector)
    beyond = 3 * 64 * len(signs) + 1
    if allowed is not None:
        counts += np.multiply(~allowed, beyond, dtype=np.uint16)
    for each in (EACH, 1) if len(counts) >= MANY else (1,):
        histogram = _tally(counts, each, beyond)
        upto = np.add.accumulate(histogram)
        level = _level(upto, max(SAMPLE, 2 * limit))
        places = _between(counts, -1, level, int(upto[level]))
        if len(places) >= limit:
            break  # else the rows that were looked at are unlike the others
    found = cosines(places)
    wider = _expected_level(counts[places], found, histogram, level, limit, missed)
    while True:
        further = _between(counts, level, wider, int(upto[wider] - upto[level]))
        places = np.concatenate([places, further])
        found = np.concatenate([found, cosines(further)])
        level = wider
        outer = counts[places] > _level(upto, int(upto[level]) // 2)
        if upto[level] == upto[-1] or np.count_nonzero(found[outer] >= _worst(found, limit)) <= outside * limit:
            return places, found
        wider = _level(upto, 2 * int(upto[level]))


def _tally(counts: Counts, each: int, beyond: int) -> NDArray[Any]:
    """Return the number of rows of each count below `beyond`, estimated from every so many of them."""
    if kernels.compiled:
        histogram = np.zeros(beyond, np.int64)
        length = kernels.compiled.tally(counts, each, histogram)
    else:
        histogram = np.bincount(counts[::each], minlength=beyond)[:beyond]
        length = beyond - int((histogram[::-1] > 0).argmax())
    # Of all rows, none has a count above the highest; of some, others may.
    return histogram[:length] if each == 1 else each * histogram


def _between(counts: Counts, above: int, upto: int, expected: int) -> Ids:
    """Return the places of the counts above one number and up to another, of which so many are expected."""
    if not kernels.compiled:
        return np.flatnonzero((counts > above) & (counts <= upto))
    places = np.empty(expected, np.int64)
    found: int = kernels.compiled.between(counts, above, upto, places)
    if found > expected:
        places = np.empty(found, np.int64)
        kernels.compiled.between(counts, above, upto, places)
    return places[:found]


def _level(upto: NDArray[Any], rows: int) -> int:
    """Return the lowest count up to which there are `rows` rows, or the highest if there are fewer."""
    return min(int(np.searchsorted(upto, rows)), len(upto) - 1)


def _worst(cosines: Scores, limit: int) -> float:
    """Return the lowest of the best cosines."""
    return float(np.partition(cosines, len(cosines) - limit)[len(cosines) - limit])


def _mean(values: Scores) -> float:
    """Return the mean, without what numpy's method does around it."""
    return float(np.add.reduce(values)) / len(values)


def _expected_level(
    counts: Counts, cosines: Scores, histogram: NDArray[Any], level: int, limit: int, missed: float
) -> int:
    """Return the count up to which rows need a cosine, estimated from those up to `level`, which have one."""
    x = counts.astype(np.float64)
    x_mean = _mean(x)
    y_mean = _mean(cosines)
    apart_x = x - x_mean
    apart_y = cosines - y_mean
    spread = _mean(apart_x**2)
    slope = 0.0
    if spread:
        slope = _mean(apart_x * apart_y) / spread
    strays = apart_y - slope * apart_x
    stray = sqrt(_mean((strays - _mean(strays)) ** 2)) + 1e-9
    levels = np.arange(level + 1, len(histogram))
    lacking = _worst(cosines, limit) - (y_mean + slope * (levels - x_mean))
    expected = histogram[level + 1 :] * np.interp(lacking / stray, _STEPS, _TAIL, right=0.0)
    left_out = expected[::-1].cumsum()[::-1]
    needed = np.flatnonzero(left_out > missed * limit)
    if len(needed):
        return int(levels[needed[-1]])
    return level
