"""Where candidates come from: each source ranks ids for a query, and fetches nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rifflux.store.base import FieldWeights, Store
from rifflux.types import Ids, Query, Ranking

__all__ = ["LEXICAL", "SEMANTIC", "Place", "Placing", "Source", "placings", "sources"]

Source = Callable[[Query], Ranking]
#: A chunk's id, rank and score in a channel.
Place = tuple[int, int, float]
#: The place of the best of some chunks among all chunks, however far down; None where the channel ranks none of them.
Placing = Callable[[Query, Ids], Place | None]

LEXICAL = "lexical"
SEMANTIC = "semantic"


def sources(store: Store, weights: FieldWeights) -> Mapping[str, Source]:
    """The channels of a store by name: by words (BM25) and by meaning (cosine)."""
    return {
        LEXICAL: lambda query: store.match(query, query.limit, weights),
        SEMANTIC: lambda query: store.nearest(query, query.limit),
    }


def placings(store: Store, weights: FieldWeights) -> Mapping[str, Placing]:
    """For each channel by name, what finds the exact place of chunks that a search would not read down to."""
    return {
        LEXICAL: lambda query, ids: store.match_place(query, ids, weights),
        SEMANTIC: partial(_nearest_place, store),
    }


def _nearest_place(store: Store, query: Query, ids: Ids) -> Place | None:
    ranking = store.nearest(query, store.counts()["chunks"])
    places = np.flatnonzero(np.isin(ranking.ids, ids))
    if not len(places):
        return None
    best = int(places[0])
    return int(ranking.ids[best]), best + 1, float(ranking.scores[best])
