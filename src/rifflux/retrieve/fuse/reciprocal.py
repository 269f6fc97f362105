"""Reciprocal rank fusion: ranks alone decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.retrieve.channels import LEXICAL, SEMANTIC
from rifflux.retrieve.fuse.base import NO_EVIDENCE, Evidence, fused
from rifflux.retrieve.table import Candidates, declare
from rifflux.types import Ranking

__all__ = ["ReciprocalRank", "checked_weights"]

declare("rrf/*", "1 / rank", "what a channel adds to the score of reciprocal rank fusion")


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
        """Return the pool itself: ranks below it add next to nothing."""
        return pool

    def enough(self, pool: int) -> int:
        """Return all of the pool."""
        return pool

    def __call__(self, table: Candidates, evidence: Evidence = NO_EVIDENCE) -> Candidates:
        """Fuse the channels; an id missing from one gets nothing from it."""
        if not len(table):
            return table
        addends = {
            name: np.nan_to_num(self.weights.get(name, 1.0) / (self.k + table[f"{name}/rank"]))
            for name in table.rankings
        }
        # Adding in the order of the names makes the sum, to the last bit, independent of the mapping's order.
        scores = np.sum([addends[name] for name in sorted(addends)], axis=0)
        found = fused(table, self.name, scores, addends)
        return found.head(self.limit) if self.limit else found

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: Evidence) -> float:
        """Return the weight of the semantic channel as a share of the weights of both."""
        del rankings, evidence  # the weights are fixed
        lexical, semantic = self.weights.get(LEXICAL, 1.0), self.weights.get(SEMANTIC, 1.0)
        return semantic / (lexical + semantic) if lexical + semantic else 0.0
