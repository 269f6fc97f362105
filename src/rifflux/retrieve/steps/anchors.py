"""Anchors: what a question names to the letter lifts the chunks that hold it, by a bounded, explained factor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from rifflux.retrieve.fuse.base import ordered, ranks_of
from rifflux.retrieve.pipeline import Factors
from rifflux.store import LONGEST_NAME, Store
from rifflux.text.analyzer import Analyzer
from rifflux.types import Clause, Ids, Query, Ranking

__all__ = ["Anchors"]

#: What the factor of those is called that have an anchor as their identifier.
IDENTIFIED = "identifier"


@dataclass(frozen=True)
class Anchors:
    """Chunks that hold an anchor count `boost` times more, `title_boost` times more if in their title or headings.

    A chunk whose whole title is what was asked counts `exact_title` times more. All factors of a chunk together are
    at most `cap`. What bears an anchor as its identifier counts `identified` times more, beyond that: nothing else is
    meant by it. Anchors match whole terms, so `D4` is not found in `D40`; case does not matter. Works on ids: only
    the titles and headings of chunks that hold an anchor are read.
    """

    store: Store
    analyzer: Analyzer
    boost: float = 1.5
    title_boost: float = 1.5
    exact_title: float = 1.5
    cap: float = 4.0
    identified: float = 8.0

    def __call__(self, query: Query, ranking: Ranking) -> tuple[Ranking, Factors]:
        """The ranking with lifted scores, in its new order, and what lifted whom."""
        asked = frozenset(term for clause in (*query.clauses, *query.required) for term in clause)
        by_title = bool(asked) and len(asked) <= LONGEST_NAME
        if not len(ranking) or not (query.anchors or by_title):
            return ranking, {}
        found = self._factors(query.anchors, asked if by_title else frozenset(), ranking.ids)
        if not found:
            return ranking, {}
        products = [self._product(found[id]) if id in found else 1.0 for id in ranking.ids.tolist()]
        return ordered(ranking.ids, ranking.scores * np.array(products), lambda tied: ranks_of(ranking, tied)), found

    def _product(self, factors: Mapping[str, float]) -> float:
        """What a chunk's score is multiplied by."""
        identified = (factor for name, factor in factors.items() if name.startswith(IDENTIFIED))
        others = (factor for name, factor in factors.items() if not name.startswith(IDENTIFIED))
        return min(self.cap, prod(others)) * max(identified, default=1.0)

    def _factors(self, anchors: Sequence[Clause], asked: frozenset[str], ids: Ids) -> Factors:
        factors: dict[int, dict[str, float]] = {}
        for anchor in anchors:
            holders = self.store.lexical.holding(anchor, ids)
            for id in holders.tolist():
                factors.setdefault(id, {})[" ".join(anchor)] = self.boost
            for id in self._named(anchor, holders):
                factors[id][f"title: {' '.join(anchor)}"] = self.title_boost
            for id in self._bearing(anchor, holders):
                factors[id][f"{IDENTIFIED}: {' '.join(anchor)}"] = self.identified
        for id in self.store.catalog.titled(asked, ids).tolist() if asked else ():
            factors.setdefault(id, {})["whole title"] = self.exact_title
        return factors

    def _named(self, anchor: Clause, holders: Ids) -> Iterator[int]:
        """Those that hold the anchor in their title or headings."""
        for id, (title, headings) in self.store.catalog.names(holders).items() if len(holders) else ():
            terms = [*self.analyzer.terms(title), "", *self.analyzer.terms(" ".join(headings))]
            if _contains(terms, anchor):
                yield id

    def _bearing(self, anchor: Clause, holders: Ids) -> Iterator[int]:
        """Those whose document has the anchor as an identifier."""
        for id, names in self.store.catalog.identifiers_of(holders).items() if len(holders) else ():
            if any(self.analyzer.of_word(name.value) == anchor for name in names):
                yield id


def _contains(terms: Sequence[str], clause: Clause) -> bool:
    """Whether the clause's terms stand in `terms` next to each other."""
    width = len(clause)
    return any(tuple(terms[start : start + width]) == clause for start in range(len(terms) - width + 1))
