"""Judged questions as the reranker `features` sees them: what any weights would make of their candidates.

The components of a candidate do not depend on the weights, so they are worked out once, and thousands of weights are
judged by one product of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rifflux.evaluate.collection import Collection, Question
from rifflux.index import Index
from rifflux.retrieve.pipeline import Stopwatch
from rifflux.retrieve.steps.rerank.features import COMPONENTS, WEIGHTS, FeatureInput
from rifflux.retrieve.table import Candidates
from rifflux.retrieve.weigh import Weights
from rifflux.types import Ids, Query, Scores

__all__ = ["ORDER", "Judged", "column", "components", "judged"]

#: The components in the order of the columns of their values.
ORDER = tuple(WEIGHTS)
#: The hits that are looked at, those of them that are reranked, and where nDCG is cut.
DEPTH, TOP, CUT = 100, 20, 10
_DISCOUNTS = 1 / np.log2(np.arange(2, CUT + 2))


@dataclass(frozen=True, slots=True)
class Judged:
    """The candidates of one question: `values` are their components, (candidates, components).

    `documents` are numbers by candidate, in the order of their first appearance. `gains` are the grades by number; they
    go on with the documents of the hits below, which keep their places. `ideal` is the best DCG that there could be.
    """

    values: Scores
    documents: Ids
    gains: Scores
    ideal: float

    def ndcg(self, weights: Scores) -> Scores:
        """nDCG@10 with linear gain, of every column of `weights` (components, choices); (choices).

        A document counts at its best chunk.
        """
        if not len(self.gains):
            return np.zeros(weights.shape[1])
        scores = self.values @ weights
        order = np.argsort(self.documents, kind="stable")
        known, starts = np.unique(self.documents[order], return_index=True)
        best = np.tile(-1.0 - np.arange(len(self.gains))[:, None], scores.shape[1])
        best[known] = np.maximum.reduceat(scores[order], starts, axis=0)
        first = np.argsort(-best, axis=0, kind="stable")[:CUT]
        return np.asarray(np.tensordot(_DISCOUNTS[: len(first)], self.gains[first], 1) / self.ideal)


def judged(index: Index, collection: Collection, question: Question) -> tuple[Judged, Query, Candidates]:
    """Return a question's candidates with their judgements, the question as it was understood, and their table."""
    plan = index.admin.searcher.plan(question.text, top_k=DEPTH, filter=collection.filter(question))
    table = plan.pipeline.read(plan.pipeline.candidates(plan.query, Stopwatch()).head(DEPTH))
    names = [collection.identify(hit) for hit in table.passages]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    ideal = np.array(sorted(question.grades.values(), reverse=True)[:CUT])
    found = Judged(
        components(index, plan.query, table.head(TOP)),
        np.array([numbers[name] for name in names[:TOP]], np.int64),
        np.array([question.grades.get(name, 0) for name in numbers], np.float64),
        float(ideal @ _DISCOUNTS[: len(ideal)]),
    )
    return found, plan.query, table.head(TOP)


def components(index: Index, query: Query, table: Candidates) -> Scores:
    """Return the components of candidates, (candidates, components)."""
    asked = FeatureInput(query, table, index.admin.view.resources)
    return np.stack([COMPONENTS[name](asked) for name in ORDER], axis=1)


def column(weights: Weights) -> Scores:
    """Weights as a column, (components, 1)."""
    shares = weights.shares()
    return np.array([shares[name] for name in ORDER])[:, None]
