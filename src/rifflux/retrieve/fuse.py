"""Several rankings become one. A fusion is a value: its knobs are its fields, calling it fuses.

Pure functions of the rankings: the order of the channels does not matter, a repeated id counts once at its best
rank, and ties go to the best rank in any channel, then to the lower id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.types import Ids, Ranking, Scores

__all__ = ["FUSIONS", "Fuse", "ReciprocalRank", "fusion_of"]


class Fuse(Protocol):
    """Fuses rankings by channel name into one; `contributions` tells what each channel added to an id's score."""

    @property
    def name(self) -> str:
        """The name users choose it by."""
        ...

    def __call__(self, rankings: Mapping[str, Ranking]) -> Ranking:
        """Fuse the rankings."""
        ...

    def contributions(self, rankings: Mapping[str, Ranking], ids: Ids) -> Mapping[str, Scores]:
        """The addends of each id's score by channel; zero where the channel did not rank it."""
        ...


@dataclass(frozen=True, slots=True)
class ReciprocalRank:
    """Reciprocal rank fusion: each list adds weight / (k + rank), ranks counted from 1.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods", SIGIR 2009. A channel without a weight counts 1.
    """

    k: float = 60.0
    weights: Mapping[str, float] = field(default_factory=dict)
    name: str = "rrf"

    def __post_init__(self) -> None:
        if self.k < 0:
            raise InvalidArgument(f"k must not be negative, and is {self.k}")
        if any(weight < 0 for weight in self.weights.values()):
            raise InvalidArgument("fusion weights must not be negative")

    def __call__(self, rankings: Mapping[str, Ranking]) -> Ranking:
        """Fuse the rankings; an id missing from a channel gets nothing from it."""
        ids = _pool(rankings)
        if not len(ids):
            return Ranking.empty()
        # Adding in the order of the names makes the sum, to the last bit, independent of the mapping's order.
        contributions = self.contributions(rankings, ids)
        scores = np.sum([contributions[name] for name in sorted(contributions)], axis=0, initial=0.0)
        return ordered(ids, scores, best_ranks(rankings, ids))

    def contributions(self, rankings: Mapping[str, Ranking], ids: Ids) -> Mapping[str, Scores]:
        """weight / (k + rank) of each id by channel."""
        return {
            name: self.weights.get(name, 1.0) / (self.k + ranks_of(ranking, ids)) for name, ranking in rankings.items()
        }


#: Fusions by the name users choose them by.
FUSIONS: Mapping[str, Callable[[], Fuse]] = {"rrf": ReciprocalRank}


def fusion_of(choice: str | Fuse) -> Fuse:
    """The fusion of a name with its defaults; a fusion is returned as it is."""
    if not isinstance(choice, str):
        return choice
    if choice not in FUSIONS:
        raise InvalidArgument(f"no fusion {choice!r}; choose one of {', '.join(FUSIONS)}")
    return FUSIONS[choice]()


def _pool(rankings: Mapping[str, Ranking]) -> Ids:
    if not rankings:
        return np.empty(0, np.int64)
    return np.unique(np.concatenate([ranking.ids for ranking in rankings.values()]))


def ranks_of(ranking: Ranking, ids: Ids) -> Scores:
    """The best rank, from 1, of each id in a ranking; infinity where it is missing. `ids` must be sorted or any."""
    ranks = np.full(len(ids), np.inf)
    if len(ranking) and len(ids):
        order = np.argsort(ids, kind="stable")
        place = np.searchsorted(ids, ranking.ids, sorter=order)
        place = order[np.minimum(place, len(ids) - 1)]
        known = ids[place] == ranking.ids
        np.minimum.at(ranks, place[known], np.flatnonzero(known) + 1.0)
    return ranks


def best_ranks(rankings: Mapping[str, Ranking], ids: Ids) -> Scores:
    """The best rank of each id in any channel."""
    ranks: Scores = np.min([ranks_of(ranking, ids) for ranking in rankings.values()], axis=0, initial=np.inf)
    return ranks


def ordered(ids: Ids, scores: Scores, ranks: Scores) -> Ranking:
    """By score, then best rank, then id. Scores that differ in the last bits only are ties: they differ by rounding."""
    order = np.lexsort((ids, ranks, -np.round(scores, 12)))
    return Ranking(ids[order], scores[order])
