"""What stands around the best candidates in the graph of citations: one step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rifflux.store import Store
from rifflux.types import Hit, Query, Ranking
from rifflux.works.retrieval.intent import IN

__all__ = ["Cited", "allowed"]


@dataclass(frozen=True)
class Cited:
    """Follows citations one step: the neighbours of seeds by their first chunk, best first, and how near each is.

    A neighbour's score is the sum, over the seeds that it is linked with, of 1 / (rank of the seed + 1) times the
    link's confidence, divided by the square root of how many links the seed has: one that cites everything says little.
    Seeds that other seeds cite are among them. At most `most` are told.
    """

    store: Store
    most: int = 100

    def __call__(self, seeds: Sequence[Hit], follow: Sequence[str]) -> Ranking:
        """The neighbours of seeds, best first, in the directions of `follow`."""
        ids = np.fromiter((int(hit.chunk_id, 16) for hit in seeds), np.int64)
        if not len(ids) or not follow:
            return Ranking.empty()
        scores: dict[int, float] = defaultdict(float)
        rank = {id: place for place, id in enumerate(ids.tolist(), 1)}
        for direction in follow:
            edges = self.store.catalog.linked(ids, incoming=direction == IN)
            fan: dict[int, int] = defaultdict(int)
            for edge in edges:
                fan[edge.asked] += 1
            for edge in edges:
                scores[edge.chunk] += edge.confidence / ((rank[edge.asked] + 1) * fan[edge.asked] ** 0.5)
        found = np.fromiter(scores, np.int64, len(scores))
        values = np.fromiter(scores.values(), np.float64, len(scores))
        order = np.lexsort((found, -values))[: self.most]
        return Ranking(found[order], values[order])


def allowed(store: Store, limits: Query, ranking: Ranking) -> Ranking:
    """What of a ranking a search would let through: what passes the filter, and holds what must and must not be held.

    Each work is judged by the chunk that stands for it, as a search judges chunks.
    """
    ids = ranking.ids
    if limits.filter and len(ids):
        ids = ids[np.isin(ids, store.catalog.passing(limits.filter, ids))]
    for clause in limits.required if len(ids) else ():
        ids = ids[np.isin(ids, store.lexical.holding(clause, ids))]
    for clause in limits.excluded if len(ids) else ():
        ids = ids[~np.isin(ids, store.lexical.holding(clause, ids))]
    kept = np.isin(ranking.ids, ids)
    return Ranking(ranking.ids[kept], ranking.scores[kept])
