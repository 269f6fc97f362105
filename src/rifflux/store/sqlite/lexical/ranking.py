"""Which chunks answer a query by their words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import apsw
import numpy as np

from rifflux.store.base import VARIANT, FieldWeights
from rifflux.store.sqlite.catalog import sql
from rifflux.store.sqlite.catalog.filters import where
from rifflux.store.sqlite.catalog.reading import Reading
from rifflux.store.sqlite.lexical.scoring import Bm25, Statistics
from rifflux.store.sqlite.lexical.terms import Terms
from rifflux.store.sqlite.semantic.vectors import best
from rifflux.types import Filter, Ids, Query, Ranking, Scores

__all__ = ["Ranks"]

_SCORE = "bm25(chunk_terms, :title, :headings, :body)"
_OWN_SCORE = "owner_bm25(owned_terms, :scoring)"
# FTS5 breaks ties at the cut by row number; reading a few more lets the chunk id decide.
_TIE_MARGIN = 32


class Ranks(Reading):
    """Ranks chunk ids for a query; nothing is fetched."""

    def match(self, query: Query, limit: int, weights: FieldWeights) -> Ranking:
        """Rank chunks by BM25 over the query's terms, as SQLite's bm25() does, negated.

        Where the word index answers, scores are nearly those; a query that is `exact` gets SQLite's own.
        """
        found = self._by_words(query, query.sufficient(limit), weights)
        return self._by_tables(query, limit, weights) if found is None else found

    def bm25_of(self, query: Query, ids: Ids, weights: FieldWeights) -> Scores:
        """The BM25 of some chunks, by the tables."""
        rows = self._rows(sql.ROWS_OF, {"ids": json.dumps(ids.tolist())})
        found = self._by_tables(replace(query, filter=Filter()), len(ids), weights, [row for (row,) in rows])
        scores = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
        return np.array([scores.get(id, 0.0) for id in ids.tolist()])

    def cosines_of(self, query: Query, ids: Ids) -> Scores:
        """The cosine of some chunks with a query's vector, by the tables."""
        cosines = np.full(len(ids), np.nan)
        length = 0.0 if query.vector is None else float(np.linalg.norm(query.vector))
        # Not those of a subclass, which may be rounded.
        vectors = Reading.vectors_of(self, ids) if length else {}
        held = [place for place, id in enumerate(ids.tolist()) if id in vectors]
        if held:
            stacked = np.array([vectors[int(ids[place])] for place in held], np.float64)
            cosines[held] = np.vecdot(stacked, np.asarray(query.vector, np.float64) / length)
        return cosines

    def _by_words(self, query: Query, limit: int, weights: FieldWeights) -> Ranking | None:
        """What the word index beside the database finds, with what it does not cover yet; None if it cannot answer."""
        if query.exact:
            return None
        with self._reading() as (connection, owner):
            words = self._engine.words(owner)
            log = words.log(connection) if words else None
        if words is None or log is None or weights != words.weights:
            return None
        found = words.ask(log, lambda snapshot: snapshot.find(query, limit + _TIE_MARGIN, log.fresh))
        if found is None or not log.fresh:
            return found and best(found.ids, found.scores, limit)
        fresh = self._by_tables(query, limit, weights, log.fresh)
        return best(np.concatenate([found.ids, fresh.ids]), np.concatenate([found.scores, fresh.scores]), limit)

    def _by_tables(
        self, query: Query, limit: int, weights: FieldWeights, among: Sequence[int] | None = None
    ) -> Ranking:
        """What the full-text tables find, `among` some rows or all."""
        if not query.variants or self._terms().owner:
            return self._by_bm25(query, limit, weights, among)
        # SQLite's bm25() weighs all phrases alike.
        asked, every = replace(query, variants=()), self.counts()["chunks"]
        return _blended(*(self._by_bm25(each, every, weights, among) for each in (query, asked))).head(limit)

    def _by_bm25(self, query: Query, limit: int, weights: FieldWeights, among: Sequence[int] | None) -> Ranking:
        statement, bound = self._matching(sql.MATCH, query, weights, among)
        if not bound["terms"]:
            return Ranking.empty()
        rows = self._rows(statement, bound | {"limit": limit + _TIE_MARGIN})[:limit]
        return Ranking(
            np.fromiter((row[0] for row in rows), np.int64, len(rows)),
            np.fromiter((-row[1] for row in rows), np.float64, len(rows)),
        )

    def _matching(
        self, statement: str, query: Query, weights: FieldWeights, among: Sequence[int] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """A statement over the chunks that match, and what is bound to it; `terms` are empty if none can match."""
        terms = self._terms()
        condition, bound = where(query.filter)
        # The plus keeps SQLite from asking the word index once for every allowed row.
        narrowed = f"and +rowid in ({sql.ALLOWED.format(condition=condition)})" if condition else ""
        if among is not None:
            narrowed += " and +rowid in (select value from json_each(:among))"
            bound["among"] = json.dumps(list(among))
        if terms.owner:
            bound["scoring"] = apsw.pyobject(self._scoring(terms, query, weights))
        else:
            bound |= {"title": weights.title, "headings": weights.headings, "body": weights.body}
        score = _OWN_SCORE if terms.owner else _SCORE
        statement = statement.format(table=terms.table, score=score, narrowed=narrowed)
        return statement, bound | {"terms": terms.expression(query)}

    def _scoring(self, terms: Terms, query: Query, weights: FieldWeights) -> Bm25:
        """How to score by the statistics of this owner alone."""
        statement = sql.MATCHING.format(table=terms.table)
        with self._reading() as (connection, owner):
            state = self._generation(connection, owner)
            statistics = self._engine.statistics.get(owner, state, lambda: _statistics(connection, owner))
            frequencies = [connection.execute(statement, (phrase,)).get for phrase in terms.phrases(query)]
        fields = weights.title, weights.headings, weights.body
        return Bm25.of(statistics, frequencies, terms.worths(query), fields)


def _blended(found: Ranking, asked: Ranking) -> Ranking:
    """What was found with variants, where they count as they should, given what is found without them."""
    known = dict(zip(asked.ids.tolist(), asked.scores.tolist(), strict=True))
    alone = np.array([known.get(id, 0.0) for id in found.ids.tolist()], np.float64)
    scores = VARIANT * found.scores + (1 - VARIANT) * alone
    order = np.lexsort((found.ids, -scores))
    return Ranking(found.ids[order], scores[order])


def _statistics(connection: apsw.Connection, owner: int) -> Statistics:
    row: Any = connection.execute(sql.STATISTICS, {"owner": owner}).fetchone()
    return Statistics(*row)
