"""Several owners' nearest chunks are the same, to the last digit, packed or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rifflux.store import ModelInfo, Placed
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.semantic import vector_index
from rifflux.testing import change
from rifflux.types import Filter, Query

WIDTH = 48
MODEL = ModelInfo("drawn", "hash", WIDTH, "f1", "drawn")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    """An index of three owners whose vectors are packed by `build` alone."""
    monkeypatch.setattr(vector_index, "LEAST", 10**9)
    store = SqliteStore.open(str(tmp_path / "index.db"))
    store.semantic.use_model(MODEL)
    for number, owner in enumerate(("", "ann", "eve")):
        put(store.of(owner), 60, first=1000 * number + 1)
    return store


def put(store: SqliteStore, count: int, first: int) -> None:
    changes = [change(f"{first}-{n}", f"text {first} {n}", first_id=first + n, kind="ab"[n % 2]) for n in range(count)]
    store.catalog.write(*(Placed("c", each) for each in changes))
    drawn = np.random.default_rng(first).standard_normal((count, WIDTH), np.float32)
    chunks = [each.chunks[0] for each in changes]
    vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    store.semantic.put_vectors([each.chunk.id for each in chunks], [each.hash for each in chunks], vectors)


def told(store: SqliteStore) -> list[Any]:
    """Return what the semantic role of two owners together answers."""
    semantic, found = store.of("", "ann").semantic, list[Any]()
    for number in range(5):
        vector = np.random.default_rng(number).standard_normal(WIDTH, np.float32)
        for filter in (Filter(), Filter(kinds=("a",))):
            query = Query("", filter=filter)
            ranking = semantic.nearest(query, vector, 20)
            found += [ranking.ids.tolist(), ranking.scores.tolist()]
            vectors = semantic.vectors_of(ranking.ids)
            found.append({id: each.tolist() for id, each in vectors.items()})
    ids, sample = semantic.sample(50)
    return [*found, ids.tolist(), sample.tolist()]


def test_packing_changes_no_digit(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = told(store)
    monkeypatch.setattr(vector_index, "LEAST", 8)
    packed = store.database.vectors
    assert packed
    packed.build()
    assert packed.place.exists()
    assert told(store) == expected
    put(store.of("eve"), 20, first=5000)
    assert told(store) == expected
    put(store.of("ann"), 20, first=6000)
    changed = told(store)
    assert changed != expected
    packed.build()
    assert told(store) == changed
    store.close()
