"""A database is sound by itself: derived files that are missing or of another state are not built, never damaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rifflux.errors import Cure
from rifflux.store import ModelInfo
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection.derived import BackgroundBuilder
from rifflux.store.sqlite.lexical import postings_index
from rifflux.store.sqlite.semantic import hnsw, vector_index
from rifflux.testing import WEIGHTS, change, words
from rifflux.types import Query, Vectors

pytest.importorskip("usearch")

WIDTH = 32
OWNERS = ("", "ann")
#: What stands next to the database, by what it holds.
DERIVED = {"words": "words", "postings": "postings", "vectors": "vectors", "graph": "vectors-graph"}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive every file from the first chunk on, and only when told."""
    monkeypatch.setattr(vector_index, "LEAST", 1)
    monkeypatch.setattr(postings_index, "LEAST", 1)
    for name, value in (("LEAST", 1), ("FEW", 1), ("FEWEST", 50)):
        monkeypatch.setattr(hnsw, name, value)
    for name in ("require", "suggest"):
        monkeypatch.setattr(BackgroundBuilder, name, lambda self: None)


@pytest.fixture
def original(tmp_path: Path) -> Iterator[SqliteStore]:
    """An index of two owners with every derived file."""
    folder = tmp_path / "original"
    folder.mkdir()
    store = SqliteStore.open(str(folder / "index.db"), neighbours="hnsw")
    store.semantic.use_model(ModelInfo("tiny", "hash", WIDTH, "f1", "tiny"))
    fill(store, "first", 1)
    answers(store)
    store.accelerate()
    assert all(beside(folder / "index.db", name).exists() for name in DERIVED.values())
    yield store
    store.close()


def fill(store: SqliteStore, key: str, first: int) -> None:
    for number, owner in enumerate(OWNERS):
        view = store.of(owner)
        texts = [f"{key} heron {owner} {place}" for place in range(40)]
        changed = change(key, *texts, first_id=first + 1000 * number)
        view.catalog.put("c", changed)
        ids = [each.chunk.id for each in changed.chunks]
        view.semantic.put_vectors(ids, [each.hash for each in changed.chunks], vectors(len(ids)))


def vectors(count: int) -> Vectors:
    found = np.random.default_rng(count).standard_normal((count, WIDTH)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def answers(store: SqliteStore) -> list[list[int]]:
    """Return what each channel finds, for one owner and for several."""
    (vector,) = vectors(1)
    views = [store, store.of("ann"), store.united(OWNERS)]
    lexical = [sorted(view.lexical.match(words("heron first"), 100, WEIGHTS).ids.tolist()) for view in views]
    return lexical + [view.semantic.nearest(Query(""), vector, 5).ids.tolist() for view in views]


def beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}")


def without(place: Path) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink()


def copied(store: SqliteStore, target: Path) -> None:
    """Copy the database file alone, as `cp` does."""
    store.view.engine.connection.execute("pragma wal_checkpoint(truncate)")
    shutil.copy(store.view.engine.location, target)


def backed_up(store: SqliteStore, target: Path) -> None:
    store.backup(target)


def restored(store: SqliteStore, target: Path) -> None:
    """Put a backup in place of an index that went on since, whose derived files stay."""
    backup = target.with_name("kept.db")
    store.backup(backup)
    fill(store, "second", 5000)
    store.accelerate()
    for name in DERIVED.values():
        place = beside(Path(store.view.engine.location), name)
        (shutil.copytree if place.is_dir() else shutil.copy)(place, beside(target, name))
    backup.replace(target)


@pytest.mark.parametrize("moved", [copied, backed_up, restored])
def test_a_database_without_its_derived_files_is_sound(
    original: SqliteStore, tmp_path: Path, moved: Callable[[SqliteStore, Path], None]
) -> None:
    expected = answers(original)
    target = tmp_path / "elsewhere.db"
    moved(original, target)
    store = SqliteStore.open(str(target), neighbours="hnsw")
    assert answers(store) == expected
    assert store.troubles() == []
    assert store.check() == []
    store.accelerate()
    assert answers(store) == expected
    assert (store.troubles(), store.check()) == ([], [])
    store.close()


@pytest.mark.parametrize("name", DERIVED)
def test_each_derived_file_may_be_deleted(original: SqliteStore, name: str) -> None:
    expected, path = answers(original), Path(original.view.engine.location)
    without(beside(path, DERIVED[name]))
    store = SqliteStore.open(str(path), neighbours="hnsw")
    assert answers(store) == expected
    assert (store.troubles(), store.check()) == ([], [])
    store.accelerate()
    assert beside(path, DERIVED[name]).exists()
    store.close()


@pytest.mark.parametrize("name", DERIVED)
def test_one_that_is_there_and_wrong_is_damaged(original: SqliteStore, name: str) -> None:
    expected, place = answers(original), beside(Path(original.view.engine.location), DERIVED[name])
    files = [place] if place.is_file() else [each for each in place.iterdir() if each.stat().st_size]
    for file in files:
        data = file.read_bytes()
        file.unlink()
        file.write_bytes(bytes(255 - byte for byte in data))
    store = SqliteStore.open(original.view.engine.location, neighbours="hnsw")
    assert answers(store) == expected
    assert any(each.cure is Cure.BUILD for each in store.check())
    store.close()
