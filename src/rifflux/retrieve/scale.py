"""The scale of an index's cosines: what they are worth, read from its own vectors.

One model gives unrelated texts a cosine of .1, another .8, and what lies between that and a good answer is wide with
the one and narrow with the other. Whatever compares cosines with fixed numbers therefore reads the vectors first:

    noise      the mean cosine of two passages taken at random
    spread     its standard deviation
    reach      how far above the noise the five nearest of `SAMPLE` passages are: what "near" means to this model here
    agreement  how much nearer to a passage others are that its first sentence finds by words, than any: the share of
               pairs of the two in which they are (the area under the ROC curve), .5 if the model knew nothing

Differences of cosines that are told in units of the reach are those of a usual model: any that is an affine function of
another one gives the same order. With few passages the scale of the model for texts of any kind weighs in; levels of
relevance come from that scale alone (`rifflux.models.scale`), so that they stay what they are while an index grows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rifflux.models.scale import ModelScale
from rifflux.types import Vectors

#: So many passages are looked at, and so many of each one's nearest.
SAMPLE = 256
NEAREST = 5
#: With fewer, and nothing known of the model, nothing is said: words decide as if it were unknown.
FEWEST = 32
#: The reach of a usual model, in whose cosines everything is told, and its agreement, in log-odds.
USUAL_REACH = 0.31
USUAL_AGREEMENT = 2.2
#: What agreement moves at most, in log-odds of the weight of meaning.
MOST = 1.0


@dataclass(frozen=True, slots=True)
class VectorScale:
    """The scale of the cosines in an index; `model` is that of the model for texts of any kind, if it is known."""

    noise: float
    spread: float
    reach: float
    sampled: int
    agreement: float | None = None
    model: ModelScale | None = None

    def gap(self, difference: float) -> float:
        """Return a difference of cosines in those of a usual model."""
        return difference * USUAL_REACH / self.reach

    @property
    def trust(self) -> float:
        """Return what the agreement with words adds to the weight of meaning, in log-odds; 0 where it is unknown."""
        if self.agreement is None:
            return 0.0
        share = min(max(self.agreement, 0.01), 0.99)
        return min(max(math.log(share / (1 - share)) - USUAL_AGREEMENT, -MOST), MOST)


def scale_of(sample: Vectors, model: ModelScale | None = None, agreement: float | None = None) -> VectorScale | None:
    """Return the scale that some stored vectors have; None where they are too few, and the model is unknown.

    All of them equal say nothing either.
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
    """Return noise, spread and reach of vectors: of all pairs, and of each one's nearest."""
    cosines = np.asarray(sample, np.float64) @ np.asarray(sample, np.float64).T
    pairs = cosines[np.triu_indices(len(cosines), 1)]
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.sort(cosines, axis=1)[:, -min(NEAREST, len(cosines) - 1) :]
    noise = float(pairs.mean())
    return noise, float(pairs.std()), float(nearest.mean()) - noise


def agreement_of(sample: Vectors, found: Sequence[tuple[Vectors, Vectors]]) -> float | None:
    """Return the agreement: `found` are passages, each with the vectors of those that its words found; None for none.

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
