"""The SQLite store: the view that reads, ranks and writes, over one engine. The statements stand whole in `sql`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from rifflux.errors import OutOfScope
from rifflux.store.base import PART, Problem
from rifflux.store.mending import Analysis, Mended
from rifflux.store.sqlite.catalog import sql
from rifflux.store.sqlite.catalog.collections import Collections
from rifflux.store.sqlite.catalog.graph import Graph
from rifflux.store.sqlite.catalog.writing import Writing
from rifflux.store.sqlite.connection.connect import MEMORY, connect
from rifflux.store.sqlite.connection.derived import forget
from rifflux.store.sqlite.connection.engine import Engine
from rifflux.store.sqlite.connection.locks import held
from rifflux.store.sqlite.connection.schema import SCHEMA_VERSION
from rifflux.store.sqlite.lexical.ranking import Ranks
from rifflux.store.sqlite.registry.registry import SqliteRegister
from rifflux.store.sqlite.semantic.generations import SqliteGenerations
from rifflux.store.sqlite.semantic.meaning import Meaning
from rifflux.types import Progress

__all__ = ["SqliteStore"]

_BUILD = "run 'rifflux doctor --repair' or 'rifflux doctor --build', or go on without: the tables answer, more slowly"


class SqliteStore(Ranks, Meaning, Graph, Collections, Writing):
    """Everything in one file. Safe to share between threads."""

    @classmethod
    def open(cls, location: str, *, create: bool = True, neighbours: str = "scan") -> SqliteStore:
        """Open the index at a path, or a temporary one at `:memory:`; `neighbours` is one of `neighbours.WAYS`."""
        connection, read_only = connect(location, create=create)
        try:
            return cls(Engine(connection, location, read_only=read_only, way=neighbours))
        except BaseException:
            connection.close()
            raise

    def of(self, owner: str) -> SqliteStore:
        """The view of an owner, on the same database. Raises OutOfScope from a named owner's to another's."""
        if owner == self.owner:
            return self
        if self.owner and not owner.startswith(self.owner + PART):
            raise OutOfScope("this view is of one owner: take another owner's from the store that was opened")
        return SqliteStore(self._engine, owner)

    def part(self, name: str) -> SqliteStore:
        """The view of a part of what this owner has, such as messages: with terms and statistics of its own."""
        return self.of(f"{self.owner}{PART}{name}")

    def views(self) -> list[SqliteStore]:
        """This view and all that it leads to: those of every owner and part, or of a named owner's own parts."""
        found = self._rows(sql.OWNERS, {"name": self.owner, "part": self.owner + PART})
        return [self, *(self.of(name) for (name,) in found)]

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

    @property
    def generations(self) -> SqliteGenerations:
        """The models whose vectors the index holds. Raises OutOfScope for the view of a named owner."""
        if self.owner:
            raise OutOfScope("the models are the whole index's: ask who looks after it")
        return SqliteGenerations(self._engine)

    def close(self) -> None:
        """Close the database, for all views; that of a named owner only ends itself."""
        if not self.owner:
            self._engine.close()

    def claim(self, task: str, waiting: Callable[[str], None] | None = None) -> AbstractContextManager[bool]:
        """Have a task to oneself until the block or the process ends; a store in memory is nobody else's."""
        if self._engine.location == MEMORY:
            return nullcontext(True)
        return self._claimed(task, waiting)

    @contextmanager
    def _claimed(self, task: str, waiting: Callable[[str], None] | None) -> Iterator[bool]:
        path = Path(self._engine.location).expanduser()
        with held(path.with_name(f"{path.name}.{task}.lock"), waiting) as mine, ExitStack() as long:
            if mine:
                long.enter_context(self._engine.long_task())
            yield mine

    def accelerate(self) -> None:
        """Build, or bring up to date, what makes a large index fast; returns when it is there."""
        if self.owner:
            raise OutOfScope("only the whole index is built: ask who looks after it to run 'rifflux doctor --build'")
        for derived in self._engine.derived():
            derived.build()

    def backup(self, target: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        """Copy the database as it is at this moment to a file, which appears when it is whole and was checked."""
        if self.owner:
            raise OutOfScope("only the whole index can be copied: ask who looks after it")
        from rifflux.store.sqlite.maintenance.backup import backup

        with self._engine.alone() as connection:
            backup(connection, target, force=force, progress=progress)

    def troubles(self) -> list[str]:
        """Why answers take longer than they could: what is derived from the database and cannot be used."""
        return [
            f"{derived.title} is not used, {derived.trouble}: the tables answered, which takes longer"
            for derived in self._engine.used
            if derived.trouble and not self.owner
        ]

    def check(self, analysis: Analysis | None = None) -> list[Problem]:
        """Look for damage: integrity of the file, of the terms, rows without their partner, stray vectors.

        Raises OutOfScope for the view of a named owner: damage concerns the file, and tells of everybody's rows.
        """
        if self.owner:
            raise OutOfScope("only the whole index can be checked: ask who looks after it to run 'rifflux doctor'")
        from rifflux.store.sqlite.maintenance.check import check

        with self._engine.alone() as connection:
            problems = check(connection, self._engine.location, analysis)
            if any(problem.unreadable for problem in problems):
                return problems
            for derived in self._engine.derived():
                if trouble := derived.check(connection):
                    problems.append(Problem(f"{derived.title} {derived.place} cannot be used: {trouble}", _BUILD))
            return problems

    def mend(self, analysis: Analysis) -> Mended:
        """Mend what can be made anew from the rest; vectors are only dropped."""
        if self.owner:
            raise OutOfScope("only the whole index can be mended: ask who looks after it")
        from rifflux.store.sqlite.maintenance.repair import mend

        mended = mend(self._engine, analysis)
        return replace(mended, done=(*mended.done, *self._build_anew()))

    def _build_anew(self) -> Iterator[str]:
        """Build what is derived from the database and cannot be used."""
        for derived in self._engine.derived():
            with self._engine.reading() as connection:
                trouble = derived.check(connection)
            if trouble:
                with self._engine.writing("", content=False) as (connection, _):
                    forget(connection, derived.name)
                derived.build()
                yield f"{derived.title} {derived.place} could not be used: built it anew"
