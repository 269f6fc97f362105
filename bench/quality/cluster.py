"""Compare an index on an OpenSearch cluster with one in a file: the same ten hits, their order, nDCG@10, round trips.

    python scripts/cluster.py run                       # in another terminal; prints the address
    python -m bench cluster FOLDER_OF_COLLECTIONS HOST:PORT --collections med nq-utd [--limit 100] [--together]
        [--others 999]

Each collection, in BEIR's layout, is indexed into a file and into an index of the cluster that is deleted afterwards.
Questions are searched by words and by both channels, with the defaults, and then among two thirds of the documents, by
a filter. A round trip is one request to the cluster. With `--together`, a user has the documents in two collections,
beside another user who has all of them, and searches both together. With `--others`, so many further users have two of
the documents each.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import rifflux
from rifflux.evaluate.collection import JudgedQuestion, read_beir
from rifflux.store import REQUESTS
from rifflux.store.opensearch import OpenSearchStore

MODES = ("lexical", "hybrid")
FILTERS = {"": None, ", filtered": rifflux.Filter(metadata={"third": [0, 1]})}
#: The user who searches two collections, and the one beside.
USERS = ("ann", "bob")
#: Questions that are searched before, so that models are loaded and statistics of the whole index are read.
WARM = 3
COLUMNS = (
    "collection", "chunks", "mode", "questions", "same ten", "same order", "nDCG@10 of the file", "of the cluster",
    "greatest difference of a score", "round trips p50", "p95", "most", "without vectors", "degraded pages",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of some questions: keys of documents and scores of each, and the round trips that each took.

    `degraded` are those that were answered with less than asked for, such as without a model that was late.
    """

    ids: list[Sequence[str]]
    keys: list[Sequence[str]]
    scores: list[Mapping[str, float]]
    trips: list[int]
    degraded: list[Sequence[str]]


def main() -> None:
    """Print a row for each collection and mode."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of judged collections")
    parser.add_argument("address", help="HOST:PORT of a cluster")
    parser.add_argument("--collections", nargs="+", default=["med", "nq-utd"])
    parser.add_argument("--limit", type=int, default=100, help="questions of each collection")
    parser.add_argument("--qrels", default="test")
    parser.add_argument("--together", action="store_true", help="search two collections of a user")
    parser.add_argument("--others", type=int, default=0, help="further users with two documents each")
    options = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}", flush=True)
    for name in options.collections:
        questions = read_beir(options.folder / name, options.qrels).questions[: options.limit]
        filling = Filling(options.folder / name / "corpus.jsonl", options.together, options.others)
        for row in compared(filling, options.address, questions):
            print(f"| {name} | {' | '.join(row)} |", flush=True)


@dataclass(frozen=True, slots=True)
class Filling:
    """What is indexed: the documents of a corpus, by a user in two collections if `together`, beside `others`."""

    corpus: Path
    together: bool
    others: int

    def view(self, index: rifflux.Index) -> rifflux.Index:
        """Fill an index; return the view that is searched."""
        every = [*documents(self.corpus)]
        for number in range(self.others):
            theirs = (every[(number + place * self.others) % len(every)] for place in range(2))
            index.scoped(rifflux.Scope(f"user{number}")).add(*theirs)
        if not self.together:
            index.add(*every)
            return index
        mine, others = (index.scoped(rifflux.Scope(user)) for user in USERS)
        others.add(*every)
        for place, name in enumerate(("even", "odd")):
            mine.add(*every[place::2], collection=name)
        return mine


def compared(filling: Filling, address: str, questions: Sequence[JudgedQuestion]) -> Iterator[list[str]]:
    """Yield the figures of a collection by mode."""
    texts = [each.text for each in questions]
    place = f"opensearch://{address}/bench-{uuid.uuid4().hex}"
    with (
        tempfile.TemporaryDirectory() as scratch,
        rifflux.open(Path(scratch, "plain.db")) as plain,
        rifflux.open(place) as remote,
    ):
        store = remote.admin.store
        assert isinstance(store, OpenSearchStore)
        try:
            views = [filling.view(index) for index in (remote, plain)]
            states = [view.status() for view in views]
            chunks = states[0].chunks
            missing = sum(each.chunks - each.embedded_chunks for each in states)
            for mode, (name, narrow) in product(MODES, FILTERS.items()):
                ours, theirs = (searched(view, texts, mode, narrow) for view in views)
                figures = row(ours, theirs, [each.grades for each in questions])
                yield [str(chunks), mode + name, *figures, str(missing), str(degraded(ours) + degraded(theirs))]
        finally:
            store.engine.client.indices.delete(index=store.engine.address.name)


def documents(corpus: Path) -> Iterator[rifflux.Document]:
    """Yield the documents of a collection."""
    with corpus.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            each = json.loads(line)
            metadata = {"third": number % 3}
            yield rifflux.Document(each["_id"], each["text"], each.get("title") or "", metadata=metadata)


def searched(index: rifflux.Index, questions: Sequence[str], mode: Any, narrow: rifflux.Filter | None) -> Pages:
    """Search all questions, after some to warm up."""
    for question in questions[:WARM]:
        index.search(question, mode=mode, filter=narrow)
    pages = Pages([], [], [], [], [])
    for question in questions:
        found = index.search(question, mode=mode, filter=narrow)
        hits = [*found]
        pages.ids.append([hit.id for hit in hits])
        pages.keys.append([hit.key for hit in hits])
        pages.scores.append({hit.id: hit.score for hit in hits})
        pages.trips.append(found.trace.counts.get(REQUESTS, 0))
        pages.degraded.append([notice.code for notice in found.trace.degraded])
    return pages


def row(ours: Pages, theirs: Pages, judged: Sequence[Mapping[str, int]]) -> list[str]:
    """Return the figures of two pages for each question."""
    both = [*zip(ours.ids, theirs.ids, strict=True)]
    scores = [*zip(ours.scores, theirs.scores, strict=True)]
    differences = [abs(one[id] - other[id]) for one, other in scores for id in one.keys() & other.keys()]
    gains = [
        np.mean([gain(keys, grades) for keys, grades in zip(pages.keys, judged, strict=True)])
        for pages in (theirs, ours)
    ]
    return [
        str(len(both)),
        str(sum({*one} == {*other} for one, other in both)),
        str(sum(one == other for one, other in both)),
        f"{gains[0]:.4f}",
        f"{gains[1]:.4f}",
        f"{max(differences, default=0.0):.1g}",
        f"{np.percentile(ours.trips, 50):.0f}",
        f"{np.percentile(ours.trips, 95):.0f}",
        str(max(ours.trips)),
    ]


def degraded(pages: Pages) -> int:
    """Return the number of pages that were answered with less than asked for."""
    return sum(bool(each) for each in pages.degraded)


def gain(keys: Sequence[str], grades: Mapping[str, int]) -> float:
    """Return nDCG@10 of documents, each counted where it comes first."""
    ranked = [grades.get(key, 0) for key in dict.fromkeys(keys)]
    best = sorted(grades.values(), reverse=True)
    ideal = sum(grade / math.log2(place + 2) for place, grade in enumerate(best[:10]))
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(ranked[:10])) / (ideal or 1.0)


if __name__ == "__main__":
    main()
