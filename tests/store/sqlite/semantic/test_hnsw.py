"""The graph of near neighbours: names what a scan would find, follows what is packed, and is never trusted blindly.

That searches with it are as good as without, whatever changes, is in `test_neighbours`, where all runs with it too.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rifflux.errors import InvalidArgument, MissingExtra
from rifflux.store import ModelInfo, Placed, Removal
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection.derived import BackgroundBuilder
from rifflux.store.sqlite.connection.engine import location_of
from rifflux.store.sqlite.semantic import hnsw, vector_index
from rifflux.store.sqlite.semantic.scan import nearest_rows
from rifflux.testing import change
from rifflux.types import Filter, Query, Vectors
from tests.support.commands import PATIENCE

pytest.importorskip("usearch")

WIDTH = 48
MODEL = ModelInfo("tiny", "hash", WIDTH, "f1", "tiny")
RANDOM = np.random.default_rng(5)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an index will be that packs, and has a graph, from the first vector on, and only when told."""
    monkeypatch.setattr(vector_index, "LEAST", 1)
    monkeypatch.setattr(hnsw, "LEAST", 1)
    monkeypatch.setattr(hnsw, "FEW", 1)
    monkeypatch.setattr(hnsw, "FEWEST", 50)
    for name in ("require", "suggest"):
        monkeypatch.setattr(BackgroundBuilder, name, lambda self: None)
    return tmp_path / "index.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(str(path), neighbours="hnsw")
    store.semantic.use_model(MODEL)
    yield store
    store.close()


def vectors(count: int) -> Vectors:
    found = RANDOM.standard_normal((count, WIDTH))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def put(store: SqliteStore, key: str, rows: Vectors, **fields: Any) -> None:
    changed = change(key, *[f"{key} {place} {RANDOM.integers(1 << 60)}" for place in range(len(rows))], **fields)
    store.catalog.write(Placed("c", changed))
    store.semantic.put_vectors([each.chunk.id for each in changed.chunks], [each.hash for each in changed.chunks], rows)


def snapshot(store: SqliteStore) -> vector_index.VectorSnapshot:
    with store.view.reading() as (connection, _):
        found = store.database.vectors.at(connection)
    assert found is not None
    return found


def pack(store: SqliteStore) -> vector_index.VectorSnapshot:
    """Pack what changed, and leave the graph as it is."""
    store.database.vectors._changed_at = -vector_index.QUIET
    assert store.database.vectors._keep_packed(store.view.engine.connection)
    return snapshot(store)


def walks(store: SqliteStore, query: Query, vector: Vectors, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many candidates the graph names for a query."""
    named: list[int] = []
    walked = hnsw.Proximity._walked

    def counted(self: hnsw.Proximity, towards: Vectors, wanted: int) -> np.ndarray:
        rows = walked(self, towards, wanted)
        named.append(len(rows))
        return rows

    with monkeypatch.context() as patch:
        patch.setattr(hnsw.Proximity, "_walked", counted)
        store.semantic.nearest(query, vector, 10)
    return sum(named)


def test_the_graph_names_the_candidates(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, "a", vectors(2000))
    store.local.build()
    assert 10 <= walks(store, Query(""), vectors(1)[0], monkeypatch) <= 100
    packed, graph = snapshot(store).packed, snapshot(store).graph
    assert graph is not None
    recall = []
    for vector in vectors(30):
        exact = np.argsort(-packed.cosines(np.arange(len(packed)), vector))[:10]
        rows, cosines = graph.nearest_rows(packed, slice(0, len(packed)), None, vector, 10)
        assert cosines == pytest.approx(packed.cosines(rows, vector))
        recall.append(np.isin(exact, rows).mean())
    assert np.mean(recall) >= 0.95


def test_a_narrow_filter_is_scanned_and_a_wide_one_gets_a_full_page(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "few", vectors(100), metadata={"wide": 1, "narrow": 1})
    put(store, "half", vectors(900), metadata={"wide": 1})
    put(store, "rest", vectors(1000))
    store.local.build()
    vector = vectors(1)[0]
    narrow, wide = (Query("", filter=Filter(metadata={name: 1})) for name in ("narrow", "wide"))
    assert walks(store, narrow, vector, monkeypatch) == 0
    assert walks(store, wide, vector, monkeypatch) > 0
    assert {hit.key for hit in store.catalog.hydrate(store.semantic.nearest(wide, vector, 200))} <= {"few", "half"}
    assert len(store.semantic.nearest(wide, vector, 200)) == 200


def test_it_serves_on_when_vectors_are_packed_anew(store: SqliteStore) -> None:
    put(store, "a", vectors(1000))
    store.local.build()
    written = hnsw.known(store.view.engine.connection)
    new = vectors(60)
    put(store, "b", new)
    with_log = snapshot(store)
    assert with_log.graph is not None
    packed = pack(store)
    assert len(packed.packed) == 1060
    assert packed.graph is not None
    assert len(packed.graph.rest) == 60
    assert hnsw.known(store.view.engine.connection) == written
    for vector in new[:10]:
        assert store.semantic.nearest(Query(""), vector, 1).scores[0] == pytest.approx(1, abs=1e-4)
    store.local.build()
    assert len(snapshot(store).graph.rest) == 0
    for vector in new[:10]:
        assert store.semantic.nearest(Query(""), vector, 1).scores[0] == pytest.approx(1, abs=1e-4)


def test_what_is_gone_or_changed_is_not_found_by_its_node(store: SqliteStore) -> None:
    rows = vectors(300)
    for place, row in enumerate(rows):
        put(store, f"d{place}", row[None])
    store.local.build()
    store.catalog.write(Removal("c", [f"d{place}" for place in range(20)]))
    now = pack(store)
    assert len(now.packed) == 280
    assert int(np.count_nonzero(now.graph.rows < 0)) == 20
    for place in range(20):
        found = store.catalog.hydrate(store.semantic.nearest(Query(""), rows[place], 5))
        assert found
        assert not {hit.key for hit in found} & {f"d{gone}" for gone in range(20)}


def test_too_many_dead_nodes_make_it_anew(store: SqliteStore) -> None:
    for place, row in enumerate(vectors(200)):
        put(store, f"d{place}", row[None])
    store.local.build()
    store.catalog.write(Removal("c", [f"d{place}" for place in range(100)]))
    store.local.build()
    assert len(snapshot(store).graph.rows) == 100


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *[("stamp", how) for how in ("cut", "flipped")],
        *[(name, how) for name in ("nodes.npy", "links.usearch") for how in ("cut", "flipped", "gone")],
    ],
)
def test_a_damaged_graph_is_not_used(store: SqliteStore, path: Path, name: str, how: str) -> None:
    put(store, "a", vectors(500))
    store.local.build()
    file = location_of(path, hnsw.NAME) / name
    data = bytearray(file.read_bytes())
    if how == "flipped":
        data[-9 if name != "stamp" else 40] ^= 4
    file.unlink()
    if how != "gone":
        file.write_bytes(data[:-10] if how == "cut" else data)
    other = SqliteStore.open(str(path), neighbours="hnsw")
    assert snapshot(other).graph is None
    packed, vector = snapshot(other).packed, vectors(1)[0]
    rows, _ = nearest_rows(packed, slice(0, 500), None, vector, 10)
    assert set(other.semantic.nearest(Query(""), vector, 10).ids.tolist()) <= set(packed.ids[rows].tolist())
    assert [each.what for each in other.check() if "graph" in each.what]
    other.local.build()
    assert snapshot(other).graph is not None
    other.close()


def test_damaged_rows_of_a_graph_are_found_by_reading_all(store: SqliteStore, path: Path) -> None:
    put(store, "a", vectors(500))
    store.local.build()
    assert store.check() == []
    file = location_of(path, hnsw.NAME) / "links.usearch"
    data = bytearray(file.read_bytes())
    data[50] ^= 4
    file.write_bytes(data)
    assert [each for each in store.check() if "graph" in each.what]
    assert list(store._build_anew())
    assert store.check() == []


def test_a_graph_that_is_not_used_is_reported_with_the_reason(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "a", vectors(100))
    (notice,) = store.local.notices()
    assert "not built yet" in notice.text
    store.local.build()
    assert store.local.notices() == []
    monkeypatch.setattr(hnsw, "LEAST", 1000)
    with_few = SqliteStore.open(str(path), neighbours="hnsw")
    (notice,) = with_few.local.notices()
    assert "from 1,000 on" in notice.text
    with_few.close()
    scanning = SqliteStore.open(str(path))
    assert scanning.local.notices() == []
    scanning.close()


def test_a_closing_process_does_not_wait_for_a_graph(store: SqliteStore, path: Path) -> None:
    put(store, "a", vectors(100))
    store.database.vectors._closing = True
    store.local.build()
    assert not location_of(path, hnsw.NAME).exists()
    assert len(snapshot(store).packed) == 100


def test_an_unknown_way_and_a_missing_package_are_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="scan, hnsw"):
        SqliteStore.open(str(path), neighbours="guess")
    monkeypatch.setitem(sys.modules, "usearch", None)
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(MissingExtra, match=r"rifflux\[hnsw\]"):
        SqliteStore.open(str(path), neighbours="hnsw")


def test_a_model_that_is_loaded_by_a_thread_afterwards_does_not_crash_the_process(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("Otters swim.")
    script = "import rifflux; rifflux.open('index.db', neighbors='hnsw').add('note.md')"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=PATIENCE)
