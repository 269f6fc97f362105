"""What every fusion is made of: the protocol, what it may ask about candidates, and the order of fused scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from rifflux.retrieve.table import SCORE, Candidates
from rifflux.types import Ids, Ranking, Scores

__all__ = ["NO_EVIDENCE", "Evidence", "Fuse", "fused"]


class Evidence(Protocol):
    """What a fusion may ask about candidates besides their ranks and scores; looked up only when asked."""

    def coverage(self, ids: Ids) -> Scores:
        """Return the share of the query's terms, weighted by idf, that each chunk holds; in [0, 1]."""
        ...

    def kinds(self, ids: Ids) -> Sequence[str]:
        """Return the kind of each chunk's document."""
        ...

    @property
    def specificity(self) -> float:
        """Return the share of the question's words that name one thing, in [0, 1]."""
        ...


class _NoEvidence:
    """Knows nothing: for fusions that look at ranks and scores only."""

    specificity = 0.0

    def coverage(self, ids: Ids) -> Scores:
        """Return zeros: nothing is known to be covered."""
        return np.zeros(len(ids))

    def kinds(self, ids: Ids) -> Sequence[str]:
        """Return empty names: every kind is unknown."""
        return [""] * len(ids)


NO_EVIDENCE: Evidence = _NoEvidence()


class Fuse(Protocol):
    """Fuses the channels of a candidate table into one score.

    `depth` is how far the rankings should reach for a pool of candidates: scores known further down than the
    pool keep a candidate of one channel from counting as worthless in the other. `enough` of them suffice where reading
    on costs time.
    """

    @property
    def name(self) -> str:
        """Return the name users choose it by."""
        ...

    @property
    def anchored(self) -> bool:
        """Return True if anchors may multiply its scores; where ranks alone decide they may not."""
        ...

    def depth(self, pool: int) -> int:
        """Return how many entries of each channel it makes use of."""
        ...

    def enough(self, pool: int) -> int:
        """Return how many of them it can do with."""
        ...

    def __call__(self, table: Candidates, evidence: Evidence = NO_EVIDENCE) -> Candidates:
        """Return the candidates by their fused score, with the addend of each channel as a column."""
        ...

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: Evidence) -> float:
        """Return the weight of the semantic channel as a share of the weights of both, in [0, 1]."""
        ...


def fused(table: Candidates, name: str, scores: Scores, addends: Mapping[str, Scores]) -> Candidates:
    """Return the candidates by a fused score; equal ones by their best rank in any channel, then by id."""
    best = np.fmin.reduce([table[f"{channel}/rank"] for channel in table.rankings])
    table = table.with_stage(name, {SCORE: scores, **addends}).scored(scores, best)
    return table.with_column(f"{name}/rank", table.ranks())
