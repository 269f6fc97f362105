"""The words file of a database as mapped by this process, with later changes; rebuilt in the background."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from rifflux.store.sqlite.connection.derived import (
    FORGET_FRESH,
    STAMP_BYTES,
    DerivedFile,
    StateStamp,
    Unfit,
    rebuild,
    touched,
)
from rifflux.store.sqlite.connection.engine import CURRENT, Current, GenerationCache, current, unmoved
from rifflux.store.sqlite.query import WORDS

if TYPE_CHECKING:
    from rifflux.store.sqlite.lexical.visible import FreshChunks, VisibleWords
    from rifflux.store.sqlite.lexical.words_file import WordsFile

#: The minimum number of chunks for building the file automatically.
LEAST = 512
#: The number of changed chunks read individually before the file is rebuilt: a base, and a share of all chunks.
FEW_FRESH = 256
FEW_SHARE = 1 / 1000
#: With more changed chunks, the full-text tables answer.
MOST_FRESH = 2000
#: A log of more than this share of all chunks is not followed: reading the tables again is faster.
MOST_FOLLOWED = 0.5
#: The maximum memory for cached views of owners, in bytes.
MOST_SEEN = 128 << 20

_HIGHEST = "select coalesce(max(id), 0) from chunk"
_COUNT = "select count(*) from chunk"
_BEHIND = """
select count(*) from (
    select distinct chunk from touched where what = :name
    and seq > (select covered from derived where name = :name) limit :most
)"""

#: Reads the rows of a statement on a connection, cached while nothing changes.
Known = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A mapped file with the changes since it was built."""

    file: WordsFile
    fresh: FreshChunks


class WordsIndex(DerivedFile):
    """Maps the words of the database at `location` on first use, follows its changes, and rebuilds it in time."""

    title = "the words file"

    def __init__(self, location: str, known: Known, *, read_only: bool) -> None:
        super().__init__(location, WORDS, read_only=read_only)
        self._known = known
        self._open: _Snapshot | None = None
        self._seen: GenerationCache[VisibleWords] = GenerationCache(MOST_SEEN)

    def visible(self, connection: apsw.Connection, owners: tuple[int, ...]) -> VisibleWords | None:
        """Return the words that owners see; None if there are none, or if they cover far too little."""
        if connection.in_transaction:
            return None
        rows = self._known(connection, CURRENT, name=WORDS)
        state = rows[0] if rows else (0, 0, "")
        if state[2] in ("", self._refused):
            if self._known(connection, _HIGHEST)[0][0] >= LEAST:
                self.suggest()
            return None
        found = self._open
        if found is None or found.file.stamp.token != state[2] or found.fresh.seen != state[0]:
            with unmoved(connection):
                found = self._followed(connection)
        if found is None:
            return None
        from rifflux.store.sqlite.lexical.visible import VisibleWords

        version = (found.file.stamp.token, found.fresh.version)
        seen = self._seen.get(owners, version)
        if seen is None:
            seen = self._seen.put(owners, version, VisibleWords.of(found.file, found.fresh, owners))
        return seen

    def _followed(self, connection: apsw.Connection) -> _Snapshot | None:
        """Return the current snapshot, derived from the former one if the file is unchanged."""
        from rifflux.store.sqlite.lexical.visible import FreshChunks
        from rifflux.store.sqlite.lexical.words_file import WordsFile

        known = current(connection, WORDS)
        if known is None or not known.token:
            return None
        former = self._open
        try:
            if former and former.file.stamp.token == known.token:
                file = former.file
                fresh = former.fresh
            else:
                file = WordsFile.open(self.place, known)
                fresh = FreshChunks(known.covered)
                self._refused = self.damage = ""
            changed = touched(connection, WORDS, fresh.seen)
            behind = len(fresh.chunks.keys() | {*changed})
            if behind > _few(len(file)):
                self.suggest()
            if behind > MOST_FRESH:
                return None
            found = _Snapshot(file, fresh.followed(connection, changed, known.latest))
        except Unfit as error:
            self._open = None
            self._set_aside(known.token, error)
            self.suggest()
            return None
        self._open = found
        return found

    def _is_behind(self, connection: apsw.Connection) -> bool:
        known = current(connection, WORDS)
        if known and self._is_there(known):
            return self._behind(connection) > _few(self._known(connection, _HIGHEST)[0][0])
        return known is not None or self._known(connection, _HIGHEST)[0][0] >= LEAST

    def _is_there(self, known: Current) -> bool:
        """Return True if the copy recorded in the database lies beside it, in the format in use."""
        from rifflux.store.sqlite.lexical.words_file import FORMAT

        try:
            with self.place.open("rb") as file:
                StateStamp.decoded(file.read(STAMP_BYTES)).check(known, WORDS, FORMAT)
        except (OSError, Unfit):
            return False
        return True

    def erased(self, owners: Collection[int], *, documents: bool) -> None:
        """Delete data of owners whose content was deleted."""
        if documents:
            self._open = None
            self._seen = GenerationCache(MOST_SEEN)
            self.place.unlink(missing_ok=True)

    def _behind(self, connection: apsw.Connection, most: int = MOST_FRESH) -> int:
        return int(connection.execute(_BEHIND, {"name": WORDS, "most": most}).get)

    def _keep(self, connection: apsw.Connection) -> bool:
        former = self._former(connection, current(connection, WORDS))
        if former and not self._behind(connection, 1):
            return True
        try:
            done = self._rebuild(connection, former)
        except Unfit:
            done = self._rebuild(connection, None)
        if done:
            connection.execute(FORGET_FRESH)
        return done

    def _rebuild(self, connection: apsw.Connection, former: WordsFile | None) -> bool:
        """Rebuild the file: from the former one and the changes since, or from the tables."""
        from rifflux.store.sqlite.lexical.words_build import from_former, from_tables
        from rifflux.store.sqlite.lexical.words_file import FORMAT, write

        def make(path: Path, stamp: StateStamp) -> None:
            if former:
                sections = from_former(connection, former, self._changed_since(connection, former))
            else:
                sections = from_tables(connection)
            write(path, stamp, sections)

        return rebuild(connection, self.place, WORDS, FORMAT, make)

    def _former(self, connection: apsw.Connection, known: Current | None) -> WordsFile | None:
        """Return the file that the log continues; None if rebuilding from the tables is better."""
        from rifflux.store.sqlite.lexical.words_file import WordsFile

        if known is None or not known.token or known.token == self._refused:
            return None
        most = int(MOST_FOLLOWED * connection.execute(_COUNT).get)
        if self._behind(connection, most + 1) > most:
            return None
        try:
            return WordsFile.open(self.place, known)
        except Unfit:
            return None

    def _changed_since(self, connection: apsw.Connection, former: WordsFile) -> list[int]:
        """Return the chunks changed since a file was built. Raises `Unfit` if another was built meanwhile."""
        known = current(connection, WORDS)
        if known is None or known.token != former.stamp.token:
            raise Unfit("another file was made meanwhile")
        return touched(connection, WORDS, known.covered)

    def _verify(self, connection: apsw.Connection, known: Current) -> None:
        from rifflux.store.sqlite.lexical.words_file import WordsFile

        WordsFile.open(self.place, known)


def _few(chunks: int) -> int:
    """Return the number of changed chunks that are read individually."""
    return min(FEW_FRESH + int(FEW_SHARE * chunks), MOST_FRESH)
