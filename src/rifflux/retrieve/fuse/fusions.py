"""Fusions: by rank alone, or (1 - w) · lexical + w · semantic with both scaled to [0, 1] first.

They differ in how scores are scaled and where the weight comes from. Raw BM25 scores and cosines are never averaged.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rifflux.errors import Cure, InvalidArgument
from rifflux.retrieve.fuse.base import NO_FACTS, CandidateFacts, Fuse, fused
from rifflux.retrieve.table import LEXICAL, SEMANTIC, Candidates, declare, filled, pool_of
from rifflux.types import Ranking, Scores

if TYPE_CHECKING:
    from rifflux.retrieve.scale import VectorScale

#: The largest weight allowed; sums of larger ones might not be finite.
LARGEST = 1e6

declare("rrf/*", "1 / rank", "a channel's addend in reciprocal rank fusion")


def checked_weights(weights: Mapping[str, float]) -> None:
    """Raise `InvalidArgument` for weights that are not finite, too large, negative or all zero."""
    for name, weight in weights.items():
        if not is_finite(weight) or weight > LARGEST:
            raise InvalidArgument(
                f"the fusion weight of {name} must be a finite number from 0 to {LARGEST:,.0f}, not {weight!r}"
            )
    if any(weight < 0 for weight in weights.values()):
        raise InvalidArgument("fusion weights must not be negative")
    if weights and not any(weights.values()):
        raise InvalidArgument("fusion weights must not all be zero")


@dataclass(frozen=True, slots=True)
class ReciprocalRank:
    """Reciprocal rank fusion: each list adds weight / (k + rank), with ranks from 1 and a default weight of 1.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
    SIGIR 2009. `limit` is the maximum number of results.
    """

    k: float = 60.0
    weights: Mapping[str, float] = field(default_factory=dict)
    limit: int | None = None
    name: str = "rrf"
    anchored: bool = False

    def __post_init__(self) -> None:
        if not is_finite(self.k):
            raise InvalidArgument(f"k must be a finite number, not {self.k!r}: 60 is usual")
        if self.k < 0:
            raise InvalidArgument(f"k must not be negative, not {self.k}")
        checked_weights(self.weights)

    def depth(self, pool: int) -> int:
        """Return the pool size: ranks below it add next to nothing."""
        return pool

    def enough(self, pool: int) -> int:
        """Return the pool size."""
        return pool

    def __call__(self, table: Candidates, evidence: CandidateFacts = NO_FACTS) -> Candidates:
        """Fuse the channels; an id missing from a channel gets no addend from it. Raises `InvalidArgument`."""
        if unknown := sorted(self.weights.keys() - table.rankings.keys() - {LEXICAL, SEMANTIC}):
            raise InvalidArgument(
                f"no channel {unknown[0]!r} to weigh; choose from {', '.join(sorted(table.rankings))}"
            )
        if not len(table):
            return table
        addends = {
            name: np.nan_to_num(self.weights.get(name, 1.0) / (self.k + table[f"{name}/rank"]))
            for name in table.rankings
        }
        # Adding in alphabetical order makes the sum independent of the mapping's order, to the last bit.
        scores = np.sum([addends[name] for name in sorted(addends)], axis=0)
        found = fused(table, self.name, scores, addends)
        if self.limit:
            return found.head(self.limit)
        return found

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: CandidateFacts) -> float:
        """Return the semantic channel's share of both weights."""
        del rankings, evidence  # the weights are fixed
        lexical = self.weights.get(LEXICAL, 1.0)
        semantic = self.weights.get(SEMANTIC, 1.0)
        if lexical + semantic:
            return semantic / (lexical + semantic)
        return 0.0


for _name in ("linear", "balanced", "adaptive"):
    declare(f"{_name}/*", "share of the score", "a channel's addend in the fused score")
BM25 = f"{LEXICAL}/score"
COSINE = f"{SEMANTIC}/score"

BY_SPECIFICITY = "by-specificity"
#: α by the lower bound of the specificity that it applies above.
_ALPHAS = ((0.5, 0.3), (0.2, 0.5), (-1.0, 0.7))
#: The depth to which channels are read so that most candidates of one have a score in the other.
DEPTH = 1000
#: The rank whose cosine is compared with the best; with fewer candidates the confidence is not estimated.
GAP_RANK = 100
#: The usual difference between these cosines, and the number of candidates per channel whose kinds are looked up.
USUAL_GAP = 0.25
LOOKED_AT = 10
#: The depth by meaning that suffices for `Adaptive`.
ENOUGH = 300
#: The minimum width of the scale of cosines, as a share of how far the nearest ones are above chance.
LEAST_WIDTH = 0.5


@dataclass(frozen=True)
class _Weighted:
    """Base of weighted fusions: candidates of either channel, scored by both."""

    anchored: bool = True
    name: str = ""

    def depth(self, pool: int) -> int:
        """Return a depth at which most candidates of one channel have a score in the other."""
        return max(DEPTH, pool)

    def enough(self, pool: int) -> int:
        """Return the full depth: scores are scaled by the last entry."""
        return self.depth(pool)

    def __call__(self, table: Candidates, evidence: CandidateFacts = NO_FACTS) -> Candidates:
        """Fuse the channels: (1 - w) · lexical + w · semantic of each candidate."""
        if not len(table):
            return table
        weight = self.semantic_weight(table.rankings, evidence)
        addends = {
            LEXICAL: (1 - weight) * self.lexical(table, evidence),
            SEMANTIC: weight * self.semantic(table, evidence),
        }
        return fused(table, self.name, addends[LEXICAL] + addends[SEMANTIC], addends)

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: CandidateFacts) -> float:
        """Return the weight of the semantic channel, in [0, 1]."""
        raise NotImplementedError

    def lexical(self, table: Candidates, evidence: CandidateFacts) -> Scores:
        """Return BM25 divided by the best score, which preserves a clear lead; 0 for candidates without a match."""
        ranking = table.rankings.get(LEXICAL)
        best = float(ranking.scores[0]) if ranking else 0.0
        if best > 0:
            return filled(table[BM25]) / best
        return np.zeros(len(table))

    def semantic(self, table: Candidates, evidence: CandidateFacts) -> Scores:
        """Return cosines scaled so that the ranking's best is 1 and its last is 0; lower ones become 0."""
        return _scaled(table, SEMANTIC)


@dataclass(frozen=True)
class Balanced(_Weighted):
    """Both channels min-max scaled over their rankings, then weighted."""

    weight: float = 0.5
    name: str = "balanced"

    def __post_init__(self) -> None:
        _check_share(self.weight)

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: CandidateFacts) -> float:
        """Return the fixed weight, or 1 or 0 if only one channel is present."""
        return _of_present(self.weight, rankings)

    def lexical(self, table: Candidates, evidence: CandidateFacts) -> Scores:
        """Return BM25 scaled so that the ranking's best is 1 and its last is 0."""
        return _scaled(table, LEXICAL)


@dataclass(frozen=True)
class Linear(_Weighted):
    """α · cosine + (1 - α) · keyword share, unscaled: a score that is comparable across queries.

    The keyword share is the idf-weighted share of the query's terms that the chunk contains. If `weights` is
    "by-specificity", α depends on the share of the query that names a specific thing: .3 above one half, .5 above one
    fifth, otherwise .7.
    """

    alpha: float = 0.7
    weights: str | None = None
    name: str = "linear"

    def __post_init__(self) -> None:
        _check_share(self.alpha)
        if self.weights not in (None, BY_SPECIFICITY):
            raise InvalidArgument(f"unknown weights {self.weights!r}; omit them, or choose {BY_SPECIFICITY!r}")

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: CandidateFacts) -> float:
        """Return α, or 1 or 0 if only one channel is present."""
        alpha = self.alpha
        if self.weights is not None:
            alpha = next(weight for above, weight in _ALPHAS if evidence.specificity > above)
        return _of_present(alpha, rankings)

    def lexical(self, table: Candidates, evidence: CandidateFacts) -> Scores:
        """Return the keyword share."""
        return evidence.coverage(table.ids)

    def semantic(self, table: Candidates, evidence: CandidateFacts) -> Scores:
        """Return the cosine, at least 0."""
        return np.maximum(np.nan_to_num(table[COSINE]), 0.0)


@dataclass(frozen=True)
class Adaptive(_Weighted):
    """Weighted fusion that adapts to the candidates' kinds and to how clearly the vectors separate them.

    `priors` are semantic weights by kind of content. A query's words rarely occur in the code that answers it; in
    conversations they mostly do, names above all; prose is in between. The prior is the mean over the first `LOOKED_AT`
    candidates of each channel. Two terms shift it on the log-odds scale: how well the vectors of this index agree with
    its words, and their confidence in this query, which is the gap between the best cosine and the hundredth, minus
    `USUAL_GAP`, times `slope`. Gaps are converted to the cosines of a usual model (`retrieve/scale.py`); without a
    scale, neither term applies.

    `explained`, from 0 to 1, sets how far BM25 scores are weighted by their best match's coverage. BM25 is divided by
    its best score, so a match of a word that nearly every passage contains counts like any other; with 1, it counts the
    idf-weighted share of the query's terms that this match contains.

    Chosen on development collections by bench/quality/fusion.py, which also measures each term's ablation.
    """

    priors: Mapping[str, float] = field(default_factory=lambda: {"code": 0.7, "message": 0.3})
    prior: float = 0.45
    slope: float = 3.33
    explained: float = 0.0
    name: str = "adaptive"

    def __post_init__(self) -> None:
        for share in (*self.priors.values(), self.prior, self.explained):
            _check_share(share)

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: CandidateFacts) -> float:
        """Return the semantic weight for this query, in [0, 1]."""
        semantic = rankings.get(SEMANTIC)
        if not semantic:
            return 0.0
        priors = [*map(self.priors.get, evidence.kinds(pool_of(rankings, LOOKED_AT)), repeat(self.prior))]
        prior = min(max(sum(priors) / len(priors) if priors else self.prior, 0.01), 0.99)
        scale = evidence.scale
        odds = math.log(prior / (1 - prior))
        if scale is None:
            return prior
        if len(semantic) >= GAP_RANK:
            gap = scale.gap(float(semantic.scores[0] - semantic.scores[GAP_RANK - 1]))
            odds += self.slope * (gap - USUAL_GAP)
        return 1 / (1 + math.exp(-odds - scale.trust))

    def weight_by(self, scale: VectorScale) -> float:
        """Return the semantic weight of prose for an index with the given scale, before any query."""
        prior = min(max(self.prior, 0.01), 0.99)
        return 1 / (1 + math.exp(-math.log(prior / (1 - prior)) - scale.trust))

    def enough(self, pool: int) -> int:
        """Return less than the full depth for a usual pool: other candidates' cosines are looked up."""
        if pool <= ENOUGH:
            return ENOUGH
        return self.depth(pool)

    def lexical(self, table: Candidates, evidence: CandidateFacts) -> Scores:
        """Return BM25 as a share of the best score, weighted by the coverage of the best match."""
        shares = super().lexical(table, evidence)
        if not self.explained or not shares.any():
            return shares
        best = int(np.argmax(shares))
        coverage = float(evidence.coverage(table.ids[best : best + 1])[0])
        return shares * (1 - self.explained + self.explained * coverage)

    def semantic(self, table: Candidates, evidence: CandidateFacts) -> Scores:
        """Return cosines scaled from that of two random passages (0) to the best (1), at any depth.

        Cosines of the other channel's candidates are looked up. Without a scale, the last of the ranking is 0. If the
        best is hardly above chance, the scale is `LEAST_WIDTH` of this index's reach wide.
        """
        ranking = table.rankings.get(SEMANTIC)
        scale = evidence.scale
        if not ranking or scale is None:
            return _scaled(table, SEMANTIC)
        cosines = table[COSINE].copy()
        missing = np.flatnonzero(np.isnan(cosines))
        cosines[missing] = evidence.cosines(table.ids[missing])
        best = float(ranking.scores[0])
        low = min(scale.noise, best - LEAST_WIDTH * scale.reach)
        return np.maximum(np.nan_to_num((cosines - low) / (best - low)), 0.0)


def _scaled(table: Candidates, channel: str) -> Scores:
    """Return a channel's scores scaled linearly from its last score (0) to its best (1).

    Candidates that the channel lacks get 0.
    """
    ranking = table.rankings.get(channel)
    if not ranking:
        return np.zeros(len(table))
    known = table[f"{channel}/score"]
    high = float(ranking.scores[0])
    low = float(ranking.scores[-1])
    return np.nan_to_num((known - low) / (high - low) if high > low else known - low + 1.0)


def _of_present(weight: float, rankings: Mapping[str, Ranking]) -> float:
    """Return the semantic weight, renormalized over the channels that are present."""
    if not rankings.get(SEMANTIC):
        return 0.0
    if LEXICAL in rankings:
        return weight
    return 1.0


def is_finite(value: object) -> bool:
    """Return True for a finite number other than a bool."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _check_share(share: float) -> None:
    if not is_finite(share) or not 0 <= share <= 1:
        raise InvalidArgument(f"a fusion weight must be from 0 to 1, not {share}")


#: Fusions by the name that users select them by.
FUSIONS: Mapping[str, Callable[[], Fuse]] = {
    "rrf": ReciprocalRank,
    "linear": Linear,
    "balanced": Balanced,
    "adaptive": Adaptive,
}


def dump_fusion(fusion: Fuse) -> str:
    """Return a fusion as a JSON object of its name and parameters."""
    return json.dumps(asdict(cast(Any, fusion)), sort_keys=True)


def load_fusion(text: str) -> Fuse:
    """Return the fusion that `dump_fusion` serialized. Raises `InvalidArgument` if this version cannot construct it."""
    try:
        knobs = json.loads(text)
        return FUSIONS[knobs["name"]](**knobs)
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidArgument(
            f"the index was tuned to a fusion that cannot be used ({error})", cure=Cure.UNTUNE
        ) from None
