"""The semantic role: chunks named by their vectors, and the models that made these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rifflux.types import Ids, Query, Ranking, Scores, Vectors

__all__ = ["Generation", "Generations", "ModelInfo", "Pending", "Semantic", "State"]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The embedding model whose vectors an index holds. `spec` is what loads it again."""

    name: str
    backend: str
    dimension: int
    fingerprint: str
    spec: str

    @property
    def public_spec(self) -> str:
        """Return the spec without where a server or a folder is, which is not everybody's to know."""
        if "://" in self.spec:
            return self.spec.rpartition("#")[2]
        if "/" in self.spec or "\\" in self.spec:
            return self.name
        return self.spec


@dataclass(frozen=True, slots=True)
class Pending:
    """A chunk that waits for its vector, with what the embedded text is made of.

    `text` is empty for a document that has only a title. `embedded` is the whole where it is not made of these.
    """

    id: int
    hash: int
    title: str
    headings: tuple[str, ...]
    text: str
    embedded: str | None = None


class State(StrEnum):
    """What becomes of a generation: it is built, then searched, then dropped. One at most is built, one is active."""

    BUILDING = "building"
    ACTIVE = "active"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Generation:
    """The vectors of one model: how many of the index's chunks have one, of all owners."""

    model: ModelInfo
    state: State
    vectors: int
    chunks: int


class Generations(Protocol):
    """The generations of an index. Every change is one transaction, and concerns all owners."""

    def all(self) -> list[Generation]:
        """Return the active one first, then one that is built, then those that are dropped."""

    def begin(self, model: ModelInfo) -> None:
        """Build vectors of a model, or go on where that was interrupted, while searches use those there are.

        Raises `InvalidArgument` for the active model, and while another one is built.
        """

    def finish(self) -> bool:
        """Let searches use the built vectors from now on, and retire the others; False if a chunk still lacks one."""

    def abort(self) -> ModelInfo | None:
        """Retire what is being built; returns its model, or None if there was nothing."""

    def drop(self, most: int) -> int:
        """Drop at most so many vectors of retired generations; returns how many, 0 once nothing is left of them."""


class Semantic(Protocol):
    """The vectors of one owner's chunks; the model is the whole index's. `testing.SemanticContract` says the rest."""

    def nearest(self, query: Query, vector: Vectors | None, limit: int, *, model: str | None = None) -> Ranking:
        """Rank the best `limit` chunks that a query's filter and required words leave by cosine with its vector.

        No vector, or one of length zero, ranks nothing. `model` is the fingerprint of the model that made the vector:
        raises `ModelMismatch` where another one made those of the chunks.
        """

    def cosines_of(self, vector: Vectors | None, ids: Ids) -> Scores:
        """Return the cosine of some chunks with a vector, by what is stored; NaN where there is none."""

    def vectors_of(self, ids: Ids, *, exact: bool = False) -> Mapping[int, Vectors]:
        """Return the vector of each chunk, by its id; chunks without one are left out.

        With `exact`, to the last digit, whatever is faster.
        """

    def sample(self, most: int) -> tuple[Ids, Vectors]:
        """Return chunks that have a vector, those of the lowest ids, with their vectors: (chunks, dimension).

        Ids are hashes, so it is a random choice, and the same one for equal contents. The vectors may be rounded. Kept
        until something changes.
        """

    def vectors_by_hash(self, hashes: Sequence[int], model: str | None = None) -> Mapping[int, Vectors]:
        """Return vectors already stored for the same embedded text."""

    def pending(self, batch: int, model: str | None = None) -> Iterator[list[Pending]]:
        """Yield the chunks without a vector, in batches; safe to write to the store meanwhile.

        `model` is the fingerprint of the model in use or of the one that is built; without it, the one in use is meant.
        """

    def put_vectors(self, ids: Sequence[int], hashes: Sequence[int], vectors: Vectors, model: str | None = None) -> int:
        """Store vectors for chunks that still have the given hash; returns how many did.

        `model` is as in `pending`; raises ModelMismatch where vectors of that one are neither in use nor built.
        """

    def model(self) -> ModelInfo | None:
        """Return the model whose vectors are stored, or None while there are none."""

    def use_model(self, model: ModelInfo) -> None:
        """Record the embedding model; raises ModelMismatch when vectors of another one are stored."""

    @property
    def generations(self) -> Generations:
        """Return the models whose vectors the index holds. Raises OutOfScope for the view of a named owner."""
