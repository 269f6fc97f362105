"""Fits how words and meaning are weighed to one index, from questions with judged answers.

Every way of weighing is tried on every question. In each of a few folds, the one that is best on the other questions is
judged on those of the fold, so that what is reported is what to expect of new questions. It is kept only if that is
better than what the index does today by more than chance would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.evaluate.collection import Collection, Question
from rifflux.evaluate.measures import PRIMARY, Bootstrap, measured
from rifflux.index import Index
from rifflux.retrieve.fuse import Adaptive, Fuse
from rifflux.retrieve.fuse.stored import dump_fusion
from rifflux.retrieve.pipeline import Stopwatch
from rifflux.store.base import Store
from rifflux.types import Progress, Ranking, Scores

__all__ = ["FEWEST", "SIGNIFICANT", "Tuned", "apply", "reset", "tune"]

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


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning found. `before` and `after` are nDCG@10 by question, both on questions that had no say."""

    questions: int
    before: float
    after: float
    p_value: float
    fusion: Fuse
    significant: bool

    @property
    def gain(self) -> float:
        """How much better new questions can be expected to be answered."""
        return self.after - self.before


def tune(
    index: Index, collection: Collection, *, bootstrap: Bootstrap | None = None, progress: Progress | None = None
) -> Tuned:
    """Fit the fusion of an index to judged questions; nothing is written, see `apply`.

    The same index and questions give the same answer. Raises `InvalidArgument` if fewer than `FEWEST` questions have
    a relevant document in the index, or none of its chunks has a vector.
    """
    questions = _answerable(index, collection)
    if not index.store.counts()["embedded_chunks"]:
        raise InvalidArgument("no chunk has a vector, so there is nothing to weigh: run 'rifflux index' first")
    choices = (index.profile.fusion, *GRID)
    values = _values(index, collection, questions, choices, progress)
    held_out = _held_out(values)
    differences = held_out - values[0]
    p_value = (bootstrap or Bootstrap()).p_value(differences)
    return Tuned(
        questions=len(questions),
        before=float(values[0].mean()),
        after=float(held_out.mean()),
        p_value=p_value,
        fusion=choices[_best(values)],
        significant=bool(differences.mean() > 0 and p_value < SIGNIFICANT),
    )


def apply(index: Index, tuned: Tuned) -> None:
    """Make a fusion the index's own: whoever opens it searches so."""
    index.store.set("fusion", dump_fusion(tuned.fusion))


def reset(store: Store) -> bool:
    """Forget what an index was tuned to; tells whether there was anything.

    Takes the store alone: an index tuned to what this version does not know cannot be opened.
    """
    was = bool(store.setting("fusion"))
    if was:
        store.set("fusion", "")
    return was


def _answerable(index: Index, collection: Collection) -> list[Question]:
    """The questions of which the index holds a relevant document."""
    known = index.store.find_documents
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
    """The documents that each choice finds, best first; the sources are asked once."""
    plan = index.plan(question.text, filter=collection.filter(question))
    found = plan.pipeline.candidates(plan.query, Stopwatch()).found
    orders = [
        replace(plan.pipeline, fuse=fuse).ordered(plan.query, found, Stopwatch()).lifted.ids[:DEPTH] for fuse in choices
    ]
    ids = np.unique(np.concatenate(orders))
    names = {
        int(hit.chunk_id, 16): collection.identify(hit) for hit in index.store.hydrate(Ranking(ids, np.zeros(len(ids))))
    }
    for order in orders:
        yield list(dict.fromkeys(names[id] for id in order.tolist() if id in names))


def _best(values: Scores) -> int:
    """The choice of the highest mean; the first of equals, so that what is in use stays."""
    return int(np.argmax(np.round(values.mean(axis=1), 9)))


def _held_out(values: Scores) -> Scores:
    """The value of each question with what the questions of the other folds choose."""
    count = values.shape[1]
    folds = np.random.default_rng(FOLDS).permutation(count) % FOLDS
    chosen = np.array([_best(values[:, folds != fold]) for fold in range(FOLDS)])
    return np.asarray(values[chosen[folds], np.arange(count)])
