"""The words of everybody's chunks in one file next to the database, mapped into memory and not read.

A term has one list of postings, whoever holds it: the rows that hold it, sorted by owner and chunk, with its places in
all fields, in the title and in the headings, and where in each field these are. What an owner has of it is a part of
that list. FTS5 would count the chunks of all owners, and knows the length of no chunk without reading it.

The file is a stamp (see `derived`) and sections, each an array of the smallest type that holds it. All of it is
verified when it is opened: a flipped bit would be a wrong answer.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rifflux.store.sqlite.connection.derived import STAMP_BYTES, NotBuilt, StateStamp, Unfit, private
from rifflux.store.sqlite.connection.engine import Current
from rifflux.store.sqlite.query import WORDS, places_of
from rifflux.types import Ids

FORMAT = 1

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class WordsFile:
    """A mapped file. Row `r` is chunk `chunks[r]`; the postings of term `t` are those from `starts[t]` on.

    Posting `p` is of row `rows[p]`, which holds the term at `counts[p]` places, those in the title first, then those in
    the headings. The places of term `t` begin at `places[place_starts[t]]`, posting after posting.
    """

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
    place_starts: Array
    rows: Array
    counts: Array
    titles: Array
    headings: Array
    places: Array
    #: The terms that begin alike, by their lengths.
    _begun: dict[str, dict[int, list[tuple[str, int]]]] = field(default_factory=dict, init=False)

    @classmethod
    def open(cls, path: Path, expected: Current) -> WordsFile:
        """Map a file; raises `Unfit` where it is not the one that is expected, or damaged."""
        try:
            with path.open("rb") as file:
                stamp = StateStamp.decoded(file.read(STAMP_BYTES))
                stamp.check(expected, WORDS, FORMAT)
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
            arrays[name] = np.frombuffer(data, kind, int(np.prod(shape)), start).reshape(shape)
            start += _pages(arrays[name].nbytes)
        for name, array in arrays.items():
            if crc32(array.data) != stamp.facts["checksums"][name]:
                raise Unfit(f"its {name} are damaged")
        return cls(stamp, **arrays)

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

    def number(self, term: str) -> int:
        """Return the number of a term, -1 if nobody holds it."""
        wanted = encoded(term)
        place = self._place(wanted)
        if place == len(self.ends) or self.spelling(place) != wanted:
            return -1
        return place

    def beginning(self, start: str) -> slice:
        """Return the numbers of the terms that begin so, whoever holds them."""
        # No byte of a term in UTF-8 is as high.
        return slice(self._place(encoded(start)), self._place(encoded(start) + b"\xff"))

    def terms(self, start: str, shortest: int, longest: int) -> Iterator[tuple[str, int]]:
        """Yield the terms of so many characters that begin so, whoever holds them, each with its number."""
        by_length = self._begun.get(start)
        if by_length is None:
            by_length = self._begun[start] = {}
            numbers = self.beginning(start)
            for number in range(numbers.start, numbers.stop):
                term = self.spelling(number).decode("utf-8", "surrogatepass")
                by_length.setdefault(len(term), []).append((term, number))
        for length in range(shortest, longest + 1):
            yield from by_length.get(length, ())

    def postings(self, number: int) -> slice:
        """Return where the postings of a term are."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def spelling(self, number: int) -> bytes:
        """Return a term as it is stored."""
        begun = int(self.ends[number - 1]) if number else 0
        return self.spelled[begun : int(self.ends[number])].tobytes()

    def _place(self, wanted: bytes) -> int:
        return bisect_left(range(len(self.ends)), wanted, key=self.spelling)

    def occurrences(self, number: int, rows: Ids) -> Array:
        """Return where some rows, ascending, hold a term, as one ascending number each: row, field and place."""
        postings = self.postings(number)
        known = self.rows[postings]
        counts = self.counts[postings].astype(np.int64)
        firsts = np.cumsum(counts) - counts
        held = np.searchsorted(known, rows)
        wanted = counts[held]
        within = np.arange(int(wanted.sum())) - np.repeat(np.cumsum(wanted) - wanted, wanted)
        titles = np.repeat(self.titles[postings][held], wanted)
        above = titles + np.repeat(self.headings[postings][held], wanted)
        fields = (within >= titles).astype(np.int64) + (within >= above)
        places = self.places[int(self.place_starts[number]) + np.repeat(firsts[held], wanted) + within]
        found: Array = (np.repeat(rows.astype(np.int64), wanted) << _ROW) | (fields << _FIELD) | places
        return found

    def rows_of_ids(self, ids: Ids) -> Ids:
        """Return the row of each public id; -1 for one that has none."""
        return places_of(ids, self.ids, self.by_id)

    def rows_of_chunks(self, chunks: Ids) -> Ids:
        """Return the row of each chunk; -1 for one that has none."""
        return places_of(chunks, self.chunks, self.by_chunk)


#: Where the field and the row begin in the number of an occurrence.
_FIELD = 26
_ROW = 28


def fields_of(occurrences: Array) -> tuple[Array, Array]:
    """Return the row and the field of each occurrence."""
    return occurrences >> _ROW, (occurrences >> _FIELD) & 3


def encoded(term: str) -> bytes:
    """Return a term as the file spells it."""
    return term.encode("utf-8", "surrogatepass")


def smallest(array: Array) -> Array:
    """Return whole numbers, none below zero, in the smallest type that holds them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))).newbyteorder("<"))


def write(path: Path, stamp: StateStamp, sections: Mapping[str, Array]) -> None:
    """Write the sections of a file."""
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
