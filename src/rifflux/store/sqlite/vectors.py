"""The vectors of one model as a matrix in memory, read once per generation of the store, scanned exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np

from rifflux.types import Ids, Ranking, Vectors

__all__ = ["Matrix", "best"]

_ALL = """
select vector.chunk, chunk.uid, vector.data
from vector join model on model.id = vector.model and model.state = 'active' join chunk on chunk.id = vector.chunk
where vector.owner = :owner"""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Unit vectors by row with their chunk's row number and id."""

    rows: Ids
    ids: Ids
    vectors: Vectors

    @classmethod
    def read(cls, connection: apsw.Connection, owner: int | None, dimension: int) -> Matrix:
        """All of an owner's vectors of the active model. They are stored at unit length, so a product is a cosine."""
        found: list[Any] = connection.execute(_ALL, {"owner": owner}).fetchall()
        data = b"".join(row[2] for row in found)
        return cls(
            np.fromiter((row[0] for row in found), np.int64, len(found)),
            np.fromiter((row[1] for row in found), np.int64, len(found)),
            np.frombuffer(data, np.float32).reshape(len(found), dimension),
        )

    def nearest(self, vector: Vectors, limit: int, allowed: Ids | None) -> Ranking:
        """The `limit` rows of highest cosine among the allowed chunk rows (all where that is None)."""
        norm = float(np.linalg.norm(vector))
        if not norm or not len(self.ids):
            return Ranking.empty()
        ids, vectors = self.ids, self.vectors
        if allowed is not None:
            mask = np.isin(self.rows, allowed)
            ids, vectors = ids[mask], vectors[mask]
        return best(ids, (vectors @ (vector / norm)).astype(np.float64), limit)


def best(ids: Ids, scores: np.ndarray[tuple[int], np.dtype[np.float64]], limit: int) -> Ranking:
    """The `limit` highest scores in order, ties by id."""
    if len(ids) > limit:
        # Everything that ties with the last place comes along, so that the id decides and not the array's order.
        lowest = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        keep = scores >= lowest
        ids, scores = ids[keep], scores[keep]
    order = np.lexsort((ids, -scores))[:limit]
    return Ranking(ids[order], scores[order])
