"""A process that does nothing else builds what others can do with, and what they change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rifflux.store import Placed
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite import store as sqlite_store
from rifflux.store.sqlite.connection import derived
from rifflux.store.sqlite.lexical import words_index
from rifflux.surfaces.shared.beside import beside
from rifflux.testing import change
from tests.support.agents import eventually

OWNERS = ("ann", "bob")


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """A store that builds nothing itself, of an index that another process keeps up."""
    monkeypatch.setattr(words_index, "LEAST", 1)
    monkeypatch.setattr(sqlite_store, "FOLLOW_S", 0.01)
    for name in ("PAUSE", "READER_PAUSE"):
        monkeypatch.setattr(derived, name, 0.01)
    path = str(tmp_path / "index.db")
    worker, keeper = SqliteStore.open(path), SqliteStore.open(path)
    worker.local.leave_building()
    put(worker, "heron", 1)

    def keep_up(stop: threading.Event) -> None:
        assert list(keeper.local.keep_up(stop)) == []

    with beside(keep_up, "keep"):
        yield worker
    worker.close()
    keeper.close()


def put(store: SqliteStore, key: str, first: int) -> None:
    for number, owner in enumerate(OWNERS):
        store.of(owner).catalog.write(Placed("c", change(key, "herons wade", first_id=first + 1000 * number)))


def used(store: SqliteStore) -> bool:
    """Return whether a search by several owners finds words."""
    words = store.database.words
    assert words
    with store.of(*OWNERS).view.reading() as (connection, owners):
        return words.visible(connection, owners) is not None


def test_it_builds_what_there_is_enough_for(worker: SqliteStore) -> None:
    eventually(lambda: used(worker))


def test_what_keeps_it_from_being_built_is_for_the_log_alone(
    worker: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = worker.database.words
    assert words
    assert words.builder
    place = str(words.place)

    def fail(task: object = None) -> bool:
        raise PermissionError(13, "Permission denied", place)

    monkeypatch.setattr(words.builder, "once", fail)
    words.builder.require()
    eventually(lambda: bool(words.trouble))
    (notice,) = worker.local.troubles()
    assert place in (words.trouble or "")
    assert notice.text == "the words file is not used, it could not be built"
    assert place not in str(notice.data)


def test_it_builds_anew_what_a_search_could_not_use(worker: SqliteStore) -> None:
    eventually(lambda: used(worker))
    words = worker.database.words
    assert words
    words._open = None
    words.place.write_bytes(b"no words")
    assert not used(worker)
    assert words.trouble
    eventually(lambda: used(worker))
    assert words.trouble is None


def test_it_follows_what_others_change(worker: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    eventually(lambda: used(worker))
    words = worker.database.words
    assert words
    before = words.place.stat().st_ino
    monkeypatch.setattr(words_index, "FEW_FRESH", 1)
    put(worker, "stork", 10)
    eventually(lambda: words.place.stat().st_ino != before)
    assert used(worker)


def test_whoever_leaves_it_to_others_builds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_index, "LEAST", 1)
    store = SqliteStore.open(str(tmp_path / "index.db"))
    store.local.leave_building()
    put(store, "heron", 1)
    assert not used(store)
    words = store.database.words
    assert words
    store.close()
    assert not words.place.exists()


def test_what_is_told_to_build_now_is_built_whoever_keeps_it_up(tmp_path: Path) -> None:
    store = SqliteStore.open(str(tmp_path / "index.db"))
    store.local.leave_building()
    put(store, "heron", 1)
    store.local.build()
    assert [each.name for each in store.database.derived() if each.place.exists()] != []
    store.close()
