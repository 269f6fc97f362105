"""Measure how each cost grows from 10,000 chunks to a million.

    python -m bench growth FOLDER_OF_COLLECTIONS INDEX [--sizes N,N,...] [--keep FOLDER] [--rebuild]

INDEX is one that `bench corpus` made, with vectors. Smaller indexes take some of its chunks, evenly. Larger ones go on
with chunks made of halves of two others, so that words keep their frequencies; every fourth has a new word, as larger
corpora have more. Their vectors are turned by noise to a cosine of about .8, so that they lie in clusters. Each size is
searched in a process of its own, with the questions of the collections, after its files were read once. `--keep` keeps
the indexes with what making them cost, goes on where filling was stopped, and asks those that are there: a million
chunks take about five minutes to make, and 4 GB. `--rebuild` makes anew what lies beside kept ones.
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import numpy as np

import rifflux
from bench.shared import MARK, SHARES, cached, program, questions, stored_vectors
from bench.speed.vectors import opened, recall
from rifflux.store import AnalyzedChunk, DocumentChange, Placed, Removal, by_meaning
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection.engine import location_of
from rifflux.store.sqlite.lexical import words_index as words
from rifflux.store.sqlite.query import best
from rifflux.store.sqlite.semantic import vector_index
from rifflux.store.sqlite.semantic.packed import PackedVectors
from rifflux.testing import change
from rifflux.text.analyzer import analyzer
from rifflux.types import Chunk, Document, Query, Ranking, Vectors

SIZES = (10_000, 100_000, 1_000_000)
#: Questions from each collection.
QUESTIONS = 20
#: Length of the noise that is added to a vector of unit length.
NOISE = 0.75
#: Documents of a transaction.
GROUP = 10_000
#: Far from all numbers of chunks that are its multiples, so that halves meet anew in every round.
STEP = 7919
#: How often something is changed.
CHANGES = 10

_ROWS = """
select document.title, chunk.text, vector.rounded
from chunk join document on document.id = chunk.document join vector on vector.chunk = chunk.id
order by chunk.id"""

Figures = dict[str, float]


class Source:
    """The chunks of an index, as they are and cut in two."""

    def __init__(self, path: Path, size: int) -> None:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        rows = connection.execute(_ROWS).fetchall()
        places = np.linspace(0, len(rows) - 1, min(size, len(rows))).astype(int).tolist()
        titles, texts, data = zip(*[rows[place] for place in places], strict=True)
        self.titles, self.vectors = titles, stored_vectors(data)
        self.halves = [_halves(text) for text in texts]
        self.terms = [tuple(analyzer().joined(half) for half in halves) for halves in self.halves]
        self.title_terms = [analyzer().joined(title) for title in titles]
        connection.close()

    def change(self, number: int) -> DocumentChange:
        """A document of one chunk; every fourth has a word that no other has."""
        turn, first = divmod(number, len(self.titles))
        second = (first + turn * STEP) % len(self.titles)
        word = _word(number) if number % 4 == 0 else ""
        text = f"{self.halves[first][0]}{self.halves[second][1]} {word}"
        terms = f"{self.terms[first][0]} {self.terms[second][1]} {word}"
        analyzed = AnalyzedChunk(Chunk(number, 0, text, (0, len(text))), self.title_terms[first], "", terms, number)
        return DocumentChange(Document(str(number), text, self.titles[first]), str(number), (analyzed,))

    def vectors_of(self, numbers: range) -> Vectors:
        """The vectors of chunks; those of chunks made of two are turned from that of the first."""
        places = np.arange(numbers.start, numbers.stop)
        found = self.vectors[places % len(self.vectors)]
        noise = np.random.default_rng(numbers.start).standard_normal(found.shape, np.float32)
        noise[places < len(self.vectors)] = 0.0
        found = found + NOISE / np.sqrt(found.shape[1]) * noise
        turned: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
        return turned


def _halves(text: str) -> tuple[str, str]:
    """A text in two, cut before a word."""
    place = text.find(" ", len(text) // 2)
    return (text[:place], text[place:]) if place >= 0 else (text, "")


def _word(number: int) -> str:
    """Seven letters that stand for a number; any may be the first."""
    letters, left = "", number * 4_294_967_291 % 26**7
    for _ in range(7):
        left, letter = divmod(left, 26)
        letters += chr(ord("a") + letter)
    return letters


def main() -> None:
    """Print a column for each size."""
    arguments = _arguments()
    # A size below it is packed too, as it is to be measured.
    vector_index.LEAST = min(vector_index.LEAST, *arguments.sizes)
    if arguments.child:
        print(json.dumps(_searched(arguments.index, json.loads(sys.stdin.read()))))
        return
    texts = list(questions(arguments.data, QUESTIONS))
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        columns = {size: _measured(arguments, folder / f"{size}.db", size, texts) for size in arguments.sizes}
    _print(columns)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=list(SIZES))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--rebuild", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _measured(arguments: argparse.Namespace, path: Path, size: int, texts: Sequence[str]) -> Figures:
    _tell(f"{size:,} chunks")
    figures = _made(arguments, path, size)
    _tell("searching")
    command = [*program("growth"), str(arguments.data), str(path), "--child", "--sizes", str(size)]
    child = subprocess.run(command, input=json.dumps(texts), stdout=subprocess.PIPE, text=True, check=True)
    searched: Figures = json.loads(child.stdout)
    _tell("comparing with an exact search")
    return figures | searched | _recalled(path, texts)


def _tell(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what} …", file=sys.stderr, flush=True)


# Making


def _made(arguments: argparse.Namespace, path: Path, size: int) -> Figures:
    """Make the index with what lies beside it, unless it was kept; what that cost was kept too."""
    cost = path.with_suffix(".json")
    figures: Figures = json.loads(cost.read_text()) if cost.exists() else {}
    if "filled" not in figures:
        figures["building: tables, s"] = figures.get("building: tables, s", 0.0) + _filled(arguments.index, path, size)
        figures["filled"] = True
        cost.write_text(json.dumps(figures))
    if arguments.rebuild or "built" not in figures:
        figures |= _built(path) | {"built": True}
        cost.write_text(json.dumps(figures))
    return {name: value for name, value in figures.items() if name not in ("filled", "built")}


def _filled(source: Path, path: Path, size: int) -> float:
    """Write the chunks with their terms and vectors; the seconds it took without making them up."""
    texts, seconds = Source(source, size), 0.0
    with rifflux.open(source, create=False) as index:
        model = index.admin.store.semantic.model()
    assert model is not None
    with _not_followed():
        store = SqliteStore.open(str(path))
        store.semantic.use_model(model)
        for first in range(store.totals().chunks, size, GROUP):
            numbers = range(first, min(first + GROUP, size))
            changes = [Placed("bench", texts.change(number)) for number in numbers]
            vectors = texts.vectors_of(numbers)
            start = time.perf_counter()
            with store.transaction():
                store.catalog.write(*changes)
                store.semantic.put_vectors(list(numbers), list(numbers), vectors)
            seconds += time.perf_counter() - start
            if numbers.stop % (10 * GROUP) == 0:
                _tell(f"{numbers.stop:,} written in {seconds:.0f} s")
        store.view.engine.connection.execute(MARK)
        store.close()
    return seconds


@contextmanager
def _not_followed() -> Iterator[None]:
    """What lies beside is built and timed afterwards."""
    former = words.LEAST, vector_index.LEAST
    words.LEAST = vector_index.LEAST = sys.maxsize
    try:
        yield
    finally:
        words.LEAST, vector_index.LEAST = former


def _built(path: Path) -> Figures:
    """Build anew what lies beside the index."""
    figures: Figures = {}
    connection = apsw.Connection(str(path))
    connection.execute("delete from derived; delete from touched; delete from fresh_terms")
    connection.close()
    store = SqliteStore.open(str(path))
    beside = store.database
    for name, derived in (("words", beside.words), ("vectors", beside.vectors)):
        assert derived is not None
        _tell(f"building {name}")
        start = time.perf_counter()
        derived.build()
        figures[f"building: {name}, s"] = time.perf_counter() - start
    store.close()
    figures["size: database, MB"] = path.stat().st_size / 1e6
    packed = location_of(path, "vectors")
    figures["size: vectors, MB"] = packed.stat().st_size / 1e6 if packed.exists() else 0.0
    figures["size: words, MB"] = location_of(path, "words").stat().st_size / 1e6
    return figures


# Searching


def _searched(path: Path, texts: Sequence[str]) -> Figures:
    """What a process measures that opens the index and answers the questions."""
    cached(path)
    start = time.perf_counter()
    with rifflux.open(path, create=False) as index:
        figures = {"opening, ms": (time.perf_counter() - start) * 1000}
        start = time.perf_counter()
        (vector,) = index.admin.store.semantic.vectors_of(np.array([1], np.int64)).values()
        by_meaning(index.admin.store, Query(""), vector, 10)
        index.search("time", mode="lexical")
        figures["a first search in each channel, ms"] = (time.perf_counter() - start) * 1000
        index.search(texts[0])
        for mode in ("lexical", "semantic", "hybrid"):
            figures |= _latencies(mode, [_asked(index, text, mode) for text in texts])
        vectors = [index.admin.embedder.embed_query(text) for text in texts]
        for name, filter in SHARES.items():
            query = Query("", filter=filter)
            first = _timed(index, query, vectors[0], 20)
            if filter:
                figures[f"first use of a filter to {name}, ms"] = first
            figures |= _latencies(f"20 vectors of {name}", [_timed(index, query, vector, 20) for vector in vectors])
        figures |= _latencies("1000 vectors", [_timed(index, Query(""), vector, 1000) for vector in vectors])
        figures["memory at most, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        figures |= _after_changes(index, texts, vectors[0])
    return figures


def _after_changes(index: rifflux.Index, texts: Sequence[str], vector: Vectors) -> Figures:
    """What the first search costs after a change by this process, and the change itself."""
    changing, asking = [], []
    for place, text in zip(range(CHANGES), texts, strict=False):
        new = change("bench-change", f"words that change {place}")
        start = time.perf_counter()
        with index.admin.store.transaction():
            index.admin.store.catalog.write(Placed("bench-change", new))
            index.admin.store.semantic.put_vectors(
                [each.chunk.id for each in new.chunks], [each.hash for each in new.chunks], vector[None]
            )
        changing.append((time.perf_counter() - start) * 1000)
        asking.append(_asked(index, text, "hybrid"))
    index.admin.store.catalog.write(Removal("bench-change", ["bench-change"]))
    return {
        "storing one document, p50 ms": statistics.median(changing),
        "hybrid as the first search after that, p50 ms": statistics.median(asking),
    }


def _asked(index: rifflux.Index, text: str, mode: str) -> float:
    """Milliseconds of a search without those of embedding the question."""
    start = time.perf_counter()
    results = index.search(text, mode=mode)
    return (time.perf_counter() - start) * 1000 - results.trace.milliseconds.get("embed", 0.0)


def _timed(index: rifflux.Index, query: Query, vector: Vectors, depth: int) -> float:
    start = time.perf_counter()
    by_meaning(index.admin.store, query, vector, depth)
    return (time.perf_counter() - start) * 1000


def _latencies(name: str, times: Sequence[float]) -> Figures:
    return {f"{name}, p50 ms": statistics.median(times), f"{name}, p95 ms": statistics.quantiles(times, n=20)[-1]}


def _recalled(path: Path, texts: Sequence[str]) -> Figures:
    """How much of what an exact search over all rows finds is found."""
    with rifflux.open(path, create=False) as index, opened(path) as packed:
        vectors = np.stack([index.admin.embedder.embed_query(text) for text in texts[:: max(1, len(texts) // 60)]])
        exact = _exactly(packed, vectors, 1000)
        found = [by_meaning(index.admin.store, Query(""), vector, 1000) for vector in vectors]
        shallow = [by_meaning(index.admin.store, Query(""), vector, 20) for vector in vectors]
    return {
        "recall of 20": recall(shallow, [each.head(20) for each in exact]),
        "recall of 1000": recall(found, exact),
    }


def _exactly(packed: PackedVectors, vectors: Vectors, limit: int) -> list[Ranking]:
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
