"""Weighted fusions of two channels: (1 - w) · lexical + w · semantic, with both brought to [0, 1] first.

They differ in how scores are scaled and where the weight comes from. Raw BM25 and cosine are never averaged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.retrieve.channels import LEXICAL, SEMANTIC
from rifflux.retrieve.fuse.base import NO_EVIDENCE, Evidence, Fused, best_ranks, pool_of, scores_of
from rifflux.types import Ids, Ranking, Scores

__all__ = ["Adaptive", "Balanced", "Linear"]

BY_SPECIFICITY = "by-specificity"
#: α for a specificity above each bound.
_ALPHAS = ((0.5, 0.3), (0.2, 0.5), (-1.0, 0.7))
#: How far channels are read so that a candidate of one has its score in the other.
DEPTH = 1000
#: How far down the ranking the best cosine is compared; with fewer candidates their confidence is not judged.
GAP_RANK = 100
#: How far `Adaptive` can do with, and from which rank on cosines are taken to fall with its logarithm.
ENOUGH, STEADY = 300, 30


@dataclass(frozen=True)
class _Weighted:
    """The common part: candidates of either channel, scored by both."""

    anchored: bool = True

    def depth(self, pool: int) -> int:
        """Deep enough that most candidates of one channel have a score in the other."""
        return max(DEPTH, pool)

    def enough(self, pool: int) -> int:
        """All of that: scores are scaled by the last."""
        return self.depth(pool)

    def __call__(
        self, rankings: Mapping[str, Ranking], evidence: Evidence = NO_EVIDENCE, pool: int | None = None
    ) -> Ranking:
        """Fuse the rankings."""
        ids = pool_of(rankings, pool)
        if not len(ids):
            return Ranking.empty()
        shares = self.contributions(rankings, ids, evidence)
        scores = shares[LEXICAL] + shares[SEMANTIC]
        return Fused.of(ids, scores, shares, lambda tied: best_ranks(rankings, tied, pool))

    def contributions(
        self, rankings: Mapping[str, Ranking], ids: Ids, evidence: Evidence = NO_EVIDENCE
    ) -> Mapping[str, Scores]:
        """(1 - w) · lexical and w · semantic of each id."""
        weight = self.semantic_weight(rankings, evidence)
        return {
            LEXICAL: (1 - weight) * self.lexical(rankings, ids, evidence),
            SEMANTIC: weight * self.semantic(rankings, ids),
        }

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: Evidence) -> float:
        """The weight of the semantic channel in [0, 1]."""
        raise NotImplementedError

    def lexical(self, rankings: Mapping[str, Ranking], ids: Ids, evidence: Evidence) -> Scores:
        """BM25 as a share of the best score, which keeps a clear winner clear; 0 for what was not found."""
        ranking = rankings.get(LEXICAL, Ranking.empty())
        best = float(ranking.scores[0]) if len(ranking) else 0.0
        return _known(scores_of(ranking, ids)) / best if best > 0 else np.zeros(len(ids))

    def semantic(self, rankings: Mapping[str, Ranking], ids: Ids) -> Scores:
        """Cosine scaled so that the best of the ranking is 1 and its last 0; what is below it is 0."""
        return _min_max(rankings.get(SEMANTIC, Ranking.empty()), ids)


@dataclass(frozen=True)
class Balanced(_Weighted):
    """Both channels min-max scaled over their rankings, then weighted."""

    weight: float = 0.5
    name: str = "balanced"

    def __post_init__(self) -> None:
        _check_share(self.weight)

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: Evidence) -> float:
        """The fixed weight."""
        return self.weight

    def lexical(self, rankings: Mapping[str, Ranking], ids: Ids, evidence: Evidence) -> Scores:
        """BM25 scaled so that the best of the ranking is 1 and its last 0."""
        return _min_max(rankings.get(LEXICAL, Ranking.empty()), ids)


@dataclass(frozen=True)
class Linear(_Weighted):
    """α · cosine + (1 - α) · keyword share, unscaled: a score that means the same for every query.

    The keyword share is the part of the query's terms, weighted by idf, that the chunk holds. With `weights` as
    "by-specificity", α depends on how much of the question names one thing: .3 above one half, .5 above one fifth,
    else .7.
    """

    alpha: float = 0.7
    weights: str | None = None
    name: str = "linear"

    def __post_init__(self) -> None:
        _check_share(self.alpha)
        if self.weights not in (None, BY_SPECIFICITY):
            raise InvalidArgument(f"no weights {self.weights!r}; leave them out, or choose {BY_SPECIFICITY!r}")

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: Evidence) -> float:
        """α."""
        if self.weights is None:
            return self.alpha
        return next(weight for above, weight in _ALPHAS if evidence.specificity > above)

    def lexical(self, rankings: Mapping[str, Ranking], ids: Ids, evidence: Evidence) -> Scores:
        """The keyword share."""
        return evidence.coverage(ids)

    def semantic(self, rankings: Mapping[str, Ranking], ids: Ids) -> Scores:
        """Cosine, not below 0."""
        return np.maximum(_known(scores_of(rankings.get(SEMANTIC, Ranking.empty()), ids)), 0.0)


@dataclass(frozen=True)
class Adaptive(_Weighted):
    """The weight follows what is asked and of what: the kind of the candidates, and how clearly the vectors choose.

    `priors` are semantic weights by kind of content. In code a question's words are rarely those of the answer, in
    conversations they mostly are, names above all; prose is in between. The prior is the mean over the first
    `looked_at` candidates of each channel. Then the vectors' own confidence moves it, on the log-odds scale: the
    gap between the best cosine and the hundredth, less `usual_gap`, times `slope`.

    Chosen on development collections by bench/fusion.py, which also tells what leaving one out changes.
    """

    priors: Mapping[str, float] = field(default_factory=lambda: {"code": 0.85, "message": 0.3})
    prior: float = 0.45
    slope: float = 3.33
    usual_gap: float = 0.25
    looked_at: int = 10
    name: str = "adaptive"

    def __post_init__(self) -> None:
        for share in (*self.priors.values(), self.prior):
            _check_share(share)

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: Evidence) -> float:
        """The weight for this query."""
        semantic = rankings.get(SEMANTIC, Ranking.empty())
        if not len(semantic):
            return 0.0
        prior = min(max(self._prior(rankings, evidence), 0.01), 0.99)
        gap = float(semantic.scores[0] - semantic.scores[GAP_RANK - 1]) if len(semantic) >= GAP_RANK else self.usual_gap
        odds = math.log(prior / (1 - prior)) + self.slope * (gap - self.usual_gap)
        return 1 / (1 + math.exp(-odds))

    def enough(self, pool: int) -> int:
        """Less than the depth for a usual pool: where the last cosine would be is told by how they fall."""
        return ENOUGH if pool <= ENOUGH else self.depth(pool)

    def semantic(self, rankings: Mapping[str, Ranking], ids: Ids) -> Scores:
        """Cosine scaled so that the best of the ranking is 1 and its last 0, or, if it was cut, one further down."""
        ranking = rankings.get(SEMANTIC, Ranking.empty())
        if len(ranking) != ENOUGH:
            return super().semantic(rankings, ids)
        return _scaled(ranking, ids, _extrapolated(ranking.scores))

    def _prior(self, rankings: Mapping[str, Ranking], evidence: Evidence) -> float:
        kinds = evidence.kinds(pool_of(rankings, self.looked_at))
        return sum(self.priors.get(kind, self.prior) for kind in kinds) / len(kinds) if kinds else self.prior


def _min_max(ranking: Ranking, ids: Ids) -> Scores:
    """Each id's score scaled by the ranking's own ends, whatever ids are asked for; what it does not hold is 0."""
    if not len(ranking):
        return np.zeros(len(ids))
    return _scaled(ranking, ids, float(ranking.scores[-1]))


def _scaled(ranking: Ranking, ids: Ids, low: float) -> Scores:
    """Each id's score as its place from `low`, which is 0, to that of the best, which is 1; 0 for what is missing."""
    high, known = float(ranking.scores[0]), scores_of(ranking, ids)
    return _known((known - low) / (high - low) if high > low else known - low + 1.0)


def _extrapolated(cosines: Scores) -> float:
    """The cosine that a ranking which was cut would have at `DEPTH`."""
    steady, last = float(cosines[STEADY - 1]), float(cosines[-1])
    return last - (steady - last) * math.log(DEPTH / len(cosines)) / math.log(len(cosines) / STEADY)


def _known(scores: Scores) -> Scores:
    """Scores with 0 for what is missing."""
    return np.where(np.isnan(scores), 0.0, scores)


def _check_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise InvalidArgument(f"a fusion weight must be from 0 to 1, and is {share}")
