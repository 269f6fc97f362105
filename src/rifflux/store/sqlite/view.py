"""A view: the engine, and the owner whose rows are all that a role sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import apsw

from rifflux.store.sqlite.connection.engine import Engine
from rifflux.store.sqlite.terms import Terms

__all__ = ["View"]

NOBODY = -1

NUMBER = "select id from owner where name = ?"
GENERATION = "select generation from owner where id = ?"


@dataclass(frozen=True, slots=True)
class View:
    """One owner's part of the database. Every statement gets the owner's number bound as `:owner`."""

    engine: Engine
    owner: str = ""

    @contextmanager
    def reading(self) -> Iterator[tuple[apsw.Connection, int]]:
        """Lend a connection to read from until the block ends, with the owner's number."""
        with self.engine.reading() as connection:
            yield connection, self._number(connection)

    def _number(self, connection: apsw.Connection) -> int:
        """Return the owner's number, one that no row has while there is nothing of this owner."""
        if not self.owner:
            return 0
        # Read again after every change: a user who was deleted may come back, under another number.
        row = self.engine.known(connection, NUMBER, self.owner)
        return int(row[0]) if row else NOBODY

    def rows(self, statement: str, bound: Mapping[str, Any] | None = None) -> list[Any]:
        """Return all rows that a statement finds."""
        if not self.owner:
            return self.engine.rows(statement, {**(bound or {}), "owner": 0})
        with self.reading() as (connection, owner):
            return connection.execute(statement, {**(bound or {}), "owner": owner}).fetchall()

    def terms(self) -> Terms:
        """Return how the owner's terms are stored."""
        if not self.owner:
            return Terms(0)
        with self.reading() as (_, owner):
            return Terms(owner)

    @contextmanager
    def writing(self, *, content: bool = True) -> Iterator[tuple[apsw.Connection, int]]:
        """Open a transaction, or join the one around it; without `content` it changes nothing that is found."""
        with self.engine.writing(self.owner, content=content) as opened:
            yield opened

    def generation(self, connection: apsw.Connection, owner: int) -> object:
        """Return a value that changes with whatever changed what this owner can find; in a transaction a new one."""
        if connection.in_transaction:
            return object()
        row = self.engine.known(connection, GENERATION, owner)
        return row and row[0]
