"""Measure how long candidates take to be put in order: fusing, explaining the page, reranking.

    python -m bench ordering INDEX.db QUERIES.jsonl [--pool 200] [--page 10] [--rerank features maxsim]

For each fusion: milliseconds to fuse what both channels found, candidates being the first `pool` of each, and to make
the trails of the page's hits. What a fusion asks the store is in it; reading the rows of the page is not, for every
search does that. `again` is the best of five times for the same candidates: the arithmetic alone, while the first time
also fills the processor's caches, as in a search. For each reranker: what it adds to a search, for its 20 candidates.
Some questions come first that are not counted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

import rifflux
from rifflux.index import Index
from rifflux.retrieve.fuse import FUSIONS
from rifflux.retrieve.fuse.base import StoreEvidence
from rifflux.retrieve.pipeline import Plan, Stopwatch, gather, reaching
from rifflux.retrieve.table import page

WARMING, AGAIN = 10, 5
T = TypeVar("T")


def main() -> None:
    """Print the percentiles."""
    arguments = _arguments()
    lines = arguments.questions.read_text("utf-8").splitlines()[: arguments.queries + WARMING]
    questions = [json.loads(line)["text"] for line in lines]
    with rifflux.open(arguments.index, create=False) as index:
        print(f"{index.status().chunks:,} chunks, {len(questions) - WARMING} questions, milliseconds")
        print(f"{'':<24}{'p50':>9}{'p95':>9}{'again p50':>12}{'p95':>9}")
        for name in FUSIONS:
            times = [_fusing(index, question, name, arguments.pool, arguments.page) for question in questions]
            for what, measured in ((f"fuse {name}", [t[:1] for t in times]), ("  and explain the page", times)):
                first, again = (
                    [sum(each[0] for each in t) for t in measured],
                    [sum(min(e) for e in t) for t in measured],
                )
                _print(what, first, again)
        for name in arguments.rerank:
            _print(f"rerank by {name}", [_reranking(index, question, name) for question in questions])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path, metavar="QUERIES.jsonl")
    parser.add_argument("--pool", type=int, default=200)
    parser.add_argument("--page", type=int, default=10)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rerank", nargs="*", default=["features", "maxsim"])
    return parser.parse_args()


def _fusing(index: Index, question: str, fusion: str, pool: int, length: int) -> tuple[list[float], list[float]]:
    """Milliseconds to fuse, and to explain: the first time, and again."""
    plan = _plan(index, question, fusion, pool)
    found = gather(plan.query, plan.pipeline.channels, Stopwatch())
    fusing, table = _timed(lambda: plan.pipeline.ordered(plan.query, found, Stopwatch()))
    shown = plan.pipeline.read(table.head(length))
    return fusing, _timed(lambda: page(shown))[0]


def _plan(index: Index, question: str, fusion: str, pool: int) -> Plan:
    """A hybrid search for a question with a fusion and a pool, without what comes after them."""
    plan = index.admin.searcher.plan(question)
    fuse = FUSIONS[fusion]()
    query = reaching(plan.query, fuse, pool)
    evidence = StoreEvidence(index.admin.store, query)
    return replace(
        plan, query=query, pipeline=replace(plan.pipeline, fuse=fuse, pool=pool, evidence=evidence, anchors=None)
    )


def _reranking(index: Index, question: str, name: str) -> float:
    return index.search(question, rerank=name).trace.milliseconds["rerank"]


def _timed(work: Callable[[], T]) -> tuple[list[float], T]:
    """Milliseconds of each time."""
    times = []
    for _ in range(AGAIN):
        start = time.perf_counter()
        result = work()
        times.append((time.perf_counter() - start) * 1000)
    return times, result


def _print(what: str, first: Sequence[float], again: Sequence[float] = ()) -> None:
    columns = [np.percentile(values[WARMING:], [50, 95]) for values in (first, again) if values]
    print(f"{what:<24}" + "   ".join(f"{p50:9.3f}{p95:9.3f}" for p50, p95 in columns))
