"""Measure a large index by words: the tables of SQLite beside the word index.

    python -m bench words FOLDER_OF_COLLECTIONS INDEX [--questions N]

INDEX is one that `bench corpus` made; it is copied, not changed. The questions are those of the collections. Printed
are milliseconds of `Store.match` alone (middle, and what one in twenty exceeds), by how deep it reads and by the share
of the chunks that a filter leaves; how many of the tables' first ten the word index has among its own; and what it
costs to build, keep and follow it.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import apsw

import rifflux
from bench.shared import MARK, SHARES, questions, tell, timed
from rifflux.retrieve.query.reading import understand
from rifflux.store import FieldWeights, Store
from rifflux.store.sqlite.connection import background
from rifflux.store.sqlite.connection.derived import location_of
from rifflux.testing import change
from rifflux.types import Query, Ranking

WEIGHTS = FieldWeights()

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
            asked = [
                understand(text, index.profile.analyzer) for text in questions(arguments.data, arguments.questions)
            ]
            _build(index)
            _searching(index.admin.store, [query for query in asked if query.clauses])
            _following(index.admin.store, [query for query in asked if query.clauses])
        tell("size of the index, MB", path.stat().st_size / 1e6)
        tell("of the word index, MB", sum(each.stat().st_size for each in location_of(path, "words").iterdir()) / 1e6)


def _copy(index: Path, path: Path) -> None:
    shutil.copy(index, path)
    rifflux.open(path, create=False).close()
    shutil.rmtree(location_of(path, "words"), ignore_errors=True)
    connection = apsw.Connection(str(path))
    connection.execute(MARK)
    connection.execute("delete from derived where name = 'words'; vacuum")
    connection.close()


def _build(index: rifflux.Index) -> None:
    start = time.perf_counter()
    index.admin.accelerate()
    tell("build, s", time.perf_counter() - start)


def _searching(store: Store, queries: Sequence[Query]) -> None:
    for depth in (10, 1000):
        for name, filter in SHARES.items():
            asked = [replace(query, filter=filter) for query in queries]
            match = partial(_match, store, depth)
            exact = timed(f"tables, {depth} of {name}, ms", match, [replace(query, exact=True) for query in asked])
            fast = timed(f"word index, {depth} of {name}, ms", match, asked)
            shared = [
                len({*one.ids[:10]} & {*other.ids[:10]}) / len(other.ids[:10])
                for one, other in zip(fast, exact, strict=True)
                if len(other)
            ]
            tell("  of the tables' first ten", statistics.mean(shared))
    words = [[term for clause in query.clauses for term in clause] for query in queries]
    start = time.perf_counter()
    for terms in words:
        store.lexical.document_frequencies(terms)
    tell("frequencies of a question's words, ms", (time.perf_counter() - start) * 1000 / len(words))


def _match(store: Store, depth: int, query: Query) -> Ranking:
    return store.lexical.match(query, depth, WEIGHTS)


def _following(store: Store, queries: Sequence[Query]) -> None:
    # What follows in the background otherwise shall wait until it is measured.
    background.PAUSE = background.LONGEST_WAIT = 3600.0
    for count in (1, 100, 1000):
        with store.transaction():
            for number in range(count):
                store.catalog.put("bench", change(f"{count}/{number}", f"cell system number {number} of many theorems"))
        timed(f"word index, 10 of everything, {count} not in it yet, ms", partial(_match, store, 10), queries)
        start = time.perf_counter()
        store.accelerate()
        tell(f"to follow {count} new chunks, s", time.perf_counter() - start)
