"""Which chunks answer a query by their vectors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import apsw
import numpy as np

from rifflux.errors import ModelMismatch
from rifflux.store.base import ModelInfo
from rifflux.store.sqlite.catalog import sql
from rifflux.store.sqlite.catalog.filters import where
from rifflux.store.sqlite.catalog.reading import Reading
from rifflux.store.sqlite.connection.derived import unmoved
from rifflux.store.sqlite.semantic.allowed import Allowed
from rifflux.store.sqlite.semantic.neighbours import LEAST
from rifflux.store.sqlite.semantic.vectors import Matrix, scanned
from rifflux.types import Filter, Ids, Query, Ranking, Vectors

__all__ = ["Meaning"]


class Meaning(Reading):
    """Ranks chunk ids by cosine; nothing is fetched."""

    def nearest(self, query: Query, limit: int) -> Ranking:
        """Rank chunks by cosine with the query's vector; none, or one of length zero, ranks nothing."""
        length = 0.0 if query.vector is None else float(np.linalg.norm(query.vector))
        if query.vector is None or not length:
            return Ranking.empty()
        vector, allowed = query.vector / length, self._allowed(query)
        with self._reading() as (connection, owner):
            packed = self._engine.neighbours.at(connection) if self._engine.neighbours else None
            if packed is None:
                return self._nearest_exactly(connection, owner, query, vector, limit, allowed)
            # Looked at last: if the index is switched to another model after this, the vectors are of the former one.
            _check_model(connection, query)
        return packed.nearest(owner, vector, limit, allowed, query.sufficient(limit))

    def _nearest_exactly(
        self,
        connection: apsw.Connection,
        owner: int,
        query: Query,
        vector: Vectors,
        limit: int,
        allowed: Allowed | None,
    ) -> Ranking:
        """Rank without packed vectors: by those in memory, or past them while they are many and about to be packed."""
        neighbours, state = self._engine.neighbours, self._generation(connection, owner)
        many = neighbours and neighbours.wish(connection) and self.counts()["embedded_chunks"] >= LEAST
        with unmoved(connection):
            _check_model(connection, query)
            if many:
                return scanned(connection, owner, vector, limit, allowed)
            read = partial(Matrix.read, connection, owner, len(vector))
            return self._engine.matrices.get(owner, state, read).nearest(vector, limit, allowed)

    def vectors_of(self, ids: Ids, *, exact: bool = False) -> Mapping[int, Vectors]:
        """The vector of each chunk, by its id; chunks without one are left out. Packed ones are rounded."""
        if exact:
            return super().vectors_of(ids, exact=True)
        with self._reading() as (connection, owner):
            packed = self._engine.neighbours.at(connection) if self._engine.neighbours else None
        known = packed.vectors_of(owner, ids) if packed else {}
        missing = [id for id in ids.tolist() if id not in known]
        return {**known, **super().vectors_of(np.array(missing, np.int64))} if missing else known

    def _allowed(self, query: Query) -> Allowed | None:
        """What the filter and the query's required and excluded words leave, or None for all."""
        terms = self._terms()
        required, excluded = terms.all_of(query), terms.any_of(query)
        if not (query.filter or required or excluded):
            return None
        holding = sql.HOLDING_ALL.format(table=terms.table)
        return Allowed(
            self._documents(query.filter) if query.filter else None,
            self._numbers(holding, {"terms": required}) if required else None,
            self._numbers(holding, {"terms": excluded}) if excluded else None,
        )

    def _documents(self, filter: Filter) -> Ids:
        """The rows of the documents that a filter lets through; remembered, since a filter is mostly used again."""
        condition, bound = where(filter)
        statement = sql.PASSING_DOCUMENTS.format(condition=condition)
        with self._reading() as (connection, owner):
            state = self._generation(connection, owner)
            asked = (owner, condition, repr(bound))
            return self._engine.passing.get(asked, state, lambda: self._numbers(statement, bound))

    def _numbers(self, statement: str, bound: Mapping[str, Any]) -> Ids:
        # One text is made and read in half the time of a row each.
        ((listed,),) = self._rows(sql.LISTED.format(statement=statement), bound)
        return np.fromstring(listed, np.int64, sep=",") if listed else np.empty(0, np.int64)


def _check_model(connection: apsw.Connection, query: Query) -> None:
    """Raise where the question was embedded by another model than the one that is searched."""
    known = connection.execute(sql.ACTIVE_MODEL).fetchone()
    if known and query.model and ModelInfo(*known).fingerprint != query.model:
        raise ModelMismatch(f"the question was embedded by another model than {known[0]}: embed it anew")
