"""Measure how often a document is first when it is asked by name, in ten forms of the name.

    python -m bench names DATA [NAME ...] [--modes hybrid lexical] [--titles 150] [--seed 0] [--keep FOLDER] [--show 3]

Names are the titles of each collection, unique after normalising, and what titles begin with where they begin with a
number (`cfr30:begin`); those of `docs` are the titles of Markdown files. Besides, a seed invents collections of
numbered sections, citations, codes and cases. A form is asked of the names that it changes. A mode is anything that
`rifflux eval --run` takes; the second one is what the first is compared with. `--keep` may be the folder of
`ranking --keep`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from bench.quality.invented import COLLECTIONS, invent
from bench.quality.kept import Kept, first_document, markdown
from bench.quality.name_forms import FORMS, Name, beginnings, drawn, in_form, named_files, named_records, unique
from rifflux.evaluate import Run, parse_run
from rifflux.index import Index

NAMES = ("scifact", "nfcorpus", "cacm", "stacks", "cfr30", "srd5e", "docs")
INVENTED = "invented"
MEAN = "**mean of cells**"
#: Names that a form must change in a set for its cell to count.
FEWEST = 10


@dataclass(frozen=True, slots=True)
class Cell:
    """How many names of a set came first in one form, by mode, and how many there were."""

    set: str
    form: str
    names: int
    first: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Asked:
    """A set of names, and the index that is asked for them."""

    set: str
    index: Index
    names: Sequence[Name]


def main() -> None:
    """Print the share of names found first by form, in the mean of the sets and for each of them."""
    arguments = _arguments()
    runs = [parse_run(text) for text in arguments.modes]
    with tempfile.TemporaryDirectory() as temporary, Kept(arguments.keep or Path(temporary)) as kept:
        cells = [cell for asked in _sets(arguments, kept) for cell in _cells(asked, runs, arguments.show)]
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(cell) for cell in cells], indent=1), "utf-8")
    print("\n".join(_tables(cells, [run.name for run in runs])).rstrip())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*", help=f"collections, or {INVENTED}; all by default")
    parser.add_argument("--modes", nargs="+", default=["hybrid", "lexical"])
    parser.add_argument("--titles", type=int, default=150, help="of each set, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where the indexes stay between runs")
    parser.add_argument("--show", type=int, default=0, help="list so many misses of each set and form")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _sets(arguments: argparse.Namespace, kept: Kept) -> Iterator[Asked]:
    seed, most = arguments.seed, arguments.titles
    chosen = arguments.names or (*NAMES, INVENTED)
    for name in (each for each in chosen if each in NAMES):
        print(f"{name} …", file=sys.stderr)
        folder = arguments.data / name
        index = kept.files(folder, name) if name == "docs" else kept.records(folder / "corpus.jsonl")
        names = unique(named_files(folder) if name == "docs" else named_records(folder / "corpus.jsonl"))
        yield Asked(name, index, drawn(names, most, seed))
        if begun := unique(beginnings(names)):
            yield Asked(f"{name}:begin", index, drawn(begun, most, seed))
    if INVENTED in chosen:
        for name, made in invent(kept.folder / "invented", arguments.data, seed).items():
            print(f"{name} …", file=sys.stderr)
            index = kept.records(kept.folder / "invented" / name / "corpus.jsonl")
            yield Asked(name.rpartition("-")[0], index, drawn(made, most, seed))


def _cells(asked: Asked, runs: Sequence[Run], show: int) -> Iterator[Cell]:
    for form in FORMS:
        questions = list(in_form(form, asked.names))
        if len(questions) < FEWEST:
            continue
        first = {}
        for run in runs:
            view = run.view(asked.index)
            found = [first_document(view, text, run) for _, text in questions]
            right = [document == name.document for document, (name, _) in zip(found, questions, strict=True)]
            first[run.name] = fmean(right)
            missed = (text for (_, text), met in zip(questions, right, strict=True) if not met)
            for _, text in zip(range(show), missed, strict=False):
                print(f"  missed  {asked.set}  {form}  {run.name}  {text}", file=sys.stderr)
        yield Cell(asked.set, form, len(questions), first)


# The report


def _tables(cells: Sequence[Cell], modes: Sequence[str]) -> Iterator[str]:
    groups = {
        "Titles of collections": [cell for cell in cells if cell.set not in COLLECTIONS],
        "Names of invented collections": [cell for cell in cells if cell.set in COLLECTIONS],
        "All": cells,
    }
    for title, group in groups.items():
        yield from (f"{title}, in the mean of the sets:", "", *_by_form(group, modes), "")
    for mode in modes:
        yield from (f"{mode}, by set:", "", *_by_set(cells, mode), "")


def _by_form(cells: Sequence[Cell], modes: Sequence[str]) -> Iterator[str]:
    less = [f"{modes[0]} − {modes[1]}"] if len(modes) > 1 else []
    rows = []
    for form in (*FORMS, MEAN):
        of_form = [cell for cell in cells if form in (cell.form, MEAN)]
        if of_form:
            means = [fmean(cell.first[mode] for cell in of_form) for mode in modes]
            gap = [f"{means[0] - means[1]:+.3f}"] if less else []
            rows.append([form, str(len(of_form)), *(f"{mean:.3f}" for mean in means), *gap])
    yield from markdown(["form", "sets", *modes, *less], rows)


def _by_set(cells: Sequence[Cell], mode: str) -> Iterator[str]:
    by_place = {(cell.set, cell.form): cell.first[mode] for cell in cells}
    sets = dict.fromkeys(cell.set for cell in cells)
    rows = []
    for name in sets:
        values = [by_place.get((name, form)) for form in FORMS]
        mean = fmean(value for value in values if value is not None)
        rows.append([name, *("" if value is None else f"{value:.2f}" for value in values), f"{mean:.3f}"])
    yield from markdown(["set", *FORMS, "mean"], rows)
