"""What stands around the best candidates in the graph of citations: one step, within its own time."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rifflux.models.workers import Late, Workers
from rifflux.store.base import Store
from rifflux.types import Hit, Ids, Ranking

__all__ = ["IN", "OUT", "Cited", "Expansion"]

OUT, IN = "out", "in"


@dataclass(frozen=True, slots=True)
class Expansion:
    """The neighbours of the seeds by their first chunk, best first, how near each is, and why there are none.

    `nearness` also tells it of seeds that other seeds cite, by first chunk.
    """

    ranking: Ranking
    degraded: str = ""


@dataclass(frozen=True)
class Cited:
    """Follows citations one step from the best candidates.

    A neighbour's score is the sum, over the seeds that it is linked with, of 1 / (rank of the seed + 1) times the
    link's confidence, divided by the square root of how many links the seed has: one that cites everything says little.
    What is not done within `deadline_ms` is left out.
    """

    store: Store
    seeds: int = 10
    most: int = 100
    deadline_ms: float = 50.0
    workers: Workers = field(default_factory=Workers, repr=False, compare=False)

    def __call__(self, hits: Sequence[Hit], follow: Sequence[str]) -> Expansion:
        """The neighbours of the first `seeds` hits in the directions of `follow`."""
        ids = np.fromiter((int(hit.chunk_id, 16) for hit in hits[: self.seeds]), np.int64)
        if not len(ids) or not follow:
            return Expansion(Ranking.empty())
        try:
            deadline = time.perf_counter() + self.deadline_ms / 1000
            return Expansion(self.workers(lambda: self._ranked(ids, follow), deadline, "citations"))
        except Late as late:
            return Expansion(Ranking.empty(), f"citations were not followed: {late}")

    def _ranked(self, ids: Ids, follow: Sequence[str]) -> Ranking:
        scores: dict[int, float] = defaultdict(float)
        rank = {id: place for place, id in enumerate(ids.tolist(), 1)}
        for direction in follow:
            edges = self.store.linked(ids, incoming=direction == IN)
            fan: dict[int, int] = defaultdict(int)
            for edge in edges:
                fan[edge.asked] += 1
            for edge in edges:
                scores[edge.chunk] += edge.confidence / ((rank[edge.asked] + 1) * fan[edge.asked] ** 0.5)
        found = np.fromiter(scores, np.int64, len(scores))
        values = np.fromiter(scores.values(), np.float64, len(scores))
        order = np.lexsort((found, -values))[: self.most]
        return Ranking(found[order], values[order])
