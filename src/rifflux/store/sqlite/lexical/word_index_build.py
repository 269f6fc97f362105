"""Making the word index, and having it follow the database.

FTS5 keeps no terms by chunk, only chunks by term, so a whole build turns its postings round, some hundred thousand
chunks at a time. What changes afterwards leaves its terms in `fresh_terms` until the word index covers it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import tantivy

from rifflux.store.sqlite.connection.derived import FORGET_FRESH, StateStamp, Unfit, advance, rebuild, touched
from rifflux.store.sqlite.connection.engine import current
from rifflux.store.sqlite.lexical import word_index_terms as words_terms
from rifflux.store.sqlite.lexical.word_index_schema import ROW, entry, facets, schema
from rifflux.store.sqlite.lexical.word_snapshot import FORMAT, WordSnapshot, stamp_file
from rifflux.store.sqlite.query import Terms

#: Chunks whose postings are turned round at a time: about 200 MB of memory.
SPAN = 200_000
#: What Tantivy may fill before it writes a segment, in bytes: for a whole build, and to follow.
HEAP = 64_000_000
SMALL_HEAP = 15_000_000
#: A log of more than this share of all chunks is not followed: building again is faster, and leaves one segment.
MOST_FOLLOWED = 0.5

_POSTINGS = "create virtual table if not exists temp.{table}_posting using fts5vocab(main, {table}, instance)"

# One number for each place where a term stands: they sort as the chunks, their fields and the places in these do.
_PLACES = """
select term, group_concat(
    (doc << 24) | ((case col when 'title' then 0 when 'headings' then 1 else 2 end) << 22) | "offset"
)
from {table}_posting where term >= :prefix and term < :end and doc between :first and :last group by term"""
_DOC = 24
_FIELD = 22
_FIELDS = 3

_CHUNKS = """
select chunk.id, chunk.uid, document.namespace, document.kind, document.key, document.path, document.time,
    document.metadata
from chunk join document on document.id = chunk.document where chunk.owner = :owner and {which} order by chunk.id"""
_SPAN = _CHUNKS.format(which="chunk.id between :first and :last")
_SOME = _CHUNKS.format(which="chunk.id in (select value from json_each(:rows))")

_HIGHEST = "select coalesce(max(id), 0) from chunk where owner = ?"
_COUNT = "select count(*) from chunk where owner = ?"
_FRESH = "select chunk, title, headings, body from fresh_terms where chunk in (select value from json_each(:rows))"

_Terms = Mapping[int, Sequence[str]]
_NO_TERMS = ("", "", "")


class _TooMuch(Exception):
    """Raised where following the log is not possible, or not worth it."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Makes an owner's word index at a place, and brings it up to date. `connection` must be its own."""

    connection: apsw.Connection
    place: Path
    terms: Terms

    def keep(self) -> bool:
        """Bring it up to date, or build it; False if another process or thread is at it."""
        known = current(self.connection, self.terms.index)
        if known is None or not known.token:
            return self.build()
        try:
            if not touched(self.connection, self.terms.index, known.covered):
                WordSnapshot.open(self.place, known, self.terms)
                return True
            return self._follow()
        except (Unfit, _TooMuch):
            return self.build()

    def build(self) -> bool:
        """Rebuild it; False if another process or thread is at it."""
        done = rebuild(self.connection, self.place, self.terms.index, FORMAT, self._write)
        if done:
            self.connection.execute(FORGET_FRESH)
        return done

    def _write(self, new: Path, stamp: StateStamp) -> None:
        new.mkdir(0o700)
        writer = tantivy.Index(schema(), str(new)).writer(HEAP, 1)
        owner = self.terms.owner
        terms: set[str] = set()
        for first in range(1, self.connection.execute(_HIGHEST, (owner,)).get + 1, SPAN):
            span = {"first": first, "last": first + SPAN - 1}
            chunks = self.connection.execute(_SPAN, span | {"owner": owner})
            _add(writer, chunks, self._terms_by_chunk(span, terms))
        writer.commit()
        writer.wait_merging_threads()
        words_terms.write(new, self._plain(terms))
        (new / stamp_file(stamp.token)).write_bytes(stamp.encoded())

    def _follow(self) -> bool:
        done = advance(self.connection, self.place, self.terms.index, FORMAT, self._change)
        if done:
            self.connection.execute(FORGET_FRESH)
            self._sweep()
        return done

    def _change(self, place: Path, stamp: StateStamp) -> None:
        """Replace the entries of all chunks that the log names."""
        known = current(self.connection, self.terms.index)
        assert known is not None, "a copy was built before"
        snapshot = WordSnapshot.open(place, known, self.terms)
        rows = touched(self.connection, self.terms.index, known.covered)
        if len(rows) > MOST_FOLLOWED * self.connection.execute(_COUNT, (self.terms.owner,)).get:
            raise _TooMuch
        bound = {"rows": json.dumps(rows)}
        chunks = self.connection.execute(_SOME, bound | {"owner": self.terms.owner}).fetchall()
        terms = {row: fields for row, *fields in self.connection.execute(_FRESH, bound)}
        if len(terms) < len(chunks):
            raise _TooMuch
        writer = snapshot.index.writer(SMALL_HEAP, 1)
        # By query: deleting by a term that is a number deletes nothing in tantivy 0.27.
        writer.delete_documents_by_query(tantivy.Query.term_set_query(snapshot.index.schema, ROW, rows))
        _add(writer, chunks, terms)
        writer.commit()
        writer.wait_merging_threads()
        words_terms.extend(
            place, self._plain(word for fields in terms.values() for each in fields for word in each.split())
        )
        (place / stamp_file(stamp.token)).write_bytes(stamp.encoded())

    def _sweep(self) -> None:
        """Remove the stamps of former states."""
        known = current(self.connection, self.terms.index)
        for path in self.place.glob(stamp_file("*")):
            if known and path.name != stamp_file(known.token):
                path.unlink(missing_ok=True)

    def _plain(self, terms: Iterable[str]) -> Iterator[str]:
        """Return terms without their owner."""
        return (term[len(self.terms.prefix) :] for term in terms)

    def _terms_by_chunk(self, span: Mapping[str, int], every: set[str]) -> _Terms:
        """Yield the terms of each chunk of a span, in order, by field, from the postings of the full-text table.

        All of them are added to `every`.
        """
        table = self.terms.table
        prefix = self.terms.prefix
        self.connection.execute(_POSTINGS.format(table=table))
        bound = {**span, "prefix": prefix, "end": prefix + chr(0x10FFFF)}
        terms = []
        counts = []
        places = []
        for term, listed in self.connection.execute(_PLACES.format(table=table), bound):
            found = np.fromstring(listed, np.int64, sep=",")
            terms.append(term)
            counts.append(len(found))
            places.append(found)
        if not terms:
            return {}
        every.update(terms)
        where = np.concatenate(places)
        order = np.argsort(where)
        words = np.array(terms, object)[np.repeat(np.arange(len(terms)), counts)[order]].tolist()
        return _split(where[order] >> _FIELD, words)


def _add(writer: tantivy.IndexWriter, chunks: Iterable[Any], terms: _Terms) -> None:
    for row, id, *described, time, metadata in chunks:
        writer.add_document(entry(row, id, terms.get(row, _NO_TERMS), _facets(*described, metadata), time))


# The chunks of a document mostly follow one another.
@lru_cache(maxsize=64)
def _facets(namespace: str, kind: str, key: str, path: str, metadata: str) -> list[str]:
    return facets(namespace, kind, key, path, json.loads(metadata))


def _split(fields: np.ndarray[Any, np.dtype[np.int64]], words: Sequence[str]) -> _Terms:
    """Split the words of each chunk by field; `fields` has for each word the row and the field as one number."""
    starts = np.flatnonzero(np.diff(fields, prepend=-1))
    found: dict[int, list[str]] = {}
    ends = [*starts[1:].tolist(), len(words)]
    for field, start, end in zip(fields[starts].tolist(), starts.tolist(), ends, strict=True):
        held = found.setdefault(field >> (_DOC - _FIELD), [""] * _FIELDS)
        held[field & (1 << (_DOC - _FIELD)) - 1] = " ".join(words[start:end])
    return found
