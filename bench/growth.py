"""How each cost grows from 10,000 chunks to a million: building, size, opening, memory, searching.

    python bench/growth.py FOLDER_OF_COLLECTIONS INDEX [--sizes N,N,...] [--keep FOLDER]

INDEX is one that bench/corpus.py made, with vectors. Smaller indexes take a part of its chunks, larger ones repeat:
texts with a word of their own, vectors turned by noise to a cosine of about .8. Each size is searched in a process of
its own, with the questions of the collections. `--keep` keeps the indexes: a million chunks take some minutes to make,
and 6 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw
import numpy as np

import rifflux
from rifflux.store.base import AnalysedChunk, DocumentChange, Placed
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.derived import location_of
from rifflux.store.sqlite.packed import Packed
from rifflux.store.sqlite.vectors import best
from rifflux.text.analyser import analyser
from rifflux.types import Chunk, Document, Query, Ranking, Vectors
from vectors import MARK, SHARES, opened, questions, recall

SIZES = (10_000, 100_000, 1_000_000)
#: Questions from each collection.
QUESTIONS = 20
#: Length of the noise that is added to a vector of unit length.
NOISE = 0.75
GROUP = 4096

_ROWS = """
select document.title, chunk.text, vector.data
from chunk join document on document.id = chunk.document join vector on vector.chunk = chunk.id
order by chunk.id"""

Row = tuple[str, str, Vectors]
Figures = dict[str, float]


def main() -> None:
    """Print a column for each size."""
    arguments = _arguments()
    if arguments.child:
        print(json.dumps(_searched(arguments.index, json.loads(sys.stdin.read()))))
        return
    texts = list(questions(arguments.data, QUESTIONS))
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        columns = {size: _measured(arguments.index, folder / f"{size}.db", size, texts) for size in arguments.sizes}
    _print(columns)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=list(SIZES))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _measured(source: Path, path: Path, size: int, texts: Sequence[str]) -> Figures:
    print(f"{size:,} chunks …", file=sys.stderr)
    figures = _made(source, path, size)
    command = [sys.executable, __file__, str(source), str(path), "--child"]
    child = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    searched: Figures = json.loads(child.stdout)
    return figures | searched | _recalled(path, texts)


# Making


def _made(source: Path, path: Path, size: int) -> Figures:
    """Make the index unless it was kept, and build what lies beside it anew."""
    figures = {} if path.exists() else _filled(source, path, size)
    connection = apsw.Connection(str(path))
    connection.execute("delete from derived; delete from touched; delete from fresh_terms")
    connection.close()
    store = SqliteStore.open(str(path))
    engine = store._engine
    for name, derived in (("words", engine.words(0)), ("vectors", engine.neighbours)):
        assert derived is not None
        start = time.perf_counter()
        derived.build()
        figures[f"building: {name}, s"] = time.perf_counter() - start
    store.close()
    figures["size: database, MB"] = path.stat().st_size / 1e6
    figures["size: vectors, MB"] = location_of(path, "vectors").stat().st_size / 1e6
    figures["size: words, MB"] = sum(each.stat().st_size for each in location_of(path, "words").rglob("*")) / 1e6
    return figures


def _filled(source: Path, path: Path, size: int) -> Figures:
    """Write the chunks with their terms and vectors."""
    rows = _rows(source, size)
    terms = [(analyser().joined(title), analyser().joined(text)) for title, text, _ in rows]
    store = SqliteStore.open(str(path))
    # What lies beside is built and timed afterwards, not followed meanwhile.
    store._engine.words = store._engine.neighbours = None
    with rifflux.open(source, create=False) as opened_source:
        model = opened_source.store.model()
    assert model is not None
    store.use_model(model)
    start = time.perf_counter()
    generator = np.random.default_rng(0)
    for first in range(0, size, GROUP):
        numbers = range(first, min(first + GROUP, size))
        changes = [_change(number, rows[number % len(rows)], terms[number % len(rows)]) for number in numbers]
        vectors = np.stack([_turned(rows[number % len(rows)][2], number >= len(rows), generator) for number in numbers])
        with store.transaction():
            store.put_all([Placed("bench", change) for change in changes])
            store.put_vectors(list(numbers), list(numbers), vectors)
    seconds = time.perf_counter() - start
    connection = store._engine.connection
    connection.execute(MARK)
    store.close()
    return {"building: tables, s": seconds}


def _rows(source: Path, size: int) -> list[Row]:
    connection = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute(_ROWS + " limit ?", (size,))
    found = [(title, text, np.frombuffer(data, np.float32)) for title, text, data in rows]
    connection.close()
    return found


def _change(number: int, row: Row, terms: tuple[str, str]) -> DocumentChange:
    """A document of one chunk, with a word that no other has."""
    title, text, _ = row
    chunk = Chunk(number, 0, text, (0, len(text)))
    analysed = AnalysedChunk(chunk, terms[0], "", f"{terms[1]} number{number}", number)
    return DocumentChange(Document(str(number), text, title), str(number), (analysed,))


def _turned(vector: Vectors, turn: bool, generator: np.random.Generator) -> Vectors:
    if not turn:
        return vector
    turned = vector + NOISE / np.sqrt(len(vector)) * generator.standard_normal(len(vector), np.float32)
    found: Vectors = (turned / np.linalg.norm(turned)).astype(np.float32)
    return found


# Searching


def _searched(path: Path, texts: Sequence[str]) -> Figures:
    """What a process measures that opens the index and answers the questions."""
    start = time.perf_counter()
    with rifflux.open(path, create=False) as index:
        vector = np.full(_width(index), _width(index) ** -0.5, np.float32)
        index.store.nearest(Query("", vector=vector), 10)
        index.search("time", mode="lexical")
        figures = {"opening, and a first search in each channel, ms": (time.perf_counter() - start) * 1000}
        index.search(texts[0])
        for mode in ("lexical", "semantic", "hybrid"):
            figures |= _latencies(mode, [_asked(index, text, mode) for text in texts])
        vectors = [index.embedder.embed_query(text) for text in texts]
        for name, filter in SHARES.items():
            queries = [Query("", vector=vector, filter=filter) for vector in vectors]
            index.store.nearest(queries[0], 20)
            figures |= _latencies(f"20 vectors of {name}", [_timed(index, query, 20) for query in queries])
        figures |= _latencies("1000 vectors", [_timed(index, query, 1000) for query in queries])
    figures["memory at most, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def _width(index: rifflux.Index) -> int:
    model = index.store.model()
    assert model is not None
    return model.dimension


def _asked(index: rifflux.Index, text: str, mode: str) -> float:
    """Milliseconds of a search without those of embedding the question."""
    start = time.perf_counter()
    results = index.search(text, mode=mode)
    return (time.perf_counter() - start) * 1000 - results.trace.milliseconds.get("embed", 0.0)


def _timed(index: rifflux.Index, query: Query, depth: int) -> float:
    start = time.perf_counter()
    index.store.nearest(query, depth)
    return (time.perf_counter() - start) * 1000


def _latencies(name: str, times: Sequence[float]) -> Figures:
    return {f"{name}, p50 ms": statistics.median(times), f"{name}, p95 ms": statistics.quantiles(times, n=20)[-1]}


def _recalled(path: Path, texts: Sequence[str]) -> Figures:
    """How much of what an exact search over all rows finds is found."""
    with rifflux.open(path, create=False) as index, opened(path) as packed:
        vectors = np.stack([index.embedder.embed_query(text) for text in texts[:: max(1, len(texts) // 60)]])
        exact = _exactly(packed, vectors, 1000)
        found = [index.store.nearest(Query("", vector=vector), 1000) for vector in vectors]
        shallow = [index.store.nearest(Query("", vector=vector), 20) for vector in vectors]
    return {
        "recall of 20": recall(shallow, [each.head(20) for each in exact]),
        "recall of 1000": recall(found, exact),
    }


def _exactly(packed: Packed, vectors: Vectors, limit: int) -> list[Ranking]:
    found = [Ranking.empty() for _ in vectors]
    for first in range(0, len(packed), 50_000):
        rows = np.arange(first, min(first + 50_000, len(packed)))
        scores = (packed.vectors(rows) @ vectors.T).T.astype(np.float64)
        for place, ranking in enumerate(found):
            ids, both = np.concatenate([ranking.ids, packed.ids[rows]]), np.concatenate([ranking.scores, scores[place]])
            found[place] = best(ids, both, limit)
    return found


def _print(columns: Mapping[int, Figures]) -> None:
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    print(f"{'chunks':<50}" + "".join(f"{size:>12,}" for size in columns))
    for name in names:
        print(f"{name:<50}" + "".join(_cell(figures.get(name)) for figures in columns.values()))


def _cell(value: float | None) -> str:
    return f"{'' if value is None else format(value, '.4g'):>12}"


if __name__ == "__main__":
    main()
