"""Where candidates come from: each source ranks ids for a query, and fetches nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from rifflux.store.base import FieldWeights, Store
from rifflux.types import Ids, Query, Ranking

__all__ = ["LEXICAL", "SEMANTIC", "VARIANT", "Place", "Placing", "Source", "placings", "sources"]

Source = Callable[[Query], Ranking]
#: A chunk's id, rank and score in a channel.
Place = tuple[int, int, float]
#: The place of the best of some chunks among all chunks, however far down; None where the channel ranks none of them.
Placing = Callable[[Query, Ids], Place | None]

LEXICAL = "lexical"
SEMANTIC = "semantic"
#: What other spellings and synonyms count, beside the words that were asked for: a guess may be wrong, and a rare word
#: that was guessed would weigh more than the common ones that are meant.
VARIANT = 0.75


def sources(store: Store, weights: FieldWeights) -> Mapping[str, Source]:
    """The channels of a store by name: by words (BM25) and by meaning (cosine)."""
    return {
        LEXICAL: partial(_by_words, store, weights),
        SEMANTIC: lambda query: store.nearest(query, query.limit),
    }


def placings(store: Store, weights: FieldWeights) -> Mapping[str, Placing]:
    """For each channel by name, what finds the exact place of chunks that a search would not read down to."""
    return {
        LEXICAL: partial(_words_place, store, weights),
        SEMANTIC: partial(_nearest_place, store),
    }


def _by_words(store: Store, weights: FieldWeights, query: Query) -> Ranking:
    """BM25, to which variants add less than their own."""
    whole = store.match(query, query.limit, weights)
    if not query.variants:
        return whole
    asked = store.match(replace(query, variants=()), query.limit, weights)
    # What that does not reach down to scores at most as its last.
    least = float(asked.scores[-1]) if len(asked) >= query.limit else 0.0
    known = dict(zip(asked.ids.tolist(), asked.scores.tolist(), strict=True))
    alone = np.array([known.get(id, least) for id in whole.ids.tolist()], np.float64)
    scores = VARIANT * whole.scores + (1 - VARIANT) * np.minimum(alone, whole.scores)
    order = np.lexsort((whole.ids, -scores))
    return Ranking(whole.ids[order], scores[order])


def _words_place(store: Store, weights: FieldWeights, query: Query, ids: Ids) -> Place | None:
    if not query.variants:
        return store.match_place(query, ids, weights)
    return _first_of(_by_words(store, weights, replace(query, limit=store.counts()["chunks"])), ids)


def _nearest_place(store: Store, query: Query, ids: Ids) -> Place | None:
    return _first_of(store.nearest(query, store.counts()["chunks"]), ids)


def _first_of(ranking: Ranking, ids: Ids) -> Place | None:
    places = np.flatnonzero(np.isin(ranking.ids, ids))
    if not len(places):
        return None
    best = int(places[0])
    return int(ranking.ids[best]), best + 1, float(ranking.scores[best])
