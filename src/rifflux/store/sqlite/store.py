"""The SQLite store: the view that reads, ranks and writes, over one engine. The statements stand whole in `sql`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rifflux.errors import OutOfScope
from rifflux.store.base import Problem
from rifflux.store.sqlite import sql
from rifflux.store.sqlite.check import check
from rifflux.store.sqlite.connect import MEMORY, connect
from rifflux.store.sqlite.engine import Engine
from rifflux.store.sqlite.graph import Graph
from rifflux.store.sqlite.locks import held
from rifflux.store.sqlite.ranking import Ranks
from rifflux.store.sqlite.register import SqliteRegister
from rifflux.store.sqlite.schema import SCHEMA_VERSION
from rifflux.store.sqlite.writing import Writing

__all__ = ["SqliteStore"]


class SqliteStore(Ranks, Graph, Writing):
    """Everything in one file. Safe to share between threads."""

    @classmethod
    def open(cls, location: str, *, create: bool = True) -> SqliteStore:
        """Open the index at a path, or a temporary one at `:memory:`."""
        connection, read_only = connect(location, create=create)
        return cls(Engine(connection, location, read_only=read_only))

    def of(self, owner: str) -> SqliteStore:
        """The view of an owner, on the same database. Raises OutOfScope from one named owner's to another's."""
        if owner == self.owner:
            return self
        if self.owner:
            raise OutOfScope("this view is of one owner: take another owner's from the store that was opened")
        return SqliteStore(self._engine, owner)

    def views(self) -> list[SqliteStore]:
        """The views of all owners, this one's first; of a named owner, only its own."""
        if self.owner:
            return [self]
        return [self, *(self.of(name) for (name,) in self._rows(sql.OWNERS) if name)]

    @property
    def schema_version(self) -> int:
        """The version of the stored schema."""
        return SCHEMA_VERSION

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written."""
        return self._engine.read_only

    @property
    def register(self) -> SqliteRegister:
        """Who may ask, and what asking cost. Raises OutOfScope for the view of a named owner: it is about everybody."""
        if self.owner:
            raise OutOfScope("tokens and spendings are the whole index's: ask who looks after it")
        return SqliteRegister(self._engine)

    def close(self) -> None:
        """Close the database, for all views; that of a named owner only ends itself."""
        if not self.owner:
            self._engine.close()

    def claim(self, task: str, waiting: Callable[[str], None] | None = None) -> AbstractContextManager[bool]:
        """Have a task to oneself until the block or the process ends; a store in memory is nobody else's."""
        if self._engine.location == MEMORY:
            return nullcontext(True)
        path = Path(self._engine.location).expanduser()
        return held(path.with_name(f"{path.name}.{task}.lock"), waiting)

    def accelerate(self) -> None:
        """Build, or bring up to date, what makes a large index fast; returns when it is there."""
        if self._engine.words:
            self._engine.words.build()

    def check(self) -> list[Problem]:
        """Look for damage: integrity of the file, of the terms, rows without their partner, stray vectors.

        Raises OutOfScope for the view of a named owner: damage concerns the file, and tells of everybody's rows.
        """
        if self.owner:
            raise OutOfScope("only the whole index can be checked: ask who looks after it to run 'rifflux doctor'")
        with self._engine.lock:
            return check(self._engine.connection, self._engine.location)
