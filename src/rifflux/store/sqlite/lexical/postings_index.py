"""The file of postings as this process has it mapped, and what it says of several owners' chunks."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import apsw

from rifflux.store.sqlite.connection.derived import FORGET_FRESH, DerivedFile, Unfit, rebuild
from rifflux.store.sqlite.connection.engine import Current, GenerationCache, current
from rifflux.store.sqlite.lexical.word_index import MOST_FRESH, Known, logged
from rifflux.store.sqlite.query import POSTINGS

if TYPE_CHECKING:
    from rifflux.store.sqlite.lexical.postings import Postings
    from rifflux.store.sqlite.lexical.united import Seen

#: From so many chunks on postings are kept, once several owners were read as one.
LEAST = 4096
#: Up to so many changes are followed in memory before the file is built again, which slows searches for seconds.
FEW_FRESH = 1000
#: What is kept in memory of what some owners see, in bytes.
MOST_SEEN = 128 << 20

_HIGHEST = "select coalesce(max(id), 0) from chunk"
_SHARED = "select exists (select 1 from reader)"
_BEHIND = """
select count(*) from (
    select 1 from touched where what = :name and seq > (select covered from derived where name = :name) limit :most
)"""


class PostingsIndex(DerivedFile):
    """Maps the postings of the database at `location` on first use, and rebuilds them in the background."""

    title = "the file of postings"

    def __init__(self, location: str, known: Known, *, read_only: bool) -> None:
        super().__init__(location, POSTINGS, read_only=read_only)
        self._known = known
        self._open: Postings | None = None
        # Whether somebody could have done with them.
        self._missed = False
        self._seen: GenerationCache[Seen] = GenerationCache(MOST_SEEN)

    def seen(self, connection: apsw.Connection, owners: tuple[int, ...]) -> Seen | None:
        """Return what owners see of the postings; None where there are none, or they cover far too little."""
        log = logged(self._known, connection, self.name)
        if log is None or log.token == self._refused[0]:
            if self._known(connection, _HIGHEST)[0] >= LEAST:
                self._missed = True
                self.suggest()
            return None
        if len(log.fresh) > FEW_FRESH:
            self.suggest()
        if len(log.fresh) > MOST_FRESH:
            return None
        from rifflux.store.sqlite.lexical.postings import Postings
        from rifflux.store.sqlite.lexical.united import Seen

        postings = self._open
        if postings is None or postings.stamp.token != log.token:
            try:
                postings = Postings.open(self.place, log)
                self._refused = ("", "")
                self._open = postings
            except Unfit as error:
                self._open = None
                self._set_aside(log.token, error)
                self.suggest()
                return None
        state = (log.token, log.latest)
        seen = self._seen.get(owners, state)
        if seen is None:
            try:
                seen = self._seen.put(owners, state, Seen.of(connection, postings, owners, log.fresh))
            except Unfit:
                self.suggest()
        return seen

    def _is_behind(self, connection: apsw.Connection) -> bool:
        return self.is_wanted(connection) and self._behind(connection) > FEW_FRESH

    def is_wanted(self, connection: apsw.Connection) -> bool:
        """Return whether there are postings, or were, or somebody could do with them."""
        if self._missed or current(connection, self.name) is not None:
            return True
        # Whoever has documents and reads what others share reads several owners as one.
        return bool(connection.execute(_SHARED).get) and self._known(connection, _HIGHEST)[0] >= LEAST

    def erased(self, owners: Collection[int], *, documents: bool) -> None:
        """Keep nothing of owners of whom all was deleted."""
        if documents:
            self._open = None
            self.place.unlink(missing_ok=True)

    def _behind(self, connection: apsw.Connection) -> int:
        return int(connection.execute(_BEHIND, {"name": self.name, "most": FEW_FRESH + 1}).get)

    def _keep(self, connection: apsw.Connection) -> bool:
        from rifflux.store.sqlite.lexical.postings import FORMAT, Postings, write

        known = current(connection, self.name)
        if known and known.token and known.token != self._refused[0] and self._behind(connection) <= FEW_FRESH:
            try:
                Postings.open(self.place, known)
            except Unfit:
                pass
            else:
                return True
        done = rebuild(connection, self.place, self.name, FORMAT, lambda path, stamp: write(connection, path, stamp))
        if done:
            connection.execute(FORGET_FRESH)
        return done

    def _verify(self, connection: apsw.Connection, known: Current) -> None:
        from rifflux.store.sqlite.lexical.postings import Postings

        Postings.open(self.place, known).verify()
