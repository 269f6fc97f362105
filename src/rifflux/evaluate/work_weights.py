"""Fit the six weights of the score of works to judged questions.

One set of weights is fitted for all questions, and scales those of every intent: a collection has few judged questions
of most intents, and the differences between intents are known beforehand.

The components of each question's works are read once, and weights are chosen by them alone. Their value is measured by
retrieval in each of a few folds, with weights fitted to the other folds. Everything else that affects the order of
works (candidates, both sides of a comparison, caps on authors) thus counts as it does for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rifflux.evaluate.collection import Collection, JudgedQuestion
from rifflux.evaluate.measures import PRIMARY, Bootstrap, measured
from rifflux.evaluate.retrieving import PARTS, Retriever
from rifflux.evaluate.tune import FittedChoice, Judged, answerable, climbed, cross_validated, ideal_gain
from rifflux.index import Index
from rifflux.retrieve.fuse.base import Weights
from rifflux.retrieve.steps.rerank.features import dump_weights
from rifflux.types import Ids, Progress, Scores

#: The number of works whose components are read, and that are measured per question: as many as a run retrieves.
READ = 100
RANKED = 20
#: The stage of an explanation that contains the components of a work.
SCORED = "works"


@dataclass(frozen=True, slots=True)
class TunedWorks:
    """The fitted weights of the score of works, and the number of questions used."""

    questions: int
    weights: FittedChoice[Weights]


def tune_works(
    index: Index, collection: Collection, *, bootstrap: Bootstrap | None = None, progress: Progress | None = None
) -> TunedWorks:
    """Fit the score of works to judged questions; nothing is written, see `apply_weights`.

    Results are deterministic. Raises `InvalidArgument` if fewer than `FEWEST` questions have a relevant work in the
    index, or the collection has a scope.
    """
    tuner = WorksTuner(index, collection, answerable(index, collection), progress)
    return TunedWorks(len(tuner.questions), tuner.fitted(bootstrap or Bootstrap()))


def apply_weights(index: Index, tuned: TunedWorks) -> None:
    """Store the weights in the index for all its users, if they are significantly better."""
    if tuned.weights.significant:
        index.admin.store.records.set("components", dump_weights(tuned.weights.choice))


@dataclass(frozen=True, slots=True)
class ScoredWorks(Judged):
    """The works of one question by their components; `per_weight` is the factor of its intent for each weight.

    `credits` are additional scores of works, for an author, venue or year named in the question.
    """

    per_weight: Scores
    credits: Scores

    def scores(self, weights: Scores) -> Scores:
        """Return the score of each work by every column of `weights`: (candidates, choices)."""
        own = self.per_weight[:, None] * weights
        return np.asarray(self.values @ (own / np.maximum(own.sum(axis=0), 1e-12)) + self.credits[:, None])


@dataclass(frozen=True, slots=True)
class WorksTuner:
    """Retrieves the works of every question, with the present weights and with others."""

    index: Index
    collection: Collection
    questions: Sequence[JudgedQuestion]
    progress: Progress | None

    def fitted(self, bootstrap: Bootstrap) -> FittedChoice[Weights]:
        """Return the best weights on all questions, and the cross-validated gain of fitting."""
        present = self._present()
        start = _column(present)
        places = range(len(PARTS))
        before = self._measured(self.index, self.questions, "tune works: present weights")
        cases = [self._scored(question, present) for question in self.questions]
        complete = [place for place, case in enumerate(cases) if case]

        def best(known: Sequence[int] | Ids) -> Scores:
            return climbed([case for place in known if (case := cases[place])], start, places)

        def after(known: Ids, others: Ids) -> Scores:
            found = best(known)
            if np.array_equal(found, start):
                return before[others]
            index = self.index.using(self.index.profile.tuned(components=_weights(found).by_name))
            return self._measured(index, [self.questions[place] for place in others], "tune works: fitted weights")

        found = best(complete)
        if np.array_equal(found, start):
            choice = present
        else:
            choice = _weights(found)
        return FittedChoice.between(choice, before, cross_validated(len(cases), after), bootstrap)

    def _present(self) -> Weights:
        """Return the present weights of the index, ignoring intents changed by the configuration."""
        plain = self.index.using(self.index.profile.tuned(intents={}))
        return plain.retrieve.intents["generic"].weights

    def _measured(self, index: Index, questions: Sequence[JudgedQuestion], stage: str) -> Scores:
        """Return nDCG@10 of the retrieval of each question."""
        retrieve = Retriever(index, self.collection)
        rankings: dict[str, list[str]] = {}
        for number, question in enumerate(questions, 1):
            hits, *_ = retrieve(question, RANKED)
            rankings[question.id] = list(dict.fromkeys(self.collection.identify(hit) for hit in hits))
            if self.progress:
                self.progress(stage, number, len(questions))
        return measured(questions, rankings)[PRIMARY]

    def _scored(self, question: JudgedQuestion, present: Weights) -> ScoredWorks | None:
        """Return the works of a question by their components, or None if not only weights order them."""
        found = Retriever(self.index, self.collection).asker()(question.text, top_k=READ)
        if found.decision.sides or found.decision.intent.joined or not found.reranked:
            return None
        values = np.array([[each.get(name, 0.0) for name in PARTS] for each in found.components])
        own = found.decision.intent.weights
        names = [self.collection.identify(hit) for hit in found.reranked]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        scores = np.array([hit.score for hit in found.reranked])
        shares = present.shares()
        return ScoredWorks(
            values,
            np.array([numbers[name] for name in names], np.int64),
            np.array([question.grades.get(name, 0) for name in numbers], np.float64),
            ideal_gain(question),
            # Weights of zero so far would have the same factor in every intent.
            np.array([own[name] / shares[name] if shares[name] else sum(own.values()) for name in PARTS]),
            scores - values @ np.array([own.shares()[name] for name in PARTS]),
        )


def _column(weights: Weights) -> Scores:
    shares = weights.shares()
    return np.array([shares[name] for name in PARTS])[:, None]


def _weights(column: Scores) -> Weights:
    return Weights(dict(zip(PARTS, column[:, 0].tolist(), strict=True)))
