"""The ranking half of the store: which chunks answer a query, by words and by meaning."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rifflux.store.base import FieldWeights
from rifflux.store.sqlite import sql
from rifflux.store.sqlite.filters import where
from rifflux.store.sqlite.reading import Reading
from rifflux.store.sqlite.terms import all_of, any_of, expression
from rifflux.store.sqlite.vectors import Matrix
from rifflux.types import Ids, Query, Ranking

__all__ = ["Ranks"]

# FTS5 breaks ties at the cut by row number; reading a few more lets the chunk id decide.
_TIE_MARGIN = 32


class Ranks(Reading):
    """Ranks chunk ids for a query; nothing is fetched."""

    def match(self, query: Query, limit: int, weights: FieldWeights) -> Ranking:
        """Rank chunks by BM25 over the query's terms; scores are the negated values of SQLite's bm25()."""
        statement, bound = _matching(sql.MATCH, query, weights)
        if not bound["terms"]:
            return Ranking.empty()
        rows = self._engine.rows(statement, bound | {"limit": limit + _TIE_MARGIN})[:limit]
        return Ranking(
            np.fromiter((row[0] for row in rows), np.int64, len(rows)),
            np.fromiter((-row[1] for row in rows), np.float64, len(rows)),
        )

    def match_place(self, query: Query, ids: Ids, weights: FieldWeights) -> tuple[int, int, float] | None:
        """The best of some chunks among all that `match` could rank: its id, rank and score; None if none matches."""
        statement, bound = _matching(sql.MATCH_AMONG, query, weights)
        if not bound["terms"]:
            return None
        found = self._engine.rows(statement, bound | {"ids": json.dumps(ids.tolist())})
        if not found:
            return None
        ((id, best),) = found
        statement, bound = _matching(sql.MATCHED_BEFORE, query, weights)
        ((before,),) = self._engine.rows(statement, bound | {"best": best, "id": id})
        return id, before + 1, -best

    def nearest(self, query: Query, limit: int) -> Ranking:
        """Rank chunks by cosine with the query's vector; none, or one of length zero, ranks nothing."""
        if query.vector is None:
            return Ranking.empty()
        return self._vectors().nearest(query.vector, limit, self._allowed(query))

    def _allowed(self, query: Query) -> Ids | None:
        """The rows that the filter and the query's required and excluded words leave, or None for all."""
        condition, bound = where(query.filter)
        conditions = [condition] if condition else []
        for name, terms, sense in (("required", all_of(query), "in"), ("excluded", any_of(query), "not in")):
            if terms:
                conditions.append(f"chunk.id {sense} (select rowid from chunk_terms where chunk_terms match :{name})")
                bound[name] = terms
        if not conditions:
            return None
        rows = self._engine.rows(sql.ALLOWED.format(condition=" and ".join(conditions)), bound)
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def _vectors(self) -> Matrix:
        with self._engine.reading() as connection:
            generation = self._engine.generation()
            if self._engine.matrix is None or self._engine.matrix.generation != generation:
                model = self.model()
                self._engine.matrix = Matrix.read(connection, generation, model.dimension if model else 1)
            return self._engine.matrix


def _matching(statement: str, query: Query, weights: FieldWeights) -> tuple[str, dict[str, Any]]:
    """A statement over the chunks that match a query, and what is bound to it; `terms` are empty if none can match."""
    condition, bound = where(query.filter)
    # The plus keeps SQLite from asking the word index once for every allowed row.
    narrowed = f"and +rowid in ({sql.ALLOWED.format(condition=condition)})" if condition else ""
    bound |= {"title": weights.title, "headings": weights.headings, "body": weights.body}
    return statement.format(narrowed=narrowed), bound | {"terms": expression(query)}
