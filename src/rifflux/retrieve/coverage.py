"""What a fusion may ask about candidates, answered from the store and only when asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rifflux.store import Store
from rifflux.types import Clause, Ids, Query, Scores

__all__ = ["StoreEvidence", "idf"]


def idf(documents: int, frequency: int) -> float:
    """Inverse document frequency as BM25 has it, never negative (Robertson and Zaragoza 2009, with Lucene's + 1)."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True)
class StoreEvidence:
    """The evidence on one query's candidates."""

    store: Store
    query: Query
    # A fusion asks for the same ones again when it explains the page.
    _kinds: dict[int, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    _covered: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def coverage(self, ids: Ids) -> Scores:
        """The share of the query's terms, weighted by idf, that each chunk holds; in [0, 1]."""
        wanted = ids.tolist()
        if not self._covered.keys() >= set(wanted):
            self._covered.update(zip(wanted, self._coverage(ids).tolist(), strict=True))
        return np.array([self._covered[id] for id in wanted], np.float64)

    def _coverage(self, ids: Ids) -> Scores:
        weights = self._weights()
        total = sum(weights.values())
        share = np.zeros(len(ids))
        for clause, weight in weights.items():
            share += weight * np.isin(ids, self.store.lexical.holding(clause, ids))
        return share / total if total else share

    def kinds(self, ids: Ids) -> Sequence[str]:
        """The kind of each chunk's document; empty for a chunk that is gone."""
        wanted = ids.tolist()
        if not self._kinds.keys() >= set(wanted):
            self._kinds.update({**dict.fromkeys(wanted, ""), **self.store.catalog.kinds(ids)})
        return [self._kinds[id] for id in wanted]

    @property
    def specificity(self) -> float:
        """The share of the question's words that name one thing, in [0, 1]."""
        return self.query.specificity

    def _weights(self) -> Mapping[Clause, float]:
        clauses = list(dict.fromkeys((*self.query.clauses, *self.query.required)))
        single = [term for clause in clauses for term in clause]
        frequencies, documents = self.store.lexical.document_frequencies(single), self.store.counts()["chunks"]
        # A phrase is at most as frequent as its rarest word.
        return {
            clause: idf(documents, min((frequencies.get(term, 0) for term in clause), default=0)) for clause in clauses
        }
