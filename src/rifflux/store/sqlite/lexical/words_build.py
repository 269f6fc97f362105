"""Building of the words file: from the full-text tables, or from the previous file and later changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux.store.sqlite.connection.derived import Unfit
from rifflux.store.sqlite.connection.tables import TERM_TABLES
from rifflux.store.sqlite.lexical import names_build
from rifflux.store.sqlite.lexical.words_file import WordsFile, encoded, letters_in, smallest
from rifflux.store.sqlite.query import Terms, words_of

#: The number of terms read at a time.
BATCH = 4096
#: Up to this many rows, their numbers take 16 bits.
MANY_ROWS = 1 << 16
#: The number of postings whose terms are put in order at a time.
MANY = 1 << 13

# One number for each occurrence of a term: they sort by chunk, field and position.
_PLACES = """
select term, group_concat(
    (doc << 28) | ((case col when 'title' then 0 when 'headings' then 1 else 2 end) << 26) | "offset"
)
from temp.{table}_posting group by term"""
_DOC = 28
_FIELD = 26
_PLACE = (1 << _FIELD) - 1

_CHUNKS = "select owner, id, uid, document, length from chunk order by owner, id"
_FRESH = """
select chunk.id, chunk.owner, fresh_terms.title, fresh_terms.headings, fresh_terms.body
from json_each(:chunks) as wanted cross join chunk on chunk.id = wanted.value
    left join fresh_terms on fresh_terms.chunk = chunk.id"""

Array = NDArray[Any]


@dataclass(slots=True)
class _Postings:
    """Postings as they are found: a term's number and a chunk, with counts by field and positions."""

    terms: dict[str, int] = field(default_factory=dict)
    numbers: list[Array] = field(default_factory=list)
    chunks: list[Array] = field(default_factory=list)
    counts: list[Array] = field(default_factory=list)
    titles: list[Array] = field(default_factory=list)
    headings: list[Array] = field(default_factory=list)
    places: list[Array] = field(default_factory=list)

    def add(self, numbers: Array, occurrences: Array) -> None:
        """Add the occurrences of terms, sorted by term and then numerically."""
        if not len(numbers):
            return
        chunks = occurrences >> _DOC
        fields = (occurrences >> _FIELD) & 3
        runs = np.flatnonzero((np.diff(numbers, prepend=-1) != 0) | (np.diff(chunks, prepend=-1) != 0))
        self.numbers.append(numbers[runs].astype(np.int32))
        self.chunks.append(chunks[runs])
        self.counts.append(smallest(np.diff(runs, append=len(numbers))))
        self.titles.append(smallest(np.add.reduceat((fields == 0).astype(np.int64), runs)))
        self.headings.append(smallest(np.add.reduceat((fields == 1).astype(np.int64), runs)))
        self.places.append(smallest(occurrences & _PLACE))


def from_tables(connection: apsw.Connection) -> dict[str, Array]:
    """Return the sections of a file with the content of the full-text tables."""
    found = _Postings()
    for table in TERM_TABLES:
        listed = connection.execute(_PLACES.format(table=table))
        while some := list(islice(listed, BATCH)):
            # Terms of a named owner begin with a bar, the owner's number and a bar.
            plain = [term.split("|", 2)[2] if table == "owned_terms" else term for term, _ in some]
            occurrences = np.fromstring(",".join(each for _, each in some), np.int64, sep=",")
            many = [each.count(",") + 1 for _, each in some]
            numbers = np.repeat([found.terms.setdefault(term, len(found.terms)) for term in plain], many)
            # The occurrences of a term come as stored, but two owners' terms may be the same.
            found.add(numbers, occurrences)
    return _sections(connection, found)


def from_former(connection: apsw.Connection, former: WordsFile, changed: Sequence[int]) -> dict[str, Array]:
    """Return the sections of an updated file. Raises `Unfit` if a changed chunk's words are unknown."""
    found = _Postings()
    spellings = [former.spelling(number).decode("utf-8", "surrogatepass") for number in range(len(former.ends))]
    found.terms = {term: number for number, term in enumerate(spellings)}
    numbers = np.repeat(np.arange(len(spellings), dtype=np.int32), np.diff(former.starts))
    gone = np.zeros(len(former), np.bool_)
    rows = former.rows_of_chunks(np.array(changed, np.int64))
    gone[rows[rows >= 0]] = True
    held = former.rows[:]
    kept = ~gone[held]
    found.numbers.append(numbers[kept])
    found.chunks.append(former.chunks[held[kept]])
    for name in ("counts", "titles", "headings"):
        getattr(found, name).append(getattr(former, name)[kept])
    found.places.append(former.places[np.repeat(kept, former.counts)])
    _add_fresh(connection, found, changed)
    return _sections(connection, found, former, changed)


def _add_fresh(connection: apsw.Connection, found: _Postings, changed: Sequence[int]) -> None:
    """Add the words of changed chunks that still exist."""
    numbers: list[int] = []
    occurrences: list[int] = []
    for chunk, owner, *fields in connection.execute(_FRESH, {"chunks": json.dumps(changed)}):
        if fields[0] is None:
            raise Unfit("the words of a chunk that changed are not kept")
        skipped = len(Terms(owner).prefix)
        for number, text in enumerate(fields):
            for place, word in enumerate(filter(None, words_of(text))):
                numbers.append(found.terms.setdefault(word[skipped:], len(found.terms)))
                occurrences.append((chunk << _DOC) | (number << _FIELD) | place)
    every = np.array(occurrences, np.int64)
    order = np.lexsort((every, np.array(numbers, np.int64)))
    found.add(np.array(numbers, np.int64)[order], every[order])


def _sections(
    connection: apsw.Connection, found: _Postings, former: WordsFile | None = None, changed: Sequence[int] = ()
) -> dict[str, Array]:
    """Return the sections of a file with the given postings, and with the names of a former one but for changes."""
    kinds = [(name, "<i8") for name in ("owner", "chunk", "id", "document", "length")]
    chunks = np.fromiter(connection.execute(_CHUNKS), np.dtype(kinds))
    held = _joined(found.chunks)
    row_of = np.full(max(int(chunks["chunk"].max(initial=0)), int(held.max(initial=0))) + 1, -1, np.int32)
    row_of[chunks["chunk"]] = np.arange(len(chunks))
    rows = row_of[held]
    numbers = _joined(found.numbers)
    # What is read only once is given up, since the arrays of all postings are most of what indexing takes.
    found.chunks.clear()
    found.numbers.clear()
    # Terms in the tables without a chunk are damage that a check reports.
    there = rows >= 0
    present = np.zeros(len(found.terms), np.bool_)
    present[numbers[there]] = True
    spelled = sorted((encoded(term), number) for term, number in found.terms.items() if present[number])
    rank = np.full(len(found.terms), -1, np.int64)
    rank[[number for _, number in spelled]] = np.arange(len(spelled))
    size = max(len(chunks), 1)
    keys = rank[numbers] * size + rows
    keys[~there] = -1
    order: Array | slice = slice(None)
    if len(keys) and (np.any(keys[1:] < keys[:-1]) or not there.all()):
        order = np.argsort(keys, kind="stable")[np.count_nonzero(~there) :]
    keys = keys[order]
    counts = _joined(found.counts)
    places = _joined(found.places)
    found.counts.clear()
    found.places.clear()
    if not isinstance(order, slice):
        places = _moved(places, counts, order)
    counts = counts[order]
    text = np.frombuffer(b"".join(term for term, _ in spelled), "u1")
    ends = np.cumsum([len(term) for term, _ in spelled], dtype="<i8")
    owners, first = np.unique(chunks["owner"], return_index=True)
    starts = np.searchsorted(keys, np.arange(len(spelled) + 1) * size)
    del keys, rank, row_of, held, numbers, there
    ends_of_places = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    rows = rows[order].astype("<i4")
    counts = smallest(counts)
    titles = smallest(_joined(found.titles)[order])
    headings = smallest(_joined(found.headings)[order])
    sequence_starts, sequences = _sequences(len(chunks), starts, rows, counts, titles, headings, places)
    return {
        "owners": np.stack([owners, first], axis=1).astype("<i8"),
        "chunks": chunks["chunk"].astype("<i8"),
        "ids": chunks["id"].astype("<i8"),
        "by_id": np.argsort(chunks["id"]).astype("<i4"),
        "by_chunk": np.argsort(chunks["chunk"]).astype("<i4"),
        "lengths": chunks["length"].astype("<i4"),
        "spelled": text,
        "ends": smallest(ends),
        "letters": letters_in(text, np.concatenate([[0], ends[:-1]]).astype(np.int64)),
        "starts": smallest(starts),
        "place_starts": smallest(ends_of_places[starts]),
        "rows": rows.astype("<u2") if len(chunks) <= MANY_ROWS else rows,
        "counts": counts,
        "titles": titles,
        "headings": headings,
        "places": smallest(places),
        "sequence_starts": smallest(sequence_starts),
        "sequences": sequences,
        **names_build.sections(connection, chunks["chunk"], chunks["document"], former, changed),
    }


def _sequences(
    chunks: int, starts: Array, rows: Array, counts: Array, titles: Array, headings: Array, places: Array
) -> tuple[Array, Array]:
    """Return where the terms of each row's title and text start, and the terms' numbers in order."""
    lengths = np.zeros(2 * chunks + 1, np.int64)
    for first in range(0, len(rows), MANY):
        some = slice(first, first + MANY)
        twice = 2 * rows[some].astype(np.int64)
        np.add.at(lengths, twice, titles[some])
        np.add.at(lengths, twice + 1, counts[some].astype(np.int64) - titles[some] - headings[some])
    begins = np.cumsum(lengths) - lengths
    terms = len(starts) - 1
    # A place that damage has left empty holds a number that no term has.
    found = np.full(int(lengths.sum()), terms, np.min_scalar_type(terms).newbyteorder("<"))
    done = 0
    for first in range(0, len(rows), MANY):
        some = slice(first, first + MANY)
        times = counts[some].astype(np.int64)
        total = int(times.sum())
        posting = np.repeat(np.arange(len(times)), times)
        within = np.arange(total) - np.repeat(np.cumsum(times) - times, times)
        in_title = within < titles[some][posting]
        in_text = within >= titles[some].astype(np.int64)[posting] + headings[some][posting]
        kept = in_title | in_text
        place_of = places[done : done + total][kept].astype(np.int64)
        field_of = 2 * rows[some].astype(np.int64)[posting[kept]] + in_text[kept]
        number = np.searchsorted(starts, first + posting[kept], side="right") - 1
        whole = place_of < lengths[field_of]
        found[begins[field_of[whole]] + place_of[whole]] = number[whole]
        done += total
    return begins, found


def _moved(places: Array, counts: Array, order: Array) -> Array:
    """Return the positions of postings in another order."""
    firsts = np.cumsum(counts, dtype=np.int64) - counts
    wanted = counts[order].astype(np.int64)
    within = np.arange(int(wanted.sum())) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    found: Array = places[np.repeat(firsts[order], wanted) + within]
    return found


def _joined(arrays: Sequence[Array]) -> Array:
    if arrays:
        return np.concatenate(arrays)
    return np.empty(0, np.int64)
