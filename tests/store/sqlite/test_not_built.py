"""A database is sound by itself: derived files that are missing or of another state are not built, never damaged.

Every answer without a graph of neighbours is exact, to the digit. A graph may name other candidates than the nearest
(how many is tested with the graph); those that it names have their exact scores.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rifflux.errors import Cure
from rifflux.store import ModelInfo, Placed
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection.derived import BackgroundBuilder
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.semantic import hnsw, vector_index
from rifflux.testing import WEIGHTS, change, words
from rifflux.types import Query, Vectors

pytest.importorskip("usearch")

WIDTH = 32
OWNERS = ("", "ann")
#: What stands next to the database, by what it holds.
DERIVED = {"words": "words", "vectors": "vectors", "graph": "vectors-graph"}
LIMIT = 5
REQUIRE = BackgroundBuilder.require


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive every file from the first chunk on, and only when told."""
    monkeypatch.setattr(vector_index, "LEAST", 1)
    monkeypatch.setattr(words_index, "LEAST", 1)
    for name, value in (("LEAST", 1), ("FEW", 1), ("FEWEST", 50)):
        monkeypatch.setattr(hnsw, name, value)
    for name in ("require", "suggest"):
        monkeypatch.setattr(BackgroundBuilder, name, lambda self: None)


@dataclass(frozen=True)
class Original:
    """An index of two owners with every derived file, and what it answers without any of them."""

    store: SqliteStore
    path: Path
    neighbours: str
    expected: Answers

    @property
    def derived(self) -> dict[str, Path]:
        """The derived files that it has, by what they hold."""
        return {
            name: beside(self.path, end)
            for name, end in DERIVED.items()
            if self.neighbours == "hnsw" or name != "graph"
        }

    def open(self, path: Path) -> SqliteStore:
        return SqliteStore.open(str(path), neighbours=self.neighbours)

    def assert_answered(self, store: SqliteStore, *, graph: bool) -> None:
        """Compare a store with what is expected; `graph` says whether it may use its graph, if it has one."""
        found = answers(store)
        assert found.lexical == self.expected.lexical
        if graph and self.neighbours == "hnsw":
            for named, exact in zip(found.nearest, self.expected.nearest, strict=True):
                assert len(named) == LIMIT
                assert named.items() <= exact.items()
                assert list(named.values()) == sorted(named.values(), reverse=True)
        else:
            assert [list(each.items()) for each in found.nearest] == [
                list(each.items())[:LIMIT] for each in self.expected.nearest
            ]


@pytest.fixture(params=["scan", "hnsw"])
def original(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Original]:
    """An index of two owners with every derived file."""
    path = tmp_path / "original" / "index.db"
    path.parent.mkdir()
    store = SqliteStore.open(str(path), neighbours=request.param)
    store.semantic.use_model(ModelInfo("tiny", "hash", WIDTH, "f1", "tiny"))
    fill(store, "first", 1)
    original = Original(store, path, request.param, answers(store, limit=100))
    store.local.build()
    assert all(place.exists() for place in original.derived.values())
    yield original
    store.close()


def fill(store: SqliteStore, key: str, first: int) -> None:
    for number, owner in enumerate(OWNERS):
        view = store.of(owner)
        texts = [f"{key} heron {owner} {place}" for place in range(40)]
        changed = change(key, *texts, first_id=first + 1000 * number)
        view.catalog.write(Placed("c", changed))
        ids = [each.chunk.id for each in changed.chunks]
        view.semantic.put_vectors(ids, [each.hash for each in changed.chunks], vectors(len(ids)))


def vectors(count: int) -> Vectors:
    found = np.random.default_rng(count).standard_normal((count, WIDTH)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@dataclass(frozen=True)
class Answers:
    """What each channel finds, for one owner, for another and for both: ids, and scores by id, best first."""

    lexical: list[list[tuple[int, float]]]
    nearest: list[dict[int, float]]


def answers(store: SqliteStore, limit: int = LIMIT) -> Answers:
    (vector,) = vectors(1)
    views = [store, store.of("ann"), store.of(*OWNERS)]
    matches = [view.lexical.match(words("heron first"), 100, WEIGHTS) for view in views]
    lexical = [[*zip(each.ids.tolist(), each.scores.tolist(), strict=True)] for each in matches]
    rankings = [view.semantic.nearest(Query(""), vector, limit) for view in views]
    return Answers(lexical, [dict(zip(each.ids.tolist(), each.scores.tolist(), strict=True)) for each in rankings])


def beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}")


def without(place: Path) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink()


def copied(store: SqliteStore, target: Path) -> None:
    """Copy the database file alone, as `cp` does."""
    store.view.engine.connection.execute("pragma wal_checkpoint(truncate)")
    shutil.copy(store.view.engine.location, target)


def backed_up(store: SqliteStore, target: Path) -> None:
    store.local.backup(target)


def restored(store: SqliteStore, target: Path) -> None:
    """Put a backup in place of an index that went on since, whose derived files stay."""
    backup = target.with_name("kept.db")
    store.local.backup(backup)
    fill(store, "second", 5000)
    store.local.build()
    for name in DERIVED.values():
        place = beside(Path(store.view.engine.location), name)
        if place.exists():
            (shutil.copytree if place.is_dir() else shutil.copy)(place, beside(target, name))
    backup.replace(target)


@pytest.mark.parametrize("moved", [copied, backed_up, restored])
def test_a_database_without_its_derived_files_is_sound(
    original: Original, tmp_path: Path, moved: Callable[[SqliteStore, Path], None]
) -> None:
    original.assert_answered(original.store, graph=True)
    target = tmp_path / "elsewhere.db"
    moved(original.store, target)
    store = original.open(target)
    original.assert_answered(store, graph=False)
    assert store.local.troubles() == []
    assert store.check() == []
    store.local.build()
    original.assert_answered(store, graph=True)
    assert (store.local.troubles(), store.check()) == ([], [])
    store.close()


@pytest.mark.parametrize("name", DERIVED)
def test_each_derived_file_may_be_deleted(original: Original, name: str) -> None:
    if name not in original.derived:
        pytest.skip("a scan needs no graph")
    without(original.derived[name])
    store = original.open(original.path)
    original.assert_answered(store, graph=name not in ("vectors", "graph"))
    assert (store.local.troubles(), store.check()) == ([], [])
    store.local.build()
    assert original.derived[name].exists()
    original.assert_answered(store, graph=True)
    store.close()


@pytest.mark.parametrize("name", ["words", "vectors"])
@pytest.mark.parametrize("end", ["deleted", "cut short"])
def test_the_next_run_that_indexes_builds_what_is_missing(
    original: Original, monkeypatch: pytest.MonkeyPatch, name: str, end: str
) -> None:
    monkeypatch.setattr(BackgroundBuilder, "require", REQUIRE)
    place = original.derived[name]
    whole = place.stat().st_size
    without(place)
    if end == "cut short":
        place.write_bytes(b"")
    store = original.open(original.path)
    with store.records.lease("read") as mine:
        assert mine
    store.close()
    assert place.stat().st_size == whole


@pytest.mark.parametrize("name", DERIVED)
def test_one_that_is_there_and_wrong_is_damaged(original: Original, name: str) -> None:
    if name not in original.derived:
        pytest.skip("a scan needs no graph")
    place = original.derived[name]
    files = [place] if place.is_file() else [each for each in place.iterdir() if each.stat().st_size]
    for file in files:
        data = file.read_bytes()
        file.unlink()
        file.write_bytes(bytes(255 - byte for byte in data))
    store = original.open(original.path)
    original.assert_answered(store, graph=name not in ("vectors", "graph"))
    assert any(each.cure is Cure.BUILD for each in store.check())
    store.close()
