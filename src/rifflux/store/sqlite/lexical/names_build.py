"""Building of the names in the words file: of all documents, or of the previous file and the documents that changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux.store.catalog import ChunkFacts
from rifflux.store.sqlite.lexical.names_file import COLUMNS, LISTS, NAMES, SEQUENCES, Sequences, pieces_of
from rifflux.store.sqlite.lexical.words_file import WordsFile, encoded, smallest
from rifflux.store.sqlite.query import DOCUMENT_FACTS, MISREAD, facts_of, places_of
from rifflux.text.analyzer import Memo, first_mark
from rifflux.types import Ids

Array = NDArray[Any]

#: How the values of each sort of sequence are kept while they are numbered.
_KINDS = ("u1", "<u4", "<u4")

_DOCUMENTS = f"select document.id, '[]', {DOCUMENT_FACTS} from document"
_HEADINGS = "select id, headings from chunk where headings <> '[]'"
_SOME_DOCUMENTS = f"{_DOCUMENTS} where document.id in (select value from json_each(?))"
_SOME_HEADINGS = f"{_HEADINGS} and id in (select value from json_each(?))"


class _Numbers:
    """Numbers of pieces, names and lists of names, each once, in the order in which they are first met."""

    def __init__(self, former: Iterable[Sequences]) -> None:
        self._numbers: list[dict[bytes, int]] = [{}, {b"": 0}, {b"": 0}]
        for numbers, kind, known in zip(self._numbers, _KINDS, former, strict=False):
            numbers.clear()
            data = known.values.astype(kind).tobytes()
            ends = (known.starts.astype(np.int64) * np.dtype(kind).itemsize).tolist()
            for start, end in pairwise(ends):
                numbers[data[start:end]] = len(numbers)
        self.name = Memo(self._name).__getitem__
        self.headings = Memo(self._headings).__getitem__

    def _name(self, name: str) -> int:
        pieces, names, _ = self._numbers
        numbers = [pieces.setdefault(encoded(each), len(pieces)) for each in pieces_of(name)]
        return names.setdefault(np.array(numbers, "<u4").tobytes(), len(names))

    def listed(self, names: Iterable[str]) -> int:
        """Return the number of a list of names."""
        lists = self._numbers[2]
        return lists.setdefault(np.array([*map(self.name, names)], "<u4").tobytes(), len(lists))

    def _headings(self, stored: str) -> int:
        return self.listed(json.loads(stored))

    def columns(self, facts: ChunkFacts) -> tuple[int, ...]:
        """Return the columns of a document."""
        names = [self.name(getattr(facts, name)) for name in NAMES]
        identifiers = [part for each in facts.identifiers for part in (each.scheme, each.value)]
        lists = [self.listed(each) for each in (facts.aliases, identifiers)]
        return (*names, *lists, first_mark(facts.title), first_mark(facts.key), facts.is_path, False)

    def sequences(self) -> list[Sequences]:
        """Return all pieces, names and lists."""
        found = []
        for numbers, kind in zip(self._numbers, _KINDS, strict=True):
            size = np.dtype(kind).itemsize
            starts = np.array([*accumulate(map(len, numbers), initial=0)], np.int64) // size
            found.append(Sequences(np.frombuffer(b"".join(numbers), kind), starts))
        return found


def sections(
    connection: apsw.Connection,
    chunks: Ids,
    documents: Ids,
    former: WordsFile | None = None,
    changed: Sequence[int] = (),
) -> dict[str, Array]:
    """Return the sections of a file that hold names, for rows of chunks of some documents.

    With a `former` file only the names of `changed` chunks and of their documents are read. Documents with rows that
    are damaged have none.
    """
    wanted = np.unique(documents)
    listed: Any
    headed: Any
    heads = np.zeros(len(chunks), np.int64)
    if former:
        numbers = _Numbers((former.names.spelled, former.names.names, former.names.lists))
        rows = np.where(np.isin(chunks, changed), -1, former.rows_of_chunks(chunks))
        held = rows >= 0
        heads[held] = former.names.heads[rows[held]]
        gone = former.rows_of_chunks(np.array(changed, np.int64))
        other = np.concatenate([documents[~held], former.documents[gone[gone >= 0]]])
        kept = np.setdiff1d(np.intersect1d(former.names.documents, wanted), other)
        places = places_of(kept, former.names.documents)
        table = np.stack([former.names.columns[name][places].astype(np.int64) for name in COLUMNS], axis=1)
        read = json.dumps(np.setdiff1d(wanted, kept).tolist())
        listed = connection.execute(_SOME_DOCUMENTS, (read,)).fetchall()
        headed = connection.execute(_SOME_HEADINGS, (json.dumps(chunks[~held].tolist()),)).fetchall()
    else:
        numbers = _Numbers(())
        kept = wanted[:0]
        table = np.empty((0, len(COLUMNS)), np.int64)
        listed = connection.execute(_DOCUMENTS)
        headed = connection.execute(_HEADINGS)
    found: list[int] = []
    columns: list[tuple[int, ...]] = []
    for document, *row in listed:
        try:
            columns.append(numbers.columns(facts_of(row)))
        except MISREAD:
            continue
        found.append(document)
    numbered: list[tuple[int, int]] = []
    damaged: list[int] = []
    for chunk, headings in headed:
        try:
            numbered.append((chunk, numbers.headings(headings)))
        except MISREAD:
            damaged.append(chunk)
    order = np.argsort(chunks)
    places = places_of(np.array([chunk for chunk, _ in numbered], np.int64), chunks, order)
    heads[places[places >= 0]] = np.array([number for _, number in numbered], np.int64)[places >= 0]
    broken = documents[places_of(np.array(damaged, np.int64), chunks, order)]
    every = np.concatenate([kept, np.array(found, np.int64)])
    whole = np.isin(every, wanted) & ~np.isin(every, broken)
    columns_of = np.zeros((len(wanted), len(COLUMNS)), np.int64)
    columns_of[:, -1] = 1
    known = np.concatenate([table, np.array(columns, np.int64).reshape(-1, len(COLUMNS))])
    columns_of[np.searchsorted(wanted, every[whole])] = known[whole]
    stored = _stored(wanted, columns_of, heads, numbers.sequences())
    return stored | {"document_places": smallest(np.searchsorted(wanted, documents))}


def _stored(documents: Ids, table: Array, heads: Array, sequences: Sequence[Sequences]) -> dict[str, Array]:
    """Return the sections of some documents and of each row's headings, without what neither of them has."""
    columns = dict(zip(COLUMNS, table.T, strict=True))
    pieces, names, lists = sequences
    first = np.zeros(1, np.int64)
    lists, number = _without_others(lists, [first, heads, *(columns[name] for name in LISTS)])
    heads = number[heads]
    columns |= {name: number[columns[name]] for name in LISTS}
    names, number = _without_others(names, [first, lists.values, *(columns[name] for name in NAMES)])
    lists = Sequences(number[lists.values], lists.starts)
    columns |= {name: number[columns[name]] for name in NAMES}
    pieces, number = _without_others(pieces, [names.values])
    names = Sequences(number[names.values], names.starts)
    found = {"named": _records([documents.astype("<i8"), *map(smallest, columns.values())]), "heads": smallest(heads)}
    for name, each in zip(SEQUENCES, (pieces, names, lists), strict=True):
        found |= {name: smallest(each.values), f"{name}_starts": smallest(each.starts)}
    return found


def _records(columns: Sequence[Array]) -> Array:
    """Return columns as one array of records."""
    found = np.empty(len(columns[0]), ",".join(each.dtype.str for each in columns))
    for name, values in zip(found.dtype.names or (), columns, strict=True):
        found[name] = values
    return found


def _without_others(sequences: Sequences, used: Sequence[Array]) -> tuple[Sequences, Ids]:
    """Return the sequences whose numbers are used, and the new number of each."""
    kept = np.zeros(len(sequences), np.bool_)
    for numbers in used:
        kept[numbers] = True
    lengths = np.diff(sequences.starts)
    starts = np.concatenate([[0], np.cumsum(lengths[kept])])
    return Sequences(sequences.values[np.repeat(kept, lengths)], starts), np.cumsum(kept) - 1
