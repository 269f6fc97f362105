"""The packed vectors beside a database: as good as an exact search, whatever changed, and never in the way."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, kernels
from rifflux.service.registry import Registry
from rifflux.store import ModelInfo, Placed, Removal, Store
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection.connect import connect
from rifflux.store.sqlite.connection.derived import BackgroundBuilder, Unfit
from rifflux.store.sqlite.connection.engine import location_of
from rifflux.store.sqlite.semantic import hnsw, scan, vector_index
from rifflux.store.sqlite.semantic.packed import NAME, sign_words
from rifflux.store.sqlite.semantic.scan import apart, nearest_rows
from rifflux.store.sqlite.semantic.semantic import SqliteSemantic
from rifflux.testing import StoreContract, change
from rifflux.types import Filter, Query, Ranking, Vectors
from tests.support.commands import PATIENCE
from tests.support.exploring import examples

WIDTH = 70
MODEL = ModelInfo("tiny", "hash", WIDTH, "f1", "tiny")
RANDOM = np.random.default_rng(7)


@pytest.fixture
def packing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack from the first vector on, and only when told; a graph too, where there shall be one."""
    monkeypatch.setattr(vector_index, "LEAST", 1)
    monkeypatch.setattr(hnsw, "LEAST", 1)
    monkeypatch.setattr(hnsw, "FEW", 1)
    monkeypatch.setattr(hnsw, "FEWEST", 400)
    monkeypatch.setattr(vector_index, "READER_PAUSE", 3600.0, raising=False)
    for name in ("require", "suggest"):
        monkeypatch.setattr(BackgroundBuilder, name, lambda self: None)


@pytest.fixture(params=vector_index.WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """How packed vectors are searched."""
    if request.param == "hnsw":
        pytest.importorskip("usearch")
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


@pytest.fixture
def store(path: Path, packing: None, way: str) -> Iterator[SqliteStore]:
    store = SqliteStore.open(str(path), neighbours=way)
    store.semantic.use_model(MODEL)
    yield store
    store.close()


def vectors(count: int) -> Vectors:
    """Unit vectors with a few common directions, as texts have them."""
    topics = np.random.default_rng(1).standard_normal((20, WIDTH))
    found = topics[RANDOM.integers(0, 20, count)] + 0.7 * RANDOM.standard_normal((count, WIDTH))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def put(store: SqliteStore, key: str, rows: Vectors, **fields: Any) -> list[int]:
    """A document with a chunk and a vector for each row; returns the chunks' ids."""
    changed = change(key, *[f"{key} {place} {RANDOM.integers(1 << 60)}" for place in range(len(rows))], **fields)
    store.catalog.write(Placed("c", changed))
    ids = [each.chunk.id for each in changed.chunks]
    store.semantic.put_vectors(ids, [each.hash for each in changed.chunks], rows)
    return ids


def exactly(store: SqliteStore, query: Query, vector: Vectors, limit: int) -> Ranking:
    """The ranking by the tables alone."""
    semantic = store.semantic
    assert isinstance(semantic, SqliteSemantic)
    allowed = semantic._allowed(query)
    from rifflux.store.sqlite.semantic.matrix import scanned

    with store.view.reading() as (connection, owner):
        return scanned(connection, owner, vector / np.linalg.norm(vector), limit, allowed)


def assert_like_exact(store: SqliteStore, query: Query, vector: Vectors, limit: int, recall: float = 0.9) -> None:
    found, expected = store.semantic.nearest(query, vector, limit), exactly(store, query, vector, limit)
    assert len(found) == len(expected)
    if len(expected):
        missed = np.count_nonzero(~np.isin(expected.ids, found.ids))
        # Of a few, one may be missing.
        assert missed <= max(1, (1 - recall) * len(expected))
        scores = dict(zip(expected.ids.tolist(), expected.scores.tolist(), strict=True))
        for id, score in zip(found.ids.tolist(), found.scores.tolist(), strict=True):
            assert score == pytest.approx(scores.get(id, score), abs=5e-5)
        assert (np.diff(found.scores) <= 0).all()


def snapshot(store: SqliteStore) -> vector_index.VectorSnapshot | None:
    with store.view.reading() as (connection, _):
        return store.database.vectors.at(connection)


class TestPackedContract(StoreContract):
    """The whole contract, where everything is packed at once and followed by its log."""

    @pytest.fixture
    def store(self, path: Path, packing: None, way: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
        store = SqliteStore.open(str(path), neighbours=way)
        with store.view.reading() as (connection, _):
            connection.execute("insert into derived values ('vectors', 0, '')")
        nearest = SqliteSemantic.nearest

        def packed_first(semantic: SqliteSemantic, *given: Any, **options: Any) -> Ranking:
            store.database.vectors.build()
            return nearest(semantic, *given, **options)

        monkeypatch.setattr(SqliteSemantic, "nearest", packed_first)
        yield store
        store.close()

    def test_nearest_ranks_by_cosine_whatever_the_length(self, store: Store) -> None:
        """As in the contract, but for the last digits: of two components, the quantised one errs by 1e-5."""
        assert isinstance(store, SqliteStore)
        store.semantic.use_model(replace(MODEL, dimension=2))
        ids = put(store, "a", np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32))
        ranking = store.semantic.nearest(Query(""), np.array([5, 0], np.float32), 10)
        assert ranking.ids.tolist() == [ids[0], ids[2], ids[1]]
        assert ranking.scores == pytest.approx([1, 0.6, 0], abs=1e-5)


LIMITS = (1, 20, 300, 5000)


def test_ranks_like_an_exact_search(store: SqliteStore) -> None:
    put(store, "a", vectors(3000))
    store.local.build()
    assert snapshot(store) is not None
    found: dict[int, list[tuple[float, float]]] = {limit: [] for limit in LIMITS}
    query = Query("")
    for vector in vectors(80):
        whole = exactly(store, query, vector, max(LIMITS)).ids
        for limit in LIMITS:
            exact, ranked = whole[:limit], store.semantic.nearest(query, vector, limit).ids
            found[limit].append((np.isin(exact[:100], ranked).mean(), np.isin(exact, ranked).mean()))
    for limit in LIMITS:
        first, every = np.mean(found[limit], axis=0)
        assert first >= 0.98, limit
        assert every >= 0.94, limit
        assert_like_exact(store, query, vectors(1)[0], limit)


def test_what_is_expected_to_be_missed_is_missed(packing: None, path: Path) -> None:
    """On vectors of another make and for any number: recall is what was asked for, not an accident of one model."""
    store = SqliteStore.open(str(path))
    store.semantic.use_model(MODEL)
    put(store, "a", np.abs(vectors(4000)) ** 2)
    store.local.build()
    packed = snapshot(store).packed
    every = packed.vectors(np.arange(len(packed)))
    found = []
    for vector in np.abs(vectors(30)):
        best = np.argsort(-(every @ vector))[:20]
        rows, _ = nearest_rows(packed, slice(0, len(packed)), None, vector, 20)
        found.append(np.isin(best, rows).mean())
    assert np.mean(found) >= 0.97
    store.close()


def test_the_best_so_many_are_ranked_of_many_and_of_few(store: SqliteStore) -> None:
    put(store, "many", vectors(4000))
    put(store, "few", vectors(500), kind="note")
    store.local.build()
    query, vector = Query(""), vectors(1)[0]
    found = store.semantic.nearest(query, vector, 100).ids
    assert len(found) == 100
    assert len(np.intersect1d(found, exactly(store, query, vector, 100).ids)) >= 90
    narrow = Query("", filter=Filter(kinds=("note",)))
    assert len(store.semantic.nearest(narrow, vector, 100)) == 100


def test_rows_that_happen_to_be_sampled_do_not_hide_how_few_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MANY", 1)
    towards = vectors(1)[0]
    rows = np.tile(-towards, (4096, 1))
    rows[:: scan.EACH][:30] = towards
    signs = np.ascontiguousarray(sign_words(rows > 0).T)
    found, cosines = scan._likely(signs, None, towards, 100, lambda some: rows[some] @ towards)
    assert len(found) >= 100
    assert np.count_nonzero(cosines > 0) == 30


@pytest.mark.parametrize("compiled", [True, False])
def test_rows_that_a_filter_leaves_are_found_where_no_sampled_row_is_left(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "MANY", 1)
    if not compiled:
        monkeypatch.setattr(kernels, "compiled", None)
    rows = vectors(4096)
    allowed = np.arange(len(rows)) % scan.EACH > 0
    signs = np.ascontiguousarray(sign_words(rows > 0).T)
    vector = vectors(1)[0]
    found, _ = scan._likely(signs, allowed, vector, 10, lambda some: rows[some] @ vector)
    assert allowed[found].all()
    best = np.argsort(np.where(allowed, -(rows @ vector), np.inf))[:10]
    assert np.isin(best, found).all()


def test_the_scan_counts_differing_signs_and_large_components_thrice() -> None:
    vector, others = vectors(1)[0], vectors(50)
    weights = np.where(np.abs(vector) > np.abs(vector).mean(), 3, 1)
    expected = [int(weights[(other > 0) != (vector > 0)].sum()) for other in others]
    assert apart(np.ascontiguousarray(sign_words(others > 0).T), vector).tolist() == expected


def test_changed_dropped_and_new_rows_are_followed(store: SqliteStore) -> None:
    kept, gone = vectors(500), vectors(500)
    put(store, "kept", kept)
    dropped = put(store, "gone", gone)
    store.local.build()
    store.catalog.write(Removal("c", ["gone"]))
    new = put(store, "new", gone[:5])
    ranking = store.semantic.nearest(Query(""), gone[0], 30)
    assert ranking.ids[0] == new[0]
    assert not np.isin(ranking.ids, dropped).any()
    assert snapshot(store).packed.stamp.facts["rows"] == 1000


def test_what_was_deleted_with_its_user_is_packed_no_more(store: SqliteStore) -> None:
    ann = store.of("ann")
    put(store, "kept", vectors(300))
    put(ann, "gone", vectors(5))
    store.local.build()
    place = store.database.vectors.place
    before = place.stat().st_size
    Registry(store).erase("ann")
    assert snapshot(store).packed.stamp.facts["rows"] == 300
    assert place.stat().st_size < before
    put(ann, "again", vectors(2))
    assert_like_exact(store, Query(""), vectors(1)[0], 20)


def test_filters_and_words_narrow_the_scan(store: SqliteStore) -> None:
    for number in range(20):
        put(store, f"d{number}", vectors(150), kind="even" if number % 2 == 0 else "odd")
    store.catalog.write(Placed("c", change("words", "cache queue", "cache only", kind="odd")))
    store.local.build()
    vector = vectors(1)[0]
    for query in (
        Query("", filter=Filter(kinds=("even",))),
        Query("", filter=Filter(documents=("d3",))),
        Query("", filter=Filter(kinds=("none",))),
        Query("", required=(("d3",),)),
        Query("", excluded=(("d3",),), filter=Filter(kinds=("odd",))),
    ):
        for limit in (5, 100):
            assert_like_exact(store, query, vector, limit)


def test_what_a_filter_leaves_is_scanned_and_so_are_several_owners(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "FEW", 64)
    put(store, "many", vectors(1500))
    put(store, "some", vectors(200), kind="note")
    put(store.of("ann"), "hers", vectors(300))
    store.local.build()
    vector = vectors(1)[0]
    assert_like_exact(store, Query("", filter=Filter(kinds=("note",))), vector, 20)
    found = store.of("", "ann").semantic.nearest(Query(""), vector, 20)
    exact = [exactly(store.of(owner), Query(""), vector, 20) for owner in ("", "ann")]
    scores = np.concatenate([each.scores for each in exact])
    expected = np.concatenate([each.ids for each in exact])[np.argsort(-scores)[:20]]
    assert len(found) == 20
    assert np.count_nonzero(~np.isin(expected, found.ids)) <= 2


def test_a_change_of_kind_is_seen_by_the_next_filter(store: SqliteStore) -> None:
    rows = vectors(3)
    changed = change("a", "one", "two", "three", first_id=1, kind="old")
    store.catalog.write(Placed("c", changed))
    store.semantic.put_vectors([1, 2, 3], [each.hash for each in changed.chunks], rows)
    store.local.build()
    query = Query("", filter=Filter(kinds=("new",)))
    assert len(store.semantic.nearest(query, rows[0], 5)) == 0
    store.catalog.write(Placed("c", change("a", "one", "two", "three", first_id=1, kind="new")))
    assert len(store.semantic.nearest(query, rows[0], 5)) == 3


def test_owners_see_their_own_slice(store: SqliteStore) -> None:
    shared = vectors(40)
    mine = put(store.of("ann"), "a", shared)
    theirs = put(store.of("ben"), "a", shared)
    put(store, "a", vectors(100))
    store.local.build()
    late = put(store.of("ben"), "b", shared[:1])
    ann = store.of("ann").semantic.nearest(Query(""), shared[0], 100)
    ben = store.of("ben").semantic.nearest(Query(""), shared[0], 100)
    assert sorted(ann.ids.tolist()) == sorted(mine)
    assert sorted(ben.ids.tolist()) == sorted([*theirs, *late])
    assert store.of("ann").semantic.vectors_of(np.array(theirs)) == {}
    assert len(store.of("nobody").semantic.nearest(Query(""), shared[0], 10)) == 0


def test_vectors_come_from_what_is_packed_and_from_what_is_fresh(store: SqliteStore) -> None:
    rows = vectors(10)
    ids = put(store, "a", rows[:5])
    store.local.build()
    ids += put(store, "b", rows[5:])
    known = store.semantic.vectors_of(np.array([*ids, 12345]))
    assert known.keys() == set(ids)
    for id, row in zip(ids, rows, strict=True):
        assert np.abs(known[id] - row).max() < 1e-5


def test_a_transaction_sees_its_own_changes_and_leaves_no_trace_when_rolled_back(store: SqliteStore) -> None:
    put(store, "a", vectors(50))
    store.local.build()
    vector = vectors(1)[0]
    before = store.semantic.nearest(Query(""), vector, 100).ids.tolist()
    with pytest.raises(KeyError), store.transaction():  # noqa: PT012
        (inside,) = put(store, "b", vector[None])
        assert store.semantic.nearest(Query(""), vector, 100).ids[0] == inside
        raise KeyError
    assert store.semantic.nearest(Query(""), vector, 100).ids.tolist() == before
    put(store, "c", vectors(1))
    assert_like_exact(store, Query(""), vector, 100, recall=1)


@pytest.mark.slow
@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "put", "remove", "reword", "pack", "look"]), st.integers(0, 5)), max_size=12
    )
)
def test_any_sequence_of_changes_is_found_as_an_exact_search_finds_it(
    tmp_path_factory: pytest.TempPathFactory, packing: None, steps: Sequence[tuple[str, int]]
) -> None:
    path = tmp_path_factory.mktemp("changes") / "index.db"
    store, other = SqliteStore.open(str(path)), SqliteStore.open(str(path))
    store.semantic.use_model(MODEL)
    put(store, "start", vectors(30))
    store.local.build()
    for step, number in steps:
        match step:
            case "put":
                put(store if number % 2 else other, f"d{number}", vectors(1 + number))
            case "remove":
                store.catalog.write(Removal("c", [f"d{number}"]))
            case "reword":
                store.catalog.write(Placed("c", change(f"d{number}", "other words")))
            case "pack":
                (store if number % 2 else other).local.build()
            case "look":
                assert_like_exact(other, Query(""), vectors(1)[0], 10, recall=1)
    for each in (store, other):
        assert_like_exact(each, Query(""), vectors(1)[0], 1000, recall=1)
        assert snapshot(each) is not None
        each.close()


# Files that do not fit


def _replace(place: Path, data: bytes) -> None:
    """Another file at the place: what is mapped must not change under anybody."""
    place.unlink()
    place.write_bytes(data)


def _truncated(place: Path) -> None:
    _replace(place, place.read_bytes()[:-4096])


def _empty(place: Path) -> None:
    _replace(place, b"")


def _flipped(place: Path, offset: int) -> None:
    data = bytearray(place.read_bytes())
    data[offset] ^= 4
    _replace(place, bytes(data))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": _truncated,
    "empty": _empty,
    "stamp": lambda place: _flipped(place, 30),
    "owners": lambda place: _flipped(place, 4096),
    "chunks": lambda place: _flipped(place, 2 * 4096 + 9),
    "ids": lambda place: _flipped(place, 3 * 4096 + 9),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_not_used_and_made_anew(
    store: SqliteStore, path: Path, damage: Callable[[Path], object]
) -> None:
    put(store, "a", vectors(50))
    store.local.build()
    damage(location_of(path, NAME))
    other = SqliteStore.open(str(path))
    assert snapshot(other) is None
    assert_like_exact(other, Query(""), vectors(1)[0], 20, recall=1)
    assert other.database.vectors.trouble
    other.local.build()
    assert snapshot(other) is not None
    other.close()


def test_damage_of_the_vectors_themselves_is_found_by_reading_all(store: SqliteStore, path: Path) -> None:
    put(store, "a", vectors(50))
    store.local.build()
    _flipped(location_of(path, NAME), location_of(path, NAME).stat().st_size - 100)
    other = SqliteStore.open(str(path))
    with pytest.raises(Unfit, match="values"):
        snapshot(other).packed.verify()
    other.close()


def test_a_file_of_another_database_or_of_its_past_is_not_used(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    put(store, "a", vectors(50))
    store.local.build()
    place = location_of(path, NAME)
    past = place.read_bytes()
    put(store, "b", vectors(50))
    store.local.build()
    _replace(place, past)
    stranger = SqliteStore.open(str(tmp_path / "other.db"))
    stranger.semantic.use_model(MODEL)
    put(stranger, "a", vectors(50))
    stranger.local.build()
    _replace(location_of(tmp_path / "other.db", NAME), past)
    for where in (path, tmp_path / "other.db"):
        again = SqliteStore.open(str(where))
        assert snapshot(again) is None
        assert_like_exact(again, Query(""), vectors(1)[0], 200, recall=1)
        again.close()
    stranger.close()


def test_a_copy_of_database_and_file_goes_its_own_way(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    put(store, "a", vectors(50))
    store.local.build()
    with store.view.engine.lock:
        store.view.engine.connection.execute("vacuum into ?", (str(tmp_path / "copy.db"),))
    location_of(tmp_path / "copy.db", NAME).write_bytes(location_of(path, NAME).read_bytes())
    put(store, "b", vectors(50))
    store.local.build()
    copy = SqliteStore.open(str(tmp_path / "copy.db"))
    assert snapshot(copy) is not None
    assert_like_exact(copy, Query(""), vectors(1)[0], 200, recall=1)
    copy.close()


def test_what_is_mapped_stays_while_another_process_packs_anew(store: SqliteStore, path: Path) -> None:
    put(store, "a", vectors(50))
    store.local.build()
    held = snapshot(store)
    before = held.nearest(0, vectors(1)[0], 10, None)
    other = SqliteStore.open(str(path))
    put(other, "b", vectors(500))
    other.local.build()
    assert len(before) == len(held.nearest(0, vectors(1)[0], 10, None)) == 10
    assert len(snapshot(store).packed) == 550
    other.close()


# Building


def test_packing_begins_by_itself_where_it_pays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "LEAST", 100)
    store = SqliteStore.open(str(path))
    store.semantic.use_model(MODEL)
    put(store, "a", vectors(99))
    store.close()
    assert not location_of(path, NAME).exists()
    store = SqliteStore.open(str(path))
    put(store, "b", vectors(1))
    store.close()
    store = SqliteStore.open(str(path))
    assert len(snapshot(store).packed) == 100
    store.close()


def test_few_changes_are_left_to_the_log(store: SqliteStore) -> None:
    put(store, "a", vectors(500))
    store.local.build()
    token = snapshot(store).packed.stamp.token
    put(store, "b", vectors(4))
    store.local.build()
    assert snapshot(store).packed.stamp.token == token
    put(store, "c", vectors(40))
    store.local.build()
    assert snapshot(store).packed.stamp.token != token


def test_a_search_does_not_wait_for_packing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "LEAST", 1)
    begun, go_on = threading.Event(), threading.Event()
    write: Callable[..., None] = vars(vector_index)["write"]

    def slowly(*arguments: Any) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        write(*arguments)

    monkeypatch.setattr(vector_index, "write", slowly)
    store = SqliteStore.open(str(path))
    store.semantic.use_model(MODEL)
    put(store, "a", vectors(50))
    assert begun.wait(PATIENCE)
    assert_like_exact(store, Query(""), vectors(1)[0], 20, recall=1)
    put(store, "b", vectors(50))
    assert_like_exact(store, Query(""), vectors(1)[0], 200, recall=1)
    go_on.set()
    store.close()
    store = SqliteStore.open(str(path))
    assert_like_exact(store, Query(""), vectors(1)[0], 200, recall=1)
    assert snapshot(store) is not None
    store.close()


_BUILD = """
import sys
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.semantic import vector_index
from rifflux.store.sqlite.semantic import scan
vector_index.LEAST = 1
store = SqliteStore.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
store.local.build()
"""


def _builder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _BUILD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()
    return process


@pytest.mark.slow
def test_a_build_killed_at_any_point_harms_nothing(store: SqliteStore, path: Path) -> None:
    put(store, "a", vectors(3000))
    pauses = random.Random(3)
    for round in range(3):
        put(store, f"b{round}", vectors(500))
        builder = _builder(path)
        time.sleep(pauses.uniform(0, 0.08))
        os.kill(builder.pid, signal.SIGKILL)
        builder.wait()
        assert_like_exact(store, Query(""), vectors(1)[0], 20)
    store.local.build()
    assert len(snapshot(store).packed) == 4500
    assert store.check() == []
    assert not location_of(path, f"{NAME}.new").exists()


@pytest.mark.slow
def test_two_processes_pack_at_once_and_one_file_comes_of_it(store: SqliteStore, path: Path) -> None:
    put(store, "a", vectors(3000))
    for builder in [_builder(path), _builder(path)]:
        assert builder.wait(PATIENCE) == 0
    assert len(snapshot(store).packed) == 3000
    assert_like_exact(store, Query(""), vectors(1)[0], 20)


def test_a_read_only_index_uses_what_is_packed_and_packs_nothing(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "a", vectors(50))
    store.local.build()
    # Root may write anything, so the check of permissions is what has to be told.
    monkeypatch.setattr(os, "access", lambda *_: False)
    reader = SqliteStore.open(str(path))
    assert reader.read_only
    assert snapshot(reader) is not None
    location_of(path, NAME).unlink()
    fresh = SqliteStore.open(str(path))
    assert_like_exact(fresh, Query(""), vectors(1)[0], 20, recall=1)
    fresh.local.build()
    assert not location_of(path, NAME).exists()


def test_vectors_of_another_model_are_not_used(store: SqliteStore, path: Path) -> None:
    put(store, "a", vectors(50))
    store.local.build()
    connection, _ = connect(str(path), create=False)
    connection.execute("update model set state = 'dropped'")
    connection.execute("insert into model values (9, 'n', 'hash', 70, 'f9', 'n', 'active')")
    connection.close()
    other = SqliteStore.open(str(path))
    assert snapshot(other) is None
    assert len(other.semantic.nearest(Query(""), vectors(1)[0], 20)) == 0
    other.close()


def test_damage_of_the_vectors_is_noticed_after_opening_and_they_are_packed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a scan reads is too much to be read at every start."""
    monkeypatch.setattr(vector_index, "LEAST", 1)
    monkeypatch.setattr(vector_index, "CHECK_AFTER", 0.0)
    path = tmp_path / "index.db"
    with rifflux.open(path, model="hash:64") as index:
        index.add([Document(f"d{number}", f"heron {number}") for number in range(50)])
        index.admin.accelerate()
        expected = [(hit.id, hit.score) for hit in index.search("heron 7", mode="semantic")]
    packed = path.with_name("index.db.vectors")
    data = bytearray(packed.read_bytes())
    data[-9] ^= 1
    packed.write_bytes(data)
    with rifflux.open(path, model="hash:64") as index:
        deadline = time.monotonic() + PATIENCE
        while packed.read_bytes() == bytes(data):
            index.search("heron 7", mode="semantic")
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert [(hit.id, hit.score) for hit in index.search("heron 7", mode="semantic")] == expected
    assert rifflux.diagnose(path) == []
