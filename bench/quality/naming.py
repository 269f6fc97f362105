"""Measure what recognizing names changes for judged questions: nDCG@10 with it and without, by collection.

    python -m bench naming FOLDER_OF_COLLECTIONS [NAME ...] [--keep FOLDER] [--show 3]

Every judged question is asked twice by default: as users ask it, and with no title, heading, alias or key taken for a
name in it, nor for one that it begins. `moved` are questions whose nDCG@10 differs. Collections of `NAMED` are asked by
the names of what they judge; questions of the others are ordinary ones, which naming ought to leave alone. `--show`
prints the worst of them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

from bench.quality.kept import markdown
from bench.shared import NAMES, SCOPES
from rifflux.evaluate import Cache, Collection, parse_run, read_beir
from rifflux.evaluate.measures import PRIMARY, measured
from rifflux.evaluate.runs import answers
from rifflux.index import Index
from rifflux.requests import HYBRID
from rifflux.retrieve.steps.anchors import Anchors
from rifflux.types import Scores

#: Asked by names: of definitions, by section numbers, and of spells and monsters.
NAMED = ("stacks:terms", "cfr30", "srd5e")
#: What marks records that begin with what was asked, where it is looked up.
BEGUN = "rifflux.retrieve.steps.anchors.begun"
HEADS = ("collection", "questions", "without names", "with names", "difference", "standard error", "moved")


@dataclass(frozen=True)
class Compared:
    """nDCG@10 of the questions of one collection, with names recognized and without."""

    name: str
    questions: Sequence[str]
    recognized: Scores
    ignored: Scores

    @property
    def differences(self) -> Scores:
        """Return what recognizing names adds to each question."""
        return self.recognized - self.ignored


def main() -> None:
    """Print a table: the collections of ordinary questions with their mean, then those that are asked by names."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as temporary, Cache(arguments.keep or temporary) as cache:
        compared = [_compared(arguments.data, name, cache, arguments.show) for name in arguments.names or NAMES]
    print("\n".join(markdown(HEADS, _rows(compared))))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*", help="a folder, or folder:qrels; all of them by default")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--show", type=int, default=0, help="print so many questions that lose most")
    return parser.parse_args()


def _compared(data: Path, name: str, cache: Cache, show: int) -> Compared:
    print(f"{name} …", file=sys.stderr, flush=True)
    folder, _, qrels = name.partition(":")
    collection = read_beir(data / folder, qrels or "test", scope=SCOPES.get(folder))
    found = compared(name, collection, cache.index(collection))
    for place in np.argsort(found.differences, kind="stable")[:show].tolist():
        print(f"  {found.differences[place]:+.3f}  {found.questions[place]}", file=sys.stderr)
    return found


def compared(name: str, collection: Collection, index: Index) -> Compared:
    """Ask an index the questions of a collection, with names recognized and without."""
    recognized = _gains(collection, index)
    with patch.object(Anchors, "_by_title", lambda *_: {}), patch(BEGUN, lambda _, table, *__: table):
        ignored = _gains(collection, index)
    return Compared(name, [question.text for question in collection.questions], recognized, ignored)


def _gains(collection: Collection, index: Index) -> Scores:
    run = parse_run(HYBRID)
    rankings = answers(run.view(index), collection, run).rankings
    return measured(collection.questions, rankings)[PRIMARY]


def _rows(compared: Sequence[Compared]) -> Iterator[Sequence[str]]:
    ordinary = [each for each in compared if each.name not in NAMED]
    yield from map(_row, ordinary)
    if ordinary:
        means = (np.mean([getattr(each, kind).mean() for each in ordinary]) for kind in ("ignored", "recognized"))
        without, with_names = means
        yield "**mean**", "", f"{without:.4f}", f"{with_names:.4f}", f"{with_names - without:+.4f}", "", ""
    yield from (_row(each) for each in compared if each.name in NAMED)


def _row(each: Compared) -> Sequence[str]:
    differences = each.differences
    error = differences.std() / len(differences) ** 0.5
    figures = f"{each.ignored.mean():.4f}", f"{each.recognized.mean():.4f}", f"{differences.mean():+.4f}"
    return each.name, str(len(differences)), *figures, f"{error:.4f}", str(np.count_nonzero(differences))
