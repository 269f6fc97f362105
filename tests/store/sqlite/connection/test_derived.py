"""What every file derived from the database can rely on: its stamp, the log, and builds that exclude each other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.store import Placed, Removal
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection.connect import connect
from rifflux.store.sqlite.connection.derived import StateStamp, Unfit, forget, rebuild, touched
from rifflux.store.sqlite.connection.engine import Current, current, location_of
from rifflux.store.sqlite.connection.locks import file_lock
from rifflux.testing import MODEL, change

STAMP = StateStamp("words", 1, "t0", 7, 8192, {"dimension": 2})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(str(path))
    store.semantic.use_model(MODEL)
    yield store
    store.close()


@pytest.fixture
def connection(store: SqliteStore, path: Path) -> Iterator[apsw.Connection]:
    connection, _ = connect(str(path), create=False)
    yield connection
    connection.close()


def _write(new: Path, stamp: StateStamp) -> None:
    new.write_bytes(stamp.encoded())


def build(connection: apsw.Connection, path: Path, name: str = "words") -> bool:
    return rebuild(connection, location_of(path, name), name, 1, _write)


def put(store: SqliteStore, key: str, *texts: str, embed: bool = False, first_id: int | None = None) -> None:
    changed = change(key, *texts, first_id=first_id)
    store.catalog.write(Placed("c", changed))
    if embed:
        ids = [each.chunk.id for each in changed.chunks]
        store.semantic.put_vectors(ids, [each.hash for each in changed.chunks], np.ones((len(ids), 2), np.float32))


def log(connection: apsw.Connection) -> list[tuple[int, str]]:
    found: Any = connection.execute("select chunk, what from touched order by seq").fetchall()
    rows: list[tuple[int, str]] = found
    return rows


def test_a_stamp_says_what_was_written() -> None:
    assert StateStamp.decoded(STAMP.encoded()) == STAMP


@given(st.integers(0, 8 * 4096 - 1))
def test_a_stamp_with_a_single_bit_changed_is_unfit(bit: int) -> None:
    data = bytearray(STAMP.encoded())
    data[bit // 8] ^= 1 << bit % 8
    with pytest.raises(Unfit):
        StateStamp.decoded(bytes(data))


@pytest.mark.parametrize("change", [{"name": "vectors"}, {"format": 2}, {"token": "t1"}, {"covered": 6}])
def test_only_the_copy_that_the_database_knows_is_fit(change: dict[str, Any]) -> None:
    known = Current(latest=9, covered=STAMP.covered, token=STAMP.token)
    STAMP.check(known, "words", 1)
    with pytest.raises(Unfit):
        replace(STAMP, **change).check(known, "words", 1)
    with pytest.raises(Unfit):
        STAMP.check(None, "words", 1)


def test_the_database_knows_the_copy_that_was_built_last(
    store: SqliteStore, connection: apsw.Connection, path: Path
) -> None:
    for _ in range(2):
        build(connection, path)
        StateStamp.decoded(location_of(path, "words").read_bytes()).check(current(connection, "words"), "words", 1)


def test_nothing_is_logged_before_something_is_derived(store: SqliteStore, connection: apsw.Connection) -> None:
    put(store, "a", "one", embed=True)
    assert log(connection) == []
    assert current(connection, "words") is None


def test_words_put_changed_and_dropped_are_logged(store: SqliteStore, connection: apsw.Connection, path: Path) -> None:
    put(store, "a", "one", "two", first_id=1)
    build(connection, path)
    put(store, "a", "one", "changed", first_id=1)
    put(store, "b", "new", first_id=9)
    put(store, "a", "one", first_id=1)
    store.catalog.write(Removal("c", ["b"]))
    assert log(connection) == [(2, "words"), (3, "words"), (2, "words"), (3, "words")]
    assert sorted(touched(connection, "words", current(connection, "words").covered)) == [2, 3]
    assert touched(connection, "words", current(connection, "words").latest) == []


def test_vectors_put_replaced_and_dropped_are_logged(
    store: SqliteStore, connection: apsw.Connection, path: Path
) -> None:
    put(store, "a", "one", "two", embed=True, first_id=1)
    build(connection, path, "vectors")
    put(store, "a", "one", "changed", first_id=1)
    put(store, "a", "one", "changed", embed=True, first_id=1)
    store.catalog.write(Removal("c", ["a"]))
    assert [chunk for chunk, _ in log(connection)] == [2, 1, 2, 1, 2]


def test_a_build_trims_what_it_covers_and_leaves_the_log_of_others(
    store: SqliteStore, connection: apsw.Connection, path: Path
) -> None:
    for name in ("words", "vectors"):
        build(connection, path, name)
    put(store, "a", "one", embed=True)
    build(connection, path)
    assert log(connection) == [(1, "vectors")]
    assert current(connection, "words").covered == current(connection, "words").latest


def test_a_row_is_never_given_to_another_chunk(store: SqliteStore, connection: apsw.Connection) -> None:
    put(store, "a", "one", "two")
    store.catalog.write(Removal("c", ["a"]))
    put(store, "b", "three")
    assert connection.execute("select id from chunk").get == 3


def test_a_rolled_back_change_leaves_no_trace_in_the_log(
    store: SqliteStore, connection: apsw.Connection, path: Path
) -> None:
    build(connection, path)
    with suppress(KeyError), store.transaction():
        put(store, "a", "one")
        raise KeyError
    assert store.totals().documents == 0
    assert log(connection) == []


def test_a_failed_build_leaves_the_former_copy(store: SqliteStore, connection: apsw.Connection, path: Path) -> None:
    build(connection, path)
    before, known = location_of(path, "words").read_bytes(), current(connection, "words")

    def fail(new: Path, stamp: StateStamp) -> None:
        new.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        rebuild(connection, location_of(path, "words"), "words", 1, fail)
    assert location_of(path, "words").read_bytes() == before
    assert current(connection, "words") == known
    assert build(connection, path)
    assert not location_of(path, "words.new").exists()


def test_what_is_forgotten_while_it_is_built_is_not_known_afterwards(
    store: SqliteStore, connection: apsw.Connection, path: Path
) -> None:
    place = location_of(path, "words")
    assert build(connection, path)

    def write(new: Path, stamp: StateStamp) -> None:
        new.write_bytes(stamp.encoded())
        with store.view.writing() as (other, _):
            forget(other, "words")

    assert not rebuild(connection, place, "words", 1, write)
    known = current(connection, "words")
    assert known is not None
    assert known.token == ""
    assert sorted(each.name for each in place.parent.glob("*.words*")) == ["index.db.words", "index.db.words.lock"]
    assert build(connection, path)
    assert StateStamp.decoded(place.read_bytes()).token == current(connection, "words").token


def test_a_folder_is_replaced_as_a_whole(store: SqliteStore, connection: apsw.Connection, path: Path) -> None:
    def write(new: Path, stamp: StateStamp) -> None:
        new.mkdir()
        (new / stamp.token).touch()

    for _ in range(2):
        rebuild(connection, location_of(path, "words"), "words", 1, write)
    names = [each.name for each in location_of(path, "words").iterdir()]
    assert names == [current(connection, "words").token]
    assert sorted(each.name for each in path.parent.glob("index.db.words*")) == [
        "index.db.words",
        "index.db.words.lock",
    ]


def test_one_process_builds_at_a_time_and_its_lock_dies_with_it(
    store: SqliteStore, connection: apsw.Connection, path: Path
) -> None:
    lock = location_of(path, "words.lock")
    code = (
        "import sys, pathlib; from rifflux.store.sqlite.connection.derived import file_lock\n"
        "with file_lock(pathlib.Path(sys.argv[1])) as mine: print(mine, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "True\n"
        assert not build(connection, path)
        other.kill()
        other.wait()
    assert build(connection, path)


def test_a_lock_is_free_again_after_its_block(tmp_path: Path) -> None:
    with file_lock(tmp_path / "lock") as first, file_lock(tmp_path / "lock") as second:
        assert (first, second) == (True, False)
    with file_lock(tmp_path / "lock") as third:
        assert third
