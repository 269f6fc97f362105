"""Compare vectors of bytes with vectors of floats in the graph of a cluster: their size, and what the nearest are.

    python scripts/cluster.py run               # in another terminal; prints the address
    python -m bench bytes INDEX DATA HOST:PORT [--vectors 20000] [--each 10]

Vectors of an index in a file are stored in two indexes of the cluster, once with the mapping of an index on a cluster,
and once as bytes: each component times the number that makes the largest of all 127, rounded. Some questions of each
collection in DATA are embedded, and their nearest 20 compared with those of an exact comparison of the floats. Sizes
are those of one merged segment without replicas: of the graph, of the vectors beside it, and of all with the rows as
they were sent. Both indexes are deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import uuid
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import rifflux
from bench.shared import questions
from rifflux.store.opensearch.mapping import vector_property
from rifflux.types import Vectors

NEAREST = 20
#: The neighbors that the graph is searched for, as many as by a search.
BREADTHS = (100, 600)
ROWS = 500
LARGEST = 127
KINDS = ("float", "byte")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("data", type=Path, help="folder of judged collections")
    parser.add_argument("address", help="HOST:PORT of a cluster")
    parser.add_argument("--vectors", type=int, default=20_000)
    parser.add_argument("--each", type=int, default=10, help="questions of each collection")
    options = parser.parse_args()
    with rifflux.open(options.index, create=False) as index:
        _, vectors = index.admin.store.semantic.sample(options.vectors)
        found = [index.admin.view.question_vector(text, None)[0] for text in questions(options.data, options.each)]
    vectors = unit(np.asarray(vectors, np.float64))
    asked = unit(np.array([each for each in found if each is not None], np.float64))
    print(f"{len(vectors):,} vectors of {vectors.shape[1]} components, {len(asked)} questions\n")
    print("| vectors | graph, MB | vectors, MB | all, MB | breadth | nearest found |")
    print("| --- | --- | --- | --- | --- | --- |")
    scale = LARGEST / np.abs(vectors).max()
    host, _, port = options.address.partition(":")
    with closing(import_module("opensearchpy").OpenSearch([{"host": host, "port": int(port)}], timeout=600)) as client:
        for kind in KINDS:
            name = f"bench-{uuid.uuid4().hex}"
            try:
                fill(client, name, kind, converted(vectors, kind, scale))
                sizes = sizes_of(client, name)
                for breadth in BREADTHS:
                    share = recall(client, name, converted(asked, kind, scale), asked @ vectors.T, breadth)
                    print(f"| {kind} | {' | '.join(sizes)} | {breadth} | {share:.3f} |", flush=True)
            finally:
                client.indices.delete(index=name, params={"ignore_unavailable": "true"})


def unit(vectors: Vectors) -> Vectors:
    """Return vectors of length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def converted(vectors: Vectors, kind: str, scale: float) -> list[list[float]]:
    """Return vectors as they are stored."""
    if kind == "byte":
        vectors = np.clip(np.rint(vectors * scale), -LARGEST - 1, LARGEST).astype(np.int64)
    return list(vectors.tolist())


def fill(client: Any, name: str, kind: str, vectors: Sequence[Sequence[float]]) -> None:
    """Store vectors in a new index, in one segment."""
    field = {**vector_property(len(vectors[0])), "data_type": kind}
    settings = {"index": {"knn": True, "number_of_replicas": 0, "refresh_interval": "-1"}}
    mapping = {"dynamic": False, "properties": {"vector": field}}
    client.indices.create(index=name, body={"settings": settings, "mappings": mapping})
    for start in range(0, len(vectors), ROWS):
        lines: list[str] = []
        for number, vector in enumerate(vectors[start : start + ROWS], start):
            lines += (json.dumps({"index": {"_id": str(number)}}), json.dumps({"vector": vector}))
        answer = client.bulk(index=name, body="\n".join(lines) + "\n")
        if answer["errors"]:
            raise SystemExit(f"a row was refused: {answer['items'][0]}")
    client.indices.forcemerge(index=name, params={"max_num_segments": 1, "request_timeout": 600})
    client.indices.refresh(index=name)


def sizes_of(client: Any, name: str) -> list[str]:
    """Return the megabytes of the graph, of the vectors, and of all."""
    parameters = {"include_segment_file_sizes": "true"}
    figures = client.indices.stats(index=name, metric="segments,store", params=parameters)["_all"]["primaries"]
    files = figures["segments"]["file_sizes"]
    sizes = [files.get(each, {}).get("size_in_bytes", 0) for each in ("vex", "vec")]
    return [f"{size / 1e6:.1f}" for size in (*sizes, figures["store"]["size_in_bytes"])]


def recall(client: Any, name: str, asked: Sequence[Sequence[float]], cosines: Vectors, breadth: int) -> float:
    """Return the share of the nearest by floats that the graph finds, at the same cosines."""
    shares = []
    for question, exact in zip(asked, cosines, strict=True):
        wanted = {"knn": {"vector": {"vector": question, "k": breadth}}}
        answer = client.search(index=name, body={"size": NEAREST, "_source": False, "query": wanted})
        found = [int(each["_id"]) for each in answer["hits"]["hits"]]
        limit = np.partition(exact, -NEAREST)[-NEAREST] - 1e-6
        shares.append(np.mean(exact[found] >= limit))
    return float(np.mean(shares))


if __name__ == "__main__":
    main()
