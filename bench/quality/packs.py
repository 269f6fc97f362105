"""Measure evidence packs: how much of what they hold was judged relevant.

    python -m bench packs FOLDER_OF_COLLECTIONS [--keep FOLDER] [--collections NAME...] [--limit 150]
        [--min-relevance .3] [--min-share .5 .6 ...]

A collection is a path, or a folder of FOLDER_OF_COLLECTIONS, with `:QRELS` for another set of judgements, in BEIR's
layout, and imported as works, as `bench works` does. The table tells, for the evidence of each question as it is packed
by default: works packed, the share of them with less relevance than .3, works packed without a text, judged works
packed (in all, and as the mean share of those that are among the ten listed), the precision (the share of packed works
that was judged relevant: of all, and as the mean of the questions), tokens used, questions whose pack is uncertain or
empty; and the nDCG@10 of the list. Below it stands the mean of the collections. With `--min-share`, each is asked once
for each share of the best score, which every intent that has such a minimum then has.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.quality.works import PATIENT, opened, parser
from rifflux.evaluate.collection import Collection
from rifflux.evaluate.measures import measured
from rifflux.evidence.pack import EvidenceItem, EvidencePack
from rifflux.works.retrieval.retriever import WorksRetriever

#: Works of less relevance carry no weight.
LITTLE = 0.3
COLUMNS = ("works", f"below {LITTLE:g}", "no text", "judged", "of listed", "precision", "by question", "tokens")
MORE = ("uncertain", "empty", "nDCG@10")


@dataclass(frozen=True, slots=True)
class PackedQuestion:
    """A judged question with the works that were listed, and the pack of its evidence."""

    grades: Mapping[str, int]
    ranking: Sequence[str]
    pack: EvidencePack

    @property
    def items(self) -> Sequence[EvidenceItem]:
        """An item of each packed work."""
        return [*{item.key: item for item in self.pack.items}.values()]

    @property
    def judged(self) -> int:
        """Packed works that were judged relevant."""
        return self.relevant([item.key for item in self.items])

    def relevant(self, works: Sequence[str]) -> int:
        """How many of some works were judged relevant."""
        return sum(self.grades.get(work, 0) > 0 for work in works)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each collection, and their mean."""
    asked = _arguments(arguments)
    columns = ("collection", "questions", *COLUMNS, *MORE)
    print(f"| {' | '.join(columns)} |\n| --- |{' ---: |' * (len(columns) - 1)}", flush=True)
    rows = list[Sequence[float]]()
    for title, collection, index in opened(asked):
        asking, patient = collection.head(asked.limit), replace(index.retrieve, settings=PATIENT)
        for share in asked.min_share:
            rows.append(_row(_cut(patient, share), asking, asked.min_relevance))
            _print(title if share is None else f"{title}, {share:g}", len(asking.questions), rows[-1])
    for place, share in enumerate(asked.min_share):
        means = [float(np.mean(values)) for values in zip(*rows[place :: len(asked.min_share)], strict=True)]
        _print("mean" if share is None else f"mean, {share:g}", "", means)


def _cut(ask: WorksRetriever, share: float | None) -> WorksRetriever:
    """Return the retrieval with another share of the best score as the minimum, where an intent has one."""
    if share is None:
        return ask
    limits = {
        name: replace(each.limits, min_share=share) for name, each in ask.intents.items() if each.limits.min_share
    }
    changed = {name: replace(ask.intents[name], limits=each) for name, each in limits.items()}
    return replace(ask, intents={**ask.intents, **changed})


def _row(ask: WorksRetriever, collection: Collection, least: float | None) -> Sequence[float]:
    found = list[PackedQuestion]()
    for question in collection.questions:
        answer = ask(question.text, min_relevance=least)
        ranking = [hit.key for hit in answer.reranked]
        found.append(PackedQuestion(question.grades, ranking, answer.evidence))
    items = [item for each in found for item in each.items]
    packed, judged = len(items), sum(each.judged for each in found)
    rankings = {question.id: each.ranking for question, each in zip(collection.questions, found, strict=True)}
    return (
        packed / len(found),
        sum(item.relevance < LITTLE for item in items) / max(1, packed),
        sum(not item.text for item in items) / max(1, packed),
        judged,
        judged / max(1, sum(each.relevant(each.ranking) for each in found)),
        judged / max(1, packed),
        float(np.mean([each.judged / len(each.items) for each in found if each.items])),
        float(np.mean([each.pack.tokens for each in found])),
        float(np.mean([each.pack.uncertain for each in found])),
        float(np.mean([not each.items for each in found])),
        float(measured(collection.questions, rankings)["ndcg@10"].mean()),
    )


def _print(name: str, questions: object, row: Sequence[float]) -> None:
    works, little, silent, judged, listed, precision, mean, tokens, uncertain, empty, gain = row
    told = (
        *(f"{works:.1f}", f"{little:.0%}", f"{silent:.0%}", f"{judged:.0f}", f"{listed:.0%}", f"{precision:.3f}"),
        *(f"{mean:.3f}", f"{tokens:,.0f}", f"{uncertain:.0%}", f"{empty:.0%}", f"{gain:.3f}"),
    )
    print(f"| {name} | {questions} | {' | '.join(told)} |", flush=True)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    reading = parser(__doc__)
    reading.add_argument("--limit", type=int, default=150, help="questions of a collection")
    reading.add_argument("--min-relevance", type=float, help="another minimum than the intents have")
    reading.add_argument("--min-share", type=float, nargs="+", default=[None], help="other shares of the best score")
    return reading.parse_args(given)
