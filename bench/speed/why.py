"""Measure how long it takes to explain why a document is where it is.

    python -m bench why INDEX.db QUERIES.jsonl [--queries 20] [--documents 4]

Each question is asked about documents drawn at random, most of which no search finds, and about some near the page's
end. Times are milliseconds of this thread's own processor time, so that other work on the machine does not count, and
of the clock.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import rifflux
from rifflux.index import Index


def main() -> None:
    """Print the percentiles by what became of the document."""
    arguments = _arguments()
    lines = arguments.questions.read_text("utf-8").splitlines()[: arguments.queries]
    times: dict[str, list[tuple[float, float]]] = {}
    with rifflux.open(arguments.index, create=False) as index:
        print(f"{index.status().chunks:,} chunks")
        for question in (json.loads(line)["text"] for line in lines):
            for document in _documents(index, question, arguments.documents):
                cpu, clock = time.thread_time(), time.perf_counter()
                verdict = index.why(question, document)
                took = (time.thread_time() - cpu) * 1000, (time.perf_counter() - clock) * 1000
                times.setdefault("found" if verdict.found else verdict.stage, []).append(took)
    print(f"{'':<12}{'verdicts':>9}{'cpu p50':>9}{'p95':>9}{'clock p50':>11}{'p95':>9}")
    for stage, taken in (times | {"all": [each for group in times.values() for each in group]}).items():
        cpu, clock = np.percentile(np.array(taken), (50, 95), axis=0).T
        print(f"{stage:<12}{len(taken):>9}{cpu[0]:>9.1f}{cpu[1]:>9.1f}{clock[0]:>11.1f}{clock[1]:>9.1f}")


def _documents(index: Index, question: str, many: int) -> Iterator[str]:
    """Chunks on the page, behind it, and anywhere."""
    hits = index.search(question, top_k=60)
    yield from (hit.id for hit in hits[8:60:26])
    draw = random.Random(question)
    anything = index.search(draw.choice(question.split()), top_k=1000, mode="semantic")
    yield from (hit.key for hit in draw.sample(list(anything), min(many, len(anything))))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path, metavar="QUERIES.jsonl")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--documents", type=int, default=4)
    return parser.parse_args()
