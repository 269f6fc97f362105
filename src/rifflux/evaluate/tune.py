"""Fits how an index ranks to questions with judged answers: its fusion, then the weights of the reranker `features`.

Every way of weighing is tried on every question. In each of a few folds, the one that is best on the other questions is
judged on those of the fold, so that what is reported is what to expect of new questions. It is kept only if that is
better than what the index does today by more than chance would give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.evaluate.collection import Collection, Question
from rifflux.evaluate.components import ORDER, Judged, column, judged
from rifflux.evaluate.measures import PRIMARY, Bootstrap, measured
from rifflux.index import Index
from rifflux.retrieve.fuse import Adaptive, Fuse
from rifflux.retrieve.fuse.stored import dump_fusion
from rifflux.retrieve.pipeline import Stopwatch, gather
from rifflux.retrieve.steps.rerank.features import WEIGHTS
from rifflux.retrieve.steps.rerank.stored import dump_weights
from rifflux.retrieve.weigh import Weights
from rifflux.store import Store
from rifflux.types import Ids, Progress, Ranking, Scores

__all__ = ["FEWEST", "SIGNIFICANT", "Fitted", "Tuned", "apply", "reset", "tune"]

T = TypeVar("T")

#: With fewer questions, hardly any gain could be told from chance.
FEWEST = 30
#: A gain is kept if chance alone would give one as large less often than this.
SIGNIFICANT = 0.05
FOLDS = 5
#: Chunks that are ranked for a question; a document counts at its best one.
DEPTH = 100
#: One prior for all that the index holds, and how much the vectors' own confidence moves it.
GRID = tuple(
    Adaptive(priors={}, prior=prior, slope=slope)
    for slope in (0.0, Adaptive().slope)
    for prior in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
)
#: What a weight is multiplied by, one after the other and so many times; one that is off is tried at these shares.
FACTORS, SHARES, ROUNDS = (0.0, 0.5, 2.0, 4.0), (0.05, 0.1, 0.2), 2
#: How new something has to be shows when it is asked, and judgements do not tell when that was.
FITTED = tuple(place for place, name in enumerate(ORDER) if name != "freshness")


@dataclass(frozen=True, slots=True)
class Fitted(Generic[T]):
    """A choice, and its worth: mean nDCG@10 `before` and `after`, both on questions that had no say."""

    choice: T
    before: float
    after: float
    p_value: float

    @property
    def gain(self) -> float:
        """How much better new questions can be expected to be answered."""
        return self.after - self.before

    @property
    def significant(self) -> bool:
        """Whether it is more than chance would give."""
        return self.gain > 0 and self.p_value < SIGNIFICANT


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning found: how to weigh words and meaning, and the components of `features` on top of that."""

    questions: int
    fusion: Fitted[Fuse]
    features: Fitted[Weights]

    @property
    def significant(self) -> bool:
        """Whether any of it is worth keeping."""
        return self.fusion.significant or self.features.significant


def tune(
    index: Index, collection: Collection, *, bootstrap: Bootstrap | None = None, progress: Progress | None = None
) -> Tuned:
    """Fit an index to judged questions; nothing is written, see `apply`.

    The same index and questions give the same answer. Raises `InvalidArgument` if fewer than `FEWEST` questions have
    a relevant document in the index, or none of its chunks has a vector.
    """
    questions = _answerable(index, collection)
    if not index.admin.store.counts()["embedded_chunks"]:
        raise InvalidArgument("no chunk has a vector, so there is nothing to weigh: run 'rifflux index' first")
    significance = bootstrap or Bootstrap()
    fusion = _fusion(index, collection, questions, significance, progress)
    if fusion.significant:
        index = index.using(replace(index.profile, fusion=fusion.choice))
    return Tuned(len(questions), fusion, _features(index, collection, questions, significance, progress))


def apply(index: Index, tuned: Tuned) -> None:
    """Make what is significant the index's own: whoever opens it searches so."""
    if tuned.fusion.significant:
        index.admin.store.registry.set("fusion", dump_fusion(tuned.fusion.choice))
    if tuned.features.significant:
        index.admin.store.registry.set("features", dump_weights(tuned.features.choice))


def reset(store: Store) -> bool:
    """Forget what an index was tuned to; tells whether there was anything.

    Takes the store alone: an index tuned to what this version does not know cannot be opened.
    """
    tuned = [name for name in ("fusion", "features") if store.registry.setting(name)]
    for name in tuned:
        store.registry.set(name, "")
    return bool(tuned)


def _answerable(index: Index, collection: Collection) -> list[Question]:
    """The questions of which the index holds a relevant document."""
    known = index.admin.store.catalog.find_documents
    kept = [
        question
        for question in collection.questions
        if any(grade > 0 and known(document) for document, grade in question.grades.items())
    ]
    if len(kept) < FEWEST:
        raise InvalidArgument(
            f"tuning needs {FEWEST} questions with a relevant document in the index, and there are {len(kept)} of "
            f"{len(collection.questions)}: judge more with 'rifflux judge', or index the collection's documents first"
        )
    return kept


# The fusion


def _fusion(
    index: Index, collection: Collection, questions: Sequence[Question], bootstrap: Bootstrap, progress: Progress | None
) -> Fitted[Fuse]:
    choices = (index.profile.fusion, *GRID)
    values = _values(index, collection, questions, choices, progress)
    after = _held_out(values.shape[1], lambda known: values[_best(values[:, known])])
    return _fitted(choices[_best(values)], values[0], after, bootstrap)


def _values(
    index: Index,
    collection: Collection,
    questions: Sequence[Question],
    choices: Sequence[Fuse],
    progress: Progress | None,
) -> Scores:
    """nDCG@10 of each choice for each question: (choices, questions)."""
    rankings: list[dict[str, list[str]]] = [{} for _ in choices]
    for number, question in enumerate(questions, 1):
        for ranking, documents in zip(rankings, _ranked(index, collection, question, choices), strict=True):
            ranking[question.id] = documents
        if progress:
            progress("tune", number, len(questions))
    return np.stack([measured(questions, ranking)[PRIMARY] for ranking in rankings])


def _ranked(index: Index, collection: Collection, question: Question, choices: Sequence[Fuse]) -> Iterator[list[str]]:
    """The documents that each choice finds, best first; the channels are asked once."""
    plan = index.admin.searcher.plan(question.text, filter=collection.filter(question))
    found = gather(plan.query, plan.pipeline.channels, Stopwatch())
    orders = [replace(plan.pipeline, fuse=fuse).ordered(plan.query, found, Stopwatch()).ids[:DEPTH] for fuse in choices]
    ids = np.unique(np.concatenate(orders))
    names = {
        int(hit.chunk_id, 16): collection.identify(hit)
        for hit in index.admin.store.catalog.hydrate(Ranking(ids, np.zeros(len(ids))))
    }
    for order in orders:
        yield list(dict.fromkeys(names[id] for id in order.tolist() if id in names))


# The weights of features


def _features(
    index: Index, collection: Collection, questions: Sequence[Question], bootstrap: Bootstrap, progress: Progress | None
) -> Fitted[Weights]:
    cases = []
    for number, question in enumerate(questions, 1):
        cases.append(judged(index, collection, question)[0])
        if progress:
            progress("tune reranking", number, len(questions))
    present = WEIGHTS.but(**index.profile.features)
    start = column(present)

    def after(known: Ids) -> Scores:
        fitted = _climbed([cases[place] for place in known], start)
        return np.ravel(_ndcg(cases, fitted))

    found = _climbed(cases, start)
    choice = present if np.array_equal(found, start) else Weights(dict(zip(ORDER, found[:, 0].tolist(), strict=True)))
    return _fitted(choice, _ndcg(cases, start)[0], _held_out(len(cases), after), bootstrap)


def _climbed(cases: Sequence[Judged], weights: Scores) -> Scores:
    """Weights changed one at a time, each to the best that is tried, by mean nDCG@10."""
    for _ in range(ROUNDS):
        for place in FITTED:
            weight = float(weights[place, 0])
            tried = [weight, *(factor * weight for factor in FACTORS)] if weight else [0.0, *SHARES]
            choices = np.repeat(weights, len(tried), axis=1)
            choices[place] = tried
            choices = choices[:, choices.any(axis=0)]
            best = _best(_ndcg(cases, choices))
            if best:
                weights = choices[:, [best]] / choices[:, best].sum()
    return weights


def _ndcg(cases: Sequence[Judged], weights: Scores) -> Scores:
    """nDCG@10 of each choice for each question: (choices, questions)."""
    return np.stack([case.ndcg(weights) for case in cases], axis=1)


# Both


def _fitted(choice: T, before: Scores, after: Scores, bootstrap: Bootstrap) -> Fitted[T]:
    return Fitted(choice, float(before.mean()), float(after.mean()), bootstrap.p_value(after - before))


def _best(values: Scores) -> int:
    """The choice of the highest mean; the first of equals, so that what is in use stays."""
    return int(np.argmax(np.round(values.mean(axis=1), 9)))


def _held_out(count: int, judge: Callable[[Ids], Scores]) -> Scores:
    """The value of each question as `judge` has it, given the places of the questions in the other folds."""
    folds = np.random.default_rng(FOLDS).permutation(count) % FOLDS
    values = np.stack([judge(np.flatnonzero(folds != fold)) for fold in range(FOLDS)])
    return np.asarray(values[folds, np.arange(count)])
