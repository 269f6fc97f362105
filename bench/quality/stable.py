"""Compare the evidence of equal questions, whatever was built beside the index meanwhile.

    python -m bench stable INDEX COLLECTION [--qrels NAME...] [--questions 300]

INDEX is an index of works with vectors, such as `bench works --keep` leaves; COLLECTION holds questions in BEIR's
layout. The database is copied without the files that are derived from it and asked: at once, while they are being
built, once they are there, and by another process's eyes (opened anew). Every pack is compared as JSON, scores and all.
Prints how many differ; exit status 1 if any does.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import rifflux
from rifflux.evaluate import read_beir
from rifflux.index import Index
from rifflux.surfaces.shared.nouns import noun_json
from rifflux.works.retrieval.retriever import RetrievalSettings

#: What is compared must not depend on how busy the machine is.
PATIENT = RetrievalSettings(expansion_ms=10_000, rerank_ms=10_000)


def main() -> None:
    """Ask, compare, and fail if a pack differs."""
    arguments = _arguments()
    questions = [each.text for name in arguments.qrels for each in read_beir(arguments.collection, name).questions]
    questions = questions[:: max(1, len(questions) // arguments.questions)][: arguments.questions]
    # Single words give many passages nearly one score.
    questions += sorted({max(question.split(), key=len) for question in questions})[: arguments.questions // 3]
    rounds: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(arguments.index, folder))
        with rifflux.open(path) as index:
            rounds["at once"] = _packs(index, questions)
            rounds["while they are built"] = _packs(index, questions)
            index.admin.store.accelerate()
            rounds["once they are there"] = _packs(index, questions)
        with rifflux.open(path) as index:
            rounds["opened anew"] = _packs(index, questions)
        built = sorted(each.name for each in Path(folder).iterdir() if each.name != path.name)
    print(f"{len(questions)} questions; beside the index: {', '.join(built)}")
    first = rounds["at once"]
    differing = 0
    for name, packs in rounds.items():
        unlike = [question for question, one, other in zip(questions, first, packs, strict=True) if one != other]
        print(f"{name}: {len(unlike)} packs differ", *(f"  {question}" for question in unlike[:5]), sep="\n")
        differing += len(unlike)
    sys.exit(int(differing > 0))


def _packs(index: Index, questions: Sequence[str]) -> list[str]:
    ask = replace(index.retrieve, settings=PATIENT)
    return [json.dumps(noun_json(ask(question, cite="csl").evidence)) for question in questions]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--qrels", nargs="+", default=["test"])
    parser.add_argument("--questions", type=int, default=300)
    return parser.parse_args()
