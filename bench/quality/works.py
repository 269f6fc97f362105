"""Compare five ways to find works, each with one thing more, on collections that have citations.

    python -m bench works FOLDER_OF_COLLECTIONS [--keep FOLDER] [--collections NAME...] [-k 10]

The rows are those of the requirements: words only, meaning only, both, both with citations, and all components of the
score, subjects among them; then what a caller gets by default, where the wording chooses among the intents, and what
the score is worth without citations. The table tells nDCG@10, Recall@20 and MRR@10, from how many branches the first K
are, and how nDCG@10 differs from the row before and from words only, with p of a paired bootstrap; `--times` adds the
median and 95th percentile of the time. Below it stands which steps do not help, by rule.
Branches are those of `bench branches` for works with a chapter of the Stacks Project, else the heads of their
subjects' codes (Computing Reviews' 4.12 is of 4): what a collection's own editors told apart.
A collection is a path, or a folder of FOLDER_OF_COLLECTIONS, with `:QRELS` for another set of judgements, in BEIR's
layout, and imported as works. `--keep` keeps the indexes.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import rifflux
from bench.quality.branches import branch_of
from rifflux.evaluate import read_beir
from rifflux.evaluate.collection import Collection
from rifflux.evaluate.measures import Bootstrap, measured
from rifflux.index import Index
from rifflux.retrieve.fuse.base import Weights
from rifflux.types import Hit, Scores
from rifflux.works.retrieval.intent import GENERIC, INTENTS
from rifflux.works.retrieval.retriever import RetrievalSettings

COLLECTIONS = ("cacm", "stacks", "stacks:terms")
#: What they are called in the table; others by their judgements.
TITLES = {"cacm": "CACM", "stacks": "Stacks, slogans", "stacks:terms": "Stacks, terms"}
DEPTH = 20
SIGNIFICANT = 0.05
#: Without one, evidence would be packed without its texts, which takes less time.
LICENSE = "CC0-1.0"
#: What is measured must not depend on how busy the machine is.
PATIENT = RetrievalSettings(expansion_ms=10_000, rerank_ms=10_000)
#: What of a subject's code names the branch, by scheme.
HEADS = {"acm": re.compile(r"\d+|[A-Z]"), "msc": re.compile(r"\d\d"), "arxiv": re.compile(r".+")}
ALL, DEFAULT, WITHOUT = "5 + subjects, authority", "default, as worded", "5 without citations"
Way = Callable[[str], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class Row:
    """What a way is worth on a collection: by measure a value each question, branches covered, milliseconds."""

    collection: str
    way: str
    values: Mapping[str, Scores]
    covered: float = 0.0
    times: tuple[float, ...] = (0.0,)

    def beside(self, other: Row) -> Difference:
        """How its nDCG@10 differs from another row's."""
        difference = self.values["ndcg@10"] - other.values["ndcg@10"]
        return Difference(self.collection, float(difference.mean()), Bootstrap().p_value(difference))


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference on a collection, and its p."""

    collection: str
    mean: float
    p: float

    @property
    def certain(self) -> bool:
        """Whether it is significant."""
        return self.p < SIGNIFICANT

    def __str__(self) -> str:
        # Adding zero leaves no -0.000.
        return f"{round(self.mean, 3) + 0.0:+.3f}, p {'< .001' if self.p < 0.001 else f'{self.p:.3f}'}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, one row a collection and way, and what does not help."""
    asked = _arguments(arguments)
    _print_head(asked.k, times=asked.times)
    rows: list[list[Row]] = []
    with tempfile.TemporaryDirectory() as temporary:
        keep = asked.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        for name in asked.collections:
            given, _, qrels = name.partition(":")
            folder = Path(given) if Path(given).is_dir() else asked.data / given
            corpus = (folder / "corpus.jsonl").resolve()
            with works(corpus, keep / f"{corpus.parent.name}-works.db", asked.model) as index:
                title = TITLES.get(name) or qrels or folder.name
                rows.append(list(_compare(title, read_beir(folder, qrels or "test"), index, asked.k)))
            _print(rows[-1], times=asked.times)
    print("\nWhat does not help:\n")
    lines = list(unhelpful(rows)) or ["nothing: each step is significantly above the one before, and above words"]
    print("\n".join(textwrap.fill(f"- {line}", 120, subsequent_indent="  ", break_on_hyphens=False) for line in lines))


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--collections", nargs="+", default=COLLECTIONS)
    parser.add_argument("-k", type=int, default=10, help="branches are counted among the first so many")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--model", help="embedding model  [default: the bundled one]")
    return parser.parse_args(given)


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


def _ways(index: Index, depth: int) -> dict[str, Way]:
    patient = replace(index.retrieve, settings=PATIENT)

    def searching(mode: str) -> Way:
        return lambda text: index.search(text, top_k=depth, mode=mode, group="document")

    def retrieving(weights: Weights) -> Way:
        generic = replace(INTENTS[GENERIC], weights=weights)
        scholar = replace(patient, intents=dict.fromkeys(INTENTS, generic))
        return lambda text: scholar(text, top_k=depth).reranked

    cited = INTENTS[GENERIC].weights.but(field_match=0.0, freshness=0.0, authority=0.0)
    return {
        "1 words": searching("lexical"),
        "2 meaning": searching("semantic"),
        "3 hybrid": searching("hybrid"),
        "4 + citations": retrieving(cited),
        ALL: retrieving(INTENTS[GENERIC].weights),
        DEFAULT: lambda text: patient(text, top_k=depth).reranked,
        WITHOUT: retrieving(INTENTS[GENERIC].weights.but(citation=0.0)),
    }


def _compare(title: str, collection: Collection, index: Index, k: int) -> Iterator[Row]:
    for way, ask in _ways(index, max(DEPTH, k)).items():
        rankings, times, covered = {}, [], []
        for question in collection.questions:
            start = time.perf_counter()
            hits = ask(question.text)
            times.append((time.perf_counter() - start) * 1000)
            rankings[question.id] = [hit.document for hit in hits[:DEPTH]]
            covered.append(len(branches_of(index, hits[:k])))
        values = measured(collection.questions, rankings)
        yield Row(title, way, values, float(np.mean(covered)), tuple(times))


def branches_of(index: Index, hits: Sequence[Hit]) -> set[str]:
    """The branches that works are of: of the Stacks Project's chapters, else of their subjects' codes."""
    chapters = {branch_of(str(hit.metadata["chapter"])) for hit in hits if "chapter" in hit.metadata} - {None}
    if chapters:
        return {str(branch) for branch in chapters}
    tags = index.admin.store.catalog.tags_of(np.array([int(hit.chunk_id, 16) for hit in hits], np.int64))
    heads = (
        (tag.scheme, HEADS[tag.scheme].match(tag.value))
        for each in tags.values()
        for tag in each
        if tag.scheme in HEADS
    )
    return {f"{scheme}:{head[0]}" for scheme, head in heads if head}


def _print_head(k: int, *, times: bool) -> None:
    columns = ["collection", "way", "nDCG@10", "Recall@20", "MRR@10", f"branches@{k}"]
    columns += ["p50 ms", "p95 ms"] * times + ["to the row before, the last to 5", "to words"]
    print(f"| {' | '.join(columns)} |\n| --- | --- |{' ---: |' * (len(columns) - 2)}", flush=True)


def _print(rows: Sequence[Row], *, times: bool) -> None:
    for place, row in enumerate(rows):
        cells = [row.collection, row.way]
        cells += [f"{row.values[measure].mean():.3f}" for measure in ("ndcg@10", "recall@20", "mrr@10")]
        cells += [f"{row.covered:.1f}"]
        cells += [f"{value:.1f}" for value in np.percentile(row.times, [50, 95])] if times else []
        cells += [str(row.beside(other)) for other in (_before(rows, place), rows[0])] if place else ["", ""]
        print(f"| {' | '.join(cells)} |", flush=True)


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
            yield from _line("citations cost: **without** them row 5 is better on", _above(before))
            yield from _line("citations change nothing that is certain: **without** them row 5 is as good on", same)
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
