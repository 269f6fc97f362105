"""Anchors: what a question names to the letter lifts the chunks that hold it, by a bounded, explained factor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.retrieve.table import LIFT, RANK, SCORE, Candidates, declare
from rifflux.store import LONGEST_NAME, Store
from rifflux.text.analyzer import Analyzer
from rifflux.types import Clause, Ids, Query, Scores

__all__ = ["STAGE", "Anchors", "checked_boosts"]

STAGE = "anchors"
declare("anchors/*", "factor", "the factor for an anchor that the candidate holds, bears as identifier or is titled by")

#: What the factor of those is called that have an anchor as their identifier.
IDENTIFIED = "identifier"
#: Factors beyond this cannot be meant.
MOST = 1000.0


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

    def __call__(self, query: Query, table: Candidates) -> Candidates:
        """Lift the scores of candidates that hold an anchor; a column for each of its factors."""
        asked = frozenset(chain(*query.clauses, *query.required))
        by_title = bool(asked) and len(asked) <= LONGEST_NAME
        if not len(table) or not (query.anchors or by_title):
            return table
        factors = self._factors(query.anchors, asked if by_title else frozenset(), table.ids)
        if not factors:
            return table
        before = table.ranks()
        table = table.with_column(LIFT, _product(factors.values(), len(table))).with_stage(STAGE, factors)
        table = table.scored(table[SCORE] * self._lift(factors, len(table)), before)
        lifted = np.isfinite(np.fmax.reduce([table[f"{STAGE}/{name}"] for name in factors]))
        scores, ranks = (np.where(lifted, values, np.nan) for values in (table[SCORE], table.ranks()))
        return table.with_stage(STAGE, {"score": scores, RANK: ranks})

    def _lift(self, factors: Mapping[str, Scores], rows: int) -> Scores:
        """Return the factor of each candidate's score."""
        bearing = [values for name, values in factors.items() if name.startswith(IDENTIFIED)]
        others = [values for name, values in factors.items() if not name.startswith(IDENTIFIED)]
        greatest = np.fmax.reduce([np.ones(rows), *bearing])
        return np.asarray(np.minimum(self.cap, _product(others, rows)) * greatest)

    def _factors(self, anchors: Sequence[Clause], asked: frozenset[str], ids: Ids) -> Mapping[str, Scores]:
        """Return the factors of the candidates by the reason for them; NaN where it does not hold."""
        found: dict[str, tuple[Ids | Sequence[int], float]] = {}
        for anchor in anchors:
            holders, name = self.store.lexical.holding(anchor, ids), " ".join(anchor)
            # A leading space keeps the anchors `rank` and `score` apart from the columns of these names.
            found[f" {name}"] = holders, self.boost
            found[f"title: {name}"] = list(self._named(anchor, holders)), self.title_boost
            found[f"{IDENTIFIED}: {name}"] = list(self._bearing(anchor, holders)), self.identified
        if asked:
            found["whole title"] = self.store.catalog.titled(asked, ids), self.exact_title
        return {name: _where(ids, holders, factor) for name, (holders, factor) in found.items() if len(holders)}

    def _named(self, anchor: Clause, holders: Ids) -> Iterator[int]:
        """Yield those that hold the anchor in their title or headings."""
        for id, (title, headings) in self.store.catalog.names(holders).items() if len(holders) else ():
            terms = [*self.analyzer.terms(title), "", *self.analyzer.terms(" ".join(headings))]
            if _contains(terms, anchor):
                yield id

    def _bearing(self, anchor: Clause, holders: Ids) -> Iterator[int]:
        """Yield those whose document has the anchor as an identifier."""
        for id, names in self.store.catalog.identifiers_of(holders).items() if len(holders) else ():
            if any(self.analyzer.of_word(name.value) == anchor for name in names):
                yield id


def _where(ids: Ids, holders: Ids | Sequence[int], factor: float) -> Scores:
    return np.where(np.isin(ids, holders), factor, np.nan)


def _product(factors: Iterable[Scores], rows: int) -> Scores:
    product = np.ones(rows)
    for values in factors:
        product *= np.where(np.isnan(values), 1.0, values)
    return product


def _contains(terms: Sequence[str], clause: Clause) -> bool:
    """Return True if the clause's terms stand in `terms` next to each other."""
    width = len(clause)
    return any(tuple(terms[start : start + width]) == clause for start in range(len(terms) - width + 1))


def checked_boosts(boosts: Mapping[str, float]) -> Mapping[str, float]:
    """Return factors of `Anchors` by their names. Raises `InvalidArgument` for what cannot be meant."""
    known = [each.name for each in fields(Anchors) if each.name not in ("store", "analyzer")]
    for name, value in boosts.items():
        if name not in known:
            raise InvalidArgument(f"no boost {name!r}; choose from {', '.join(known)}")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 1 <= value <= MOST:
            raise InvalidArgument(f"the boost {name} must be a number from 1 to {MOST:,.0f}, not {value!r}")
    return dict(boosts)
