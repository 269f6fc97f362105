"""How fast a large index is by words: the tables of SQLite beside the word index that is derived from them.

    python bench/words.py FOLDER_OF_COLLECTIONS INDEX [--questions N]

INDEX is one that bench/corpus.py made; it is copied, not changed. The questions are those of the collections. Printed
are milliseconds of `Store.match` alone (middle, and what one in twenty exceeds), by how deep it reads and by the share
of the chunks that a filter leaves; how many of the tables' first ten the word index has among its own; and what it
costs to build, keep and follow it.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import apsw

import rifflux
from rifflux.retrieve.query.understand import understand
from rifflux.store.base import FieldWeights, Store
from rifflux.store.sqlite.connection import keeper
from rifflux.store.sqlite.connection.derived import location_of
from rifflux.testing import change
from rifflux.types import Filter, Query, Ranking

WEIGHTS = FieldWeights()
SHARES = {"everything": Filter(), **{f"{n} %": Filter(metadata={f"share{n}": 1}) for n in (1, 10, 90)}}
#: Marks a hundredth, a tenth and nine tenths of all documents, scattered.
_MARK = """
update document set metadata = json_set(
    metadata, '$.share1', id * 7919 % 100 = 0, '$.share10', id * 7919 % 10 = 0, '$.share90', id * 7919 % 10 > 0
)"""

Match = Callable[[Query], Ranking]


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--questions", type=int, default=12, help="from each collection")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.db"
        _copy(arguments.index, path)
        with rifflux.open(path, create=False) as index:
            print(f"{index.status().chunks:,} chunks")
            questions = [
                understand(text, index.profile.analyzer) for text in _questions(arguments.data, arguments.questions)
            ]
            _build(index)
            _searching(index.admin.store, [query for query in questions if query.clauses])
            _following(index.admin.store, [query for query in questions if query.clauses])
        _tell("size of the index, MB", path.stat().st_size / 1e6)
        _tell("of the word index, MB", sum(each.stat().st_size for each in location_of(path, "words").iterdir()) / 1e6)


def _copy(index: Path, path: Path) -> None:
    shutil.copy(index, path)
    rifflux.open(path, create=False).close()
    shutil.rmtree(location_of(path, "words"), ignore_errors=True)
    connection = apsw.Connection(str(path))
    connection.execute(_MARK)
    connection.execute("delete from derived where name = 'words'; vacuum")
    connection.close()


def _questions(data: Path, count: int) -> Iterator[str]:
    generator = random.Random(0)
    for path in sorted(data.glob("*/queries.jsonl")):
        texts = [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]
        yield from generator.sample(texts, min(count, len(texts)))


def _build(index: rifflux.Index) -> None:
    start = time.perf_counter()
    index.admin.accelerate()
    _tell("build, s", time.perf_counter() - start)


def _searching(store: Store, queries: Sequence[Query]) -> None:
    for depth in (10, 1000):
        for name, filter in SHARES.items():
            asked = [replace(query, filter=filter) for query in queries]
            exact = _timed(
                f"tables, {depth} of {name}, ms", store, [replace(query, exact=True) for query in asked], depth
            )
            fast = _timed(f"word index, {depth} of {name}, ms", store, asked, depth)
            shared = [
                len({*one.ids[:10]} & {*other.ids[:10]}) / len(other.ids[:10])
                for one, other in zip(fast, exact, strict=True)
                if len(other)
            ]
            _tell("  of the tables' first ten", statistics.mean(shared))
    words = [[term for clause in query.clauses for term in clause] for query in queries]
    start = time.perf_counter()
    for terms in words:
        store.document_frequencies(terms)
    _tell("frequencies of a question's words, ms", (time.perf_counter() - start) * 1000 / len(words))


def _following(store: Store, queries: Sequence[Query]) -> None:
    # What follows in the background otherwise shall wait until it is measured.
    keeper.PAUSE = keeper.LONGEST_WAIT = 3600.0
    for count in (1, 100, 1000):
        with store.transaction():
            for number in range(count):
                store.put("bench", change(f"{count}/{number}", f"cell system number {number} of many theorems"))
        _timed(f"word index, 10 of everything, {count} not in it yet, ms", store, queries, 10)
        start = time.perf_counter()
        store.accelerate()
        _tell(f"to follow {count} new chunks, s", time.perf_counter() - start)


def _timed(what: str, store: Store, queries: Sequence[Query], depth: int) -> list[Ranking]:
    for query in queries[:20]:
        store.match(query, depth, WEIGHTS)
    found, times = [], []
    for query in queries:
        start = time.perf_counter()
        found.append(store.match(query, depth, WEIGHTS))
        times.append((time.perf_counter() - start) * 1000)
    _tell(what, statistics.median(times), statistics.quantiles(times, n=20)[-1])
    return found


def _tell(what: str, value: float, high: float | None = None) -> None:
    print(f"{what:<58} {value:>9.3g}" + (f"   {high:.3g}" if high is not None else ""), flush=True)


if __name__ == "__main__":
    main()
