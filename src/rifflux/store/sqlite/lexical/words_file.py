"""The words of all owners' chunks in one memory-mapped file beside the database.

A term has one list of postings for all owners: the rows that contain it, sorted by owner and chunk, with its counts in
all fields, in the title and in the headings, and its positions in each field. An owner's postings are a part of that
list. FTS5 would count the chunks of all owners, and cannot tell a chunk's length without reading it.

A chunk has the terms of its title and of its text in order, so that no passage is analyzed again to compare it with a
question, and its names (see `names_file`), so that none is read to compare it with what is asked for.

The file is a stamp (see `derived`) and sections, each an array of the smallest suitable type; one of zeros alone, as of
headings where there are none, is only named. All of it is verified when it is opened: a flipped bit would give a wrong
answer.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rifflux import kernels
from rifflux.store.lexical import TermSequences
from rifflux.store.sqlite.connection.derived import STAMP_BYTES, NotBuilt, StateStamp, Unfit, private
from rifflux.store.sqlite.connection.engine import Current
from rifflux.store.sqlite.lexical.names_file import NamesFile
from rifflux.store.sqlite.query import WORDS, Ascending, places_of
from rifflux.text.analyzer import AnyOf, NearSpelling
from rifflux.types import Ids

FORMAT = 5
#: Sections begin at multiples of so many bytes.
ALIGNED = 64
#: The maximum number of terms whose numbers are remembered.
MOST_NUMBERS = 1 << 16

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """Numbers of rows, which up to 65,536 rows are stored as 16-bit integers, and always read as 32-bit ones."""

    stored: Array

    def __getitem__(self, places: slice | Array) -> Array:
        """Return the rows at some positions."""
        return self.stored[places].astype(np.int32, copy=False)


@dataclass(frozen=True, slots=True)
class WordsFile:
    """A mapped file. Row `r` is chunk `chunks[r]`; the postings of term `t` start at `starts[t]`.

    Posting `p` is of row `rows[p]`, which contains the term at `counts[p]` positions, first those in the title, then
    those in the headings. The positions of term `t` start at `places[place_starts[t]]`, posting by posting.
    `letters[t]` is the set of letters of a term (see `letters_in`). The terms of row `r`, in order, start at
    `sequences[sequence_starts[2 * r]]` for its title, and one place further in `sequence_starts` for its text.
    """

    stamp: StateStamp
    owners: Array
    chunks: Ids
    ids: Ids
    by_id: Array
    by_chunk: Array
    lengths: Array
    spelled: Array
    ends: Array
    letters: Array
    starts: Array
    place_starts: Array
    rows: Rows
    counts: Array
    titles: Array
    headings: Array
    places: Array
    sequence_starts: Array
    sequences: Array
    names: NamesFile
    #: The public ids in order.
    _by_id: Ascending = field(init=False)
    #: The numbers of terms that were looked up.
    _numbers: dict[str, int | None] = field(default_factory=dict, init=False)
    #: The terms with a given prefix, by length.
    _begun: dict[str, dict[int, list[tuple[str, int]]]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", Ascending(self.ids, self.by_id))

    @classmethod
    def open(cls, path: Path, expected: Current) -> WordsFile:
        """Map a file. Raises `Unfit` if it is not the expected one, or damaged."""
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
            start += _padded(arrays[name].nbytes)
        for name, array in arrays.items():
            if crc32(array.data) != stamp.facts["checksums"][name]:
                raise Unfit(f"its {name} are damaged")
        # Memory that is only read takes none.
        zeros = {name: np.zeros(shape, kind) for name, (kind, shape) in stamp.facts["zeros"].items()}
        arrays |= zeros
        own: dict[str, Any] = {each.name: arrays[each.name] for each in fields(cls) if each.name in arrays}
        own |= {"rows": Rows(arrays["rows"]), "names": NamesFile.of(arrays)}
        return cls(stamp, **own)

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def documents(self) -> Ids:
        """Return the document of each row."""
        return self.names.documents[self.names.places]

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

    def number(self, term: str) -> int | None:
        """Return the number of a term, or None if no chunk contains it."""
        if term in self._numbers:
            return self._numbers[term]
        wanted = encoded(term)
        place = self._place(wanted)
        number = None
        if place < len(self.ends) and self.spelling(place) == wanted:
            number = place
        if len(self._numbers) < MOST_NUMBERS:
            self._numbers[term] = number
        return number

    def term_sequences(self, rows: Ids) -> TermSequences:
        """Return the terms of the titles and texts of some rows, in order."""
        return TermSequences(self.sequences, self.sequence_starts[2 * rows[:, None] + np.arange(3)], self.number)

    def titled(self, rows: Ids, terms: Collection[str]) -> Collection[int]:
        """Return the positions of those of some rows whose title begins with one of some terms."""
        wanted = {self.number(term) for term in terms}
        starts, ends = self.sequence_starts[2 * rows], self.sequence_starts[2 * rows + 1]
        held = np.flatnonzero(starts < ends)
        firsts = self.sequences[starts[held]].tolist()
        return [place for place, first in zip(held.tolist(), firsts, strict=True) if first in wanted]

    def beginning(self, start: str) -> slice:
        """Return the numbers of all owners' terms with a prefix."""
        # No byte of a term in UTF-8 is as high.
        return slice(self._place(encoded(start)), self._place(encoded(start) + b"\xff"))

    def terms(self, start: str, shortest: int, longest: int) -> Iterator[tuple[str, int]]:
        """Yield all owners' terms with a prefix and a range of lengths, with their numbers."""
        by_length = self._begun.get(start)
        if by_length is None:
            by_length = self._begun[start] = {}
            numbers = self.beginning(start)
            for number in range(numbers.start, numbers.stop):
                term = self.spelling(number).decode("utf-8", "surrogatepass")
                by_length.setdefault(len(term), []).append((term, number))
        for length in range(shortest, longest + 1):
            yield from by_length.get(length, ())

    def near(self, start: str, shortest: int, longest: int, like: NearSpelling) -> Iterator[tuple[str, int]]:
        """Yield the terms of so many characters that begin so and may be near another, each with its number."""
        among = self.beginning(start)
        wanted = encoded(like.term)
        if kernels.compiled and like.term.isascii():
            near = np.empty(among.stop - among.start, np.int64)
            bounds = self._bounds(among)
            spelled = self.spelled[int(bounds[0]) : int(bounds[-1])]
            count = kernels.compiled.near(spelled, bounds - bounds[0], wanted, like.most, near)
            places = near[:count]
        else:
            places = np.flatnonzero(self._may_be_near(among, wanted, shortest, longest, like.most))
        for number in (places + among.start).tolist():
            term = self.spelling(number).decode("utf-8", "surrogatepass")
            if shortest <= len(term) <= longest:
                yield term, number

    def _may_be_near(self, among: slice, wanted: bytes, shortest: int, longest: int, most: int) -> Array:
        """Return which of some terms have about as many letters as a word, and mostly the same."""
        sizes = np.diff(self._bounds(among))
        letters = self.letters[among]
        (own,) = letters_in(np.frombuffer(wanted, "u1"), np.array([0]))
        # What is not of ASCII has fewer characters than bytes.
        wide = (letters | own) & _WIDE > 0
        fits = (sizes <= longest) & (np.bitwise_count(letters ^ own) <= 2 * most)
        likely: Array = (sizes >= shortest) & (wide | fits)
        return likely

    def any_of(self, start: str, shortest: int, longest: int, like: AnyOf) -> Iterator[tuple[str, int]]:
        """Yield the terms of so many characters that begin so and may be one of some words, each with its number."""
        spelled = [encoded(word) for word in like if word and shortest <= len(word) <= longest]
        lengths = np.array([len(each) for each in spelled], np.int64)
        letters = letters_in(np.frombuffer(b"".join(spelled), "u1"), np.cumsum(lengths) - lengths)
        among = self.beginning(start)
        # Few terms have as many bytes and the same letters.
        keys = np.diff(self._bounds(among)) << 32 | self.letters[among]
        for number in (np.flatnonzero(np.isin(keys, lengths << 32 | letters)) + among.start).tolist():
            yield self.spelling(number).decode("utf-8", "surrogatepass"), number

    def _bounds(self, among: slice) -> Ids:
        """Return where some terms begin, and where the last of them ends."""
        bounds = np.zeros(among.stop - among.start + 1, np.int64)
        bounds[1:] = self.ends[among]
        if among.start:
            bounds[0] = self.ends[among.start - 1]
        return bounds

    def postings(self, number: int) -> slice:
        """Return the slice of a term's postings."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def spelling(self, number: int) -> bytes:
        """Return a term as it is stored."""
        begun = int(self.ends[number - 1]) if number else 0
        return self.spelled[begun : int(self.ends[number])].tobytes()

    def _place(self, wanted: bytes) -> int:
        return bisect_left(range(len(self.ends)), wanted, key=self.spelling)

    def occurrences(self, number: int, rows: Ids) -> Array:
        """Return the ascending occurrences of a term in ascending rows, each as one number: row, field, position."""
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
        """Return the row of each public id, or -1."""
        return self._by_id.places_of(ids)

    def rows_of_chunks(self, chunks: Ids) -> Ids:
        """Return the row of each chunk, or -1."""
        return places_of(chunks, self.chunks, self.by_chunk)


#: The bit positions of the field and the row in the number of an occurrence.
_FIELD = 26
_ROW = 28


def fields_of(occurrences: Array) -> tuple[Array, Array]:
    """Return the row and the field of each occurrence."""
    return occurrences >> _ROW, (occurrences >> _FIELD) & 3


#: Stands for all that is not of ASCII in a set of letters.
_WIDE = np.uint32(1)


def letters_in(spelled: Array, starts: Array) -> Array:
    """Return the set of letters of each term as bits: one for each letter, the same for some of the other signs.

    `spelled` are the bytes of all terms, which begin at `starts`. Terms with few letters that are not of both have few
    bits that are not of both.
    """
    if not len(spelled):
        return np.zeros(len(starts), "<u4")
    bits = np.where(spelled < 128, np.uint32(1) << (spelled & 31).astype(np.uint32), _WIDE).astype("<u4")
    found: Array = np.bitwise_or.reduceat(bits, starts)
    return found


def encoded(term: str) -> bytes:
    """Return a term as the file spells it."""
    return term.encode("utf-8", "surrogatepass")


def smallest(array: Array) -> Array:
    """Return non-negative integers in the smallest type that fits them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))).newbyteorder("<"))


def write(path: Path, stamp: StateStamp, sections: Mapping[str, Array]) -> None:
    """Write a file with the given sections."""
    start = STAMP_BYTES
    zeros = {
        name: array for name, array in sections.items() if array.size and not array.dtype.names and not array.any()
    }
    sections = {name: array for name, array in sections.items() if name not in zeros}
    with open(path, "wb", opener=private) as file:
        for array in sections.values():
            file.seek(start)
            file.write(np.ascontiguousarray(array).data)
            start += _padded(array.nbytes)
        facts = {
            "sections": {name: (_kind(array), array.shape) for name, array in sections.items()},
            "checksums": {name: crc32(np.ascontiguousarray(array).data) for name, array in sections.items()},
            "zeros": {name: (array.dtype.str, array.shape) for name, array in zeros.items()},
        }
        file.truncate(start)
        file.seek(0)
        file.write(replace(stamp, size=start, facts=facts).encoded())
        file.flush()
        os.fsync(file.fileno())


def _kind(array: Array) -> str:
    """Return the type of an array; of records, those of their fields."""
    fields = [array.dtype[name].str for name in array.dtype.names or ()]
    return ",".join(fields) or array.dtype.str


def _padded(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
