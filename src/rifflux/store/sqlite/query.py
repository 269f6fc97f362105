"""Queries of the full-text tables for the terms of an owner, their results, and vectors as they are stored.

Terms of a named owner are prefixed with the owner's number: `|7|cache`. No analyzer produces a term with a bar, and
bars are removed from other input, so that no term of one owner can be confused with another's. Every term of an
expression is quoted, so user input is never read as syntax.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux import kernels
from rifflux.store.catalog import ChunkFacts
from rifflux.store.lexical import MOST_CLAUSES, FieldWeights
from rifflux.store.sqlite.connection.counts import BITS, MOST
from rifflux.text.properties import KINDS, searchable_properties
from rifflux.types import Clause, Identifier, Ids, Query, Ranking, Scores, Vectors

_LARGEST = np.iinfo(np.int16).max

#: The name of the derived file with all owners' terms.
WORDS = "words"

#: The maximum number of rows of terms cached per set of owners.
MOST_ROWS = 1 << 21

# Characters that FTS5's tokenizer treats as spaces, besides spaces.
_SEPARATORS = re.compile("[\x00-\x20'\"\x7f]+")
#: Characters that end a term in the tables, and the bar.
_NO_TERM = re.compile(r"[\x00-\x1f\x7f'\"|]")

# The index covers this query; in the table, the chunks of one owner are scattered.
_CHUNKS = """
with asked as (select value as owner from json_each(:owners))
select chunk.id, chunk.uid, chunk.length
from asked cross join chunk indexed by chunk_owner on chunk.owner = asked.owner"""

_DOCUMENTS = """
with asked as (select value as owner from json_each(:owners))
select chunk.document from asked cross join chunk on chunk.owner = asked.owner order by chunk.id"""

# One number for each occurrence of a term: the row, then the field. All terms in one statement: a pasted page has
# hundreds of them.
_PLACES = """
select (
    select group_concat((doc << 2) | (case col when 'title' then 0 when 'headings' then 1 else 2 end))
    from temp.{table}_posting where term = wanted.value)
from json_each(:terms) as wanted"""
_MATCHING = "select rowid, field_counts({table}) from {table} where {table} match :terms"
_NAMED = "select rowid from {table} where {table} match :terms"

# Metadata may be long and rarely contains aliases.
# Most documents have no identifiers, and an empty list is costly to make.
#: What `facts_of` reads of a document.
DOCUMENT_FACTS = f"""
    document.title, document.key, document.key = document.path, document.namespace, document.kind, document.language,
    iif(document.kind in {tuple(sorted(KINDS))} and instr(document.metadata, '"alias'), document.metadata, ''),
    iif(exists (select 1 from identifier where identifier.document = document.id), (
        select json_group_array(json_array(scheme, value) order by scheme, value)
        from identifier where identifier.document = document.id
    ), '[]')"""

# The overhead of json.loads exceeds the decoding of a few words.
decoded = json.JSONDecoder().raw_decode
#: What decoding a row ends in that holds something else than its table does.
MISREAD = (TypeError, ValueError, AttributeError, zlib.error)
NO_TEXT = "a column that holds text does not"

Array = NDArray[Any]


class Terms:
    """The terms of one owner, by number; those of owner 0 are unprefixed.

    `table` is the full-text table that contains them.
    """

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.table = "owned_terms" if owner else "chunk_terms"
        self.prefix = f"|{owner}|" if owner else ""

    def joined(self, terms: str) -> str:
        """Return terms joined by spaces, as stored in the table."""
        if not self.owner and not _NO_TERM.search(terms):
            return terms
        words = _NO_TERM.sub("", terms).split()
        if not words:
            return ""
        return self.prefix + f" {self.prefix}".join(words)

    def expression(self, query: Query) -> str:
        """Return the MATCH expression that ranks the query, or an empty string if it has no terms."""
        wanted = self.ranked(query)
        if query.required:
            # The required clauses are repeated among the wanted ones, so that the others may be missing.
            required = self.all_of(query)
            ranked = f"({required}) AND ({' OR '.join([f'({required})', *wanted])})"
        elif wanted:
            ranked = f"({' OR '.join(wanted)})"
        else:
            return ""
        if query.excluded:
            return f"({ranked}) NOT ({self.any_of(query)})"
        return ranked

    def ranked(self, query: Query) -> list[str]:
        """Return the alternatives of a query, each as an expression."""
        prefixes = (self.phrase(each) for each in zip(query.prefixes[:MOST_CLAUSES], strict=True))
        return [*self._phrases((*query.clauses, *query.variants)), *(f"{prefix} *" for prefix in prefixes)]

    def all_of(self, query: Query) -> str:
        """Return an expression for the clauses that must match, or an empty string."""
        every = [self._phrases(forms) for forms in required_forms(query)]
        return " AND ".join(forms[0] if len(forms) == 1 else f"({' OR '.join(forms)})" for forms in every)

    def any_of(self, query: Query) -> str:
        """Return an expression for the clauses that must not match, or an empty string."""
        return " OR ".join(self._phrases(query.excluded))

    def _phrases(self, clauses: Sequence[Clause]) -> list[str]:
        return [*(self.phrase(each) for each in clauses[:MOST_CLAUSES])]

    def phrase(self, clause: Clause) -> str:
        """Return a clause, quoted."""
        return '"' + " ".join(self.prefix + word for word in plain_words(clause)) + '"'


def plain_words(clause: Clause) -> list[str]:
    """Return the terms of a clause as stored, without an owner: with ASCII letters in lower case."""
    return [word for term in clause for word in words_of(_NO_TERM.sub("", term)) if word]


def by_table(owners: Iterable[int]) -> list[tuple[str, list[Terms]]]:
    """Return the terms of some owners by the table that contains them."""
    found: dict[str, list[Terms]] = {}
    for terms in (Terms(owner) for owner in owners):
        found.setdefault(terms.table, []).append(terms)
    return [*found.items()]


def required_forms(query: Query) -> list[tuple[Clause, ...]]:
    """Return the clauses that must match, each with its forms in other languages, of which one suffices."""
    return [(clause, *query.languages.forms.get(clause, ())) for clause in query.required[:MOST_CLAUSES]]


def words_of(text: str) -> list[str]:
    """Split a text like FTS5's tokenizer, with ASCII letters in lower case."""
    text = _SEPARATORS.sub(" ", text).strip()
    if text.isascii():
        return text.lower().split()
    return "".join(char.lower() if char.isascii() else char for char in text).split(" ")


def best(ids: Ids, scores: Scores, limit: int) -> Ranking:
    """Return the `limit` highest scores in order, ties by id."""
    if kernels.compiled:
        size = min(limit, len(ids))
        found = Ranking(np.empty(size, np.int64), np.empty(size))
        kernels.compiled.best(ids, scores, found.ids, found.scores)
        return found
    if len(ids) > limit:
        # Everything that ties with the last place is included, so that the id decides and not the array's order.
        lowest = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        keep = scores >= lowest
        ids = ids[keep]
        scores = scores[keep]
    falling = -scores
    order = np.argsort(falling)
    falling = falling[order]
    differing = falling[1:] != falling[:-1]
    if not differing.all():
        # Sorted by one whole number each, which takes half as long as sorting by two keys.
        count = len(order)
        numbers = np.empty(count, np.int64)
        numbers[np.argsort(ids)] = np.arange(count)
        numbers = numbers[order]
        numbers[1:] += count * np.cumsum(differing)
        order = order[np.argsort(numbers)]
    order = order[:limit]
    return Ranking(ids[order], scores[order])


# Occurrences of terms


@dataclass(frozen=True, slots=True)
class Matches:
    """The rows that contain a term, phrase or prefix, ascending, with its counts in all fields and in two of them."""

    rows: Array
    counts: Array
    titles: Array
    headings: Array
    _saturated: dict[FieldWeights, Scores] = field(default_factory=dict, init=False, repr=False, compare=False)

    def at(self, places: Array) -> Matches:
        """Return the rows at some positions, or of a mask."""
        return Matches(self.rows[places], self.counts[places], self.titles[places], self.headings[places])

    def saturated(self, weights: FieldWeights, norms: Scores) -> Scores:
        """Return each row's contribution to BM25 without the idf, given the norms of all rows; cached.

        This is the only place that computes it. The operations are in the order of SQLite's bm25(), so that both round
        alike.
        """
        found = self._saturated.get(weights)
        if found is None:
            frequencies = weights.body * self.counts.astype(np.float64)
            frequencies += (weights.title - weights.body) * self.titles
            if weights.headings != weights.body:
                frequencies += (weights.headings - weights.body) * self.headings
            found = frequencies * (weights.k1 + 1.0) / (frequencies + norms[self.rows])
            self._saturated[weights] = found
        return found


#: No rows.
NO_MATCHES = Matches(*(np.empty(0, np.int64) for _ in range(4)))


def joined(parts: Sequence[Matches]) -> Matches:
    """Return the rows of several parts, each with higher rows than the previous one."""
    if not parts:
        return NO_MATCHES
    columns = zip(*((each.rows, each.counts, each.titles, each.headings) for each in parts), strict=True)
    return Matches(*(np.concatenate(column) for column in columns))


def norms(weights: FieldWeights, lengths: Array, total_length: int, chunks: int) -> Scores:
    """Return what BM25 adds to the frequency of a term for each chunk's length, relative to the mean."""
    mean = total_length / max(chunks, 1) or 1.0
    found: Scores = weights.k1 * (1 - weights.b + weights.b * lengths / mean)
    return found


@dataclass(frozen=True, slots=True)
class ChunkColumns:
    """The chunks of some owners by row number, ascending, and the matches of terms read so far.

    `by_id` are the rows in the order of the public ids, `total_length` is the number of terms in all chunks.
    """

    chunks: Ids
    ids: Ids
    lengths: Ids
    by_id: Ids
    total_length: int
    #: The memory that they take.
    nbytes: int
    matches: dict[tuple[Clause, bool], Matches] = field(default_factory=dict)

    @classmethod
    def read(cls, connection: apsw.Connection, owners: Sequence[int]) -> ChunkColumns:
        """Return the columns of some owners' chunks, read from the database."""
        kinds = np.dtype([("chunk", "<i8"), ("id", "<i8"), ("length", "<i8")])
        rows = connection.execute(_CHUNKS, {"owners": json.dumps(owners)})
        every = np.sort(np.fromiter(rows, kinds), order="chunk")
        chunks, ids, lengths = (np.ascontiguousarray(every[name]) for name in ("chunk", "id", "length"))
        return cls(chunks, ids, lengths, np.argsort(ids), int(lengths.sum()), 4 * chunks.nbytes)

    def keep(self, fresh: Mapping[tuple[Clause, bool], Matches]) -> None:
        """Cache matches, dropping all others if they are too many."""
        if sum(len(each.rows) for each in self.matches.values()) > MOST_ROWS:
            self.matches.clear()
        self.matches.update(fresh)


@dataclass(frozen=True, slots=True)
class TableWords:
    """The terms of some owners' chunks read from the tables at one time, if no words file covers them."""

    connection: apsw.Connection
    owners: tuple[int, ...]
    columns: ChunkColumns
    #: The public id of each row.
    ids: Ids
    #: The number of chunks.
    chunks: int
    #: The matches read by this search.
    fresh: dict[tuple[Clause, bool], Matches] = field(default_factory=dict)

    @property
    def documents(self) -> Ids:
        """Return the document of each row."""
        found = self.connection.execute(_DOCUMENTS, {"owners": json.dumps(self.owners)})
        return np.fromiter((document for (document,) in found), np.int64)

    def norms(self, weights: FieldWeights) -> Scores:
        """Return for each row what BM25 adds for its length."""
        return norms(weights, self.columns.lengths, self.columns.total_length, self.chunks)

    def rows_of_ids(self, ids: Ids) -> Ids:
        """Return the row of each public id, or -1 for an invisible one."""
        return places_of(ids, self.columns.ids, self.columns.by_id)

    def matches(self, clause: Clause, *, prefix: bool = False) -> Matches:
        """Return the rows that contain a phrase of adjacent terms, or a term with a prefix."""
        words = tuple(plain_words(clause))
        key = words, prefix
        found = self.fresh.get(key) or self.columns.matches.get(key)
        if found is not None or not words:
            return found or NO_MATCHES
        if len(words) == 1 and not prefix:
            self.read(words)
            return self.fresh[key]
        packed: list[Any] = []
        for table, every in by_table(self.owners):
            matched = " OR ".join(terms.phrase(words) + (" *" if prefix else "") for terms in every)
            packed += self.connection.execute(_MATCHING.format(table=table), {"terms": matched}).fetchall()
        chunks, counts = np.array(sorted(packed), np.int64).reshape(-1, 2).T
        titles = counts >> 2 * BITS
        headings = (counts >> BITS) & MOST
        self.fresh[key] = self._seen(chunks, titles + headings + (counts & MOST), titles, headings)
        return self.fresh[key]

    def read(self, words: Iterable[str]) -> None:
        """Read the rows that contain each of some words, unless they were read before."""
        parts: dict[str, list[Ids]] = {}
        for word in words:
            if self.columns.matches.get(((word,), False)) is None:
                parts[word] = []
        for table, every in by_table(self.owners) if parts else ():
            wanted = [(word, terms.prefix + word) for word in parts for terms in every]
            bound = {"terms": json.dumps([term for _, term in wanted])}
            found: Any = self.connection.execute(_PLACES.format(table=table), bound)
            for (word, _), (listed,) in zip(wanted, found, strict=True):
                if listed:
                    parts[word].append(np.fromstring(listed, np.int64, sep=","))
        for word, some in parts.items():
            matches = NO_MATCHES
            if some:
                places = np.sort(np.concatenate(some))
                starts = np.flatnonzero(np.diff(places >> 2, prepend=-1))
                fields = [places & 3 == 0, places & 3 == 1]
                titles, headings = np.add.reduceat(fields, starts, axis=1, dtype=np.int64)
                counts = np.diff(starts, append=len(places))
                matches = self._seen(places[starts] >> 2, counts, titles, headings)
            self.fresh[(word,), False] = matches

    def _seen(self, chunks: Ids, counts: Ids, titles: Ids, headings: Ids) -> Matches:
        """Return the rows of chunks, ascending, without invisible ones."""
        rows = places_of(chunks, self.columns.chunks)
        found = Matches(rows, counts, titles, headings)
        return found.at(rows >= 0) if np.any(rows < 0) else found


def named(connection: apsw.Connection, owners: Sequence[int], query: Query) -> Ids:
    """Return the chunks that MATCH finds for a query, ignoring its filter."""
    found: list[int] = []
    for terms in (Terms(owner) for owner in owners):
        if expression := terms.expression(query):
            rows = connection.execute(_NAMED.format(table=terms.table), {"terms": expression})
            found += [chunk for (chunk,) in rows]
    return np.array(found, np.int64)


def places_of(wanted: Array, known: Array, order: Array | None = None) -> Ids:
    """Return the positions of wanted values in `known`, ascending or sorted by `order`; -1 for missing ones."""
    if not len(known):
        return np.full(len(wanted), -1)
    rows: Ids = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    if order is not None:
        rows = order[rows]
    return np.where(known[rows] == wanted, rows, -1)


class Ascending:
    """Values of a mapped file in ascending order, made when they are first looked up.

    At every look-up, numpy would convert an order of 32-bit integers, which takes longer than the search itself.
    """

    def __init__(self, values: Array, order: Array) -> None:
        self._given = values
        self._order = order
        self._values: Array | None = None

    def places_of(self, wanted: Array) -> Ids:
        """Return the original position of each wanted value, -1 for missing ones."""
        known = self._values
        if known is None:
            known = self._values = self._given[self._order]
        if kernels.compiled:
            found = np.empty(len(wanted), np.int64)
            kernels.compiled.places(known, self._order, wanted, found)
            return found
        if not len(known):
            return np.full(len(wanted), -1)
        places = np.minimum(known.searchsorted(wanted), len(known) - 1)
        return np.where(known[places] == wanted, self._order[places], -1)


def facts_of(row: Sequence[Any]) -> ChunkFacts:
    """Return the facts in a row: headings, then `DOCUMENT_FACTS`. Raises one of `MISREAD`."""
    headings, title, key, is_path, namespace, kind, language, metadata, names = row
    if not (isinstance(title, str) and isinstance(kind, str)):
        raise TypeError(NO_TEXT)
    aliases: tuple[str, ...] = ()
    if metadata:
        aliases = searchable_properties(kind, json.loads(metadata)).names
    path = () if headings == "[]" else tuple(decoded(headings)[0])
    identifiers = () if names == "[]" else tuple(starmap(Identifier, json.loads(names)))
    return ChunkFacts(title, path, aliases, key, bool(is_path), namespace, language, kind, identifiers)


def rounded(vectors: Vectors) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Return vectors as they are stored and compared: as integers (rows, dimension), with a scale for each.

    Cosines differ by about 2e-6 from those of 32-bit floats. (8-bit integers take half the space, but err by .002,
    which changes ranks; half-precision floats take four times as long, since numpy converts them one by one.) Rounding
    what was rounded changes nothing: a product of the scale with the greatest integer, as a 32-bit float, divided by
    that integer, is the scale again. So a vector may be read, copied and stored any number of times.
    """
    scales = (np.abs(vectors).max(axis=1, initial=0) / _LARGEST).astype("<f4")
    return np.rint(vectors / np.maximum(scales[:, None], np.finfo(np.float32).tiny)).astype("<i2"), scales


def rounded_all(vectors: Mapping[int, Vectors]) -> dict[int, Vectors]:
    """Return vectors by id, rounded."""
    if not vectors:
        return {}
    values, scales = rounded(np.array([*vectors.values()], np.float32))
    return dict(zip(vectors, values * scales[:, None], strict=True))


def from_bytes(data: Sequence[bytes], dimension: int | None = None) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Return the integers and scales of rounded vectors, each given as the bytes of its scale and of its integers.

    `dimension` is needed where there may be none.
    """
    if dimension is None:
        dimension = len(data[0]) // 2 - 2
    rows = np.frombuffer(b"".join(data), [("scale", "<f4"), ("values", "<i2", (dimension,))])
    return rows["values"], rows["scale"]
