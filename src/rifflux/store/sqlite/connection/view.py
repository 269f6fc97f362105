"""What every part of a store has in common: the engine, and the owner whose rows are all it sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

from rifflux.store.sqlite.connection.engine import Engine
from rifflux.store.sqlite.lexical.terms import Terms

__all__ = ["View"]

NOBODY = -1


class View:
    """One owner's part of the database. Every statement gets the owner's number bound as `:owner`."""

    def __init__(self, engine: Engine, owner: str = "") -> None:
        self._engine = engine
        self._owner = owner

    @property
    def owner(self) -> str:
        """Whose rows these are."""
        return self._owner

    @contextmanager
    def _reading(self) -> Iterator[tuple[apsw.Connection, int]]:
        """A connection to read from until the block ends, and the owner's number."""
        with self._engine.reading() as connection:
            yield connection, self._number(connection)

    def _number(self, connection: apsw.Connection) -> int:
        """The owner's number, one that no row has while there is nothing of this owner."""
        if not self._owner:
            return 0
        # Asked anew each time: a user who was deleted may come back, under another number.
        found = connection.execute("select id from owner where name = ?", (self._owner,)).get
        return NOBODY if found is None else int(found)

    def _rows(self, statement: str, bound: Mapping[str, Any] | None = None) -> list[Any]:
        """All rows that a statement finds."""
        if not self._owner:
            return self._engine.rows(statement, {**(bound or {}), "owner": 0})
        with self._reading() as (connection, owner):
            return connection.execute(statement, {**(bound or {}), "owner": owner}).fetchall()

    def _terms(self) -> Terms:
        """How the owner's terms are stored."""
        if not self._owner:
            return Terms(0)
        with self._reading() as (_, owner):
            return Terms(owner)

    @contextmanager
    def _writing(self, *, content: bool = True) -> Iterator[tuple[apsw.Connection, int]]:
        with self._engine.writing(self._owner, content=content) as opened:
            yield opened

    def _generation(self, connection: apsw.Connection, owner: int) -> object:
        """Changes with every transaction that changed what this owner can find; within one it is always another."""
        if connection.in_transaction:
            return object()
        return connection.execute("select generation from owner where id = ?", (owner,)).get
