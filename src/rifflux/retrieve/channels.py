"""Where candidates come from: each source ranks ids for a query, and fetches nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from rifflux.store import FieldWeights, Store
from rifflux.types import Ids, Query, Ranking

__all__ = ["LEXICAL", "SEMANTIC", "Place", "Source", "Whole", "sources"]

Source = Callable[[Query], Ranking]
#: A chunk's id, rank and score in a channel.
Place = tuple[int, int, float]

LEXICAL = "lexical"
SEMANTIC = "semantic"


def sources(store: Store, weights: FieldWeights) -> Mapping[str, Source]:
    """The channels of a store by name: by words (BM25) and by meaning (cosine)."""
    return {
        LEXICAL: lambda query: store.lexical.match(query, query.limit, weights),
        SEMANTIC: lambda query: store.semantic.nearest(query, query.limit),
    }


class Whole:
    """A source that also tells the place of any chunk, however far down.

    It ranks all that it can only when that is asked, and once for a question.
    """

    def __init__(self, source: Source, chunks: int) -> None:
        self._source = source
        self._chunks = chunks
        self._last: tuple[Query, Ranking] | None = None

    def __call__(self, query: Query) -> Ranking:
        """What the source ranks."""
        return self._source(query)

    def place(self, query: Query, ids: Ids) -> Place | None:
        """The place of the best of some chunks among all; None where none of them is ranked."""
        if self._last is None or self._last[0] is not query:
            self._last = query, self._source(replace(query, limit=max(self._chunks, query.limit), enough=0))
        ranking = self._last[1]
        places = np.flatnonzero(np.isin(ranking.ids, ids))
        if not len(places):
            return None
        best = int(places[0])
        return int(ranking.ids[best]), best + 1, float(ranking.scores[best])
