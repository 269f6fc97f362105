"""The view of one owner, or of several read as one, which binds the owner into every statement.

A statement contains `owner = :owner`. For several owners the same text is run with all of their numbers in its place,
so every query for one owner also works for several, and no other owner's rows are read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import apsw

from rifflux.errors import OutOfScope
from rifflux.store.sqlite.connection.connect import raise_ours
from rifflux.store.sqlite.connection.engine import Engine
from rifflux.store.sqlite.connection.locks import ASIDE, LONG

#: The number of an owner without content: no row has it.
NOBODY = -1

OWNER = "select id, generation from owner where name = :name"
# In the order of the names, which is the same in every database that has these owners; their numbers are not.
SEVERAL = """
select json_group_array(json_array(owner.id, owner.name, owner.generation) order by wanted.key)
from json_each(:names) as wanted cross join owner on owner.name = wanted.value"""
INDEX_CHANGED = "update setting set value = value + 1 where name = 'generation'"
OWNER_CHANGED = "update owner set generation = generation + 1 where id = ?"

Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OwnerView:
    """One owner's rows in the database, or several owners' together, which are read-only.

    A statement gets an owner's number bound as `:owner`. `owner` is the name of one, or a name for the `several`.
    """

    engine: Engine
    owner: str = ""
    several: tuple[str, ...] = ()

    @contextmanager
    def reading(self) -> Iterator[tuple[apsw.Connection, Numbers]]:
        """Lend a connection to read from until the block ends, with the owners' numbers.

        Within a transaction it is the connection that sees its changes.
        """
        engine = self.engine
        try:
            if not engine.lock.acquire(blocking=False):
                with nullcontext() if engine.frozen else engine.readers.lent() as connection:
                    if connection:
                        yield connection, self._numbers(connection)
                        return
                engine.lock.acquire()
            try:
                if engine.frozen:
                    engine.look_again()
                yield engine.connection, self._numbers(engine.connection)
            finally:
                engine.lock.release()
        except (apsw.Error, OSError, UnicodeDecodeError) as error:
            raise_ours(engine.location, error)

    def _numbers(self, connection: apsw.Connection) -> Numbers:
        """Return the owners' numbers; for an owner without content, a number that no row has."""
        if self.several:
            return tuple(self._known(connection)[0])
        if not self.owner:
            return (0,)
        # Read again after every change: a deleted user may return, with another number.
        rows = self.engine.known(connection, OWNER, name=self.owner)
        return (int(rows[0][0]) if rows else NOBODY,)

    def _known(self, connection: apsw.Connection) -> tuple[Sequence[int], Sequence[str], Sequence[int]]:
        """Return the numbers, names and generations of those of several owners who have content."""
        ((listed,),) = self.engine.known(connection, SEVERAL, names=_listed(self.several))
        return _columns(listed)

    @property
    def names(self) -> Mapping[int, str]:
        """Return the names of several owners by number; empty for one, whose rows do not name it."""
        if not self.several:
            return {}
        with self.reading() as (connection, _):
            numbers, names, _ = self._known(connection)
        return dict(zip(numbers, names, strict=True))

    def rows(self, statement: str, bound: Mapping[str, Any] | None = None) -> list[Any]:
        """Return all rows that a statement selects."""
        with self.reading() as (connection, numbers):
            if self.several:
                given = {**(bound or {}), "owners": json.dumps(numbers)}
                return connection.execute(_of_several(statement), given).fetchall()
            return connection.execute(statement, {**(bound or {}), "owner": numbers[0]}).fetchall()

    def row(self, statement: str, **bound: Hashable) -> Any:
        """Return the first row of a statement, or None; cached as in `Engine.known`."""
        rows = self.known(statement, **bound)
        return rows[0] if rows else None

    def known(self, statement: str, **bound: Hashable) -> list[Any]:
        """Return the rows of a statement; cached as in `Engine.known`."""
        with self.reading() as (connection, _):
            return self.engine.known(connection, statement, **bound)

    def summed(self, statement: str) -> Numbers:
        """Return the numbers in the first row of a statement, summed over the owners.

        They are cached for each state of an owner's rows.
        """
        with self.reading() as (connection, owners):
            owners = owners or (NOBODY,)
            generation = self.generation(connection)
            generations = generation if isinstance(generation, tuple) and generation else [generation] * len(owners)
            total: Numbers = ()
            for owner, each in zip(owners, generations, strict=True):
                row: Numbers | None = self.engine.sums.get((owner, statement), each)
                if row is None:
                    (found,) = connection.execute(statement, {"owner": owner})
                    row = self.engine.sums.put((owner, statement), each, found)
                total = tuple(a + b for a, b in zip(total, row, strict=True)) if total else row
            return total

    def generation(self, connection: apsw.Connection) -> object:
        """Return a value that changes with this owner's searchable content; always a new one during a write."""
        if connection.txn_state("main") == apsw.SQLITE_TXN_WRITE:
            return object()
        if self.several:
            return tuple(self._known(connection)[2])
        rows = self.engine.known(connection, OWNER, name=self.owner)
        return rows[0][1] if rows else None

    @contextmanager
    def writing(self, *, content: bool = True) -> Iterator[tuple[apsw.Connection, int]]:
        """Open a transaction, or join the enclosing one, with the owner's number.

        Without `content`, it does not invalidate values derived from the content. Raises OutOfScope for several owners.
        """
        if self.several:
            raise OutOfScope("what several owners have is only read together: write through the view of one of them")
        engine = self.engine
        with engine.lock:
            connection = engine.connection
            if connection.in_transaction:
                yield connection, self._entered(connection, content)
                return
            engine.touched.clear()
            try:
                connection.execute("begin immediate")
                started_at = time.monotonic()
                yield connection, self._entered(connection, content)
                if engine.touched:
                    connection.execute(INDEX_CHANGED)
                    connection.executemany(OWNER_CHANGED, [*zip(engine.touched, strict=True)])
                connection.execute("commit")
            except BaseException as error:
                engine.undo()
                if isinstance(error, apsw.Error | OSError | UnicodeDecodeError):
                    raise_ours(engine.location, error)
                raise
            engine.follow()
        if time.monotonic() - started_at > LONG:
            time.sleep(ASIDE)

    def _entered(self, connection: apsw.Connection, content: bool) -> int:
        """Return the owner's number, creating one if needed, and record whether content changes."""
        number = 0
        if self.owner:
            connection.execute("insert or ignore into owner (name) values (?)", (self.owner,))
            number = connection.execute("select id from owner where name = ?", (self.owner,)).get
        if content:
            self.engine.touched.add(number)
        return number


@lru_cache(maxsize=1024)
def _of_several(statement: str) -> str:
    """Return a statement on one owner's rows as one on several owners'."""
    return statement.replace("= :owner", "in (select value from json_each(:owners))")


@lru_cache(maxsize=256)
def _listed(names: tuple[str, ...]) -> str:
    return json.dumps(names)


@lru_cache(maxsize=256)
def _columns(listed: str) -> tuple[Sequence[int], Sequence[str], Sequence[int]]:
    numbers, names, generations = zip(*json.loads(listed), strict=True) if listed != "[]" else ((), (), ())
    return numbers, names, generations
