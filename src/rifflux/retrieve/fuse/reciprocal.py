"""Reciprocal rank fusion: ranks alone decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.retrieve.channels import LEXICAL, SEMANTIC
from rifflux.retrieve.fuse.base import NO_EVIDENCE, Evidence, Fused, best_ranks, pool_of, ranks_of
from rifflux.types import Ids, Ranking, Scores

__all__ = ["ReciprocalRank", "checked_weights"]


def checked_weights(weights: Mapping[str, float]) -> None:
    """Raise `InvalidArgument` for weights that cannot be meant."""
    if any(weight < 0 for weight in weights.values()):
        raise InvalidArgument("fusion weights must not be negative")
    if weights and not any(weights.values()):
        raise InvalidArgument("fusion weights must not all be zero")


@dataclass(frozen=True, slots=True)
class ReciprocalRank:
    """Each list adds weight / (k + rank), ranks counted from 1; a channel without a weight counts 1.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods", SIGIR 2009. `limit` keeps only that many results.
    """

    k: float = 60.0
    weights: Mapping[str, float] = field(default_factory=dict)
    limit: int | None = None
    name: str = "rrf"
    anchored: bool = False

    def __post_init__(self) -> None:
        if self.k < 0:
            raise InvalidArgument(f"k must not be negative, and is {self.k}")
        checked_weights(self.weights)

    def depth(self, pool: int) -> int:
        """The pool itself: what is below it adds next to nothing."""
        return pool

    def enough(self, pool: int) -> int:
        """All of it."""
        return pool

    def __call__(
        self, rankings: Mapping[str, Ranking], evidence: Evidence = NO_EVIDENCE, pool: int | None = None
    ) -> Ranking:
        """Fuse the rankings; an id missing from a channel gets nothing from it."""
        ids = pool_of(rankings, pool)
        if not len(ids):
            return Ranking.empty()
        # Adding in the order of the names makes the sum, to the last bit, independent of the mapping's order.
        shares = self.contributions(rankings, ids, evidence)
        scores = np.sum([shares[name] for name in sorted(shares)], axis=0)
        fused = Fused.of(ids, scores, shares, lambda tied: best_ranks(rankings, tied, pool))
        return fused.head(self.limit) if self.limit else fused

    def contributions(
        self, rankings: Mapping[str, Ranking], ids: Ids, evidence: Evidence = NO_EVIDENCE
    ) -> Mapping[str, Scores]:
        """weight / (k + rank) of each id by channel."""
        del evidence  # ranks alone decide
        return {
            name: self.weights.get(name, 1.0) / (self.k + ranks_of(ranking, ids)) for name, ranking in rankings.items()
        }

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: Evidence) -> float:
        """The weight of the semantic channel as a share of the weights of both."""
        del rankings, evidence  # the weights are fixed
        lexical, semantic = self.weights.get(LEXICAL, 1.0), self.weights.get(SEMANTIC, 1.0)
        return semantic / (lexical + semantic) if lexical + semantic else 0.0
