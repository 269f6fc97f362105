"""The candidates' scores by what is stored, so that equal indexes give equal evidence.

What answers quickly from beside the database rounds: lengths of texts to a byte, vectors to sixteen bits. Whether it
is there yet, and how much was added since, would show in the last digits of every score, and now and then in an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rifflux.retrieve.channels import LEXICAL, SEMANTIC, Channel
from rifflux.store import FieldWeights, Store
from rifflux.types import Hit, Ids, Query, Ranking, Scores, Why
from rifflux.works.retrieval.intent import Weights

__all__ = ["Exactly", "settled", "share"]

#: How many more candidates are named than are kept: what rounding does to the last of these is not seen.
MORE = 1.5
#: So few terms give very many passages nearly one score: the tables name them.
FEW_TERMS = 2
#: What else a candidate's trail goes on to tell.
_KEPT = ("anchors", "cited")


@dataclass(frozen=True)
class Exactly:
    """Ranks by words with the scores of the tables: `source` names more candidates than are wanted, and may round."""

    source: Channel
    store: Store
    fields: FieldWeights

    def __call__(self, query: Query) -> Ranking:
        """The best chunks for a query by the tables' scores, ties by chunk id."""
        if len({term for clause in query.clauses for term in clause}) <= FEW_TERMS:
            return self.source(replace(query, exact=True))
        found = self.source(replace(query, limit=int(MORE * query.limit), enough=0)).ids
        scores = self.store.lexical.bm25_of(query, found, self.fields)
        order = np.lexsort((found, -scores))[: query.limit]
        return Ranking(found[order], scores[order])


def settled(store: Store, query: Query, hits: Sequence[Hit], weights: Weights) -> list[Hit]:
    """The hits in the order of their BM25 and of the cosine that the tables give, as both are weighed.

    Scores are shares of the greatest; ranks are among these hits, ties by chunk id. What is not among the best by words
    has nothing for them.
    """
    if not hits:
        return []
    ids = np.fromiter((int(hit.chunk_id, 16) for hit in hits), np.int64, len(hits))
    told = [hit.because(LEXICAL) for hit in hits]
    lexical = np.array([why.score or 0.0 if why else 0.0 for why in told])
    semantic = np.maximum(store.semantic.cosines_of(query, ids), 0.0)
    merged = _merged(lexical, np.nan_to_num(semantic), weights)
    ranks = {LEXICAL: _ranks(lexical, ids), SEMANTIC: _ranks(semantic, ids)}
    scores = {LEXICAL: lexical, SEMANTIC: semantic}
    settled = []
    for place in np.lexsort((ids, -np.round(merged, 12))).tolist():
        channels = [
            Why(name, int(ranks[name][place]), float(scores[name][place])) for name in scores if scores[name][place] > 0
        ]
        kept = [why for why in hits[place].why if why.stage in _KEPT]
        settled.append(hits[place].retold(float(merged[place]), (*channels, *kept)))
    return settled


def share(values: Scores) -> Scores:
    """Values as shares of the greatest; zero where there is none above zero."""
    greatest = values.max(initial=0.0)
    return values / greatest if greatest > 0 else np.zeros(len(values))


def _merged(lexical: Scores, semantic: Scores, weights: Weights) -> Scores:
    total = weights.lexical + weights.semantic
    words = weights.lexical / total if total else 0.5
    return words * share(lexical) + (1 - words) * share(semantic)


def _ranks(scores: Scores, ids: Ids) -> Ids:
    order = np.lexsort((ids, -np.nan_to_num(scores)))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks
