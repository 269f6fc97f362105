"""The file of postings as this process has it mapped, and what it says of several owners' chunks."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux.store.sqlite.connection.bm25 import K1, B
from rifflux.store.sqlite.connection.derived import Current, DerivedFile, Unfit, current, rebuild
from rifflux.store.sqlite.connection.engine import GenerationCache
from rifflux.store.sqlite.lexical.postings import FORMAT, NAME, Postings, write
from rifflux.store.sqlite.lexical.word_index import MOST_FRESH, Known, logged
from rifflux.types import Clause, Ids, Scores

__all__ = ["PostingsIndex", "Seen"]

#: From so many chunks on postings are kept, once several owners were read as one.
LEAST = 4096
#: Up to so many chunks that changed are scored by the tables before the file is built again.
FEW_FRESH = 200
#: What is kept in memory of what some owners see, in bytes.
MOST_SEEN = 128 << 20
# What the tokenizer of the tables takes apart or spells otherwise.
_SPLIT = re.compile("[\x00-\x20'\"\x7fA-Z|]")

_HIGHEST = "select coalesce(max(id), 0) from chunk"
_BEHIND = """
select count(*) from (
    select 1 from touched where what = :name and seq > (select covered from derived where name = :name) limit :most
)"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What some owners have of the postings.

    `mask` says which rows they see, but for those that changed since; `fresh` are the chunks that did.
    """

    postings: Postings
    mask: NDArray[np.bool_]
    fresh: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Return what it takes in memory."""
        return self.mask.nbytes

    @classmethod
    def of(cls, postings: Postings, owners: Sequence[int], fresh: tuple[int, ...]) -> Seen:
        """Return what owners see, where some chunks changed since."""
        mask = np.zeros(len(postings), np.bool_)
        for owner in owners:
            mask[postings.of(owner)] = True
        changed = postings.rows_of_chunks(np.array(fresh, np.int64))
        mask[changed[changed >= 0]] = False
        return cls(postings, mask, fresh)

    def norms(self, mean_length: float) -> Scores:
        """Return for each row what BM25 adds to a count for its length."""
        norms: Scores = K1 * (1 - B + B * self.postings.lengths / mean_length)
        return norms

    def holds(self, clause: Clause) -> bool:
        """Return whether the postings know of a clause; of phrases, only the tables do."""
        return len(clause) == 1 and bool(clause[0]) and not _SPLIT.search(clause[0])

    def posting(self, term: str) -> tuple[Ids, Scores]:
        """Return the rows that hold a term, and how much."""
        found = self.postings.posting(term)
        rows, counts = self.postings.rows[found], self.postings.counts[found]
        seen = self.mask[rows]
        return rows[seen], counts[seen].astype(np.float64)

    def rows_of(self, chunks: Ids, counts: Scores) -> tuple[Ids, Scores]:
        """Return the rows of those chunks that did not change since, with their counts."""
        rows = self.postings.rows_of_chunks(chunks)
        there = (rows >= 0) & self.mask[rows]
        return rows[there], counts[there]

    def beginning(self, start: str, shortest: int, longest: int) -> frozenset[str]:
        """Return the terms of so many characters that begin so, whoever holds them."""
        return frozenset(term for term in self.postings.beginning(start) if shortest <= len(term) <= longest)


class PostingsIndex(DerivedFile):
    """Maps the postings of the database at `location` when asked, and has them built again as it changes."""

    title = "the file of postings"

    def __init__(self, location: str, known: Known, *, read_only: bool) -> None:
        super().__init__(location, NAME, read_only=read_only)
        self._known = known
        self._open: Postings | None = None
        self._seen: GenerationCache[Seen] = GenerationCache(MOST_SEEN)

    def seen(self, connection: apsw.Connection, owners: tuple[int, ...]) -> Seen | None:
        """Return what owners see of the postings; None where there are none, or they cover far too little."""
        log = logged(self._known, connection, self.name)
        if log is None or log.token == self._refused[0]:
            if self._known(connection, _HIGHEST)[0] >= LEAST:
                self.suggest()
            return None
        if len(log.fresh) > FEW_FRESH:
            self.suggest()
        if len(log.fresh) > MOST_FRESH:
            return None
        postings = self._open
        if postings is None or postings.stamp.token != log.token:
            try:
                postings = self._open = Postings.open(self.place, log)
            except Unfit as error:
                self._open, self._refused = None, (log.token, str(error))
                self.suggest()
                return None
        return self._seen.get(owners, (log.token, log.fresh), Seen.of, postings, owners, log.fresh)

    def changed(self, connection: apsw.Connection, owners: Collection[int] = ()) -> None:
        """Have the postings follow what was just committed, if there are any."""
        if self._builder and self.is_wanted(connection) and self._behind(connection) > FEW_FRESH:
            self._builder.require()

    def is_wanted(self, connection: apsw.Connection) -> bool:
        """Return whether there are postings, or were."""
        return current(connection, self.name) is not None

    def erased(self, owners: Collection[int], *, documents: bool) -> None:
        """Keep nothing of owners of whom all was deleted."""
        if documents:
            self._open = None
            self.place.unlink(missing_ok=True)

    def _behind(self, connection: apsw.Connection) -> int:
        return int(connection.execute(_BEHIND, {"name": self.name, "most": FEW_FRESH + 1}).get)

    def _keep(self, connection: apsw.Connection) -> bool:
        known = current(connection, self.name)
        if known and known.token and known.token != self._refused[0] and self._behind(connection) <= FEW_FRESH:
            try:
                Postings.open(self.place, known)
            except Unfit:
                pass
            else:
                return True
        return rebuild(connection, self.place, self.name, FORMAT, lambda path, stamp: write(connection, path, stamp))

    def _verify(self, connection: apsw.Connection, known: Current) -> None:
        Postings.open(self.place, known).verify()
