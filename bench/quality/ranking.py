"""Measure ranking on judged collections: nDCG@10, Recall@20, MRR@10, P@5 and latency by mode.

    python -m bench ranking FOLDER_OF_COLLECTIONS [NAME ...] [--modes lexical,hybrid] [--keep FOLDER] [--markdown FILE]

A name is a folder, or `folder:qrels`. A mode is anything that `rifflux eval --run` takes without commas, or the name of
a run that `rifflux eval --ablate` compares, such as `rrf` without a reranker; `ablate` stands for all of those. Indexes
are built in a temporary folder, or kept in --keep FOLDER.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console

from bench.shared import NAMES, SCOPES
from rifflux.evaluate import MEASURES, Cache, Run, RunOutcome, ablation, compare, page, parse_run, read_beir, table
from rifflux.evaluate.report import LABELS


def main() -> None:
    """Print a table of all collections and modes, or what the options ask for."""
    arguments = _arguments()
    runs = tuple(_runs(arguments.modes))
    with tempfile.TemporaryDirectory() as temporary, Cache(arguments.keep or temporary) as cache:
        outcomes = [each for name in arguments.names or NAMES for each in _compared(arguments.data, name, runs, cache)]
    if arguments.json:
        print(json.dumps([outcome.row() for outcome in outcomes], indent=2))
    else:
        Console(width=None if sys.stdout.isatty() else 120).print(table(outcomes))
    if arguments.markdown:
        arguments.markdown.write_text(_markdown(outcomes, arguments.modes), "utf-8")
    if arguments.html:
        arguments.html.write_text(page(outcomes), "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--modes", type=lambda text: text.split(","), default=["lexical", "semantic", "hybrid"])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--html", type=Path)
    parser.add_argument("--markdown", type=Path)
    return parser.parse_args()


def _runs(modes: list[str]) -> Iterator[Run]:
    named = {run.name: run for run in ablation()}
    for mode in modes:
        if mode == "ablate":
            yield from named.values()
        else:
            yield named.get(mode) or parse_run(mode)


def _compared(data: Path, name: str, runs: tuple[Run, ...], cache: Cache) -> list[RunOutcome]:
    folder, _, qrels = name.partition(":")
    collection = read_beir(data / folder, qrels or "test", scope=SCOPES.get(folder))
    print(f"{name} …", file=sys.stderr)
    return compare(collection, runs, cache.opener(collection, runs), left_out=lambda why: print(why, file=sys.stderr))


def _markdown(outcomes: list[RunOutcome], modes: list[str]) -> str:
    """A table for each measure: collections by runs, with their mean."""
    command = f"python -m bench ranking DATA --modes {','.join(modes)} --markdown bench/results/quality.md"
    text = f"# Quality\n\nMade by `{command}`.\nA document counts at its best chunk.\n"
    runs = list(dict.fromkeys(outcome.run for outcome in outcomes))
    groups = list(dict.fromkeys((outcome.collection, outcome.qrels) for outcome in outcomes))
    for measure, label in LABELS.items():
        if measure not in MEASURES:
            continue
        values = {(each.collection, each.qrels, each.run): each.row()[measure] for each in outcomes}
        text += f"\n| {label} | {' | '.join(runs)} |\n| --- |{' ---: |' * len(runs)}\n"
        for group in groups:
            name = group[0] if group[1] == "test" else ":".join(group)
            text += f"| {name} | {' | '.join(f'{values[*group, run]:.4f}' for run in runs)} |\n"
        means = (np.mean([values[*group, run] for group in groups]) for run in runs)
        text += f"| **mean** | {' | '.join(f'{mean:.4f}' for mean in means)} |\n"
    return text
