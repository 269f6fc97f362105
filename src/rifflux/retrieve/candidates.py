"""Where candidates come from: each source ranks ids for a query, and fetches nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rifflux.store.base import FieldWeights, Store
from rifflux.types import Query, Ranking

__all__ = ["LEXICAL", "SEMANTIC", "Source", "sources"]

Source = Callable[[Query], Ranking]

LEXICAL = "lexical"
SEMANTIC = "semantic"


def sources(store: Store, weights: FieldWeights) -> Mapping[str, Source]:
    """The channels of a store by name: by words (BM25) and by meaning (cosine)."""
    return {
        LEXICAL: lambda query: store.match(query, query.limit, weights),
        SEMANTIC: lambda query: store.nearest(query, query.limit),
    }
