"""The word indexes of a database, as this process has them open: Tantivy in place of FTS5, while they are sound."""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import apsw

from rifflux.store.lexical import WHOLE_WEIGHTS
from rifflux.store.sqlite.connection.connect import MEMORY
from rifflux.store.sqlite.connection.derived import DerivedFile, Unfit
from rifflux.store.sqlite.connection.engine import Current, current, location_of
from rifflux.store.sqlite.lexical.word_index_terms import TermDictionary
from rifflux.store.sqlite.lexical.word_snapshot import WordSnapshot, intact, sound
from rifflux.store.sqlite.query import Terms

Answer = TypeVar("Answer")

#: From so many chunks on it is built without being asked for.
LEAST_CHUNKS = 20_000
#: Where more chunks are not covered, the full-text tables answer alone.
MOST_FRESH = 2000
#: Up to so many are looked at one by one when terms are counted.
FEW_FRESH = 200


_LOG = """
select coalesce((select seq from sqlite_sequence where name = 'touched'), 0), covered, token, (
    select json_group_array(chunk) from (
        select distinct chunk from touched where what = :name and seq > covered limit :most
    )
)
from derived where name = :name"""

_HIGHEST = "select coalesce(max(id), 0) from chunk where owner = :owner"
_COUNT = "select count(*) from chunk where owner = :owner"
_FRESH = "select title, headings, body from fresh_terms where chunk in (select value from json_each(?))"
_SAME = """
select id from chunk where id in (select value from json_each(?)) and id not in (select chunk from fresh_terms)"""
_BEHIND = "select 1 from touched where what = ? limit 1"

#: Reads the first row of a statement on a connection, or gives what it read before in the same search.
Known = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Log(Current):
    """What the database says of its word index; `fresh` are the rows of the chunks that it does not cover."""

    fresh: tuple[int, ...] = ()


def logged(known: Known, connection: apsw.Connection, name: str) -> Log | None:
    """Return what the database says of a derived file that holds terms; None if there is none."""
    row = known(connection, _LOG, name=name, most=MOST_FRESH + 1)
    if row is None or not row[2]:
        return None
    latest, covered, token, listed = row
    return Log(latest, covered, token, tuple(json.loads(listed)))


class WordIndex(DerivedFile):
    """Opens an owner's word index of the database at `location` on first use, and updates it in the background."""

    title = "the word index"
    #: The weights that it can rank by: those its terms were entered with.
    weights = WHOLE_WEIGHTS

    def __init__(self, location: str, owner: int, known: Known, *, read_only: bool) -> None:
        self._terms = Terms(owner)
        self._known = known
        super().__init__(location, self._terms.index, read_only=read_only)
        # Whether there are chunks enough for it, and up to which row there cannot be.
        self._enough = False
        self._too_few = LEAST_CHUNKS - 1
        self._lock = threading.Lock()
        self._open: WordSnapshot | None = None

    @cached_property
    def _vocabulary(self) -> TermDictionary:
        return TermDictionary(self.place)

    def _keep(self, connection: apsw.Connection) -> bool:
        from rifflux.store.sqlite.lexical.word_index_build import Upkeep

        known = current(connection, self.name)
        upkeep = Upkeep(connection, self.place, self._terms)
        if known and known.token and known.token == self._refused[0]:
            return upkeep.build()
        return upkeep.keep()

    def log(self, connection: apsw.Connection) -> Log | None:
        """Return what the database says of its word index; None if there is none, or it covers far too little."""
        log = logged(self._known, connection, self.name)
        if log is None:
            if self._builder and self._is_worth_it(connection):
                self.suggest()
            return None
        if log.fresh:
            self.suggest()
        if len(log.fresh) <= MOST_FRESH:
            return log
        return None

    def at(self, log: Log) -> WordSnapshot | None:
        """Return the state that the database knows, or None; `trouble` says why, although one was built."""
        with self._lock:
            if self._open and self._open.stamp.token == log.token:
                return self._open
            if self._refused[0] == log.token:
                return None
            try:
                self._open = WordSnapshot.open(self.place, log, self._terms)
                self._refused = ("", "")
            except Unfit as error:
                self._refuse(log, error)
            return self._open

    def _verify(self, connection: apsw.Connection, known: Current) -> None:
        WordSnapshot.open(self.place, known, self._terms)
        with sound():
            damaged = [path.name for path in sorted(self.place.iterdir()) if not intact(path)]
        if damaged:
            raise Unfit(f"{', '.join(damaged)} changed since written")

    def ask(self, log: Log, question: Callable[[WordSnapshot], Answer]) -> Answer | None:
        """Ask the state that the database knows; None where there is none, or it turns out to be damaged."""
        snapshot = self.at(log)
        if snapshot is None:
            return None
        try:
            return question(snapshot)
        except Unfit as error:
            self._refuse(log, error)
            return None

    def frequencies(self, connection: apsw.Connection, terms: Sequence[str]) -> Mapping[str, int] | None:
        """Count the chunks in which each term occurs; None where the word index does not cover most of them."""
        log = self.log(connection)
        if log is None or len(log.fresh) > FEW_FRESH:
            return None
        listed = json.dumps(log.fresh)
        # Chunks whose terms did not change have none waiting: those of the word index count.
        same = {row for (row,) in connection.execute(_SAME, (listed,))} if log.fresh else set()
        hidden = [row for row in log.fresh if row not in same]
        counts = self.ask(log, lambda snapshot: snapshot.frequencies(terms, hidden))
        if counts is None:
            return None
        rows = connection.execute(_FRESH, (listed,)) if log.fresh else ()
        new = Counter(term for fields in rows for term in {*" ".join(map(str, fields)).split()})
        found = {term: counts[term] + new[self._terms.prefix + term] for term in terms}
        return {term: count for term, count in found.items() if count}

    def terms(self, connection: apsw.Connection, start: str, shortest: int, longest: int) -> frozenset[str] | None:
        """Return the terms of so many characters that begin with `start`, perhaps more; None where it is unknown."""
        log = self.log(connection)
        if log is None or self.at(log) is None:
            return None
        try:
            listed = self._vocabulary.beginning(start, shortest, longest)
        except (OSError, UnicodeDecodeError):
            return None
        rows = connection.execute(_FRESH, (json.dumps(log.fresh),)) if log.fresh else ()
        fresh = {term.removeprefix(self._terms.prefix) for fields in rows for each in fields for term in each.split()}
        new = (each for each in fresh if each.startswith(start) and shortest <= len(each) <= longest)
        return frozenset([*listed, *new])

    def _refuse(self, log: Log, error: Unfit) -> None:
        """Do not use this state any more, and have it rebuilt."""
        self._open = None
        self._set_aside(log.token, error)
        self.suggest()

    def _is_behind(self, connection: apsw.Connection) -> bool:
        known = current(connection, self.name)
        if known and known.token:
            return connection.execute(_BEHIND, (self.name,)).get is not None
        return self._is_worth_it(connection)

    def is_wanted(self, connection: apsw.Connection) -> bool:
        """Return whether the index exists or should be built: always for owner 0, for others if it pays."""
        return not self._terms.owner or current(connection, self.name) is not None or self._is_worth_it(connection)

    def _is_worth_it(self, connection: apsw.Connection) -> bool:
        """Return whether there are so many chunks that it pays; counted only when there may be."""
        owner = {"owner": self._terms.owner}
        if not self._enough and (highest := self._known(connection, _HIGHEST, **owner)[0]) > self._too_few:
            missing = LEAST_CHUNKS - connection.execute(_COUNT, owner).get
            self._enough = missing <= 0
            self._too_few = highest + missing - 1
        return self._enough


class WordIndexes:
    """The word indexes of a database by the numbers of their owners; a database in memory has none."""

    def __init__(self, location: str, known: Known, *, read_only: bool) -> None:
        self._location = location
        self._known = known
        self._read_only = read_only
        self.elsewhere = False
        self._opened: dict[int, WordIndex] = {}

    def of(self, owner: int) -> WordIndex | None:
        """Return the word index of an owner's chunks; None in memory, and for an owner of whom there is nothing."""
        if self._location == MEMORY or owner < 0:
            return None
        if owner not in self._opened:
            index = WordIndex(self._location, owner, self._known, read_only=self._read_only)
            index.elsewhere = self.elsewhere
            self._opened.setdefault(owner, index)
        return self._opened[owner]

    def opened(self) -> list[WordIndex]:
        """Return the indexes that were opened."""
        return [*self._opened.copy().values()]

    def wanted(self, connection: apsw.Connection) -> list[WordIndex]:
        """Return those that there are, or that would pay."""
        rows: list[Any] = connection.execute("select id from owner order by id").fetchall()
        return [each for (owner,) in rows if (each := self.of(owner)) and each.is_wanted(connection)]

    def changed(self, connection: apsw.Connection, owners: Collection[int]) -> None:
        """Have the word indexes of some owners follow what was just committed."""
        for owner in owners:
            if index := self.of(owner):
                index.changed(connection)

    def erased(self, owners: Collection[int], *, documents: bool) -> None:
        """Close the word indexes of some owners, and remove them from next to the database."""
        for owner in owners:
            if index := self._opened.pop(owner, None):
                index.close()
            if self._location != MEMORY:
                place = location_of(self._location, Terms(owner).index)
                shutil.rmtree(place, ignore_errors=True)
                place.with_name(f"{place.name}.lock").unlink(missing_ok=True)

    def close(self) -> None:
        """End what goes on in the background."""
        for index in self.opened():
            index.close()
