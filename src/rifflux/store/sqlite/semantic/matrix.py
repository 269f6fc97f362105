"""The vectors of one owner as a matrix in memory, scanned exactly: for few of them, and while they are not packed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux.store.sqlite.query import best
from rifflux.types import Ids, Ranking, Vectors

__all__ = ["Allowed", "Matrix", "scanned"]

#: Rows read at a time where all are only looked at once.
BLOCK = 4096

_ALL = """
select vector.chunk, chunk.uid, chunk.document, vector.data
from vector join model on model.id = vector.model and model.state = 'active' join chunk on chunk.id = vector.chunk
where vector.owner = :owner"""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The row numbers of documents that pass a filter, and of chunks that hold what they must, and must not.

    None where nothing is asked.
    """

    documents: Ids | None = None
    required: Ids | None = None
    excluded: Ids | None = None

    def mask(self, documents: Ids, chunks: Ids) -> NDArray[np.bool_]:
        """Which of some chunks, each with its document, are allowed."""
        allowed = np.ones(len(chunks), np.bool_)
        if self.documents is not None:
            allowed &= _held(self.documents, documents)
        if self.required is not None:
            allowed &= _held(self.required, chunks)
        if self.excluded is not None:
            allowed &= ~_held(self.excluded, chunks)
        return allowed


def _held(wanted: Ids, rows: Ids) -> NDArray[np.bool_]:
    """Which rows are among the wanted ones; row numbers are small, so a table tells fastest."""
    if not len(wanted) or not len(rows):
        return np.zeros(len(rows), np.bool_)
    table = np.zeros(int(max(wanted.max(), rows.max())) + 1, np.bool_)
    table[wanted] = True
    return table.take(rows, mode="clip")


@dataclass(frozen=True, slots=True)
class Matrix:
    """Unit vectors by row, with their chunk's row number and id, and its document's row number."""

    chunks: Ids
    ids: Ids
    documents: Ids
    vectors: Vectors

    @property
    def nbytes(self) -> int:
        """Return what the vectors take in memory."""
        return self.vectors.nbytes

    @classmethod
    def read(cls, connection: apsw.Connection, owner: int, dimension: int) -> Matrix:
        """All of an owner's vectors of the active model. They are stored at unit length, so a product is a cosine."""
        return cls.of(connection.execute(_ALL, {"owner": owner}).fetchall(), dimension)

    @classmethod
    def of(cls, rows: list[Any], dimension: int) -> Matrix:
        """Rows of chunk, id, document and the vector's bytes."""
        chunks, ids, documents = (np.array([row[column] for row in rows], np.int64) for column in range(3))
        data = b"".join(row[3] for row in rows)
        return cls(chunks, ids, documents, np.frombuffer(data, np.float32).reshape(len(rows), dimension))

    def where(self, mask: NDArray[np.bool_]) -> Matrix:
        """The rows of a mask."""
        if mask.all():
            return self
        return Matrix(self.chunks[mask], self.ids[mask], self.documents[mask], self.vectors[mask])

    def and_those(self, other: Matrix) -> Matrix:
        """These rows and those of another matrix."""
        return Matrix(
            np.concatenate([self.chunks, other.chunks]),
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.documents, other.documents]),
            np.concatenate([self.vectors, other.vectors]),
        )

    def nearest(self, vector: Vectors, limit: int, allowed: Allowed | None) -> Ranking:
        """The `limit` rows of highest cosine with a vector of unit length, among those that are allowed."""
        ids, vectors = self.ids, self.vectors
        if allowed is not None:
            mask = allowed.mask(self.documents, self.chunks)
            ids, vectors = ids[mask], vectors[mask]
        return best(ids, (vectors @ vector).astype(np.float64), limit)


def scanned(connection: apsw.Connection, owner: int, vector: Vectors, limit: int, allowed: Allowed | None) -> Ranking:
    """The nearest of an owner's vectors, read from the tables without keeping them."""
    found = Ranking.empty()
    for rows in _blocks(connection, owner):
        some = Matrix.of(rows, len(vector)).nearest(vector, limit, allowed)
        found = best(np.concatenate([found.ids, some.ids]), np.concatenate([found.scores, some.scores]), limit)
    return found


def _blocks(connection: apsw.Connection, owner: int) -> Iterator[list[Any]]:
    rows = connection.execute(_ALL, {"owner": owner})
    while block := list(islice(rows, BLOCK)):
        yield block
