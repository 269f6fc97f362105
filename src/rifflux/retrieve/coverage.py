"""What a fusion may ask about candidates, answered from the store and only when asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rifflux.store import Store
from rifflux.text.rarity import idf
from rifflux.types import Clause, Ids, Query, Scores

__all__ = ["StoreEvidence", "chunks_of", "frequencies_of", "weights_of"]


def frequencies_of(store: Store, query: Query, clauses: Iterable[Clause]) -> Mapping[Clause, int]:
    """Return how many chunks hold each clause at most: a phrase is no more frequent than its rarest word.

    The store is asked only about terms that the query does not tell of.
    """
    clauses, known = dict.fromkeys(clauses), dict(query.statistics.frequencies) if query.statistics else {}
    missing = [term for clause in clauses for term in clause if term not in known]
    if missing:
        known |= store.lexical.document_frequencies(missing)
    return {clause: min((known.get(term, 0) for term in clause), default=0) for clause in clauses}


def chunks_of(store: Store, query: Query) -> int:
    """Return how many chunks there are, as of when the query was read."""
    return query.statistics.chunks if query.statistics else store.counts()["chunks"]


def weights_of(store: Store, query: Query) -> Mapping[Clause, float]:
    """Return the idf of each clause of the query."""
    chunks = chunks_of(store, query)
    found = frequencies_of(store, query, (*query.clauses, *query.required))
    return {clause: idf(chunks, count) for clause, count in found.items()}


@dataclass(frozen=True)
class StoreEvidence:
    """The evidence on one query's candidates."""

    store: Store
    query: Query

    def coverage(self, ids: Ids) -> Scores:
        """Return the share of the query's terms, weighted by idf, that each chunk holds; in [0, 1]."""
        weights = weights_of(self.store, self.query)
        total = sum(weights.values())
        share = np.zeros(len(ids))
        for clause, weight in weights.items():
            share += weight * np.isin(ids, self.store.lexical.holding(clause, ids))
        return share / total if total else share

    def kinds(self, ids: Ids) -> Sequence[str]:
        """Return the kind of each chunk's document; empty for a chunk that is gone."""
        known = self.store.catalog.kinds(ids)
        return [known.get(id, "") for id in ids.tolist()]

    @property
    def specificity(self) -> float:
        """Return the share of the question's words that name one thing, in [0, 1]."""
        return self.query.specificity
