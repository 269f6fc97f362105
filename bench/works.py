"""Five ways to find works, each with one thing more than the one before, on collections that have citations.

    python bench/works.py FOLDER_OF_COLLECTIONS [--keep FOLDER] [--collections NAME...]

The rows are those of the requirements: words only, meaning only, both, both with citations, and all components of the
score, subjects among them; then what a caller gets by default, where the wording chooses among the intents, and what
the score is worth without citations. The table tells nDCG@10, Recall@20 and MRR@10, from how many branches (chapters or
decades) the first ten are, the median and 95th percentile of the time, and how nDCG@10 differs from the row before and
from words only, with p of a paired bootstrap.
A collection is `FOLDER`, `FOLDER:QRELS` or a path, in BEIR's layout, and imported as works. `--keep` keeps the indexes.
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
from rifflux.scholar import ScholarSettings
from rifflux.types import Hit, Scores

COLLECTIONS = ("cacm", "stacks", "stacks:terms")
DEPTH = 20
#: Without one, evidence would be packed without its texts, which takes less time.
LICENCE = "as its owner has it"
#: What is measured must not depend on how busy the machine is.
PATIENT = ScholarSettings(expansion_ms=10_000, rerank_ms=10_000)
HEAD = (
    "| collection | way | nDCG@10 | Recall@20 | MRR@10 | branches@10 | p50 ms | p95 ms | to the row before | to words |"
)
Way = Callable[[str], Sequence[Hit]]


def main() -> None:
    """Print a table, one row a collection and way."""
    arguments = _arguments()
    print(f"{HEAD}\n| --- | --- |{' ---: |' * 8}")
    with tempfile.TemporaryDirectory() as temporary:
        keep = arguments.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        for name in arguments.collections:
            folder, _, qrels = name.partition(":")
            collection = read_beir(arguments.data / folder, qrels or "test")
            corpus = (arguments.data / folder / "corpus.jsonl").resolve()
            with _works(corpus, keep / f"{corpus.parent.name}-works.db") as index:
                _compare(name.rpartition("/")[2], collection, index)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--collections", nargs="+", default=COLLECTIONS)
    return parser.parse_args()


@contextmanager
def _works(corpus: Path, path: Path) -> Iterator[Index]:
    """The collection's documents as works, imported once."""
    with rifflux.open(path, profile="works") as index:
        if not index.status().chunks:
            index.works.import_files(corpus, licence=LICENCE, embed=False)
        index.embed(
            lambda stage, done, total: print(stage, done, total, file=sys.stderr) if done % 4096 < 128 else None
        )
        yield index


def _ways(index: Index) -> dict[str, Way]:
    patient = replace(index.retrieve, settings=PATIENT)

    def searching(mode: str) -> Way:
        return lambda text: index.search(text, top_k=DEPTH, mode=mode, group="document")

    def retrieving(weights: Weights) -> Way:
        generic = replace(INTENTS[GENERIC], weights=weights)
        scholar = replace(patient, intents=dict.fromkeys(INTENTS, generic))
        return lambda text: scholar(text, top_k=DEPTH).reranked

    cited = replace(INTENTS[GENERIC].weights, field_match=0.0, freshness=0.0, authority=0.0)
    return {
        "1 words": searching("lexical"),
        "2 meaning": searching("semantic"),
        "3 hybrid": searching("hybrid"),
        "4 + citations": retrieving(cited),
        "5 + subjects, authority": retrieving(INTENTS[GENERIC].weights),
        "default, as worded": lambda text: patient(text, top_k=DEPTH).reranked,
        "5 without citations": retrieving(replace(INTENTS[GENERIC].weights, citation=0.0)),
    }


def _compare(name: str, collection: Collection, index: Index) -> None:
    gains: list[Scores] = []
    for way, ask in _ways(index).items():
        rankings, times, branches = {}, [], []
        for question in collection.questions:
            start = time.perf_counter()
            hits = ask(question.text)
            times.append((time.perf_counter() - start) * 1000)
            rankings[question.id] = [hit.document for hit in hits]
            branches.append(len({_branch(hit) for hit in hits[:10]}))
        values = measured(collection.questions, rankings)
        gains.append(values["ndcg@10"])
        compared = " | ".join(
            _difference(gains[-1], gains[place]) if gains[1:] else "" for place in (len(gains) - 2, 0)
        )
        means = " | ".join(f"{values[measure].mean():.3f}" for measure in ("ndcg@10", "recall@20", "mrr@10"))
        p50, p95 = np.percentile(times, [50, 95])
        print(
            f"| {name} | {way} | {means} | {np.mean(branches):.1f} | {p50:.1f} | {p95:.1f} | {compared} |", flush=True
        )


def _difference(gain: Scores, other: Scores) -> str:
    """The mean difference and its p."""
    return f"{np.mean(gain - other):+.3f}, p {Bootstrap().p_value(gain - other):.3f}"


def _branch(hit: Hit) -> object:
    """What a work counts under: its chapter, or its decade."""
    year = hit.metadata.get("year")
    return hit.metadata.get("chapter") or (year // 10 if isinstance(year, int) else None)


if __name__ == "__main__":
    main()
