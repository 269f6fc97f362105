"""The word index of a database, as this process has it open: Tantivy in place of FTS5, while it is there and sound."""

from __future__ import annotations

import json
import os
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
import numpy as np

from rifflux.store.base import FieldWeights
from rifflux.store.sqlite.derived import Current, Stamp, Unfit, current, location_of
from rifflux.store.sqlite.keeper import PAUSE, Keeper
from rifflux.types import Query, Ranking

if TYPE_CHECKING:
    import tantivy

__all__ = ["LEAST_CHUNKS", "NAME", "Log", "Snapshot", "Words", "stamp_file"]


Answer = TypeVar("Answer")

#: From so many chunks on it is built without being asked for.
LEAST_CHUNKS = 20_000
#: Where more chunks are not covered, the full-text tables answer alone.
MOST_FRESH = 2000
#: The derived file's name.
NAME = "words"

#: The files of a segment, and what each ends with.
_SEGMENT_FILES = frozenset((".idx", ".pos", ".term", ".fast", ".fieldnorm", ".store", ".del"))
_MAGIC = 1337

_LOG = """
select coalesce((select seq from sqlite_sequence where name = 'touched'), 0), covered, token, (
    select json_group_array(chunk) from (
        select distinct chunk from touched where what = 'words' and seq > covered limit :most
    )
)
from derived where name = 'words'"""
_HIGHEST = "select coalesce(max(id), 0) from chunk where owner = 0"

# Whether there is something to follow, or so much that a first one pays.
_DUE = f"""
select iif(
    exists (select 1 from derived where name = 'words' and token <> ''),
    exists (select 1 from touched where what = 'words'),
    ({_HIGHEST}) >= :least
)"""


@dataclass(frozen=True, slots=True)
class Log(Current):
    """What the database says of its word index; `fresh` are the rows of the chunks that it does not cover."""

    fresh: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of the word index. `stamp` says which, `entries` how many it has, replaced ones among them.

    `folder` is kept while it is open.
    """

    index: tantivy.Index
    searcher: tantivy.Searcher
    stamp: Stamp
    entries: int
    folder: object

    @classmethod
    def open(cls, place: Path, expected: Current) -> Snapshot:
        """Open the copy at a place; raises `Unfit` if it is not there, is damaged, or is not of this database."""
        from rifflux.store.sqlite.words_schema import FORMAT

        with _sound():
            stamp = Stamp.decoded((place / stamp_file(expected.token)).read_bytes())
            stamp.check(expected, NAME, FORMAT)
            index, folder = _opened(place)
            segments = json.loads((place / "meta.json").read_bytes())["segments"]
            return cls(index, index.searcher(), stamp, sum(segment["max_doc"] for segment in segments), folder)

    def find(self, query: Query, limit: int, hidden: Sequence[int] = ()) -> Ranking | None:
        """The best matches but for some rows; None if it takes SQL to tell. Raises `Unfit`."""
        from rifflux.store.sqlite.words_query import NotHere, Parser
        from rifflux.store.sqlite.words_schema import ID, ROW

        with _sound():
            try:
                parsed = Parser(self.searcher, self.index.schema, self.entries)(query)
            except NotHere:
                return None
            if parsed is None:
                return Ranking.empty()
            hits = self.searcher.search(parsed, limit + len(hidden), count=False).hits
            if hidden:
                gone, rows = set(hidden), self.searcher.fast_field_values(ROW, [place for _, place in hits])
                hits = [hit for hit, row in zip(hits, rows, strict=True) if row not in gone]
            ids = np.array(self.searcher.fast_field_values(ID, [place for _, place in hits]), np.int64)
        return Ranking(ids, np.array([score for score, _ in hits], np.float64))

    def frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        """In how many chunks each term occurs; terms that occur in none are left out. Raises `Unfit`."""
        from rifflux.store.sqlite.words_query import Parser

        parser = Parser(self.searcher, self.index.schema, self.entries)
        with _sound():
            counts = {term: parser.frequency(term) for term in terms}
        return {term: count for term, count in counts.items() if count}


def _opened(place: Path) -> tuple[tantivy.Index, object]:
    """Tantivy's index at a place, and what must be kept for it: where nothing can be written, a folder of links.

    Tantivy makes a lock file beside what it reads.
    """
    import tantivy

    if os.access(place, os.W_OK):
        return tantivy.Index.open(str(place)), None
    folder = TemporaryDirectory(prefix="rifflux-")
    for path in place.iterdir():
        if path.suffix != ".lock":
            Path(folder.name, path.name).symlink_to(path.absolute())
    return tantivy.Index.open(folder.name), folder


def stamp_file(token: str) -> str:
    """The name of the file that says what a state of the word index covers.

    Each state has its own, written before the database knows of it: what is in the index itself may be newer than the
    database says, since of chunks in the log it does not count.
    """
    return f"{token}.stamp"


def _intact(path: Path) -> bool:
    """Whether a file is as Tantivy wrote it: contents, a footer with their checksum, its length, a magic number."""
    data = path.read_bytes()
    if path.suffix not in _SEGMENT_FILES:
        return True
    length, magic = struct.unpack("<II", data[-8:])
    contents, footer = data[: -8 - length], data[-8 - length : -8]
    return bool(magic == _MAGIC and json.loads(footer)["crc"] == zlib.crc32(contents))


@contextmanager
def _sound() -> Iterator[None]:
    """Turn whatever damage does into `Unfit`: Tantivy's errors are of several kinds, its panics no `Exception`."""
    try:
        yield
    except Unfit:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise Unfit(f"it is damaged ({str(error).splitlines()[0][:200]})") from error
        raise


class Words:
    """Opens the word index of the database at `location` when asked, and has it built and kept up to date."""

    name, title = NAME, "the word index"
    #: What it can rank by.
    weights = FieldWeights()

    def __init__(self, location: str, *, read_only: bool = False) -> None:
        self.place = location_of(location, NAME)
        self._lock = threading.Lock()
        self._open: Snapshot | None = None
        self._refused: tuple[str, str] | None = None
        self._keeper = None if read_only else Keeper(location, self._keep)

    def _keep(self, connection: apsw.Connection) -> bool:
        from rifflux.store.sqlite.words_build import build, keep

        known = current(connection, NAME)
        damaged = known is not None and self._refused is not None and self._refused[0] == known.token
        return build(connection, self.place) if damaged else keep(connection, self.place)

    def log(self, connection: apsw.Connection) -> Log | None:
        """What the database says of its word index; None if there is none, or far too much that it does not cover."""
        row: Any = connection.execute(_LOG, {"most": MOST_FRESH + 1}).fetchone()
        if row is None or not row[2]:
            if self._keeper and _is_worth_it(connection):
                self._keeper.wish()
            return None
        latest, covered, token, listed = row
        fresh = tuple(json.loads(listed))
        if fresh and self._keeper:
            self._keeper.wish()
        return Log(latest, covered, token, fresh) if len(fresh) <= MOST_FRESH else None

    def at(self, log: Log) -> Snapshot | None:
        """The state that the database knows, or None; why there is none although one was built, `trouble` tells."""
        with self._lock:
            if self._open and self._open.stamp.token == log.token:
                return self._open
            if self._refused and self._refused[0] == log.token:
                return None
            try:
                self._open, self._refused = Snapshot.open(self.place, log), None
            except Unfit as error:
                self._refuse(log, error)
            return self._open

    def check(self, connection: apsw.Connection) -> str | None:
        """What is wrong with the copy that the database knows, told by its checksums; None if nothing is."""
        known = current(connection, NAME)
        if known is None or not known.token:
            return None
        try:
            Snapshot.open(self.place, known)
            with _sound():
                damaged = [path.name for path in sorted(self.place.iterdir()) if not _intact(path)]
        except Unfit as error:
            return str(error)
        return f"{', '.join(damaged)} changed since written" if damaged else None

    def ask(self, log: Log, question: Callable[[Snapshot], Answer]) -> Answer | None:
        """What the state that the database knows answers; None where there is none, or it turns out to be damaged."""
        snapshot = self.at(log)
        if snapshot is None:
            return None
        try:
            return question(snapshot)
        except Unfit as error:
            self._refuse(log, error)
            return None

    def frequencies(self, connection: apsw.Connection, terms: Sequence[str]) -> Mapping[str, int] | None:
        """In how many chunks each term occurs; None where the word index does not cover all there is."""
        log = self.log(connection)
        return None if log is None or log.fresh else self.ask(log, lambda snapshot: snapshot.frequencies(terms))

    def _refuse(self, log: Log, error: Unfit) -> None:
        """Do not use this state any more, and have it built anew."""
        self._open, self._refused = None, (log.token, str(error))
        if self._keeper:
            self._keeper.wish()

    def changed(self, connection: apsw.Connection) -> None:
        """Have the word index follow what was just committed."""
        if self._keeper and connection.execute(_DUE, {"least": LEAST_CHUNKS}).get:
            self._keeper.owe()

    def build(self) -> None:
        """Bring the word index up to date now, or make it."""
        while self._keeper and not self._keeper.once():
            time.sleep(PAUSE)

    def close(self) -> None:
        """End what goes on in the background."""
        if self._keeper:
            self._keeper.close()

    @property
    def trouble(self) -> str | None:
        """Why the word index is not used although there should be one, or could not be built; None if all is well."""
        if self._refused:
            return self._refused[1]
        return self._keeper.trouble if self._keeper else None


def _is_worth_it(connection: apsw.Connection) -> bool:
    """Whether there is so much that a word index pays; told by the highest row, which costs nothing."""
    return bool(connection.execute(_HIGHEST).get >= LEAST_CHUNKS)
