"""The channels of retrieval: equal indexes name equal candidates.

What answers quickly from beside the database rounds: lengths of texts to a byte, vectors to sixteen bits. Whether it
is there yet, and how much was added since, would show in the last digits of every score, and now and then in an order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rifflux.retrieve.fuse import Fuse
from rifflux.retrieve.pipeline import Channel, channels, reaching
from rifflux.retrieve.table import LEXICAL
from rifflux.store import FieldWeights, Store
from rifflux.types import Query, Ranking

__all__ = ["ExactLexical", "exact_channels", "sufficient_reach"]

#: No channel is read deeper.
DEEPEST = 200
#: How many more candidates are named than are kept: what rounding does to the last of these is not seen.
MORE = 1.5
#: So few terms give very many passages nearly one score: the tables name them.
FEW_TERMS = 2


@dataclass(frozen=True)
class ExactLexical:
    """Ranks by words with the scores of the tables: `channel` names more candidates than are wanted, and may round."""

    channel: Channel
    store: Store
    fields: FieldWeights

    def __call__(self, query: Query) -> Ranking:
        """Return the best chunks for a query by the tables' scores, ties by chunk id."""
        if len({term for clause in query.clauses for term in clause}) <= FEW_TERMS:
            return self.channel(replace(query, exact=True))
        found = self.channel(replace(query, limit=int(MORE * query.limit), enough=0)).ids
        scores = self.store.lexical.bm25_of(query, found, self.fields)
        order = np.lexsort((found, -scores))[: query.limit]
        return Ranking(found[order], scores[order])


def sufficient_reach(query: Query, fuse: Fuse | None, pool: int) -> Query:
    """Return the query with how far its channels are read: as deep as suffices.

    So they are where reading deeper costs nothing, too: how deep decides among the last candidates.
    """
    query = reaching(query, fuse, pool)
    return replace(query, limit=min(query.sufficient(query.limit), DEEPEST))


def exact_channels(store: Store, weights: FieldWeights) -> Mapping[str, Channel]:
    """Return the channels of a store, that of words with the scores of the tables."""
    found = channels(store, weights)
    return {**found, LEXICAL: ExactLexical(found[LEXICAL], store, weights)}
