"""Anchors: what a question names to the letter lifts the chunks that hold it, by a bounded, explained factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from rifflux.retrieve.fuse.base import ordered, ranks_of
from rifflux.retrieve.pipeline import Factors
from rifflux.store.base import LONGEST_NAME, Store
from rifflux.text.analyser import Analyser
from rifflux.types import Clause, Ids, Query, Ranking

__all__ = ["Anchors"]


@dataclass(frozen=True)
class Anchors:
    """Chunks that hold an anchor count `boost` times more, `title_boost` times more if in their title or headings.

    A chunk whose whole title is what was asked counts `exact_title` times more. All factors of a chunk together are
    at most `cap`. Anchors match whole terms, so `D4` is not found in `D40`; case does not matter. Works on ids: only
    the titles and headings of chunks that hold an anchor are read.
    """

    store: Store
    analyser: Analyser
    boost: float = 1.5
    title_boost: float = 1.5
    exact_title: float = 1.5
    cap: float = 4.0

    def __call__(self, query: Query, ranking: Ranking) -> tuple[Ranking, Factors]:
        """The ranking with lifted scores, in its new order, and what lifted whom."""
        asked = frozenset(term for clause in (*query.clauses, *query.required) for term in clause)
        by_title = bool(asked) and len(asked) <= LONGEST_NAME
        if not len(ranking) or not (query.anchors or by_title):
            return ranking, {}
        found = self._factors(query.anchors, asked if by_title else frozenset(), ranking.ids)
        if not found:
            return ranking, {}
        products = [min(self.cap, prod(found[id].values())) if id in found else 1.0 for id in ranking.ids.tolist()]
        return ordered(ranking.ids, ranking.scores * np.array(products), lambda tied: ranks_of(ranking, tied)), found

    def _factors(self, anchors: Sequence[Clause], asked: frozenset[str], ids: Ids) -> Factors:
        factors: dict[int, dict[str, float]] = {}
        for anchor in anchors:
            holders = self.store.holding(anchor, ids)
            for id in holders.tolist():
                factors.setdefault(id, {})[" ".join(anchor)] = self.boost
            for id in self._named(anchor, holders):
                factors[id][f"title: {' '.join(anchor)}"] = self.title_boost
        for id in self.store.titled(asked, ids).tolist() if asked else ():
            factors.setdefault(id, {})["whole title"] = self.exact_title
        return factors

    def _named(self, anchor: Clause, holders: Ids) -> Iterator[int]:
        """Those that hold the anchor in their title or headings."""
        for id, (title, headings) in self.store.names(holders).items() if len(holders) else ():
            terms = [*self.analyser.terms(title), "", *self.analyser.terms(" ".join(headings))]
            if _contains(terms, anchor):
                yield id


def _contains(terms: Sequence[str], clause: Clause) -> bool:
    """Whether the clause's terms stand in `terms` next to each other."""
    width = len(clause)
    return any(tuple(terms[start : start + width]) == clause for start in range(len(terms) - width + 1))
