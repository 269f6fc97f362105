"""The postings of everybody's terms in one file next to the database, mapped into memory and not read.

Where several owners are read as one, FTS5 would be asked for each of them, and would call Python for each chunk that it
finds. Here a term has one list: the rows that hold it, sorted by owner and chunk, and how much they hold it, its places
weighed by their fields. Phrases and prefixes are left to the full-text tables.

The file is a stamp (see `derived`) and sections; the small ones are verified when it is opened.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux.store.lexical import WHOLE_WEIGHTS
from rifflux.store.sqlite.connection.derived import STAMP_BYTES, NotBuilt, StateStamp, Unfit, private
from rifflux.store.sqlite.connection.engine import Current
from rifflux.store.sqlite.query import POSTINGS
from rifflux.types import Ids

FORMAT = 1
#: Terms that are read at a time.
BATCH = 4096

_VIEW = "create virtual table if not exists temp.{table}_posting using fts5vocab(main, {table}, instance)"
_PLACES = """
select term, group_concat((doc << 2) | (case col when 'title' then 0 when 'headings' then 1 else 2 end))
from {table}_posting group by term"""
_CHUNKS = "select owner, id, uid, document from chunk order by owner, id"
_BULKY = ("rows", "counts")

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Postings:
    """A mapped file. Row `r` is chunk `chunks[r]`; the rows of term `t` are `rows[starts[t]:starts[t + 1]]`."""

    stamp: StateStamp
    owners: Array
    chunks: Ids
    ids: Ids
    documents: Ids
    by_id: Array
    by_chunk: Array
    lengths: Array
    spelled: Array
    ends: Array
    starts: Array
    rows: Array
    counts: Array

    @classmethod
    def open(cls, path: Path, expected: Current) -> Postings:
        """Map a file; raises `Unfit` where it is not the one that is expected, or damaged."""
        try:
            with path.open("rb") as file:
                stamp = StateStamp.decoded(file.read(STAMP_BYTES))
                stamp.check(expected, POSTINGS, FORMAT)
                if os.fstat(file.fileno()).st_size != stamp.size:
                    raise Unfit("it was cut short")
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise NotBuilt("there is no file") from None
        except OSError as error:
            raise Unfit(f"it cannot be read: {error}") from error
        arrays = {}
        start = STAMP_BYTES
        for name, (kind, shape) in stamp.facts["sections"].items():
            size = int(np.prod(shape))
            arrays[name] = np.frombuffer(data, kind, size, start).reshape(shape)
            start += _pages(arrays[name].nbytes)
        found = cls(stamp, **arrays)
        found._verify(arrays.keys() - set(_BULKY))
        return found

    def verify(self) -> None:
        """Read all of it; raises `Unfit` where something is damaged."""
        self._verify(_BULKY)

    def _verify(self, names: Any) -> None:
        for name in names:
            if crc32(getattr(self, name).data) != self.stamp.facts["checksums"][name]:
                raise Unfit(f"its {name} are damaged")

    def __len__(self) -> int:
        return len(self.chunks)

    def of(self, owner: int) -> slice:
        """Return the rows of an owner."""
        place = int(np.searchsorted(self.owners[:, 0], owner))
        if place == len(self.owners) or self.owners[place, 0] != owner:
            return slice(0, 0)
        if place + 1 < len(self.owners):
            end = self.owners[place + 1, 1]
        else:
            end = len(self)
        return slice(int(self.owners[place, 1]), int(end))

    def posting(self, term: str) -> slice:
        """Return where the rows of a term are; nowhere if none holds it."""
        wanted = term.encode("utf-8", "surrogatepass")
        place = self._place(wanted)
        if place == len(self.ends) or self._term(place) != wanted:
            return slice(0, 0)
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def beginning(self, start: str) -> Iterator[tuple[str, slice]]:
        """Yield the terms that begin with `start`, whoever holds them, each with the place of its rows."""
        first = self._place(start.encode())
        # No byte of a term in UTF-8 is as high.
        last = self._place(start.encode() + b"\xff")
        begun = int(self.ends[first - 1]) if first else 0
        ends = self.ends[first:last].tolist()
        rows = self.starts[first : last + 1].tolist()
        spelled = self.spelled[begun : ends[-1] if ends else begun].tobytes()
        place = 0
        for number, end in enumerate(ends):
            term = spelled[place : end - begun].decode("utf-8", "surrogatepass")
            place = end - begun
            yield term, slice(rows[number], rows[number + 1])

    def _place(self, wanted: bytes) -> int:
        return bisect_left(range(len(self.ends)), wanted, key=self._term)

    def _term(self, place: int) -> bytes:
        return self.spelled[int(self.ends[place - 1]) if place else 0 : int(self.ends[place])].tobytes()

    def rows_of_ids(self, ids: Ids) -> Ids:
        """Return the row of each public id; -1 for one that has none."""
        return _rows(self.ids, self.by_id, ids)

    def rows_of_chunks(self, chunks: Ids) -> Ids:
        """Return the row of each chunk; -1 for one that has none."""
        return _rows(self.chunks, self.by_chunk, chunks)


def _rows(known: Ids, order: Array, wanted: Ids) -> Ids:
    """Return where in `known`, sorted by `order`, each of the wanted ones is; -1 for one that is not there."""
    if not len(known):
        return np.full(len(wanted), -1)
    places = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    rows: Ids = order[places].astype(np.int64)
    return np.where(known[rows] == wanted, rows, -1)


def write(connection: apsw.Connection, path: Path, stamp: StateStamp) -> None:
    """Write everybody's postings to a new file; all that is read is of one transaction of the caller."""
    kinds = [(name, "<i8") for name in ("owner", "chunk", "id", "document")]
    chunks = np.fromiter(connection.execute(_CHUNKS), np.dtype(kinds))
    terms, numbers, docs, counts, lengths = _read(connection, int(chunks["chunk"].max(initial=0)))
    row_of = np.full(len(lengths), -1, np.int64)
    row_of[chunks["chunk"]] = np.arange(len(chunks))
    spelled = sorted((term.encode("utf-8", "surrogatepass"), number) for term, number in terms.items())
    rank = np.empty(len(terms), np.int64)
    rank[[number for _, number in spelled]] = np.arange(len(terms))
    there = row_of[docs] >= 0
    keys = rank[numbers[there]] * max(len(chunks), 1) + row_of[docs[there]]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    owners, first = np.unique(chunks["owner"], return_index=True)
    limits = np.arange(len(terms) + 1) * max(len(chunks), 1)
    _write(
        path,
        stamp,
        {
            "owners": np.stack([owners, first], axis=1).astype("<i8"),
            "chunks": chunks["chunk"].astype("<i8"),
            "ids": chunks["id"].astype("<i8"),
            "documents": chunks["document"].astype("<i8"),
            "by_id": np.argsort(chunks["id"]).astype("<i4"),
            "by_chunk": np.argsort(chunks["chunk"]).astype("<i4"),
            "lengths": lengths[chunks["chunk"]].astype("<i4"),
            "spelled": np.frombuffer(b"".join(term for term, _ in spelled), "u1"),
            "ends": np.cumsum([len(term) for term, _ in spelled], dtype="<i8"),
            "starts": np.searchsorted(keys, limits).astype("<i8"),
            "rows": (keys % max(len(chunks), 1)).astype("<i4"),
            "counts": counts[there][order].astype("<u4"),
        },
    )


def _read(connection: apsw.Connection, highest: int) -> tuple[dict[str, int], Ids, Ids, Ids, Ids]:
    """Read all terms: each with its number, and the number, chunk and weighed count of each posting.

    The number of places in each chunk comes last.
    """
    terms: dict[str, int] = {}
    nothing = np.empty(0, np.int64)
    found: list[tuple[Ids, Ids, Ids]] = [(nothing, nothing, nothing)]
    lengths = np.zeros(highest + 1, np.int64)
    worth = np.array(WHOLE_WEIGHTS.fields, np.int64)
    for table in ("chunk_terms", "owned_terms"):
        connection.execute(_VIEW.format(table=table))
        listed = connection.execute(_PLACES.format(table=table))
        while some := list(islice(listed, BATCH)):
            # Terms of a named owner begin with a bar, the owner's number and a bar.
            plain = [term.split("|", 2)[2] if table == "owned_terms" else term for term, _ in some]
            places = np.fromstring(",".join(each for _, each in some), np.int64, sep=",")
            many = [each.count(",") + 1 for _, each in some]
            numbers = np.repeat([terms.setdefault(term, len(terms)) for term in plain], many)
            docs = places >> 2
            np.add.at(lengths, docs, 1)
            runs = np.flatnonzero((np.diff(numbers, prepend=-1) != 0) | (np.diff(docs, prepend=-1) != 0))
            found.append((numbers[runs], docs[runs], np.add.reduceat(worth[places & 3], runs)))
    numbers, docs, counts = (np.concatenate(column) for column in zip(*found, strict=True))
    return terms, numbers, docs, counts, lengths


def _write(path: Path, stamp: StateStamp, sections: Mapping[str, Array]) -> None:
    start = STAMP_BYTES
    with open(path, "wb", opener=private) as file:
        for array in sections.values():
            file.seek(start)
            file.write(np.ascontiguousarray(array).data)
            start += _pages(array.nbytes)
        facts = {
            "sections": {name: (array.dtype.str, array.shape) for name, array in sections.items()},
            "checksums": {name: crc32(np.ascontiguousarray(array).data) for name, array in sections.items()},
        }
        file.truncate(start)
        file.seek(0)
        file.write(replace(stamp, size=start, facts=facts).encoded())
        file.flush()
        os.fsync(file.fileno())


def _pages(size: int) -> int:
    return -(-size // STAMP_BYTES) * STAMP_BYTES
