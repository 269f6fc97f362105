"""Vectors read from the tables as one matrix, and its nearest rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux import kernels
from rifflux.store.sqlite.filters import among
from rifflux.store.sqlite.query import best, from_bytes, rounded
from rifflux.types import Ids, Ranking, Scores, Vectors

#: The number of rows read at a time when each is needed only once.
BLOCK = 4096
#: An upper bound on the effect of rounding on a cosine.
_ROUNDED = 1e-5
#: What a component of one is of a vector that rows are compared with. Up to 2**17 components, no sum of products with
#: 16-bit integers exceeds what a 64-bit float holds exactly.
PARTS = float(1 << 29)
#: Rows that are compared at a time: few enough to stay in the processor's cache.
RESCORED = 256

VECTORS = """
select vector.chunk, chunk.uid, chunk.document, vector.rounded
from vector join model on model.id = vector.model and model.state = 'active' join chunk on chunk.id = vector.chunk
where vector.owner = :owner"""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The rows of documents that pass a filter, and of chunks that match required and excluded words.

    None where there is no condition.
    """

    documents: Ids | None = None
    required: Ids | None = None
    excluded: Ids | None = None

    def mask(self, documents: Ids, chunks: Ids) -> NDArray[np.bool_]:
        """Return which of some chunks, each with its document, are allowed."""
        allowed = np.ones(len(chunks), np.bool_)
        if self.documents is not None:
            allowed &= among(self.documents, documents)
        if self.required is not None:
            allowed &= among(self.required, chunks)
        if self.excluded is not None:
            allowed &= ~among(self.excluded, chunks)
        return allowed


@dataclass(frozen=True, slots=True)
class Matrix:
    """Unit vectors by row, with the row number and id of their chunk, and the row number of its document."""

    chunks: Ids
    ids: Ids
    documents: Ids
    vectors: Vectors

    @property
    def nbytes(self) -> int:
        """Return the memory of the vectors."""
        return self.vectors.nbytes

    @classmethod
    def read(cls, connection: apsw.Connection, owners: Sequence[int], dimension: int) -> Matrix:
        """Return some owners' vectors of the active model. They have unit length, so a dot product is a cosine."""
        rows = [row for owner in owners for row in connection.execute(VECTORS, {"owner": owner})]
        return cls.of(rows, dimension)

    @classmethod
    def of(cls, rows: list[Any], dimension: int) -> Matrix:
        """Return a matrix from rows of chunk, id, document and the vector's bytes."""
        *numbers, data = zip(*rows, strict=True) if rows else ((), (), (), ())
        values, scales = from_bytes(data, dimension)
        chunks, ids, documents = np.array(numbers, np.int64)
        return cls(chunks, ids, documents, values * scales[:, None])

    def where(self, mask: NDArray[np.bool_]) -> Matrix:
        """Return the rows selected by a mask."""
        if mask.all():
            return self
        return Matrix(self.chunks[mask], self.ids[mask], self.documents[mask], self.vectors[mask])

    def and_those(self, other: Matrix) -> Matrix:
        """Return these rows followed by those of another matrix."""
        return Matrix(
            np.concatenate([self.chunks, other.chunks]),
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.documents, other.documents]),
            np.concatenate([self.vectors, other.vectors]),
        )

    def nearest(self, vector: Vectors, limit: int, allowed: Allowed | None) -> Ranking:
        """Rank the `limit` allowed rows of highest cosine with a unit vector.

        Cosines have the digits of packed vectors: when vectors are packed depends on the content of all owners, which
        other digits would reveal.
        """
        ids = self.ids
        vectors = self.vectors
        if allowed is not None:
            mask = allowed.mask(self.documents, self.chunks)
            ids = ids[mask]
            vectors = vectors[mask]
        if len(ids) > limit:
            about = vectors @ vector
            near = about >= np.partition(about, len(about) - limit)[len(about) - limit] - _ROUNDED
            ids = ids[near]
            vectors = vectors[near]
        values, scales = rounded(vectors)
        return best(ids, cosines_of(values, scales, np.arange(len(ids)), vector), limit)


def cosines_of(values: NDArray[np.int16], scales: NDArray[np.float32], rows: Ids, vector: Vectors) -> Scores:
    """Return the cosine of some rows of rounded vectors with a vector of unit length.

    The vector is rounded to `PARTS` of one, so that all products are whole numbers whose sums are exact: a cosine
    depends on nothing else, neither on what is summed first nor on what computes it.
    """
    whole = np.rint(np.asarray(vector, np.float64) * PARTS)
    found = np.empty(len(rows))
    if kernels.compiled:
        kernels.compiled.products(values, np.ascontiguousarray(rows, np.int64), whole, found)
        return found * (scales[rows].astype(np.float64) / PARTS)
    raw = np.empty((RESCORED, len(whole)), np.int16)
    floats = np.empty((RESCORED, len(whole)))
    for start in range(0, len(rows), RESCORED):
        some = rows[start : start + RESCORED]
        np.take(values, some, axis=0, out=raw[: len(some)], mode="clip")
        floats[: len(some)] = raw[: len(some)]
        np.vecdot(floats[: len(some)], whole, out=found[start : start + len(some)])
    return found * (scales[rows].astype(np.float64) / PARTS)


def scanned(
    connection: apsw.Connection,
    owners: Sequence[int],
    vector: Vectors,
    limit: int,
    allowed: Allowed | None,
) -> Ranking:
    """Rank the nearest of some owners' vectors, read from the tables without caching them."""
    found = Ranking.empty()
    for rows in chain.from_iterable(_blocks(connection, owner) for owner in owners):
        some = Matrix.of(rows, len(vector)).nearest(vector, limit, allowed)
        found = best(np.concatenate([found.ids, some.ids]), np.concatenate([found.scores, some.scores]), limit)
    return found


def _blocks(connection: apsw.Connection, owner: int) -> Iterator[list[Any]]:
    rows = connection.execute(VECTORS, {"owner": owner})
    while block := list(islice(rows, BLOCK)):
        yield block
