"""How well the index ranks on judged collections: nDCG@10, MRR@10 and Recall@20 by mode.

    python bench/quality.py FOLDER_OF_COLLECTIONS [NAME ...] [--modes lexical,hybrid]

A document counts at its best chunk. Indexes are built in a temporary folder, or kept in --keep FOLDER.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import ir_measures
from ir_measures import RR, R, nDCG

import rifflux
from beir import Collection, Question
from rifflux.index import Index

MEASURES = [nDCG @ 10, RR @ 10, R @ 20]
#: Chunks asked for: enough that 20 different documents are among them.
DEPTH = 100
NAMES = ("scifact", "nfcorpus", "cacm", "cosqa", "locomo", "stacks", "stacks:terms", "cfr30", "srd5e")
SCOPES = {"locomo": "conversation"}


def main() -> None:
    """Print one line for each collection and mode."""
    arguments = _arguments()
    print(f"{'collection':<14} {'mode':<9} {'nDCG@10':>8} {'MRR@10':>8} {'R@20':>8} {'ms/query':>9} {'chunks':>8}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        for name in arguments.names or NAMES:
            collection = _collection(arguments.data, name)
            with _built(collection, folder, embed=arguments.modes != ["lexical"]) as index:
                for mode in arguments.modes:
                    print(_row(collection, mode, index), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--modes", type=lambda text: text.split(","), default=["lexical", "semantic", "hybrid"])
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


def _collection(data: Path, name: str) -> Collection:
    folder, _, qrels = name.partition(":")
    return Collection(data / folder, qrels or "test", SCOPES.get(folder))


def _built(collection: Collection, folder: Path, *, embed: bool) -> Index:
    folder.mkdir(parents=True, exist_ok=True)
    index = rifflux.open(folder / f"{collection.folder.name}.db")
    index.add(collection.corpus, embed=embed)
    return index


def _row(collection: Collection, mode: str, index: Index) -> str:
    questions = collection.questions()
    start = time.perf_counter()
    run = {question.id: _ranked(index, question, mode, collection.scope) for question in questions}
    milliseconds = (time.perf_counter() - start) * 1000 / len(questions)
    found = ir_measures.calc_aggregate(MEASURES, {question.id: question.grades for question in questions}, run)
    values = " ".join(f"{found[measure]:8.4f}" for measure in MEASURES)
    return f"{collection.name:<14} {mode:<9} {values} {milliseconds:9.2f} {index.status().chunks:8d}"


def _ranked(index: Index, question: Question, mode: str, scope: str | None) -> dict[str, float]:
    """Each document's best score. The order is what counts: scores that tie are told apart by their place."""
    filter = {"metadata": {scope: question.metadata[scope]}} if scope else None
    hits = index.search(question.text, top_k=DEPTH, mode=mode, filter=filter)
    return dict(reversed([(hit.document, 1.0 / rank) for rank, hit in _first_of_each(hits)]))


def _first_of_each(hits: rifflux.Results) -> Iterator[tuple[int, rifflux.Hit]]:
    seen = set()
    for rank, hit in enumerate(hits, 1):
        if hit.document not in seen:
            seen.add(hit.document)
            yield rank, hit


if __name__ == "__main__":
    main()
