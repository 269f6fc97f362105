"""Measure what ending a page where relevance falls off loses and saves.

    python -m bench cutoff FOLDER_OF_COLLECTIONS [NAME ...] [--queries N] [--keep FOLDER] [--markdown FILE]

Judged questions are asked for ten hits. Of each rule it tells what share it keeps of the page's DCG and of its relevant
hits, and what share of the page's text it leaves out. Rules: a share of the best relevance, as `cutoff` has it; the
largest fall, of at least a share of the best; and the place that maximises the expected F1 (Lewis, "Evaluating and
optimizing autonomous text classification systems", SIGIR 1995), taking relevance for the probability that it is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np

from bench.quality.kept import PAGE, Kept, markdown
from bench.shared import NAMES, SCOPES
from rifflux.evaluate import read_beir
from rifflux.retrieve.steps.cutoff import cut
from rifflux.types import Hit, Results

#: Keeps so many results of a page.
Rule = Callable[[Results], int]


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """The hits of a question, with what they are worth and how long their texts are."""

    results: Results
    grades: Sequence[int]

    @property
    def characters(self) -> Sequence[int]:
        """Return the lengths of the texts."""
        return [len(hit.text) for hit in self.results]


def by_share(share: float, results: Results) -> int:
    """Return where `cutoff=share` ends a page."""
    return len(cut(results, share))


def by_fall(least: float, results: Results) -> int:
    """Return the place before the largest fall of relevance, if it is at least a share of the best."""
    relevances = _relevances(results)
    best = max(relevances, default=0.0)
    later = [max(relevances[place:]) for place in range(1, len(relevances))]
    falls = [(relevances[place] - rest) / best if best else 0.0 for place, rest in enumerate(later)]
    largest = max(falls, default=0.0)
    return falls.index(largest) + 1 if largest > least else len(relevances)


def by_expected_f1(results: Results) -> int:
    """Return the last place at which the expected F1 is greatest, for as many relevant ones as are expected here."""
    relevances = _relevances(results)
    total = sum(relevances)
    values = [2 * found / (place + total) for place, found in enumerate(accumulate(relevances), 1)]
    return len(values) - values[::-1].index(max(values)) if values else 0


def _relevances(results: Sequence[Hit]) -> list[float]:
    return [hit.relevance or 0.0 for hit in results]


RULES: Mapping[str, Rule] = {
    **{f"share {share}": partial(by_share, share) for share in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)},
    **{f"fall {least}": partial(by_fall, least) for least in (0.2, 0.3, 0.4)},
    "expected F1": by_expected_f1,
}


def outcome(pages: Sequence[JudgedPage], rule: Rule) -> tuple[float, float, float]:
    """Return the shares that a rule keeps of DCG and of relevant hits, and leaves out of the text."""
    ends = [rule(page.results) for page in pages]
    whole, kept = np.zeros(3), np.zeros(3)
    for page, end in zip(pages, ends, strict=True):
        whole += _worth(page, len(page.results))
        kept += _worth(page, end)
    gain, relevant, text = kept / np.maximum(whole, 1e-9)
    return float(gain), float(relevant), float(1 - text)


def _worth(page: JudgedPage, end: int) -> tuple[float, int, int]:
    grades = np.array(page.grades[:end], np.float64)
    gain = float(np.sum((2**grades - 1) / np.log2(np.arange(2, len(grades) + 2))))
    return gain, int(np.sum(grades > 0)), sum(page.characters[:end])


def judged(kept: Kept, data: Path, name: str, queries: int) -> Iterator[JudgedPage]:
    """Ask the questions of a collection as a user does."""
    folder, _, qrels = name.partition(":")
    collection = read_beir(data / folder, qrels or "test", scope=SCOPES.get(folder)).head(queries)
    index = kept.records(data / folder / "corpus.jsonl")
    for question in collection.questions:
        results = index.search(question.text, top_k=PAGE, filter=collection.filter(question))
        yield JudgedPage(results, [question.grades.get(collection.identify(hit), 0) for hit in results])


def main() -> None:
    """Print a table of rules, and what they do on each collection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    names = arguments.names or [name for name in NAMES if ":" not in name]
    pages: dict[str, Sequence[JudgedPage]] = {}
    with tempfile.TemporaryDirectory() as temporary, Kept(arguments.keep or Path(temporary)) as kept:
        for name in names:
            print(f"{name} …", file=sys.stderr)
            pages[name] = [*judged(kept, arguments.data, name, arguments.queries)]
    text = "\n".join(_told(pages, arguments.queries)) + "\n"
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text, "utf-8")


def _told(pages: Mapping[str, Sequence[JudgedPage]], queries: int) -> Iterator[str]:
    yield "# Cutoff\n\n    python -m bench cutoff DATA\n"
    yield f"Pages of ten for up to {queries} judged questions a collection: the mean over the collections."
    yield "`share 0.5` is `cutoff=True`. What is left out is text; relevant hits are judged ones.\n"
    found = {rule: {name: outcome(each, run) for name, each in pages.items()} for rule, run in RULES.items()}
    means = [(rule, *_figures(np.mean([*by_name.values()], axis=0))) for rule, by_name in found.items()]
    yield from markdown(["rule", "DCG kept", "relevant kept", "text left out"], means)
    yield "\nDCG kept and text left out by collection:\n"
    rows = [
        (rule, *(f"{gain:.2f} / {text:.2f}" for gain, _, text in by_name.values())) for rule, by_name in found.items()
    ]
    yield from markdown(["rule", *pages], rows)


def _figures(values: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{value:.3f}" for value in values)
