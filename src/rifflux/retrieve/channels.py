"""Channels name candidates: each ranks chunk ids for a query, and fetches nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from rifflux.store import FieldWeights, Store
from rifflux.types import Ids, Query, Ranking

__all__ = ["LEXICAL", "SEMANTIC", "Channel", "Place", "Whole", "channels"]

Channel = Callable[[Query], Ranking]
#: A chunk's id, rank and score in a channel.
Place = tuple[int, int, float]

LEXICAL = "lexical"
SEMANTIC = "semantic"


def channels(store: Store, weights: FieldWeights) -> Mapping[str, Channel]:
    """Return the channels of a store by name: by words (BM25) and by meaning (cosine)."""
    return {
        LEXICAL: lambda query: store.lexical.match(query, query.limit, weights),
        SEMANTIC: lambda query: store.semantic.nearest(query, query.limit),
    }


class Whole:
    """A channel that also finds the place of any chunk, however far down.

    It ranks all that it can only when a place is asked for, and once for a question.
    """

    def __init__(self, channel: Channel, chunks: int) -> None:
        self._channel = channel
        self._chunks = chunks
        self._last: tuple[Query, Ranking] | None = None

    def __call__(self, query: Query) -> Ranking:
        """Return the ranking of the channel."""
        return self._channel(query)

    def place(self, query: Query, ids: Ids) -> Place | None:
        """Return the place of the best of some chunks among all; None where none of them is ranked."""
        if self._last is None or self._last[0] is not query:
            self._last = query, self._channel(replace(query, limit=max(self._chunks, query.limit), enough=0))
        ranking = self._last[1]
        places = np.flatnonzero(np.isin(ranking.ids, ids))
        if not len(places):
            return None
        best = int(places[0])
        return int(ranking.ids[best]), best + 1, float(ranking.scores[best])
