"""Measure a large index by meaning: the packed vectors beside an exact search.

    python -m bench vectors FOLDER_OF_COLLECTIONS INDEX [--questions N] [--hnsw]

INDEX is one that `bench corpus` made, with vectors; it is copied, not changed. The questions are those of the
collections, embedded by the index's own model. Printed are milliseconds of `Store.nearest` alone (middle, and what one
in twenty exceeds), by how deep it reads and by the share of the documents that a filter leaves; how much of what an
exact search finds is among it; and what it costs to pack, open and follow the vectors. Where faiss or usearch are
installed, their scans of the same bits on one thread are timed too. `--hnsw` searches along a graph instead.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import numpy as np

import rifflux
from bench.shared import MARK, SHARES, questions, tell, timed
from rifflux.store import Placed, by_meaning
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection import derived
from rifflux.store.sqlite.connection.connect import connect
from rifflux.store.sqlite.connection.engine import current, location_of
from rifflux.store.sqlite.query import best
from rifflux.store.sqlite.semantic import hnsw, vector_index
from rifflux.store.sqlite.semantic.matrix import Allowed, Matrix
from rifflux.store.sqlite.semantic.packed import NAME, PackedVectors
from rifflux.store.sqlite.semantic.scan import apart
from rifflux.store.sqlite.semantic.semantic import SqliteSemantic
from rifflux.testing import change
from rifflux.types import Query, Ranking, Vectors

__all__ = ["opened", "recall"]


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--questions", type=int, default=25, help="from each collection")
    parser.add_argument("--hnsw", action="store_true", help="search along a graph, however few vectors there are")
    arguments = parser.parse_args()
    hnsw.LEAST = 1
    with tempfile.TemporaryDirectory() as folder:
        path = _copied(arguments.index, Path(folder) / "index.db")
        with rifflux.open(path, create=False) as index:
            count = index.status().embedded_chunks
            print(f"{count:,} vectors")
            # A small index is packed too, if it is to be measured.
            vector_index.LEAST = min(vector_index.LEAST, count)
            texts = list(questions(arguments.data, arguments.questions))
            vectors = [index.admin.embedder.embed_query(text) for text in texts]
        store = SqliteStore.open(str(path), neighbours="hnsw" if arguments.hnsw else "scan")
        _packing(store, path)
        with opened(path) as packed:
            _scanning(packed, vectors)
        _searching(store, path, vectors)
        _following(store, vectors)
        store.close()


def _copied(index: Path, path: Path) -> Path:
    """A copy of an index with marked documents and nothing beside it."""
    shutil.copy(index, path)
    connection, _ = connect(str(path), create=False)
    connection.execute(MARK)
    connection.execute("delete from derived; pragma wal_checkpoint(truncate)").fetchall()
    connection.close()
    return path


class opened:  # noqa: N801
    """The packed vectors of an index, mapped anew."""

    def __init__(self, path: Path) -> None:
        self._connection, _ = connect(str(path), create=False)
        self._path = path

    def __enter__(self) -> PackedVectors:
        known = current(self._connection, NAME)
        assert known is not None
        model = self._connection.execute("select id from model where state = 'active'").get
        return PackedVectors.open(location_of(self._path, NAME), known, model)

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _packing(store: SqliteStore, path: Path) -> None:
    neighbours = store.database.vectors
    assert neighbours is not None
    start = time.perf_counter()
    neighbours.build()
    tell("to pack, and make the graph if there is one, s", time.perf_counter() - start)
    tell("packed, MB", location_of(path, NAME).stat().st_size / 1e6)
    if (graph := location_of(path, hnsw.NAME)).exists():
        tell("the graph, MB", sum(each.stat().st_size for each in graph.iterdir()) / 1e6)
    start = time.perf_counter()
    with opened(path):
        tell("to open, ms", (time.perf_counter() - start) * 1000)


def _scanning(packed: PackedVectors, vectors: Sequence[Vectors]) -> None:
    timed("scan of the bits alone, ms", lambda vector: apart(packed.signs, vector), vectors)
    codes = np.ascontiguousarray(packed.signs.T).view(np.uint8)
    for name, scan in _peers(codes).items():
        timed(f"the same by {name}, best 800, ms", scan, vectors)


def _peers(codes: np.ndarray[Any, np.dtype[np.uint8]]) -> dict[str, Callable[[Vectors], Any]]:
    def bits(vector: Vectors) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return np.packbits(vector > 0, bitorder="little")[None]

    found: dict[str, Callable[[Vectors], Any]] = {}
    try:
        import faiss

        faiss.omp_set_num_threads(1)
        index = faiss.IndexBinaryFlat(codes.shape[1] * 8)
        index.add(codes)
        found["faiss"] = lambda vector: index.search(bits(vector), 800)
    except ImportError:
        pass
    try:
        from usearch.index import MetricKind, search

        found["usearch"] = lambda vector: search(
            codes, bits(vector)[0], min(800, len(codes)), MetricKind.Hamming, exact=True, threads=1, dtype="b1"
        )
    except ImportError:
        pass
    return found


def _searching(store: SqliteStore, path: Path, vectors: Sequence[Vectors]) -> None:
    semantic = store.semantic
    assert isinstance(semantic, SqliteSemantic)
    connection = apsw.Connection(str(path))
    matrix = Matrix.read(connection, (0,), len(vectors[0]))
    connection.close()
    for name, filter in SHARES.items():
        query = Query("", filter=filter)
        start = time.perf_counter()
        allowed = semantic._allowed(query)
        if allowed:
            tell(f"{name}: the filter's first use, ms", (time.perf_counter() - start) * 1000)
        for depth in (20, 1000):
            some = vectors[:: 1 if depth == 20 else 2]
            exact = timed(f"{name}: {depth} exactly, ms", partial(_exactly, matrix, depth, allowed), some)
            fast = timed(f"{name}: {depth} of the packed, ms", partial(_nearest, store, query, depth), some)
            tell("  recall", recall(fast, exact))


def _exactly(matrix: Matrix, depth: int, allowed: Allowed | None, vector: Vectors) -> Ranking:
    if allowed is not None:
        matrix = matrix.where(allowed.mask(matrix.documents, matrix.chunks))
    return best(matrix.ids, (matrix.vectors @ vector).astype(np.float64), depth)


def _nearest(store: SqliteStore, query: Query, depth: int, vector: Vectors) -> Ranking:
    return by_meaning(store, query, vector, depth)


def recall(found: Sequence[Ranking], exact: Sequence[Ranking]) -> float:
    """The share of what an exact search finds, over all questions."""
    return statistics.mean(
        float(np.isin(expected.ids, ranking.ids).mean()) for ranking, expected in zip(found, exact, strict=True)
    )


def _following(store: SqliteStore, asked: Sequence[Vectors]) -> None:
    # What follows in the background otherwise shall wait until it is measured.
    derived.PAUSE = derived.LONGEST_WAIT = 3600.0
    for count in (1, 1000):
        with store.transaction():
            changed = change(f"bench {count}", *[f"text {number}" for number in range(count)])
            store.catalog.write(Placed("bench", changed))
            vectors = np.stack([asked[number % len(asked)] for number in range(count)])
            store.semantic.put_vectors(
                [each.chunk.id for each in changed.chunks], [each.hash for each in changed.chunks], vectors
            )
        start = time.perf_counter()
        by_meaning(store, Query(""), asked[0], 20)
        tell(f"the first search after {count} new ones, ms", (time.perf_counter() - start) * 1000)
        timed(f"further ones, with {count} not packed, ms", partial(_nearest, store, Query(""), 20), asked)
