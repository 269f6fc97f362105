"""Making the word index, and having it follow the database.

FTS5 keeps no terms by chunk, only chunks by term, so a whole build turns its postings round, some hundred thousand
chunks at a time. What changes afterwards leaves its terms in `fresh_terms` until the word index covers it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import tantivy

from rifflux.store.sqlite.derived import Stamp, Unfit, advance, current, rebuild, touched
from rifflux.store.sqlite.words import NAME, Snapshot, stamp_file
from rifflux.store.sqlite.words_schema import FORMAT, ROW, entry, facets, schema

__all__ = ["build", "keep"]

#: Chunks whose postings are turned round at a time: about 200 MB of memory.
SPAN = 200_000
#: What Tantivy may fill before it writes a segment, in bytes: for a whole build, and to follow.
HEAP, SMALL_HEAP = 64_000_000, 15_000_000
#: A log of more than this share of all chunks is not followed: building anew is faster, and leaves one segment.
MOST_FOLLOWED = 0.5

_POSTINGS = "create virtual table if not exists temp.posting using fts5vocab(main, chunk_terms, instance)"

# One number for each place where a term stands: they sort as the chunks, their fields and the places in these do.
_PLACES = """
select term, group_concat(
    (doc << 24) | ((case col when 'title' then 0 when 'headings' then 1 else 2 end) << 22) | "offset"
)
from posting where doc between :first and :last group by term"""
_DOC, _FIELD, _FIELDS = 24, 22, 3

_CHUNKS = """
select chunk.id, chunk.uid, document.collection, document.kind, document.key, document.path, document.time,
    document.metadata
from chunk join document on document.id = chunk.document where chunk.owner = 0 and {which} order by chunk.id"""
_SPAN = _CHUNKS.format(which="chunk.id between :first and :last")
_SOME = _CHUNKS.format(which="chunk.id in (select value from json_each(:rows))")

_HIGHEST = "select coalesce(max(id), 0) from chunk"
_COUNT = "select count(*) from chunk where owner = 0"
_FRESH = "select chunk, title, headings, body from fresh_terms where chunk in (select value from json_each(:rows))"
_FORGET = "delete from fresh_terms where chunk not in (select chunk from touched where what = 'words')"

_Terms = Mapping[int, Sequence[str]]
_NO_TERMS = ("", "", "")


class _TooMuch(Exception):
    """Raised where following the log is not possible, or not worth it."""


def keep(connection: apsw.Connection, place: Path) -> bool:
    """Bring the word index up to date, or build it; False if another process or thread is at it.

    `connection` must be this call's own.
    """
    known = current(connection, NAME)
    if known is None or not known.token:
        return build(connection, place)
    try:
        if not touched(connection, NAME, known.covered):
            Snapshot.open(place, known)
            return True
        return _follow(connection, place)
    except (Unfit, _TooMuch):
        return build(connection, place)


def build(connection: apsw.Connection, place: Path) -> bool:
    """Build the word index anew; False if another process or thread is at it."""

    def write(new: Path, stamp: Stamp) -> None:
        new.mkdir()
        writer = tantivy.Index(schema(), str(new)).writer(HEAP, 1)
        for first in range(1, connection.execute(_HIGHEST).get + 1, SPAN):
            span = {"first": first, "last": first + SPAN - 1}
            _add(writer, connection.execute(_SPAN, span), _terms_by_chunk(connection, span))
        writer.commit()
        writer.wait_merging_threads()
        (new / stamp_file(stamp.token)).write_bytes(stamp.encoded())

    done = rebuild(connection, place, NAME, FORMAT, write)
    if done:
        connection.execute(_FORGET)
    return done


def _follow(connection: apsw.Connection, place: Path) -> bool:
    """Replace the entries of all chunks that the log names."""

    def change(place: Path, stamp: Stamp) -> None:
        known = current(connection, NAME)
        assert known is not None, "a copy was built before"
        snapshot = Snapshot.open(place, known)
        rows = touched(connection, NAME, known.covered)
        if len(rows) > MOST_FOLLOWED * connection.execute(_COUNT).get:
            raise _TooMuch
        bound = {"rows": json.dumps(rows)}
        chunks = connection.execute(_SOME, bound).fetchall()
        terms = {row: fields for row, *fields in connection.execute(_FRESH, bound)}
        if len(terms) < len(chunks):
            raise _TooMuch
        writer = snapshot.index.writer(SMALL_HEAP, 1)
        # By query: deleting by a term that is a number deletes nothing in tantivy 0.27.
        writer.delete_documents_by_query(tantivy.Query.term_set_query(snapshot.index.schema, ROW, rows))
        _add(writer, chunks, terms)
        writer.commit()
        writer.wait_merging_threads()
        (place / stamp_file(stamp.token)).write_bytes(stamp.encoded())

    done = advance(connection, place, NAME, FORMAT, change)
    if done:
        connection.execute(_FORGET)
        _sweep(connection, place)
    return done


def _sweep(connection: apsw.Connection, place: Path) -> None:
    """Remove the stamps of former states."""
    known = current(connection, NAME)
    for path in place.glob(stamp_file("*")):
        if known and path.name != stamp_file(known.token):
            path.unlink(missing_ok=True)


def _add(writer: tantivy.IndexWriter, chunks: Iterable[Any], terms: _Terms) -> None:
    for row, id, *described, time, metadata in chunks:
        writer.add_document(entry(row, id, terms.get(row, _NO_TERMS), _facets(*described, metadata), time))


# The chunks of a document mostly follow one another.
@lru_cache(maxsize=64)
def _facets(collection: str, kind: str, key: str, path: str, metadata: str) -> list[str]:
    return facets(collection, kind, key, path, json.loads(metadata))


def _terms_by_chunk(connection: apsw.Connection, span: Mapping[str, int]) -> _Terms:
    """The terms of each chunk of a span, in order, by field, from the postings of the full-text table."""
    connection.execute(_POSTINGS)
    terms, counts, places = [], [], []
    for term, listed in connection.execute(_PLACES, span):
        found = np.fromstring(listed, np.int64, sep=",")
        terms.append(term)
        counts.append(len(found))
        places.append(found)
    if not terms:
        return {}
    where = np.concatenate(places)
    order = np.argsort(where)
    words = np.array(terms, object)[np.repeat(np.arange(len(terms)), counts)[order]].tolist()
    return _split(where[order] >> _FIELD, words)


def _split(fields: np.ndarray[Any, np.dtype[np.int64]], words: Sequence[str]) -> _Terms:
    """The words of each chunk by field; `fields` has for each word the row and the field as one number."""
    starts = np.flatnonzero(np.diff(fields, prepend=-1))
    found: dict[int, list[str]] = {}
    ends = [*starts[1:].tolist(), len(words)]
    for field, start, end in zip(fields[starts].tolist(), starts.tolist(), ends, strict=True):
        held = found.setdefault(field >> (_DOC - _FIELD), [""] * _FIELDS)
        held[field & (1 << (_DOC - _FIELD)) - 1] = " ".join(words[start:end])
    return found
