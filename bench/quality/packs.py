"""Measure evidence packs: how much of what they hold was judged relevant.

    python -m bench packs FOLDER_OF_COLLECTIONS [--keep FOLDER] [--collections NAME...] [--limit 150]
        [--min-relevance .3]

A collection is a path, or a folder of FOLDER_OF_COLLECTIONS, with `:QRELS` for another set of judgements, in BEIR's
layout, and imported as works, as `bench works` does. The table tells, for the evidence of each question as it is packed
by default: works packed, the share of them with less relevance than .3, works packed without a text, judged works
packed (in all, and as the mean share of those that are among the ten listed), the precision (the share of packed works
that was judged relevant: of all, and as the mean of the questions), tokens used, questions whose pack is uncertain or
empty; and the nDCG@10 of the list. Below it stands the mean of the collections.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.quality.works import COLLECTIONS, PATIENT, TITLES, works
from rifflux.evaluate import read_beir
from rifflux.evaluate.collection import Collection
from rifflux.evaluate.measures import measured
from rifflux.index import Index

#: Works of less relevance carry no weight.
LITTLE = 0.3
COLUMNS = ("works", f"below {LITTLE:g}", "no text", "judged", "of listed", "precision", "by question", "tokens")
MORE = ("uncertain", "empty", "nDCG@10")


@dataclass(frozen=True, slots=True)
class PackedQuestion:
    """What the pack of a question holds: `listed` and `judged` count judged works, of the list and of the pack."""

    works: int
    little: int
    silent: int
    judged: int
    listed: int
    tokens: int
    uncertain: bool

    @property
    def precision(self) -> float:
        """The share of packed works that was judged relevant; that of an empty pack is none."""
        return self.judged / self.works if self.works else float("nan")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each collection, and their mean."""
    asked = _arguments(arguments)
    columns = ("collection", "questions", *COLUMNS, *MORE)
    print(f"| {' | '.join(columns)} |\n| --- |{' ---: |' * (len(columns) - 1)}", flush=True)
    rows = list[Sequence[float]]()
    with tempfile.TemporaryDirectory() as temporary:
        keep = asked.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        for name in asked.collections:
            given, _, qrels = name.partition(":")
            folder = Path(given) if Path(given).is_dir() else asked.data / given
            collection = read_beir(folder, qrels or "test").head(asked.limit)
            corpus = (folder / "corpus.jsonl").resolve()
            with works(corpus, keep / f"{corpus.parent.name}-works.db", None) as index:
                rows.append(_row(index, collection, asked.min_relevance))
            _print(TITLES.get(name, name), len(collection.questions), rows[-1])
    _print("mean", "", [float(np.mean(values)) for values in zip(*rows, strict=True)])


def _row(index: Index, collection: Collection, least: float | None) -> Sequence[float]:
    found, rankings = list[PackedQuestion](), dict[str, list[str]]()
    ask = replace(index.retrieve, settings=PATIENT)
    for question in collection.questions:
        answer = ask(question.text, min_relevance=least)
        rankings[question.id] = [hit.document for hit in answer.reranked]
        packed = {item.key: item for item in answer.evidence.items}
        found.append(
            PackedQuestion(
                len(packed),
                sum(item.relevance < LITTLE for item in packed.values()),
                sum(not item.text for item in packed.values()),
                _judged(question.grades, packed),
                _judged(question.grades, rankings[question.id]),
                answer.evidence.tokens,
                answer.evidence.uncertain,
            )
        )
    packed_works, judged = sum(each.works for each in found), sum(each.judged for each in found)
    return (
        packed_works / len(found),
        sum(each.little for each in found) / max(1, packed_works),
        sum(each.silent for each in found) / max(1, packed_works),
        judged,
        judged / max(1, sum(each.listed for each in found)),
        judged / max(1, packed_works),
        float(np.nanmean([each.precision for each in found])),
        float(np.mean([each.tokens for each in found])),
        float(np.mean([each.uncertain for each in found])),
        float(np.mean([not each.works for each in found])),
        float(measured(collection.questions, rankings)["ndcg@10"].mean()),
    )


def _judged(grades: Mapping[str, int], documents: Sequence[str] | Mapping[str, object]) -> int:
    return sum(grades.get(document, 0) > 0 for document in documents)


def _print(name: str, questions: object, row: Sequence[float]) -> None:
    works, little, silent, judged, listed, precision, mean, tokens, uncertain, empty, gain = row
    told = (
        *(f"{works:.1f}", f"{little:.0%}", f"{silent:.0%}", f"{judged:.0f}", f"{listed:.0%}", f"{precision:.3f}"),
        *(f"{mean:.3f}", f"{tokens:,.0f}", f"{uncertain:.0%}", f"{empty:.0%}", f"{gain:.3f}"),
    )
    print(f"| {name} | {questions} | {' | '.join(told)} |", flush=True)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--collections", nargs="+", default=COLLECTIONS)
    parser.add_argument("--limit", type=int, default=150, help="questions of a collection")
    parser.add_argument("--min-relevance", type=float, help="another minimum than the intents have")
    return parser.parse_args(given)
