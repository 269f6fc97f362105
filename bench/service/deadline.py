"""Measure how fast a request is answered whose reranker hangs.

    python -m bench deadline INDEX.db "QUESTION" [--deadline-ms 200] [--requests 200]

Each request hangs anew: earlier ones are let go before the next, so that all wait for the deadline and none is turned
away. The last line is for requests that find too many hanging already.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import rifflux
from rifflux.index import Index
from rifflux.retrieve.steps.rerank import Rerank, Scored
from rifflux.retrieve.table import Candidates
from rifflux.types import Query


class Hanging:
    """A scorer that does not return until it is released."""

    name = "hanging"

    def __init__(self) -> None:
        self.release = threading.Event()

    def __call__(self, query: Query, table: Candidates) -> Scored:
        self.release.wait()
        return Scored(np.zeros(len(table)))


def main() -> None:
    """Print the percentiles."""
    arguments = _arguments()
    with rifflux.open(arguments.index, create=False) as index:
        index.search(arguments.question)
        waiting = []
        for _ in range(arguments.requests):
            scorer = Hanging()
            waiting.append(_milliseconds(index, arguments, Rerank(scorer)))
            scorer.release.set()
        scorer = Hanging()
        stage = Rerank(scorer)
        refused = [_milliseconds(index, arguments, stage) for _ in range(arguments.requests)][8:]
        scorer.release.set()
    _print(f"hanging, deadline {arguments.deadline_ms:g} ms", waiting)
    _print("still busy", refused)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("question")
    parser.add_argument("--deadline-ms", type=float, default=200.0)
    parser.add_argument("--requests", type=int, default=200)
    return parser.parse_args()


def _milliseconds(index: Index, arguments: argparse.Namespace, stage: Rerank) -> float:
    start = time.perf_counter()
    found = index.search(arguments.question, rerank=stage, deadline_ms=arguments.deadline_ms)
    elapsed = (time.perf_counter() - start) * 1000
    if not found.trace.degraded:
        raise SystemExit("the reranker did not hang")
    return elapsed


def _print(what: str, values: Sequence[float]) -> None:
    p50, p95, p99 = np.percentile(values, [50, 95, 99])
    print(f"{what:<28} p50 {p50:7.1f}  p95 {p95:7.1f}  p99 {p99:7.1f}  max {max(values):7.1f} ms")
