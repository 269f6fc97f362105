"""Measure an index of many passages on a cluster: recall of meaning, our own part of a search, bytes, indexing.

    python scripts/cluster.py run --nodes 3             # in another terminal; prints the addresses
    python -m bench volume FOLDER_OF_COLLECTIONS HOST:PORT --chunks 200000 [--model hash:384]

Documents of judged collections, in BEIR's layout, are indexed until there are enough passages; where the collections
end, they begin again, each text with a word of its own in front. What was sent to the cluster is then sent again, to an
index of the same mapping, by the bare client: how long both took is compared. Questions are searched by both channels:
what remains of a search beside the wire, from sending the bytes of a request to having those of its answer, is our own
part, reading and writing JSON among it; on a busy machine, the processor time of this process says more. The nearest 20
by meaning are compared with those of an exact comparison of all vectors. The size on disk is what is left when deleted
rows were merged away. Both indexes are deleted afterwards. Indexing includes the model: give
`hash:384`, which takes no time, to compare it with the client.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import rifflux
from bench.quality.cluster import documents
from rifflux.evaluate.collection import read_beir
from rifflux.index.cluster import cluster_of
from rifflux.store.opensearch import OpenSearchStore
from rifflux.store.opensearch.engine import ClusterIndex

#: The most documents that are added in one call, and the hits that recall is computed of.
GROUP = 5_000
NEAREST = 20
WARM = 5
#: The settings of an index that its mapping needs.
KEPT = ("knn", "similarity", "analysis")


@dataclass
class Requests:
    """The requests of one thread: names, and if wanted the lines of bulk requests and sizes of answers."""

    #: On the wire.
    seconds: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    lines: list[list[Any]] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    #: What the cluster says that it took, in milliseconds.
    took: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class ClusterRequest:
    """A request to a cluster and its answer, and whether a search waited for it: what is read beside one is not."""

    name: str
    arguments: Mapping[str, Any]
    answer: Any
    seconds: float
    #: The part of these seconds between sending bytes and having those of the answer, if there is one node.
    wire: float
    is_of_search: bool


class Wire(threading.local):
    """The seconds that this thread has waited for bytes."""

    seconds = 0.0


@contextmanager
def noted(note: Callable[[ClusterRequest], None]) -> Iterator[None]:
    """Have each request noted that is made within the block."""
    from opensearchpy import Urllib3HttpConnection

    call = ClusterIndex.call
    send = Urllib3HttpConnection.perform_request
    wire = Wire()

    def sending(self: Any, *arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return send(self, *arguments, **options)
        finally:
            wire.seconds += time.perf_counter() - start

    def watching(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
        wire.seconds = 0.0
        start = time.perf_counter()
        answer = call(self, request, **arguments)
        seconds = time.perf_counter() - start
        is_of_search = self.bounds.reads is not None
        note(ClusterRequest(request.__name__, arguments, answer, seconds, wire.seconds, is_of_search))
        return answer

    ClusterIndex.call = watching  # type: ignore[method-assign]
    Urllib3HttpConnection.perform_request = sending  # type: ignore[method-assign]
    try:
        yield
    finally:
        ClusterIndex.call = call  # type: ignore[method-assign]
        Urllib3HttpConnection.perform_request = send  # type: ignore[method-assign]


@contextmanager
def watched(*, keep: bool = False, measure: bool = False) -> Iterator[Requests]:
    """Watch the requests that are made within the block."""
    found = Requests()

    def note(made: ClusterRequest) -> None:
        if keep and made.name == "bulk":
            found.lines.append([*made.arguments["body"]])
        if made.is_of_search:
            found.seconds.append(made.wire)
            found.names.append(made.name)
            if made.name == "msearch":
                found.took.append(made.answer["took"])
            if measure:
                found.bytes.append(len(json.dumps(made.answer, separators=(",", ":"))))

    with noted(note):
        yield found


def endless(folder: Path, names: Sequence[str]) -> Iterator[rifflux.Document]:
    """Yield the documents of collections, again and again, each time with other keys and a word in front."""
    turn = 0
    while True:
        for name in names:
            for each in documents(folder / name / "corpus.jsonl"):
                text = f"turn{turn} {each.text}" if turn else each.text
                yield rifflux.Document(f"{name}/{turn}/{each.key}", text, each.title)
        turn += 1


def fill(index: rifflux.Index, source: Iterator[rifflux.Document], chunks: int) -> tuple[float, Requests]:
    """Add documents until there are enough passages; return the seconds and the bulk requests."""
    seconds = 0.0
    with watched(keep=True) as found:
        while (left := chunks - index.status().chunks) > 0:
            some = [next(source) for _ in range(min(GROUP, left))]
            start = time.perf_counter()
            index.add(*some)
            seconds += time.perf_counter() - start
    return seconds, found


def send_again(client: Any, name: str, bulks: Sequence[list[Any]]) -> float:
    """Send bulk requests again to another index; return the seconds."""
    start = time.perf_counter()
    for lines in bulks:
        client.bulk(index=name, body=lines, params={"request_timeout": 300})
    return time.perf_counter() - start


def recall(index: rifflux.Index, store: OpenSearchStore, questions: Sequence[str]) -> float:
    """Return the share of the nearest by an exact comparison that a search by meaning finds, at the same cosines."""
    field = store.semantic.field
    assert field
    rows = [*store.rows.scan("chunk", [], ("uid", field))]
    vectors = np.array([row[field] for row in rows], np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = np.array([row["uid"] for row in rows], np.int64)
    nearest = min(NEAREST, len(ids))
    shares = []
    for question in questions:
        found = {int(hit.id, 16) for hit in index.search(question, mode="semantic", top_k=nearest)}
        query, _ = index.admin.view.question_vector(question, None)
        cosines = vectors @ (query / np.linalg.norm(query))
        limit = np.partition(cosines, -nearest)[-nearest] - 1e-6
        good = {*ids[cosines >= limit].tolist()}
        shares.append(len(found & good) / nearest)
    return float(np.mean(shares))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of judged collections")
    parser.add_argument("address", help="HOST:PORT of a cluster")
    parser.add_argument("--collections", nargs="+", default=["scifact", "srd5e", "med"])
    parser.add_argument("--chunks", type=int, default=200_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--spread", type=int, default=1, help="shards that the passages are in")
    parser.add_argument("--model", help="the embedder (default: the bundled one)")
    options = parser.parse_args()
    asked = read_beir(options.folder / options.collections[0], "test").questions[: options.questions + WARM]
    questions = [each.text for each in asked]
    place = f"opensearch://{options.address}/bench-{uuid.uuid4().hex}"
    with ExitStack() as stack:
        cluster_of(place).init(shards=options.shards, replicas=1, spread=options.spread)
        index = stack.enter_context(rifflux.open(place, model=options.model))
        store = index.admin.store
        assert isinstance(store, OpenSearchStore)
        client = store.engine.client
        name = store.engine.address.name
        stack.callback(client.indices.delete, index=f"{name}*")
        seconds, sent = fill(index, endless(options.folder, options.collections), options.chunks)
        chunks = index.status().chunks
        (known,) = client.indices.get(index=name).values()
        settings = known["settings"]["index"]
        kept = {
            key: settings[key]
            for key in ("number_of_shards", "routing_partition_size", "number_of_replicas", *KEPT)
            if key in settings
        }
        bare = f"{name}-bare"
        client.indices.create(index=bare, body={"settings": {"index": kept}, "mappings": known["mappings"]})
        # Updates of rows that were not created there are harmless: each row is written before it is changed.
        again = send_again(client, bare, sent.lines)
        own = []
        processor = []
        sizes = []
        trips = []
        engine = []
        for number, question in enumerate(questions):
            with watched() as found:
                start = time.perf_counter()
                used = time.process_time()
                index.search(question)
                used = time.process_time() - used
                took = time.perf_counter() - start
            if number < WARM:
                continue
            own.append((took - sum(found.seconds)) * 1e3)
            processor.append(used * 1e3)
            trips.append(len(found.names))
            engine.append(sum(found.took))
        for question in questions[WARM:]:
            # Its answers are measured in a search of their own, as that takes time.
            with watched(measure=True) as found:
                index.search(f"{question} please")
            sizes.append(max(found.bytes))
        share = recall(index, store, questions[WARM:])
        parameters = {"only_expunge_deletes": "true", "request_timeout": 600}
        client.indices.forcemerge(index=name, params=parameters)
        size = client.indices.stats(index=name)["_all"]["primaries"]["store"]["size_in_bytes"]
    rows = {
        "passages": f"{chunks:,}",
        "questions": len(own),
        f"recall@{NEAREST} by meaning": f"{share:.3f}",
        "our own part of a search, p50, ms": f"{np.percentile(own, 50):.1f}",
        "processor time of this process in a search, p50, ms": f"{np.percentile(processor, 50):.1f}",
        "what the cluster says a search took, p50, ms": f"{np.percentile(engine, 50):.0f}",
        "requests of a search, p50": f"{np.percentile(trips, 50):.0f}",
        "largest answer of a search, p50, kB": f"{np.percentile(sizes, 50) / 1e3:.0f}",
        "on disk without replicas, kB a passage": f"{size / chunks / 1e3:.1f}",
        "indexing, passages a second": f"{chunks / seconds:.0f}",
        "the same rows by the bare client, passages a second": f"{chunks / again:.0f}",
        "indexing / bare": f"{again / seconds:.2f}",
    }
    print("| what | number |\n| --- | --- |")
    for what, value in rows.items():
        print(f"| {what} | {value} |")


if __name__ == "__main__":
    main()
