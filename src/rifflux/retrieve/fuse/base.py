"""What every fusion is made of: the protocol, what it may ask about candidates, and arithmetic on rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rifflux.types import Ids, Ranking, Scores

__all__ = ["NO_EVIDENCE", "Evidence", "Fuse", "Fused", "best_ranks", "ordered", "pool_of", "ranks_of", "scores_of"]


#: Ids are looked up by so many comparisons of all with all at most, and up to an eighth of the buckets in a table.
COMPARISONS, BUCKETS = 1 << 13, 4096


class Evidence(Protocol):
    """What a fusion may ask about candidates besides their ranks and scores; looked up only when asked."""

    def coverage(self, ids: Ids) -> Scores:
        """The share of the query's terms, weighted by idf, that each chunk holds; in [0, 1]."""
        ...

    def kinds(self, ids: Ids) -> Sequence[str]:
        """The kind of each chunk's document."""
        ...

    @property
    def specificity(self) -> float:
        """The share of the question's words that name one thing, in [0, 1]."""
        ...


class _NoEvidence:
    """Knows nothing: for fusions that look at ranks and scores only."""

    specificity = 0.0

    def coverage(self, ids: Ids) -> Scores:
        """Nothing is known to be covered."""
        return np.zeros(len(ids))

    def kinds(self, ids: Ids) -> Sequence[str]:
        """Every kind is unknown."""
        return [""] * len(ids)


NO_EVIDENCE: Evidence = _NoEvidence()


class Fuse(Protocol):
    """Fuses rankings by channel name into one.

    `depth` tells how far the rankings should reach for a pool of candidates: scores known further down than the
    pool keep a candidate of one channel from counting as worthless in the other. `enough` of them suffice where reading
    on costs time.
    """

    @property
    def name(self) -> str:
        """The name users choose it by."""
        ...

    @property
    def anchored(self) -> bool:
        """Whether its scores may be multiplied for anchors; where ranks alone decide they may not."""
        ...

    def depth(self, pool: int) -> int:
        """How many entries of each channel it makes use of."""
        ...

    def enough(self, pool: int) -> int:
        """How many of them it can do with."""
        ...

    def __call__(
        self, rankings: Mapping[str, Ranking], evidence: Evidence = NO_EVIDENCE, pool: int | None = None
    ) -> Ranking:
        """Fuse the rankings; the first `pool` of each are candidates (None: all), the rest lend their scores."""
        ...

    def contributions(
        self, rankings: Mapping[str, Ranking], ids: Ids, evidence: Evidence = NO_EVIDENCE
    ) -> Mapping[str, Scores]:
        """The addends of each id's score by channel; zero where the channel did not rank it."""
        ...

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: Evidence) -> float:
        """The weight of the semantic channel as a share of the weights of both, in [0, 1]."""
        ...


def pool_of(rankings: Mapping[str, Ranking], pool: int | None = None) -> Ids:
    """The ids among the first `pool` of any ranking, each once, ascending."""
    if not rankings:
        return np.empty(0, np.int64)
    ids = np.sort(np.concatenate([ranking.ids[:pool] for ranking in rankings.values()]))
    first = np.ones(len(ids), bool)
    np.not_equal(ids[1:], ids[:-1], out=first[1:])
    return ids[first]


def ranks_of(ranking: Ranking, ids: Ids) -> Scores:
    """The best rank, from 1, of each id in a ranking; infinity where it is missing. `ids` holds each once."""
    if not len(ranking) or not len(ids):
        return np.full(len(ids), np.inf)
    if len(ids) * len(ranking) <= COMPARISONS:
        return _compared(ranking.ids, ids)
    return _hashed(ranking.ids, ids) if len(ids) <= BUCKETS // 8 else _searched(ranking.ids, ids)


def _compared(ranked: Ids, ids: Ids) -> Scores:
    """Ranks by comparing all with all: for a few."""
    same = ranked == ids[:, None]
    first = same.argmax(1)
    return np.where(same[np.arange(len(ids)), first], first + 1.0, np.inf)


def _hashed(ranked: Ids, ids: Ids) -> Scores:
    """Ranks by a table of the ids' last bits, which are as good as random: for a pool."""
    ranks, places, buckets = np.full(len(ids), np.inf), np.arange(len(ids)), ids & (BUCKETS - 1)
    table = np.full(BUCKETS, -1)
    table[buckets] = places
    place = table[ranked & (BUCKETS - 1)]
    maybe = np.flatnonzero(place >= 0)
    _write(ranks, place[maybe], maybe, ids[place[maybe]] == ranked[maybe])
    # Of several ids in one bucket the last has it.
    lost = np.flatnonzero(table[buckets] != places)
    ranks[lost] = _compared(ranked, ids[lost])
    return ranks


def _searched(ranked: Ids, ids: Ids) -> Scores:
    """Ranks by binary search: for any number."""
    ranks, order = np.full(len(ids), np.inf), np.argsort(ids)
    place = order[np.minimum(np.searchsorted(ids, ranked, sorter=order), len(ids) - 1)]
    _write(ranks, place, np.arange(len(ranked)), ids[place] == ranked)
    return ranks


def _write(ranks: Scores, place: Ids, rank: Ids, known: NDArray[np.bool_]) -> None:
    """Put the known ranks in their places, backwards, so that of several ranks of one id the best stays."""
    ranks[place[known][::-1]] = rank[known][::-1] + 1.0


def scores_of(ranking: Ranking, ids: Ids) -> Scores:
    """The score of each id in a ranking; NaN where it is missing."""
    ranks = ranks_of(ranking, ids)
    scores = np.full(len(ids), np.nan)
    known = np.isfinite(ranks)
    scores[known] = ranking.scores[ranks[known].astype(np.int64) - 1]
    return scores


def best_ranks(rankings: Mapping[str, Ranking], ids: Ids, pool: int | None = None) -> Scores:
    """The best rank of each id in any channel, of those among the first `pool` of one."""
    heads = (Ranking(ranking.ids[:pool], ranking.scores[:pool]) for ranking in rankings.values())
    ranks: Scores = np.min([ranks_of(head, ids) for head in heads], axis=0, initial=np.inf)
    return ranks


@dataclass(frozen=True, slots=True)
class Fused(Ranking):
    """A ranking with the addends of its scores by channel, in its order."""

    shares: Mapping[str, Scores] = field(default_factory=dict)

    @classmethod
    def of(cls, ids: Ids, scores: Scores, shares: Mapping[str, Scores], ranks: Callable[[Ids], Scores]) -> Fused:
        """Ids by their scores, as `ordered` has it."""
        order = _order(ids, scores, ranks)
        return cls(ids[order], scores[order], {name: share[order] for name, share in shares.items()})

    def addends(self, ids: Ids) -> Mapping[str, Scores]:
        """The addends of some ids; those of the first for an id that it does not have."""
        ranks = ranks_of(self, ids)
        places = np.where(np.isfinite(ranks), ranks, 1.0).astype(np.int64) - 1
        return {name: share[places] for name, share in self.shares.items()}


def ordered(ids: Ids, scores: Scores, ranks: Callable[[Ids], Scores]) -> Ranking:
    """By score, then rank, then id. Scores that differ in the last bits only are ties: they differ by rounding.

    `ranks` is asked only about ids whose scores tie.
    """
    order = _order(ids, scores, ranks)
    return Ranking(ids[order], scores[order])


def _order(ids: Ids, scores: Scores, ranks: Callable[[Ids], Scores]) -> Ids:
    falling = -np.round(scores, 12)
    order = np.lexsort((ids, falling))
    sorted_ = falling[order]
    same = sorted_[1:] == sorted_[:-1]
    if same.any():
        either = np.zeros(len(ids), bool)
        either[1:] = same
        either[:-1] |= same
        tied = order[either]
        decisive = np.zeros(len(ids))
        decisive[tied] = ranks(ids[tied])
        order = np.lexsort((ids, decisive, falling))
    return order
