"""Compare ways to find works, each with one thing more, and what a caller gets with plain rank fusion.

    python -m bench works FOLDER_OF_COLLECTIONS [--keep FOLDER] [--collections NAME...] [--default]

The rows are those of `rifflux eval --profile works --ablate`: words only, meaning only, both, then citations, subjects
and authority, one more in each; then what a caller gets by default, where the wording chooses among the intents, and
what the score is worth without citations. The table tells nDCG@10, Recall@20 and MRR@10, from how many branches the
first ten are, and how nDCG@10 differs from the row before and from words only, with p of a paired bootstrap; `--times`
adds the median and 95th percentile of the time. Below it stands which steps do not help, by rule.

The last table has the default beside a search of both channels by reciprocal rank fusion. It is below where the mean
difference is below zero by more than twice its standard error. `--default` asks nothing else, by default of every
collection of FOLDER_OF_COLLECTIONS but conversations, which are no works.

A collection is a path, or a folder of FOLDER_OF_COLLECTIONS, with `:QRELS` for another set of judgements, in BEIR's
layout, and imported as works. `--keep` keeps the indexes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import rifflux
from bench.shared import NAMES, SCOPES
from rifflux.evaluate import Run, ablation, read_beir
from rifflux.evaluate.collection import Collection
from rifflux.evaluate.measures import Bootstrap, measured
from rifflux.evaluate.retrieving import RETRIEVE
from rifflux.evaluate.runs import WORKS, answers
from rifflux.index import Index
from rifflux.requests import HYBRID
from rifflux.retrieve.pipeline import NO_RERANKER
from rifflux.types import Scores
from rifflux.works.retrieval.stages import RetrievalSettings

COLLECTIONS = ("cacm", "stacks", "stacks:terms")
#: What they are called in the table; others by their judgements.
TITLES = {"cacm": "CACM", "stacks": "Stacks, slogans", "stacks:terms": "Stacks, terms"}
SIGNIFICANT = 0.05
#: A mean difference of more standard errors than this is none of chance.
CERTAIN = 2.0
#: Without one, evidence would be packed without its texts, which takes less time.
LICENSE = "CC0-1.0"
#: What is measured must not depend on how busy the machine is.
PATIENT = RetrievalSettings(expansion_ms=10_000, rerank_ms=10_000)
*STEPS, LAST = ablation(WORKS)
#: The ways by the names that they have in the table.
WAYS = {f"{number} {run.name}": run for number, run in enumerate(STEPS, 1)}
ALL, DEFAULT, RRF = [*WAYS][-1], "default, as worded", "rrf"
WITHOUT = f"{len(STEPS)} without citations"
_PARTS = tuple(part for part in STEPS[-1].options["parts"] if part != "citation")
WAYS |= {DEFAULT: LAST, WITHOUT: Run(WITHOUT, {"mode": RETRIEVE, "parts": _PARTS}, WORKS)}
#: What the default is held against.
FUSED = Run(RRF, {"mode": HYBRID, "fusion": RRF, "rerank": NO_RERANKER}, WORKS)


@dataclass(frozen=True, slots=True)
class Row:
    """What a way is worth on a collection: by measure a value each question, branches covered, milliseconds."""

    collection: str
    way: str
    values: Mapping[str, Scores]
    covered: float = 0.0
    times: Sequence[float] | Scores = (0.0,)

    def beside(self, other: Row) -> Difference:
        """How its nDCG@10 differs from another row's."""
        difference = self.values["ndcg@10"] - other.values["ndcg@10"]
        error = float(difference.std(ddof=1) / len(difference) ** 0.5)
        return Difference(self.collection, float(difference.mean()), Bootstrap().p_value(difference), error)


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference on a collection, its p, and its standard error."""

    collection: str
    mean: float
    p: float
    error: float = 0.0

    @property
    def certain(self) -> bool:
        """Whether it is significant."""
        return self.p < SIGNIFICANT

    @property
    def verdict(self) -> str:
        """Whether it is above or below zero by more than chance."""
        if abs(self.mean) <= CERTAIN * self.error:
            return "as good"
        return "above" if self.mean > 0 else "below"

    def __str__(self) -> str:
        # Adding zero leaves no -0.000.
        return f"{round(self.mean, 3) + 0.0:+.3f}, p {'< .001' if self.p < 0.001 else f'{self.p:.3f}'}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, one row a collection and way, what does not help, and the default beside rank fusion."""
    asked = _arguments(arguments)
    ways = {DEFAULT: LAST} if asked.default else WAYS
    if not asked.default:
        _print_head(times=asked.times)
    tables, pairs = list[list[Row]](), list[tuple[Row, Row]]()
    for title, collection, index in opened(asked):
        rows = [_row(title, way, run, collection, index) for way, run in ways.items()]
        pairs.append((rows[[*ways].index(DEFAULT)], _row(title, RRF, FUSED, collection, index)))
        tables.append(rows)
        if asked.default:
            print(title, pairs[-1][0].beside(pairs[-1][1]), file=sys.stderr)
        else:
            _print(rows, times=asked.times)
    if not asked.default:
        print("\nWhat does not help:\n")
        lines = list(unhelpful(tables)) or ["nothing: each step is significantly above the one before, and above words"]
        told = (textwrap.fill(f"- {line}", 120, subsequent_indent="  ", break_on_hyphens=False) for line in lines)
        print("\n".join(told), end="\n\n")
    _print_pairs(pairs)


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of which collections are asked."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--collections", nargs="+")
    parser.add_argument("--model", help="embedding model  [default: the bundled one]")
    return parser


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    reading = parser(__doc__)
    reading.add_argument("--times", action="store_true")
    reading.add_argument("--default", action="store_true", help="only the default, beside rank fusion")
    asked = reading.parse_args(given)
    if asked.default and not asked.collections:
        asked.collections = [name for name in NAMES if name not in SCOPES]
    return asked


def opened(asked: argparse.Namespace) -> Iterator[tuple[str, Collection, Index]]:
    """Yield each collection that is asked for with its title, and its index, which is open until the next one."""
    with tempfile.TemporaryDirectory() as temporary:
        keep = asked.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        for name in asked.collections or COLLECTIONS:
            given, _, qrels = name.partition(":")
            folder = Path(given) if Path(given).is_dir() else asked.data / given
            corpus = (folder / "corpus.jsonl").resolve()
            with works(corpus, keep / f"{corpus.parent.name}-works.db", asked.model) as index:
                yield TITLES.get(name) or qrels or folder.name, read_beir(folder, qrels or "test"), index


@contextmanager
def works(corpus: Path, path: Path, model: str | None) -> Iterator[Index]:
    """The collection's documents as works, imported once."""
    with rifflux.open(path, profile="works", model=model) as index:
        if not index.status().chunks:
            index.works.import_files(corpus, license=LICENSE, embed=False)
        if index.works.all(without_license=True):
            sys.exit(
                f"{path} holds works without a license, so their branches are not told: delete it, and run this again"
            )
        index.admin.embed(
            lambda stage, done, total: print(stage, done, total, file=sys.stderr) if done % 4096 < 128 else None
        )
        yield index


def _row(title: str, way: str, run: Run, collection: Collection, index: Index) -> Row:
    found = answers(run.view(index), collection, run)
    values = measured(collection.questions, found.rankings)
    return Row(title, way, values, float(np.mean(found.branches)), found.milliseconds)


def _print_head(*, times: bool) -> None:
    columns = ["collection", "way", "nDCG@10", "Recall@20", "MRR@10", "branches@10"]
    columns += ["p50 ms", "p95 ms"] * times + [f"to the row before, the last to {ALL[0]}", "to words"]
    print(f"| {' | '.join(columns)} |\n| --- | --- |{' ---: |' * (len(columns) - 2)}", flush=True)


def _print(rows: Sequence[Row], *, times: bool) -> None:
    for place, row in enumerate(rows):
        cells = [row.collection, row.way]
        cells += [f"{row.values[measure].mean():.3f}" for measure in ("ndcg@10", "recall@20", "mrr@10")]
        cells += [f"{row.covered:.1f}"]
        cells += [f"{value:.1f}" for value in np.percentile(row.times, [50, 95])] if times else []
        cells += [str(row.beside(other)) for other in (_before(rows, place), rows[0])] if place else ["", ""]
        print(f"| {' | '.join(cells)} |", flush=True)


def _print_pairs(pairs: Sequence[tuple[Row, Row]]) -> None:
    print("| collection | questions | rank fusion | default | difference | standard error | the default is |")
    print(f"| --- |{' ---: |' * 5} --- |")
    for row, fused in pairs:
        gains, found = (each.values["ndcg@10"] for each in (fused, row)), row.beside(fused)
        cells = [row.collection, str(len(fused.values["ndcg@10"])), *(f"{gain.mean():.3f}" for gain in gains)]
        print(f"| {' | '.join(cells)} | {found.mean:+.4f} | {found.error:.4f} | {found.verdict} |", flush=True)


def _before(rows: Sequence[Row], place: int) -> Row:
    """What a row is compared with: the one before, but all steps where one of them is left out."""
    named = {row.way: row for row in rows}
    return named[ALL] if rows[place].way == WITHOUT else rows[place - 1]


# What does not help


def unhelpful(tables: Sequence[Sequence[Row]]) -> Iterator[str]:
    """One line for each step and each way in which it does not help; `tables` has the same ways on each collection.

    A step does not help where it is significantly below the row before or below words, and where it is not
    significantly above them; the default, which is no step, may be as good as the row before. What leaves citations out
    is read the other way round.
    """
    ways = [row.way for row in tables[0]] if tables else []
    for place, way in enumerate(ways[1:], start=1):
        before = [table[place].beside(_before(table, place)) for table in tables]
        words = [table[place].beside(table[0]) for table in tables] if place > 1 else []
        same = [each for each in before if not each.certain]
        if way == WITHOUT:
            yield from _line(f"citations cost: **without** them row {ALL[0]} is better on", _above(before))
            yield from _line(
                f"citations change nothing that is certain: **without** them row {ALL[0]} is as good on", same
            )
        else:
            yield from _line(f"**{way}** is below the row before on", _below(before))
            yield from _line(f"**{way}** is below words on", _below(words))
            yield from _line(f"**{way}** cannot be told from the row before on", same if way != DEFAULT else ())
            yield from _line(f"**{way}** cannot be told from words on", [each for each in words if not each.certain])


def _above(differences: Sequence[Difference]) -> list[Difference]:
    return [each for each in differences if each.certain and each.mean > 0]


def _below(differences: Sequence[Difference]) -> list[Difference]:
    return [each for each in differences if each.certain and each.mean < 0]


def _line(told: str, differences: Sequence[Difference]) -> Iterator[str]:
    if differences:
        yield f"{told} {'; '.join(f'{each.collection} ({each})' for each in differences)}"
