"""The status of an index is known to everybody who may read it, whatever they own and whichever files were derived."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rifflux
from rifflux import Document, Index, Scope
from rifflux.store import ModelInfo, Placed
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.semantic import vector_index
from rifflux.testing import change

#: Who asks: an owner of many vectors, of one, of documents without vectors, of nothing, and whoever is in no scope.
USERS = ("ann", "one", "bare", "nobody", "")
#: What may stand beside the database when somebody asks.
STATES = ("built", "stale", "missing")
#: The vectors that those have who own few.
FEW = {"one": 1, "bare": 0, "nobody": 0}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an index with so many vectors that they are packed, nearly all of them of one owner."""
    path = tmp_path_factory.mktemp("packed") / "index.db"
    with rifflux.open(path, model="hash") as index:
        index.scoped(Scope("one")).add(Document("a.md", "The heron waits in the reeds."))
        store = _store(index)
        _fill(store, "ann", 1, vector_index.LEAST + 50)
        store.of("bare").catalog.write(Placed("c", change("bare", "no vector", first_id=10**6)))
        _packed(store).build()
    return path


def _store(index: Index) -> SqliteStore:
    store = index.admin.store
    assert isinstance(store, SqliteStore)
    return store


def _packed(store: SqliteStore) -> vector_index.VectorIndex:
    packed = store.database.vectors
    assert packed
    return packed


def _fill(store: SqliteStore, owner: str, first: int, count: int) -> None:
    """Give an owner chunks with vectors drawn at random."""
    model = store.semantic.model()
    assert isinstance(model, ModelInfo)
    changes = [change(f"{first + n}", f"text {first + n}", first_id=first + n) for n in range(count)]
    view = store.of(owner)
    view.catalog.write(*(Placed("c", each) for each in changes))
    drawn = np.random.default_rng(first).standard_normal((count, model.dimension), np.float32)
    chunks = [each.chunks[0] for each in changes]
    view.semantic.put_vectors(
        [each.chunk.id for each in chunks],
        [each.hash for each in chunks],
        drawn / np.linalg.norm(drawn, axis=1, keepdims=True),
    )


@pytest.mark.parametrize("state", STATES)
def test_everybody_has_a_status_above_the_size_at_which_vectors_are_packed(path: Path, state: str) -> None:
    with rifflux.open(path) as index:
        packed = _packed(_store(index)).place
        assert packed.exists()
    if state == "missing":
        packed.unlink()
    with rifflux.open(path) as index:
        store = _store(index)
        if state == "stale":
            _fill(store, "ann", 500_000, 20)
        model = store.semantic.model()
        assert model
        for user in USERS:
            view = index.scoped(Scope(user)) if user else index
            embedded = view.status().embedded_chunks
            if user in FEW:
                assert embedded == FEW[user]
            ids, vectors = store.of(user).semantic.sample(100)
            assert len(ids) == len(vectors) == min(store.of(user).totals().embedded, 100)
            assert vectors.shape[1] == model.dimension or not len(ids)
            view.search("heron")
