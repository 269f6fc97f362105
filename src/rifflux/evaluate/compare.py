"""Comparison of runs on one collection: the measures of each, and its difference from the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.evaluate.collection import Collection, JudgedQuestion
from rifflux.evaluate.measures import MEASURES, PRIMARY, Bootstrap, measured
from rifflux.evaluate.runs import Answers, Run, answers
from rifflux.index import Index
from rifflux.types import Progress, Scores


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of a run on a collection.

    `values` contains one value per question for each measure, `milliseconds` the time of each question, both in the
    order of `questions`. `interval` is the 95 % confidence interval of nDCG@10. `differences` of nDCG@10 from the first
    run and their `p_value` are None for the first run itself. `degraded` counts the affected questions by reason.
    `works` contains means specific to works: branches among the first ten, and of packs the number of works, the share
    of these that are judged relevant, and the tokens.
    """

    collection: str
    qrels: str
    run: str
    questions: tuple[JudgedQuestion, ...]
    values: Mapping[str, Scores]
    milliseconds: Scores
    interval: tuple[float, float]
    differences: Scores | None = None
    p_value: float | None = None
    degraded: Mapping[str, int] = field(default_factory=dict)
    works: Mapping[str, float] = field(default_factory=dict)

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over the questions."""
        return float(self.values[measure].mean())

    def percentile(self, percent: float) -> float:
        """Return a percentile of the questions' milliseconds."""
        return float(np.percentile(self.milliseconds, percent))

    def row(self) -> dict[str, Any]:
        """Return the outcome as one JSON object; `p_value` is null for the first run."""
        return {
            "collection": self.collection,
            "qrels": self.qrels,
            "run": self.run,
            "queries": len(self.questions),
            **{measure: round(self.mean(measure), 6) for measure in MEASURES},
            "p50_ms": round(self.percentile(50), 3),
            "p95_ms": round(self.percentile(95), 3),
            "p_value": None if self.p_value is None else round(self.p_value, 4),
            **self.works,
        }


def compare(
    collection: Collection,
    runs: Sequence[Run],
    index_of: Callable[[Run], Index],
    *,
    ignore_identical: bool = False,
    bootstrap: Bootstrap | None = None,
    progress: Progress | None = None,
    left_out: Callable[[str], None] | None = None,
) -> list[RunOutcome]:
    """Answer all questions with every run, and compare each run with the first.

    `index_of` returns the index of a run. `left_out` receives each optional run that its index refused, with the
    reason. Raises `InvalidArgument` without runs and for duplicate names.
    """
    names = [run.name for run in runs]
    if not names or len(set(names)) < len(names):
        raise InvalidArgument(f"give at least one run, and runs with different names; given: {', '.join(names)}")
    bootstrap = bootstrap or Bootstrap()
    outcomes: list[RunOutcome] = []
    for run in runs:
        try:
            found = answers(index_of(run), collection, run, ignore_identical=ignore_identical, progress=progress)
        except InvalidArgument as error:
            if not run.optional:
                raise
            if left_out:
                left_out(f"{collection.name}: left out {run.name}: {error}")
            continue
        values = measured(collection.questions, found.rankings)
        if outcomes:
            differences = values[PRIMARY] - outcomes[0].values[PRIMARY]
        else:
            differences = None
        outcomes.append(
            RunOutcome(
                collection=collection.name,
                qrels=collection.qrels,
                run=run.name,
                questions=collection.questions,
                values=values,
                milliseconds=found.milliseconds,
                interval=bootstrap.interval(values[PRIMARY]),
                differences=differences,
                p_value=None if differences is None else bootstrap.p_value(differences),
                degraded=found.degraded,
                works=_of_works(collection, found),
            )
        )
    return outcomes


def _of_works(collection: Collection, found: Answers) -> Mapping[str, float]:
    """Return the means specific to works and their packs; empty for other documents."""
    if found.branches:
        means = {"branches@10": float(np.mean(found.branches))}
    else:
        means = {}
    if found.packs:
        packs = [(found.packs[question.id], question) for question in collection.questions]
        means["packed_works"] = float(np.mean([len(pack.works) for pack, _ in packs]))
        means["packed_precision"] = float(np.mean([pack.precision(question) for pack, question in packs]))
        means["packed_tokens"] = float(np.mean([pack.tokens for pack, _ in packs]))
    return {name: round(value, 4) for name, value in means.items()}
