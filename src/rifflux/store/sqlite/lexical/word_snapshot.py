"""One state of a word index, opened: what it finds and counts, and whether its files are sound."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from rifflux.store.sqlite.connection.derived import NotBuilt, StateStamp, Unfit
from rifflux.store.sqlite.connection.engine import Current
from rifflux.store.sqlite.query import Terms
from rifflux.types import Query, Ranking

if TYPE_CHECKING:
    import tantivy

    from rifflux.store.sqlite.lexical.word_index_query import Parser

#: The version of what `word_index_schema` says is written.
FORMAT = 2
#: The files of a segment, and what each ends with.
_SEGMENT_FILES = frozenset((".idx", ".pos", ".term", ".fast", ".fieldnorm", ".store", ".del"))
_MAGIC = 1337


@dataclass(frozen=True, slots=True)
class WordSnapshot:
    """One state of the word index. `stamp` says which, `entries` how many it has, replaced ones among them.

    `folder` is kept while it is open.
    """

    index: tantivy.Index
    searcher: tantivy.Searcher
    stamp: StateStamp
    entries: int
    terms: Terms
    folder: object

    @classmethod
    def open(cls, place: Path, expected: Current, terms: Terms) -> WordSnapshot:
        """Open an owner's copy at a place; raises `Unfit` if it is damaged, `NotBuilt` if it is missing."""
        with sound():
            try:
                written = (place / stamp_file(expected.token)).read_bytes()
            except FileNotFoundError:
                raise NotBuilt("there is none of this state") from None
            stamp = StateStamp.decoded(written)
            stamp.check(expected, terms.index, FORMAT)
            index, folder = _opened(place)
            segments = json.loads((place / "meta.json").read_bytes())["segments"]
            return cls(index, index.searcher(), stamp, sum(segment["max_doc"] for segment in segments), terms, folder)

    def find(self, query: Query, limit: int, hidden: Sequence[int] = ()) -> Ranking | None:
        """Rank the best matches but for some rows; None if it takes SQL to do so. Raises `Unfit`."""
        from rifflux.store.sqlite.lexical.word_index_query import NotHere
        from rifflux.store.sqlite.lexical.word_index_schema import ID, ROW

        with sound():
            try:
                parsed = self._parser()(query)
            except NotHere:
                return None
            if parsed is None:
                return Ranking.empty()
            hits = self.searcher.search(parsed, limit + len(hidden), count=False).hits
            if hidden:
                gone = set(hidden)
                rows = self.searcher.fast_field_values(ROW, [place for _, place in hits])
                hits = [hit for hit, row in zip(hits, rows, strict=True) if row not in gone]
            ids = np.array(self.searcher.fast_field_values(ID, [place for _, place in hits]), np.int64)
        return Ranking(ids, np.array([score for score, _ in hits], np.float64))

    def frequencies(self, terms: Sequence[str], hidden: Sequence[int] = ()) -> Mapping[str, int]:
        """Count the chunks but for some rows in which each term occurs. Raises `Unfit`."""
        parser = self._parser()
        with sound():
            counts = {term: parser.frequency(self.terms.stored(term)) for term in terms}
            if hidden:
                held = [term for term, count in counts.items() if count]
                counts |= {term: counts[term] - parser.frequency_in(self.terms.stored(term), hidden) for term in held}
        return counts

    def _parser(self) -> Parser:
        from rifflux.store.sqlite.lexical.word_index_query import Parser

        return Parser(self.searcher, self.index.schema, self.entries, self.terms)


def _opened(place: Path) -> tuple[tantivy.Index, object]:
    """Open Tantivy's index; return it with a folder of links that must live as long, where nothing can be written.

    Tantivy makes a lock file next to what it reads.
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
    """Return the name of the file that says what a state of the word index covers.

    Each state has its own, written before the database knows of it: what is in the index itself may be newer than the
    database says, since of chunks in the log it does not count.
    """
    return f"{token}.stamp"


def intact(path: Path) -> bool:
    """Return whether a file is as Tantivy wrote it: contents, a footer with their checksum and length, a number."""
    data = path.read_bytes()
    if path.suffix not in _SEGMENT_FILES:
        return True
    length, magic = struct.unpack("<II", data[-8:])
    contents = data[: -8 - length]
    footer = data[-8 - length : -8]
    return bool(magic == _MAGIC and json.loads(footer)["crc"] == zlib.crc32(contents))


@contextmanager
def sound() -> Iterator[None]:
    """Turn whatever damage does into `Unfit`: Tantivy's errors are of several kinds, its panics no `Exception`."""
    try:
        yield
    except Unfit:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise Unfit(f"it is damaged ({str(error).splitlines()[0][:200]})") from error
        raise
