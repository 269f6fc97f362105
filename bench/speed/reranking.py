"""Measure what the default reranker adds to a warm hybrid search, with it and without in turns.

    python -m bench reranking INDEX FOLDER_OF_COLLECTIONS [--each 40] [--rounds 5]

Questions are drawn of each collection. In every round each is asked both ways, and the one that begins changes each
time, so that what else the machine does falls on both. What was remembered of passages is forgotten before each search.
A question counts by the least of its rounds. Printed are
milliseconds of both ways, by the clock and of the processor (all threads), what the one takes more than the other in
the same question, and two stages of the default's trace: `anchors` recognizes documents that the question names,
`rerank` puts the candidates in another order.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import rifflux
from bench.shared import forget, questions
from rifflux.index import Index
from rifflux.retrieve.pipeline import NO_RERANKER

WAYS = {"by default": None, "rerank=none": NO_RERANKER}
STAGES = ("anchors", "rerank")
CPU = ", processor"
PERCENTILES = (50, 95)
#: Questions asked before the clock counts.
WARMING = 20


def main() -> None:
    """Print a table in Markdown."""
    arguments = _arguments()
    asked = list(questions(arguments.data, arguments.each))
    with rifflux.open(arguments.index, create=False) as index:
        for text in asked[:WARMING]:
            for reranker in WAYS.values():
                index.search(text, rerank=reranker)
        rounds = [_round(index, asked, number) for number in range(arguments.rounds)]
        print(f"{index.status().chunks:,} chunks, {len(asked)} questions, {len(rounds)} rounds, milliseconds\n")
    print("\n".join(_table(_least(rounds))))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--each", type=int, default=40, help="questions of each collection")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def _round(index: Index, asked: Sequence[str], number: int) -> list[dict[str, float]]:
    """Ask each question both ways: milliseconds of each, clock and processor, and of the default's stages."""
    rows = []
    for place, text in enumerate(asked):
        row = {}
        for way in sorted(WAYS, reverse=(number + place) % 2 == 0):
            forget()
            start, busy = time.perf_counter(), time.process_time()
            trace = index.search(text, rerank=WAYS[way]).trace
            row[way], row[way + CPU] = (time.perf_counter() - start) * 1000, (time.process_time() - busy) * 1000
            if WAYS[way] is None:
                row |= {stage: trace.milliseconds.get(stage, 0.0) for stage in STAGES}
        rows.append(row)
    return rows


def _least(rounds: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, list[float]]:
    """The least milliseconds of each question, by what was measured, and what the default takes more."""
    what = [way + unit for unit in ("", CPU) for way in WAYS]
    least = {each: [min(row[each] for row in rows) for rows in zip(*rounds, strict=True)] for each in (*what, *STAGES)}
    for unit in ("", CPU):
        default, none = (least[way + unit] for way in WAYS)
        least[f"more by default{unit}"] = [more - less for more, less in zip(default, none, strict=True)]
    return least


def _table(measured: Mapping[str, Sequence[float]]) -> list[str]:
    lines = [f"| hybrid | {' | '.join(f'p{each}' for each in PERCENTILES)} |", "| --- |" + " ---: |" * len(PERCENTILES)]
    for what, times in measured.items():
        lines.append(f"| {what} | {' | '.join(f'{value:.2f}' for value in np.percentile(times, PERCENTILES))} |")
    return lines
