"""Compare an index on an OpenSearch cluster with one in a file: the same ten hits, their order, nDCG@10, round trips.

    python scripts/cluster.py run                       # in another terminal; prints the address
    python -m bench cluster FOLDER_OF_COLLECTIONS HOST:PORT --collections med nq-utd [--limit 100] [--together]
        [--others 999]

Each collection, in BEIR's layout, is indexed into a file and into an index of the cluster that is deleted afterwards.
Questions are searched by words and by both channels, with the defaults, and then among two thirds of the documents, by
a filter. A round trip is one request to the cluster. With `--together`, a user has the documents in two collections,
beside another user who has all of them, and searches both together. With `--others`, both is done in one index,
beside so many further users, who have two of the documents each as messages.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import rifflux
from rifflux import Message
from rifflux.conversations import Conversation, Thread
from rifflux.evaluate.collection import JudgedQuestion, read_beir
from rifflux.session import vectors
from rifflux.store import REQUESTS
from rifflux.store.opensearch import OpenSearchStore

MODES = ("lexical", "hybrid")
FILTERS = {"": None, ", filtered": rifflux.Filter(metadata={"third": [0, 1]})}
#: The user who searches two collections, and the one beside.
USERS = ("ann", "bob")
#: Users whose messages are written at a time.
WRITERS = 4
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

    def views(self, index: rifflux.Index) -> dict[str, rifflux.Index]:
        """Fill an index; return the views that are searched, each with what is added to the name of a mode."""
        every = [*documents(self.corpus)]
        if self.others:
            # Users' vectors are made with those of the documents; how well they agree with words is not measured.
            vectors.ENOUGH = sys.maxsize
            with ThreadPoolExecutor(WRITERS) as writers:
                for _ in writers.map(partial(self._write, index, every), range(self.others)):
                    pass
        found = {}
        if self.together or self.others:
            mine, others = (index.scoped(rifflux.Scope(user)) for user in USERS)
            others.add(*every)
            for place, name in enumerate(("even", "odd")):
                mine.add(*every[place::2], collection=name)
            found[", a user" if self.others else ""] = mine
        if not self.together or self.others:
            index.add(*every)
            found[", nobody" if self.others else ""] = index
        return found

    def _write(self, index: rifflux.Index, every: Sequence[rifflux.Document], number: int) -> None:
        """Store two documents as messages of one of the other users."""
        texts = (every[(2 * number + place) % len(every)].text for place in range(2))
        said = (Message(f"m{place}", "talk", text or "nothing") for place, text in enumerate(texts))
        thread = Thread(Conversation("talk", f"Talk {number}"), tuple(said))
        index.scoped(rifflux.Scope(f"user{number}")).conversations.put(thread, embed=False)


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
            by_name = [filling.views(index) for index in (remote, plain)]
            for view, mode, (name, narrow) in product(by_name[0], MODES, FILTERS.items()):
                views = [each[view] for each in by_name]
                states = [each.status() for each in views]
                missing = sum(each.chunks - each.embedded_chunks for each in states)
                ours, theirs = (searched(each, texts, mode, narrow) for each in views)
                figures = row(ours, theirs, [each.grades for each in questions])
                late = str(degraded(ours) + degraded(theirs))
                yield [str(states[0].chunks), mode + name + view, *figures, str(missing), late]
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
