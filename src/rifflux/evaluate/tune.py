"""Fit an index's ranking to judged questions: its fusion, then the weights of the reranker `features`.

Every candidate is evaluated on every question. In each of a few folds, the best one on the other questions is evaluated
on those of the fold, so that the report predicts the results on new questions. A candidate is kept only if it is
significantly better than the present ranking.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from rifflux.errors import Cure, InvalidArgument
from rifflux.evaluate.collection import Collection, JudgedQuestion
from rifflux.evaluate.measures import PRIMARY, Bootstrap, measured
from rifflux.index import Index
from rifflux.retrieve.fuse import Adaptive, Fuse
from rifflux.retrieve.fuse.base import Weights
from rifflux.retrieve.fuse.fusions import dump_fusion
from rifflux.retrieve.pipeline import fetch, gather
from rifflux.retrieve.steps.rerank.features import COMPONENTS, WEIGHTS, FeatureInput, dump_weights, feature_input
from rifflux.service.registry import Registry
from rifflux.store import find_documents
from rifflux.types import Ids, Progress, Ranking, Scores

T = TypeVar("T")

#: With fewer questions, hardly any gain is significant.
FEWEST = 30
#: The p value below which a gain is significant.
SIGNIFICANT = 0.05
FOLDS = 5
#: The number of chunks ranked for a question; a document counts at its best one.
DEPTH = 100
#: One prior for the whole index, and the influence of the vectors' own confidence on it.
GRID = tuple(
    Adaptive(priors={}, prior=prior, slope=slope)
    for slope in (0.0, Adaptive().slope)
    for prior in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
)
#: The factors by which each weight is multiplied in turn, the shares tried for a weight of zero, and the rounds.
FACTORS = (0.0, 0.5, 2.0, 4.0)
SHARES = (0.05, 0.1, 0.2)
ROUNDS = 2
#: The components, in the order of the columns of their values.
ORDER = tuple(WEIGHTS)
#: The right freshness depends on the time of a query, which judgements do not record.
FITTED = tuple(place for place, name in enumerate(ORDER) if name != "freshness")


@dataclass(frozen=True, slots=True)
class FittedChoice(Generic[T]):
    """A choice and its value: mean nDCG@10 `before` and `after`, both on questions not used for fitting."""

    choice: T
    before: float
    after: float
    p_value: float

    @classmethod
    def between(cls, choice: T, before: Scores, after: Scores, bootstrap: Bootstrap) -> FittedChoice[T]:
        """Return a choice, given the values of each question before and after."""
        return cls(choice, float(before.mean()), float(after.mean()), bootstrap.p_value(after - before))

    @property
    def gain(self) -> float:
        """Return the expected gain on new questions."""
        return self.after - self.before

    @property
    def significant(self) -> bool:
        """Return True if the gain is significant."""
        return self.gain > 0 and self.p_value < SIGNIFICANT


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of tuning: the weights of words and meaning, and the weights of `features` on top of that."""

    questions: int
    fusion: FittedChoice[Fuse]
    features: FittedChoice[Weights]

    @property
    def significant(self) -> bool:
        """Return True if any part is worth keeping."""
        return self.fusion.significant or self.features.significant

    def described(self) -> tuple[object, object]:
        """Return the fusion and the weights of `features` as JSON."""
        return json.loads(dump_fusion(self.fusion.choice)), json.loads(dump_weights(self.features.choice))


def tune(
    index: Index, collection: Collection, *, bootstrap: Bootstrap | None = None, progress: Progress | None = None
) -> Tuned:
    """Fit an index to judged questions; nothing is written, see `apply`.

    Results are deterministic. Raises `InvalidArgument` if fewer than `FEWEST` questions have a relevant document in the
    index, or none of its chunks has a vector.
    """
    questions = answerable(index, collection)
    if not index.admin.store.totals().embedded:
        raise InvalidArgument("no chunk has a vector, so there is nothing to weigh", cure=Cure.INDEX)
    tuner = Tuner(index, collection, questions, bootstrap or Bootstrap(), progress)
    fusion = tuner.fusion()
    if fusion.significant:
        tuner = replace(tuner, index=index.using(replace(index.profile, fusion=fusion.choice)))
    return Tuned(len(questions), fusion, tuner.features())


def apply(index: Index, tuned: Tuned) -> None:
    """Store the significant results in the index, for all its users."""
    if tuned.fusion.significant:
        index.admin.store.records.set("fusion", dump_fusion(tuned.fusion.choice))
    if tuned.features.significant:
        index.admin.store.records.set("features", dump_weights(tuned.features.choice))


def reset(registry: Registry) -> bool:
    """Remove stored tuning from an index; return whether there was any.

    Takes only the registry, since an index with tuning unknown to this version cannot be opened.
    """
    records = registry.store.records
    tuned = [name for name in ("fusion", "features", "components") if records.setting(name)]
    for name in tuned:
        records.set(name, "")
    return bool(tuned)


def answerable(index: Index, collection: Collection) -> list[JudgedQuestion]:
    """Return the questions with a relevant document in the index. Raises `InvalidArgument` if there are too few."""
    catalog = index.admin.store.catalog
    usable = [
        question
        for question in collection.questions
        if any(grade > 0 and find_documents(catalog, document) for document, grade in question.grades.items())
    ]
    if len(usable) < FEWEST:
        raise InvalidArgument(
            f"tuning needs {FEWEST} questions with a relevant document in the index, but there are {len(usable)} of "
            f"{len(collection.questions)} (are the collection's documents indexed?)",
            cure=Cure.JUDGE,
        )
    return usable


@dataclass(frozen=True, slots=True)
class Tuner:
    """Evaluates each candidate on every question that an index can answer."""

    index: Index
    collection: Collection
    questions: Sequence[JudgedQuestion]
    bootstrap: Bootstrap
    progress: Progress | None

    def fusion(self) -> FittedChoice[Fuse]:
        """Fit the fusion."""
        choices = (self.index.profile.fusion, *GRID)
        rankings: list[dict[str, list[str]]] = [{} for _ in choices]
        for question in self._each("tune"):
            for ranking, documents in zip(rankings, self._ranked(question, choices), strict=True):
                ranking[question.id] = documents
        values = np.stack([measured(self.questions, ranking)[PRIMARY] for ranking in rankings])
        after = cross_validated(values.shape[1], lambda known, others: values[_best(values[:, known]), others])
        return FittedChoice.between(choices[_best(values)], values[0], after, self.bootstrap)

    def features(self) -> FittedChoice[Weights]:
        """Fit the weights of `features`."""
        cases = [judged(self.index, self.collection, question)[0] for question in self._each("tune reranking")]
        present = WEIGHTS.but(**self.index.profile.tuning.features)
        start = column(present)

        def after(known: Ids, others: Ids) -> Scores:
            fitted = climbed([cases[place] for place in known], start, FITTED)
            return np.ravel(_ndcg([cases[place] for place in others], fitted))

        found = climbed(cases, start, FITTED)
        fitted = Weights(dict(zip(ORDER, found[:, 0].tolist(), strict=True)))
        if np.array_equal(found, start):
            choice = present
        else:
            choice = fitted
        return FittedChoice.between(choice, _ndcg(cases, start)[0], cross_validated(len(cases), after), self.bootstrap)

    def _each(self, stage: str) -> Iterator[JudgedQuestion]:
        """Yield the questions, reporting progress after each."""
        for number, question in enumerate(self.questions, 1):
            yield question
            if self.progress:
                self.progress(stage, number, len(self.questions))

    def _ranked(self, question: JudgedQuestion, choices: Sequence[Fuse]) -> Iterator[list[str]]:
        """Yield the ranked documents of each choice, searching each channel once."""
        plan = self.index.admin.searcher.hybrid_plan(question.text, filter=self.collection.filter(question))
        found = gather(plan)
        orders = [replace(plan, fuse=fuse).candidates(found).ids[:DEPTH] for fuse in choices]
        ids = np.unique(np.concatenate(orders))
        hits = self.index.admin.store.catalog.hydrate(Ranking(ids, np.zeros(len(ids))))
        names = {int(hit.id, 16): self.collection.identify(hit) for hit in hits}
        for order in orders:
            yield list(dict.fromkeys(names[id] for id in order.tolist() if id in names))


def climbed(cases: Sequence[Judged], weights: Scores, places: Sequence[int]) -> Scores:
    """Optimize the weights at `places` one at a time, each to the best candidate by mean nDCG@10."""
    for _ in range(ROUNDS):
        for place in places:
            weight = float(weights[place, 0])
            if weight:
                tried = [weight, *(factor * weight for factor in FACTORS)]
            else:
                tried = [0.0, *SHARES]
            choices = np.repeat(weights, len(tried), axis=1)
            choices[place] = tried
            choices = choices[:, choices.any(axis=0)]
            best = _best(_ndcg(cases, choices))
            if best:
                weights = choices[:, [best]] / choices[:, best].sum()
    return weights


def _ndcg(cases: Sequence[Judged], weights: Scores) -> Scores:
    """Return nDCG@10 of each choice for each question: (choices, questions)."""
    return np.stack([case.ndcg(weights) for case in cases], axis=1)


def _best(values: Scores) -> int:
    """Return the choice of the highest mean; the first of equals, so that the present one stays on a tie."""
    return int(np.argmax(np.round(values.mean(axis=1), 9)))


def cross_validated(count: int, judge: Callable[[Ids, Ids], Scores]) -> Scores:
    """Return the value of each question from `judge`, given the indices outside and inside its fold."""
    folds = np.random.default_rng(FOLDS).permutation(count) % FOLDS
    values = np.zeros(count)
    for fold in range(FOLDS):
        values[folds == fold] = judge(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
    return values


# Judged questions as input of the reranker `features`, to score their candidates by any weights

#: The number of hits that are reranked, and the cutoff of nDCG.
TOP = 20
CUT = 10
_DISCOUNTS = 1 / np.log2(np.arange(2, CUT + 2))


@dataclass(frozen=True, slots=True)
class Judged:
    """The candidates of one question; `values` are their components, (candidates, components).

    `documents` are document numbers by candidate, in the order of first appearance. `gains` are grades by document
    number, including documents of lower hits, which keep their ranks. `ideal` is the best possible DCG.
    """

    values: Scores
    documents: Ids
    gains: Scores
    ideal: float

    def scores(self, weights: Scores) -> Scores:
        """Return the score of each candidate by every column of `weights`: (candidates, choices)."""
        return self.values @ weights

    def ndcg(self, weights: Scores) -> Scores:
        """Return nDCG@10 with linear gain for every column of `weights` (components, choices): (choices).

        A document counts at its best chunk.
        """
        if not len(self.gains):
            return np.zeros(weights.shape[1])
        scores = self.scores(weights)
        order = np.argsort(self.documents, kind="stable")
        known, starts = np.unique(self.documents[order], return_index=True)
        best = np.tile(-1.0 - np.arange(len(self.gains))[:, None], scores.shape[1])
        best[known] = np.maximum.reduceat(scores[order], starts, axis=0)
        first = np.argsort(-best, axis=0, kind="stable")[:CUT]
        return np.asarray(np.tensordot(_DISCOUNTS[: len(first)], self.gains[first], 1) / self.ideal)


def judged(index: Index, collection: Collection, question: JudgedQuestion) -> tuple[Judged, FeatureInput]:
    """Return a question's judged candidates, and the input of the components."""
    plan = index.admin.searcher.hybrid_plan(question.text, top_k=DEPTH, filter=collection.filter(question))
    table = fetch(replace(plan, passages=DEPTH), plan.candidates())
    names = [collection.identify(hit) for hit in table.passages]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    inputs = feature_input(plan, table.head(TOP), index.admin.view.resources)
    found = Judged(
        np.stack([COMPONENTS[name](inputs) for name in ORDER], axis=1),
        np.array([numbers[name] for name in names[:TOP]], np.int64),
        np.array([question.grades.get(name, 0) for name in numbers], np.float64),
        ideal_gain(question),
    )
    return found, inputs


def ideal_gain(question: JudgedQuestion) -> float:
    """Return the best possible DCG@10 of a question."""
    grades = np.array(sorted(question.grades.values(), reverse=True)[:CUT])
    return float(grades @ _DISCOUNTS[: len(grades)])


def column(weights: Weights) -> Scores:
    """Return weights as a column, (components, 1)."""
    shares = weights.shares()
    return np.array([shares[name] for name in ORDER])[:, None]
