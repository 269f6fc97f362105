"""The candidates' scores by what is stored, so that equal indexes give equal evidence.

What answers quickly from beside the database rounds: lengths of texts to a byte, vectors to sixteen bits. Whether it
is there yet, and how much was added since, would show in the last digits of every score, and now and then in an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rifflux.retrieve.candidates import LEXICAL, SEMANTIC
from rifflux.retrieve.works.intent import Weights
from rifflux.store.base import FieldWeights, Store
from rifflux.types import Hit, Ids, Query, Scores, Why

__all__ = ["settled", "share"]

#: What else a candidate's trail goes on to tell.
_KEPT = ("anchors", "cited")


def settled(store: Store, query: Query, hits: Sequence[Hit], fields: FieldWeights, weights: Weights) -> list[Hit]:
    """The hits with the BM25 and the cosine that the tables give, in the order of both as they are weighed.

    Scores are shares of the greatest; ranks are among these hits, ties by chunk id.
    """
    if not hits:
        return []
    ids = np.fromiter((int(hit.chunk_id, 16) for hit in hits), np.int64, len(hits))
    lexical, semantic = store.scores_of(query, ids, fields)
    semantic = np.maximum(semantic, 0.0)
    merged = _merged(lexical, np.nan_to_num(semantic), weights)
    ranks = {LEXICAL: _ranks(lexical, ids), SEMANTIC: _ranks(semantic, ids)}
    scores = {LEXICAL: lexical, SEMANTIC: semantic}
    settled = []
    for place in np.lexsort((ids, -np.round(merged, 12))).tolist():
        channels = [
            Why(name, int(ranks[name][place]), float(scores[name][place])) for name in scores if scores[name][place] > 0
        ]
        kept = [why for why in hits[place].why if why.stage in _KEPT]
        settled.append(replace(hits[place], score=float(merged[place]), why=(*channels, *kept)))
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
