"""The best of some chunks by score."""

from __future__ import annotations

import numpy as np

from rifflux.types import Ids, Ranking, Scores

__all__ = ["best"]


def best(ids: Ids, scores: Scores, limit: int) -> Ranking:
    """Return the `limit` highest scores in order, ties by id."""
    if len(ids) > limit:
        # Everything that ties with the last place comes along, so that the id decides and not the array's order.
        lowest = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        keep = scores >= lowest
        ids, scores = ids[keep], scores[keep]
    order = np.lexsort((ids, -scores))[:limit]
    return Ranking(ids[order], scores[order])
