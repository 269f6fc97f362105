"""Research works: papers, books and statements, with their authors, years, venues and the lists they come from.

Retrieval reads channels of its own, so that equal indexes name equal candidates: derived indexes round
lengths to a byte and vectors to sixteen bits, and what was added since they were made would change the last digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rifflux.evidence.pack import Packer
from rifflux.retrieve.fuse import Fuse
from rifflux.retrieve.pipeline import Channel, channels, reaching
from rifflux.retrieve.table import LEXICAL
from rifflux.session.profile import Profile
from rifflux.store import FieldWeights, Store
from rifflux.types import Query, Ranking
from rifflux.works.export import CITING

__all__ = ["RETRIEVAL", "WORKS"]

#: No channel is read deeper.
DEEPEST = 200
#: Name so many more candidates than are kept, so that rounding of the last of them does not matter.
MORE = 1.5
#: So few terms give very many passages nearly one score: the tables name them.
FEW_TERMS = 2


@dataclass(frozen=True)
class ExactLexical:
    """Rank by words with the scores of the tables: `channel` names more candidates than are wanted, and may round."""

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
    """Return the query with its channels read as deep as suffices, no deeper even where that costs nothing."""
    query = reaching(query, fuse, pool)
    return replace(query, limit=min(query.sufficient(query.limit), DEEPEST))


def exact_channels(store: Store, weights: FieldWeights) -> Mapping[str, Channel]:
    """Return the channels of a store, that of words with the scores of the tables."""
    found = channels(store, weights)
    return {**found, LEXICAL: ExactLexical(found[LEXICAL], store, weights)}


WORKS = Profile(
    "works",
    readers="rifflux.works.importers:FORMATS",
    mathematics="notation",
    facets=("authors", "year", "venue", "sources"),
    command="rifflux works import PATHS",
)

#: Works as they are retrieved with evidence; the intent of the question adds its steps (`rifflux.works.retrieval`).
RETRIEVAL = replace(WORKS, channels=exact_channels, reach=sufficient_reach, packer=Packer(CITING))
