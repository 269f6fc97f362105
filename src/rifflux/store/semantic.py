"""The semantic role: ranking of chunks by their vectors, and the models that made these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rifflux.types import Ids, Vectors

__all__ = ["Generation", "Generations", "ModelInfo", "Pending", "Semantic", "State"]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The embedding model of an index's vectors. `spec` loads it again."""

    name: str
    backend: str
    dimension: int
    fingerprint: str
    spec: str

    @property
    def public_spec(self) -> str:
        """Return the spec without the address of a server or folder, which may be confidential."""
        if "://" in self.spec:
            return self.spec.rpartition("#")[2]
        if "/" in self.spec or "\\" in self.spec:
            return self.name
        return self.spec


@dataclass(frozen=True, slots=True)
class Pending:
    """A chunk that waits for its vector, with the parts of its embedded text.

    `text` is empty for a document that has only a title. `embedded` is the whole text if it differs from these parts.
    """

    id: int
    hash: int
    title: str
    headings: tuple[str, ...]
    text: str
    embedded: str | None = None


class State(StrEnum):
    """The state of a generation: being built, searched, or being dropped. At most one is built and one is active."""

    BUILDING = "building"
    ACTIVE = "active"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Generation:
    """The vectors of one model: the number of the index's chunks with one, of all owners."""

    model: ModelInfo
    state: State
    vectors: int
    chunks: int


class Generations(Protocol):
    """The generations of an index. Every change is one transaction, for all owners."""

    def all(self) -> list[Generation]:
        """Return the active generation, then the one being built, then those being dropped."""

    def begin(self, model: ModelInfo) -> None:
        """Begin building vectors of a model, or resume it, while searches use the active ones.

        Raises `InvalidArgument` for the active model, and while another one is built.
        """

    def finish(self) -> bool:
        """Activate the built vectors and retire the others; return False if a chunk still lacks one."""

    def abort(self) -> ModelInfo | None:
        """Retire the generation being built; return its model, or None if there was none."""

    def drop(self, most: int) -> int:
        """Drop at most `most` vectors of retired generations; return their number, 0 once none are left."""


class Semantic(Protocol):
    """The vectors of one owner's chunks; the model is the whole index's. Specified by `testing.SemanticContract`."""

    def vectors_of(self, ids: Ids) -> Mapping[int, Vectors]:
        """Return the vector of each chunk by id, without chunks that have none."""

    def sample(self, most: int) -> tuple[Ids, Vectors]:
        """Return chunks with a vector, those of the lowest ids, and their vectors: (chunks, dimension).

        Ids are hashes, so the sample is random, and the same for equal contents. Cached until something changes.
        """

    def vectors_by_hash(self, hashes: Sequence[int], model: str | None = None) -> Mapping[int, Vectors]:
        """Return vectors already stored for the same embedded text, by hash."""

    def pending(self, batch: int, model: str | None = None) -> Iterator[list[Pending]]:
        """Yield the chunks without a vector, in batches; the store may be written meanwhile.

        `model` is the fingerprint of the model in use (default) or being built.
        """

    def put_vectors(self, ids: Sequence[int], hashes: Sequence[int], vectors: Vectors, model: str | None = None) -> int:
        """Store vectors for chunks that still have the given hash; return their number.

        They may be stored as 16-bit integers with a scale each.
        `model` is as in `pending`; raises ModelMismatch if that model is neither in use nor being built.
        """

    def model(self) -> ModelInfo | None:
        """Return the model of the stored vectors, or None while there are none."""

    def use_model(self, model: ModelInfo) -> None:
        """Record the embedding model. Raises ModelMismatch if vectors of another one are stored."""

    @property
    def generations(self) -> Generations:
        """Return the generations of the index. Raises OutOfScope for a named owner's view."""
