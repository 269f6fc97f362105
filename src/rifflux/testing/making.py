"""Documents, queries and vectors to fill a store, and the fixtures of contracts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np
import pytest

from rifflux.store import DEFAULT, PART, AnalyzedChunk, Capability, DocumentChange, ModelInfo, Placed, Store
from rifflux.text.analyzer import analyzer
from rifflux.types import Chunk, Document, Query, Ranking, Vectors

MODEL = ModelInfo("tiny", "hash", 2, "f1", "tiny")
WEIGHTS = DEFAULT


class NeedsStore:
    """A contract that needs a fixture `store`: an empty, writable one."""

    @pytest.fixture
    def store(self) -> Store:
        """Return an empty, writable store."""
        raise NotImplementedError("provide a fixture named store")


class NeedsOpened:
    """A contract that needs a fixture `opened`: an empty, writable store as opened, not a view of it."""

    @pytest.fixture
    def opened(self) -> Store:
        """Return an empty, writable store, not a view of it."""
        raise NotImplementedError("provide a fixture named opened")


def needs(store: Store, capability: Capability) -> None:
    """Skip a test of what an engine promises only with a capability that this one does not declare."""
    if capability not in store.capabilities:
        pytest.skip(f"the engine does not declare {capability}")


def change(key: str, *texts: str, title: str = "", first_id: int | None = None, **fields: object) -> DocumentChange:
    """Return a document with one chunk per text; chunk ids count up from `first_id`, or are hashes of the texts."""
    document = Document(key, "\n\n".join(texts), title, **fields)  # type: ignore[arg-type]
    chunks = []
    for position, text in enumerate(texts):
        if first_id is None:
            id = number_of(key, text)
        else:
            id = first_id + position
        terms = analyzer().joined
        chunk = Chunk(id, position, text, (0, len(text)))
        chunks.append(AnalyzedChunk(chunk, terms(title), "", terms(text), number_of(title, text)))
    return DocumentChange(document, key, tuple(chunks))


def number_of(*parts: str) -> int:
    """Return a number that identifies these texts."""
    return int.from_bytes(blake2b("\0".join(parts).encode(), digest_size=7).digest())


def words(text: str, **fields: object) -> Query:
    """Return a query for any of the words of `text`."""
    return Query(text, tuple((term,) for term in analyzer().terms(text)), **fields)  # type: ignore[arg-type]


def vector_of(*values: float) -> Vectors:
    """Return a vector of these values."""
    return np.array(values, np.float32)


def embedded(store: Store, vectors: Mapping[str, Sequence[float]]) -> None:
    """Add a document for each key to a store, with ids from 100 on, and its vector."""
    store.semantic.use_model(MODEL)
    for number, (key, vector) in enumerate(vectors.items()):
        put = change(key, f"text of {key}", first_id=100 + number)
        store.catalog.write(Placed("c", put))
        store.semantic.put_vectors([put.chunks[0].chunk.id], [put.chunks[0].hash], vector_of(*vector)[None])


def keys_of(store: Store, ranking: Ranking) -> list[str]:
    """Return the keys of the documents in a ranking, in order."""
    return [hit.key for hit in store.catalog.hydrate(ranking)]


def part(store: Store, name: str) -> Store:
    """Return the view of a part of the owners of a store."""
    return store.of(*(f"{owner}{PART}{name}" for owner in store.owners))
