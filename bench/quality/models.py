"""Measure ranking and levels of relevance with several embedding models.

    python -m bench models DATA MODEL ... [--names scifact,nfcorpus,cacm,stacks] [--keep FOLDER] [--notes FOLDER]

A model is anything that `--model` takes, `minilm` for the one that comes with the package. Printed are, as a table in
Markdown, a row for each collection and model

    words, meaning, RRF  nDCG@10; a document counts at its best passage
    default - RRF        what the default search gains: its fusion and its reranker
    noise to agreement   what was read of the vectors (`src/rifflux/retrieve/scale.py`)
    right low            right first hits of the default search that are called low
    foreign, made up     questions without an answer here, of other collections and made up, with no hit above low;
                         they are of all collections of the folder, whichever are asked

and a row for each model with the means. With `--notes`, a folder of Markdown, a second table follows to choose a model
by: the mean nDCG@10 by default, and what indexing the folder took (`bench sizes`).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.quality.calibrate import NAMES, unanswerable
from bench.quality.kept import markdown
from bench.quality.reliability import MADE_UP, OTHERS
from bench.shared import SCOPES
from bench.speed.sizes import Costs, costs, named
from rifflux.evaluate import Cache, Collection, Run, compare, parse_run, read_beir
from rifflux.index import Index
from rifflux.retrieve.table import MEDIUM

RUNS = ("lexical", "semantic", "fusion=rrf", "hybrid")
QUESTIONS = 150
COLUMNS = ("words", "meaning", "RRF", "default", "default - RRF", "noise", "spread", "reach", "agreement")
LEVELS = ("right low", "foreign low", "made up low")


@dataclass(frozen=True)
class Row:
    """The figures of one collection with one model, in the order of the columns."""

    collection: str
    model: str
    figures: Sequence[float]


def main() -> None:
    """Print a line for each collection and model as it comes, then the table."""
    arguments = _arguments()
    collections = {name: _read(arguments.data, name) for name in dict.fromkeys((*NAMES, *arguments.names))}
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for model in arguments.models:
            with Cache(arguments.keep or temporary, model=None if model == "minilm" else model) as cache:
                for name in arguments.names:
                    rows.append(_row(name, model, collections, cache))
                    print(_line(rows[-1]), file=sys.stderr, flush=True)
    print(_table(rows))
    if arguments.notes:
        print("\n" + "\n".join(_choice(rows, {model: costs(arguments.notes, model) for model in arguments.models})))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--names", type=lambda text: text.split(","), default=["scifact", "nfcorpus", "cacm", "stacks"])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--notes", type=Path, help="measure what indexing this folder costs with each model")
    return parser.parse_args()


def _read(data: Path, name: str) -> Collection:
    folder, _, qrels = name.partition(":")
    return read_beir(data / folder, qrels or "test", scope=SCOPES.get(folder))


def _row(name: str, model: str, collections: dict[str, Collection], cache: Cache) -> Row:
    collection, runs = collections[name], tuple(map(parse_run, RUNS))
    opened = cache.opener(collection, runs)
    values = _ranked(collection, runs, opened(runs[-1]))
    index = opened(runs[-1])
    read = index.status().vectors
    vectors = (read.noise, read.spread, read.reach, read.agreement or np.nan) if read else (np.nan,) * 4
    levels = _levels(name, collections, index)
    return Row(name, named(model), (*values, values[3] - values[2], *vectors, *levels))


def _ranked(collection: Collection, runs: Sequence[Run], index: Index) -> list[float]:
    """Return nDCG@10 of each run."""
    outcomes = compare(collection, runs, lambda _: index)
    return [outcome.row()["ndcg@10"] for outcome in outcomes]


def _levels(name: str, collections: dict[str, Collection], index: Index) -> Iterator[float]:
    """Yield the shares of levels by default."""
    collection, choice = collections[name], random.Random(name)
    asked = choice.sample(list(collection.questions), min(QUESTIONS, len(collection.questions)))
    firsts = [
        (question, index.search(question.text, filter=collection.filter(question)).hits[:1]) for question in asked
    ]
    right = [hit for question, hits in firsts for hit in hits if question.grades.get(collection.identify(hit), 0) > 0]
    yield float(np.mean([(hit.relevance or 0) < MEDIUM for hit in right])) if right else np.nan
    low: dict[str, list[bool]] = {OTHERS: [], MADE_UP: []}
    for origin, text in unanswerable(name, collections, choice):
        filter = collection.filter(choice.choice(asked))
        low[origin].append(all((hit.relevance or 0) < MEDIUM for hit in index.search(text, filter=filter).hits))
    for found in low.values():
        yield float(np.mean(found)) if found else np.nan


def _line(row: Row) -> str:
    return f"{row.collection:<10} {row.model:<24} {' '.join(f'{figure:.4f}' for figure in row.figures)}"


def _table(rows: Sequence[Row]) -> str:
    heads = ("collection", "model", *COLUMNS, *LEVELS)
    lines = [f"| {' | '.join(heads)} |", f"| --- | --- |{' ---: |' * (len(heads) - 2)}"]
    for model in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == model]
        means = Row("**mean**", model, np.nanmean([row.figures for row in own], axis=0).tolist())
        lines += [
            f"| {row.collection} | {row.model} | {' | '.join(f'{figure:.3f}' for figure in row.figures)} |"
            for row in (*own, means)
        ]
    return "\n".join(lines)


def _choice(rows: Sequence[Row], spent: Mapping[str, Costs]) -> Iterator[str]:
    """Yield a table of what each model gives and costs."""
    heads = ("model", "nDCG@10", "minutes for 1,000 notes", "of processor time", "memory, MB", "model, MB", "index, MB")
    found = {name: np.mean([row.figures[3] for row in rows if row.model == name]) for name in map(named, spent)}
    yield from markdown(
        heads, ([named(model), f"{found[named(model)]:.3f}", *_told(each)] for model, each in spent.items())
    )


def _told(spent: Costs) -> Iterator[str]:
    yield from (f"{spent.minutes:.2f}", f"{spent.processor_minutes:.2f}", f"{spent.memory_megabytes:.0f}")
    yield from (f"{spent.model_megabytes:.1f}", f"{spent.index_megabytes:.1f}")
