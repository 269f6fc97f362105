"""The SQLite store: the view that reads, ranks and writes, over one engine. The statements stand whole in `sql`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rifflux.store.base import Problem
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
        """Who may ask, and what asking cost."""
        return SqliteRegister(self._engine)

    def close(self) -> None:
        """Close the database; pending work was committed or is rolled back."""
        self._engine.close()

    def claim(self, task: str, waiting: Callable[[str], None] | None = None) -> AbstractContextManager[bool]:
        """Have a task to oneself until the block or the process ends; a store in memory is nobody else's."""
        if self._engine.location == MEMORY:
            return nullcontext(True)
        path = Path(self._engine.location).expanduser()
        return held(path.with_name(f"{path.name}.{task}.lock"), waiting)

    def check(self) -> list[Problem]:
        """Look for damage: integrity of the file, of the terms, rows without their partner, stray vectors."""
        with self._engine.lock:
            return check(self._engine.connection, self._engine.location)
