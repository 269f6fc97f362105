"""Five ways to find works, each with one thing more than the one before, on collections that have citations.

    python bench/works.py FOLDER_OF_COLLECTIONS [--keep FOLDER] [--collections NAME...]

The rows are those of the requirements: words only, meaning only, both, both with citations, and all six components.
The table tells nDCG@10, Recall@20 and MRR@10, how many branches (chapters or decades) the first ten are from, the
median and 95th percentile of the time, and p of a paired bootstrap against the row before. Collections are imported as
works.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

import rifflux
from rifflux.evaluate import read_beir
from rifflux.evaluate.collection import Collection
from rifflux.evaluate.measures import Bootstrap, measured
from rifflux.index import Index
from rifflux.retrieve.works.intent import GENERIC, INTENTS, Weights
from rifflux.types import Hit

COLLECTIONS = ("cacm", "stacks", "stacks:terms")
DEPTH = 20
HEAD = "| collection | way | nDCG@10 | Recall@20 | MRR@10 | branches@10 | p50 ms | p95 ms | p, row before |"
Way = Callable[[str], Sequence[Hit]]


def main() -> None:
    """Print a table, one row a collection and way."""
    arguments = _arguments()
    print(f"{HEAD}\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as temporary:
        keep = arguments.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        for name in arguments.collections:
            folder, _, qrels = name.partition(":")
            collection = read_beir(arguments.data / folder, qrels or "test")
            with _works(arguments.data / folder, keep / f"{folder}-works.db") as index:
                _compare(name, collection, index)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--collections", nargs="+", default=COLLECTIONS)
    return parser.parse_args()


@contextmanager
def _works(folder: Path, path: Path) -> Iterator[Index]:
    """The collection's documents as works, imported once."""
    with rifflux.open(path, profile="works") as index:
        if not index.status().chunks:
            index.works.import_files(folder / "corpus.jsonl", embed=False)
        index.embed(
            lambda stage, done, total: print(stage, done, total, file=sys.stderr) if done % 4096 < 128 else None
        )
        yield index


def _ways(index: Index) -> dict[str, Way]:
    def searching(mode: str) -> Way:
        return lambda text: index.search(text, top_k=DEPTH, mode=mode, group="document")

    def retrieving(weights: Weights) -> Way:
        generic = replace(INTENTS[GENERIC], weights=weights)
        scholar = replace(index.retrieve, intents=dict.fromkeys(INTENTS, generic))
        return lambda text: scholar(text, top_k=DEPTH).reranked

    cited = replace(INTENTS[GENERIC].weights, field_match=0.0, freshness=0.0, authority=0.0)
    return {
        "words": searching("lexical"),
        "meaning": searching("semantic"),
        "hybrid": searching("hybrid"),
        "hybrid + citations": retrieving(cited),
        "+ subjects and authority": retrieving(INTENTS[GENERIC].weights),
        "as worded (default)": lambda text: index.retrieve(text, top_k=DEPTH).reranked,
    }


def _compare(name: str, collection: Collection, index: Index) -> None:
    before = None
    for way, ask in _ways(index).items():
        rankings, times, branches = {}, [], []
        for question in collection.questions:
            start = time.perf_counter()
            hits = ask(question.text)
            times.append((time.perf_counter() - start) * 1000)
            rankings[question.id] = [hit.document for hit in hits]
            branches.append(len({_branch(hit) for hit in hits[:10]}))
        values = measured(collection.questions, rankings)
        gain = values["ndcg@10"]
        p = "" if before is None else f"{Bootstrap().p_value(gain - before):.3f}"
        before = gain
        means = " | ".join(f"{values[measure].mean():.3f}" for measure in ("ndcg@10", "recall@20", "mrr@10"))
        p50, p95 = np.percentile(times, [50, 95])
        print(f"| {name} | {way} | {means} | {np.mean(branches):.1f} | {p50:.1f} | {p95:.1f} | {p} |", flush=True)


def _branch(hit: Hit) -> object:
    """What a work counts under: its chapter, or its decade."""
    year = hit.metadata.get("year")
    return hit.metadata.get("chapter") or (year // 10 if isinstance(year, int) else None)


if __name__ == "__main__":
    main()
