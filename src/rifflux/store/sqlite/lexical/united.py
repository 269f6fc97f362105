"""Ranking what several owners have by their postings: BM25 as the full-text tables have it, to the last digit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rifflux.store.lexical import FieldWeights
from rifflux.store.sqlite.connection.bm25 import K1, Bm25Scoring
from rifflux.store.sqlite.lexical.postings import WEIGHTS
from rifflux.store.sqlite.lexical.postings_index import Seen
from rifflux.store.sqlite.query import MOST_CLAUSES, worths_of
from rifflux.text.analyzer import okapi_idf
from rifflux.types import Clause, Ids, Query, Scores

__all__ = ["Found", "PostingScorer"]

#: The rows that hold a phrase or the words that a prefix begins, and how much; and how many chunks do in all.
Found = tuple[Ids, Scores, int]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PostingScorer:
    """Scores the rows of a view by a query.

    `ask` asks the tables for what the postings do not know, `count` counts the chunks that changed and hold a term.
    """

    seen: Seen
    query: Query
    chunks: int
    mean_length: float
    ask: Callable[[Clause, bool], Found]
    count: Callable[[Clause], int]

    def _found(self, clause: Clause, prefix: bool = False) -> Found:
        if prefix or not self.seen.holds(clause):
            return self.ask(clause, prefix)
        rows, counts = self.seen.posting(clause[0])
        return rows, counts, len(rows) + (self.count(clause) if self.seen.fresh else 0)

    @cached_property
    def _required(self) -> Sequence[Found]:
        return [self._found(clause) for clause in self.query.required[:MOST_CLAUSES]]

    @cached_property
    def _ranked(self) -> Sequence[Found]:
        clauses = (*self.query.clauses, *self.query.variants)[:MOST_CLAUSES]
        prefixes = [self._found((prefix,), True) for prefix in self.query.prefixes[:MOST_CLAUSES]]
        return [*map(self._found, clauses), *prefixes]

    @cached_property
    def scoring(self) -> Bm25Scoring:
        """Return how the tables score by the same query: what is required counts twice, as in their expression."""
        worths = [*worths_of(self.query), *[1.0] * len(self.query.prefixes)]
        required = [okapi_idf(self.chunks, held) for *_, held in self._required]
        ranked = [worth * okapi_idf(self.chunks, held) for worth, (*_, held) in zip(worths, self._ranked, strict=False)]
        rest = [0.0] * len(self.query.excluded[:MOST_CLAUSES])
        weights: FieldWeights = WEIGHTS
        idf = [*required, *required, *ranked, *rest]
        return Bm25Scoring(idf, self.mean_length, (weights.title, weights.headings, weights.body))

    def scores(self) -> tuple[Ids, Scores]:
        """Return the rows that match, in no order, and their scores."""
        norms, total = self.seen.norms(self.mean_length), np.zeros(len(self.seen.mask))
        matching = np.zeros(len(total), np.bool_)
        for (rows, counts, _), idf in zip(
            [*self._required, *self._required, *self._ranked], self.scoring.idf, strict=False
        ):
            # The order of the operations is that of `bm25`: they round alike.
            total[rows] += idf * counts * (K1 + 1) / (counts + norms[rows])
            matching[rows] = True
        for rows, *_ in self._required:
            matching &= _mask(len(total), rows)
        for clause in self.query.excluded[:MOST_CLAUSES]:
            matching[self._found(clause)[0]] = False
        found = np.flatnonzero(matching)
        return found, total[found]


def _mask(count: int, rows: Ids) -> Mask:
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask
