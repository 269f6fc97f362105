"""The scale of an index's cosines, estimated from its own vectors.

One model gives unrelated texts a cosine of .1, another .8, and the range from there to a good answer is wide with one
and narrow with the other. Comparisons of cosines with fixed numbers therefore use these estimates:

    noise      the mean cosine of two random passages
    spread     its standard deviation
    reach      how far the five nearest of `SAMPLE` passages are above the noise: what "near" means to this model here
    agreement  how much nearer than random passages those are that a passage's first sentence finds by words: the
               share of such pairs in which they are (the area under the ROC curve), .5 if the model knew nothing

Differences of cosines are converted to those of a usual model in units of the reach: any model whose cosines are an
affine function of another's gives the same order. With few passages, the model's scale for texts of any kind is mixed
in; levels of relevance use only that scale (`rifflux.models.scale`), so that they do not change as an index grows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rifflux.models.scale import ModelScale
from rifflux.types import Vectors

#: The number of passages sampled, and of nearest neighbours per passage.
SAMPLE = 256
NEAREST = 5
#: The minimum sample for a scale if the model's is unknown; below it, words decide.
FEWEST = 32
#: The reach and agreement (in log-odds) of a usual model, in whose cosines all differences are expressed.
USUAL_REACH = 0.31
USUAL_AGREEMENT = 2.2
#: The maximum shift of the semantic weight by agreement, in log-odds.
MOST = 1.0


@dataclass(frozen=True, slots=True)
class VectorScale:
    """The scale of an index's cosines; `model` is the model's scale for texts of any kind, if known."""

    noise: float
    spread: float
    reach: float
    sampled: int
    agreement: float | None = None
    model: ModelScale | None = None

    def gap(self, difference: float) -> float:
        """Return a difference of cosines converted to those of a usual model."""
        return difference * USUAL_REACH / self.reach

    @property
    def trust(self) -> float:
        """Return the log-odds that agreement with words adds to the semantic weight, or 0 if unknown."""
        if self.agreement is None:
            return 0.0
        share = min(max(self.agreement, 0.01), 0.99)
        return min(max(math.log(share / (1 - share)) - USUAL_AGREEMENT, -MOST), MOST)


def scale_of(sample: Vectors, model: ModelScale | None = None, agreement: float | None = None) -> VectorScale | None:
    """Return the scale of sampled vectors, or None if there are too few and the model's scale is unknown.

    None too if all vectors are equal.
    """
    count = len(sample)
    if model is None and count < FEWEST:
        return None
    if model is None:
        share = 1.0
    else:
        share = min(count / SAMPLE, 1.0) * (count >= FEWEST)
    noise, spread, reach = _measured(sample) if share else (0.0, 0.0, 0.0)
    if model:
        noise = share * noise + (1 - share) * model.noise
        spread = share * spread + (1 - share) * model.spread
        reach = share * reach + (1 - share) * model.reach
    if reach <= 1e-6:
        return None
    return VectorScale(noise, spread, reach, count, agreement, model)


def _measured(sample: Vectors) -> tuple[float, float, float]:
    """Return noise, spread and reach of vectors: the first two over all pairs, reach over nearest neighbours."""
    cosines = np.asarray(sample, np.float64) @ np.asarray(sample, np.float64).T
    pairs = cosines[np.triu_indices(len(cosines), 1)]
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.sort(cosines, axis=1)[:, -min(NEAREST, len(cosines) - 1) :]
    noise = float(pairs.mean())
    return noise, float(pairs.std()), float(nearest.mean()) - noise


def agreement_of(sample: Vectors, found: Sequence[tuple[Vectors, Vectors]]) -> float | None:
    """Return the agreement, or None without samples: `found` pairs passages with the vectors that their words found.

    A tie counts half.
    """
    shares = []
    for passage, others in found:
        random = np.sort(sample @ passage)
        near = others @ passage
        below = np.searchsorted(random, near, "left") + np.searchsorted(random, near, "right")
        shares.append(float(below.mean()) / (2 * len(random)))
    if shares:
        return float(np.mean(shares))
    return None
