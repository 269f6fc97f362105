"""The SQLite store: one connection, guarded by a lock, and statements that stand whole in `sql`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import apsw
import numpy as np

from rifflux.errors import ModelMismatch
from rifflux.store.base import (
    AnalysedChunk,
    DocumentChange,
    Event,
    FieldWeights,
    FileState,
    ModelInfo,
    Pending,
    Problem,
)
from rifflux.store.sqlite import sql
from rifflux.store.sqlite.check import check
from rifflux.store.sqlite.connect import connect, translated
from rifflux.store.sqlite.filters import where
from rifflux.store.sqlite.schema import SCHEMA_VERSION
from rifflux.store.sqlite.terms import all_of, any_of, expression, phrase
from rifflux.store.sqlite.vectors import Matrix
from rifflux.text.dates import timestamp
from rifflux.types import Clause, Document, Filter, Hit, Ids, Link, Query, Ranking, Vectors

__all__ = ["SqliteStore"]

# Made once: json.dumps makes an encoder at every call that sets an option.
_as_json = json.JSONEncoder(ensure_ascii=False).encode
# FTS5 breaks ties at the cut by row number; reading a few more lets the chunk id decide.
_TIE_MARGIN = 32


class SqliteStore:
    """Everything in one file. Safe to share between threads: each call holds the lock for its own duration."""

    def __init__(self, connection: apsw.Connection, location: str, *, read_only: bool = False) -> None:
        self._connection = connection
        self._location = location
        self._read_only = read_only
        self._lock = threading.RLock()
        self._matrix: Matrix | None = None
        self._counted: tuple[int, Mapping[str, int]] | None = None

    @classmethod
    def open(cls, location: str, *, create: bool = True) -> SqliteStore:
        """Open the index at a path, or a temporary one at `:memory:`."""
        connection, read_only = connect(location, create=create)
        return cls(connection, location, read_only=read_only)

    @property
    def schema_version(self) -> int:
        """The version of the stored schema."""
        return SCHEMA_VERSION

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written."""
        return self._read_only

    def close(self) -> None:
        """Close the database; pending work was committed or is rolled back."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with self._lock, translated(self._location):
            yield self._connection

    def _rows(self, statement: str, bound: apsw.Bindings = ()) -> list[Any]:
        """All rows that a statement finds."""
        with self._reading() as connection:
            return connection.execute(statement, bound).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Group the writes inside: all of them happen, or none. Nested ones join the outermost."""
        with self._writing():
            yield

    @contextmanager
    def _writing(self, *, content: bool = True) -> Iterator[apsw.Connection]:
        """A transaction; one that changes no `content` leaves valid what is derived from it, such as the matrix."""
        with self._reading() as connection:
            if connection.in_transaction:
                yield connection
                return
            connection.execute("begin immediate")
            try:
                yield connection
                if content:
                    connection.execute("update setting set value = value + 1 where name = 'generation'")
                connection.execute("commit")
            finally:
                _end(connection)

    # Writing

    def put(self, collection: str, change: DocumentChange, file: tuple[str, str] | None = None) -> None:
        """Add or replace one document; unchanged chunks keep their rows and vectors. `file` is its (root, path)."""
        document = change.document
        with self._writing() as connection:
            row = _document_row(document) | {"collection": collection, "path": change.path}
            row["file"] = connection.execute(sql.FILE_ID, file).get if file else None
            document_id = connection.execute(sql.PUT_DOCUMENT, row).get
            connection.execute(sql.PUT_TEXT, (document_id, document.text))
            connection.execute("delete from link where document = ?", (document_id,))
            connection.executemany(
                sql.PUT_LINK, [(document_id, link.key, link.kind, link.confidence) for link in document.links]
            )
            _put_chunks(connection, document_id, change.chunks)

    def remove(self, collection: str, keys: Sequence[str]) -> int:
        """Remove documents by key and return how many there were."""
        with self._writing() as connection:
            removed = 0
            for key in keys:
                connection.execute(sql.DROP_DOCUMENT, (collection, key))
                removed += connection.changes()
            return removed

    def put_file(self, root: str, state: FileState, keep: Sequence[str] | None) -> int:
        """Remember a file's state and drop its documents that are not in `keep` (None: all stay); returns how many."""
        with self._writing() as connection:
            row = (root, state.path, state.size, state.mtime_ns, state.hash, state.problem)
            connection.execute(sql.PUT_FILE, row)
            if keep is None:
                return 0
            kept = set(keep)
            held = connection.execute(sql.HELD_BY_FILE, (root, state.path)).fetchall()
            gone = [(collection, key) for collection, key in held if key not in kept]
            connection.executemany(sql.DROP_DOCUMENT, gone)
            return len(gone)

    def remove_files(self, root: str, paths: Sequence[str]) -> int:
        """Forget files and all their documents; returns how many documents went."""
        with self._writing() as connection:
            held = sum(len(connection.execute(sql.HELD_BY_FILE, (root, path)).fetchall()) for path in paths)
            connection.executemany(sql.DROP_FILE, [(root, path) for path in paths])
            return held

    def put_vectors(self, ids: Sequence[int], hashes: Sequence[int], vectors: Vectors) -> int:
        """Store vectors for chunks that still have the given hash; returns how many did."""
        stored = 0
        with self._writing() as connection:
            for id, hash, vector in zip(ids, hashes, vectors, strict=True):
                connection.execute(sql.PUT_VECTOR, (vector.astype(np.float32).tobytes(), id, hash))
                stored += connection.changes()
        return stored

    def use_model(self, model: ModelInfo) -> None:
        """Record the embedding model; raises ModelMismatch when vectors of another one are stored."""
        known = self.model()
        if known is None:
            with self._writing() as connection:
                connection.execute(
                    sql.PUT_MODEL, (model.name, model.backend, model.dimension, model.fingerprint, model.spec)
                )
        elif known.fingerprint != model.fingerprint:
            raise ModelMismatch(
                f"the index holds vectors of {known.name} ({known.spec}), not of {model.name}: open it with "
                f"model={known.spec!r}, or make a new index for {model.name}"
            )

    def record(self, event: Event) -> None:
        """Append an event to the record; its document need not exist."""
        row = (event.time, event.kind, event.query, event.collection, event.key, event.chunk, event.grade, event.user)
        with self._writing(content=False) as connection:
            connection.execute(sql.PUT_EVENT, row)

    # Ranking

    def match(self, query: Query, limit: int, weights: FieldWeights) -> Ranking:
        """Rank chunks by BM25 over the query's terms; scores are the negated values of SQLite's bm25()."""
        statement, bound = _matching(sql.MATCH, query, weights)
        if not bound["terms"]:
            return Ranking.empty()
        rows = self._rows(statement, bound | {"limit": limit + _TIE_MARGIN})[:limit]
        return Ranking(
            np.fromiter((row[0] for row in rows), np.int64, len(rows)),
            np.fromiter((-row[1] for row in rows), np.float64, len(rows)),
        )

    def match_place(self, query: Query, ids: Ids, weights: FieldWeights) -> tuple[int, int, float] | None:
        """The best of some chunks among all that `match` could rank: its id, rank and score; None if none matches."""
        statement, bound = _matching(sql.MATCH_AMONG, query, weights)
        if not bound["terms"]:
            return None
        found = self._rows(statement, bound | {"ids": json.dumps(ids.tolist())})
        if not found:
            return None
        ((id, best),) = found
        statement, bound = _matching(sql.MATCHED_BEFORE, query, weights)
        ((before,),) = self._rows(statement, bound | {"best": best, "id": id})
        return id, before + 1, -best

    def nearest(self, query: Query, limit: int) -> Ranking:
        """Rank chunks by cosine with the query's vector; none, or one of length zero, ranks nothing."""
        if query.vector is None:
            return Ranking.empty()
        return self._vectors().nearest(query.vector, limit, self._allowed(query))

    def _allowed(self, query: Query) -> Ids | None:
        """The rows that the filter and the query's required and excluded words leave, or None for all."""
        condition, bound = where(query.filter)
        conditions = [condition] if condition else []
        for name, terms, sense in (("required", all_of(query), "in"), ("excluded", any_of(query), "not in")):
            if terms:
                conditions.append(f"chunk.id {sense} (select rowid from chunk_terms where chunk_terms match :{name})")
                bound[name] = terms
        if not conditions:
            return None
        rows = self._rows(sql.ALLOWED.format(condition=" and ".join(conditions)), bound)
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def _vectors(self) -> Matrix:
        with self._reading() as connection:
            generation = self._generation()
            if self._matrix is None or self._matrix.generation != generation:
                model = self.model()
                self._matrix = Matrix.read(connection, generation, model.dimension if model else 1)
            return self._matrix

    # Reading

    def hydrate(self, ranking: Ranking) -> list[Hit]:
        """Read the rows of a ranking, in its order and with its scores; ids that are gone are left out."""
        ids = ranking.ids.tolist()
        which = "chunk.uid in (select value from json_each(:ids))"
        found = {hit.chunk_id: hit for hit in self._hits(which, {"ids": json.dumps(ids)})}
        scored = zip((f"{id:016x}" for id in ids), ranking.scores.tolist(), strict=True)
        return [replace(found[chunk_id], score=score) for chunk_id, score in scored if chunk_id in found]

    def chunk(self, chunk_id: str) -> Hit | None:
        """One chunk by its public id."""
        try:
            uid = int(chunk_id, 16)
        except ValueError:
            return None
        if len(chunk_id) != 16 or uid >= 1 << 63:
            return None
        return next(iter(self._hits("chunk.uid = :uid", {"uid": uid})), None)

    def _hits(self, which: str, bound: Mapping[str, Any]) -> list[Hit]:
        return [_hit(row) for row in self._rows(sql.HYDRATE.format(which=which), bound)]

    def find_documents(self, key: str) -> list[tuple[str, str]]:
        """The (collection, key) of every document with this key, path or absolute path."""
        splits = [(key[:place], key[place + 1 :]) for place, char in enumerate(key) if char == "/"]
        return self._rows(sql.FIND_DOCUMENTS, {"key": key, "splits": json.dumps(splits)})

    def document(self, collection: str, key: str) -> Document | None:
        """One document with its whole text."""
        found = self._rows(sql.DOCUMENT, (collection, key))
        if not found:
            return None
        id, key, text, title, kind, created, updated, metadata, licence = found[0]
        links = self._rows(sql.LINKS, (id,))
        return Document(
            key,
            text,
            title,
            kind,
            created,
            updated,
            json.loads(metadata),
            tuple(Link(*link) for link in links),
            licence,
        )

    def chunks_of(self, collection: str, key: str) -> list[Hit]:
        """All chunks of a document in reading order."""
        which = "document.collection = :collection and document.key = :key order by chunk.position"
        return self._hits(which, {"collection": collection, "key": key})

    def files(self, root: str) -> dict[str, FileState]:
        """What is remembered of a root's files, by path."""
        return {row[0]: FileState(*row) for row in self._rows(sql.FILES, (root,))}

    def roots(self) -> list[str]:
        """The folders that were synced."""
        return [root for (root,) in self._rows("select distinct root from file order by root")]

    def pending(self, batch: int) -> Iterator[list[Pending]]:
        """The chunks without a vector, in batches by row number; safe to write to the store meanwhile."""
        after = 0
        while True:
            rows = self._rows(sql.PENDING, {"after": after, "batch": batch})
            if not rows:
                return
            after = rows[-1][0]
            yield [
                Pending(uid, hash, title, tuple(json.loads(heads)), text) for _, uid, hash, title, heads, text in rows
            ]

    def vectors_by_hash(self, hashes: Sequence[int]) -> Mapping[int, Vectors]:
        """Vectors already stored for the same embedded text."""
        rows = self._rows(sql.VECTORS_BY_HASH, (json.dumps(list(hashes)),))
        return {hash: np.frombuffer(data, np.float32) for hash, data in rows}

    def vectors_of(self, ids: Ids) -> Mapping[int, Vectors]:
        """The vector of each chunk, by its id; chunks without one are left out."""
        rows = self._rows(sql.VECTORS_OF, (json.dumps(ids.tolist()),))
        return {id: np.frombuffer(data, np.float32) for id, data in rows}

    def model(self) -> ModelInfo | None:
        """The model whose vectors are stored, or None while there are none."""
        return next((ModelInfo(*row) for row in self._rows(sql.ACTIVE_MODEL)), None)

    def kinds(self, ids: Ids) -> Mapping[int, str]:
        """The kind of each chunk's document; chunks that are gone are left out."""
        return dict(self._rows(sql.KINDS, (json.dumps(ids.tolist()),)))

    def names(self, ids: Ids) -> Mapping[int, tuple[str, tuple[str, ...]]]:
        """The title and the headings of each chunk; chunks that are gone are left out."""
        rows = self._rows(sql.NAMES, (json.dumps(ids.tolist()),))
        return {id: (title, tuple(json.loads(headings))) for id, title, headings in rows}

    def passing(self, filter: Filter, ids: Ids) -> Ids:
        """Those of the chunks whose document a filter lets through."""
        condition, bound = where(filter)
        statement = sql.PASSING.format(condition=condition or "true")
        rows = self._rows(statement, bound | {"ids": json.dumps(ids.tolist())})
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def holding(self, clause: Clause, ids: Ids) -> Ids:
        """Those of the chunks that hold a term, or a phrase of adjacent terms."""
        rows = self._rows(sql.HOLDING, {"ids": json.dumps(ids.tolist()), "terms": phrase(clause)})
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        """In how many chunks each term occurs; terms that occur in none are left out."""
        with self._reading() as connection:
            connection.execute(sql.TERM_COUNTS)
            rows: list[Any] = connection.execute(sql.DOCUMENT_FREQUENCIES, (json.dumps(list(terms)),)).fetchall()
            return dict(rows)

    def vocabulary(self, start: str, shortest: int, longest: int) -> Mapping[str, int]:
        """The terms that begin with `start` and have so many characters, with the number of chunks that hold each."""
        bound = {"start": start, "end": start + chr(0x10FFFF), "shortest": shortest, "longest": longest}
        with self._reading() as connection:
            connection.execute(sql.TERM_COUNTS)
            rows: list[Any] = connection.execute(sql.VOCABULARY, bound).fetchall()
            return dict(rows)

    def counts(self) -> Mapping[str, int]:
        """How many `documents`, `chunks`, `embedded_chunks` and `files` there are."""
        with self._reading() as connection:
            # Counting goes through whole tables. Within a transaction the generation has not moved yet.
            generation = -1 if connection.in_transaction else self._generation()
            if self._counted is None or self._counted[0] != generation or generation < 0:
                (row,) = self._rows(sql.COUNTS)
                names = ("documents", "chunks", "embedded_chunks", "files")
                self._counted = generation, dict(zip(names, row, strict=True))
            return self._counted[1]

    def _generation(self) -> int:
        """A number that grows with every transaction that changed what is found."""
        return int(self.setting("generation") or 0)

    def setting(self, name: str) -> str | None:
        """A setting's value, or None."""
        return next((value for (value,) in self._rows("select value from setting where name = ?", (name,))), None)

    def set(self, name: str, value: str) -> None:
        """Store a setting."""
        with self._writing() as connection:
            connection.execute("insert or replace into setting values (?, ?)", (name, value))

    def events(self, kind: str | None = None) -> list[Event]:
        """The recorded events of a kind, or all, in the order of recording."""
        return [Event(*row) for row in self._rows(sql.EVENTS, {"kind": kind})]

    def check(self) -> list[Problem]:
        """Look for damage: integrity of the file, of the terms, rows without their partner, stray vectors."""
        with self._lock:
            return check(self._connection, self._location)


def _matching(statement: str, query: Query, weights: FieldWeights) -> tuple[str, dict[str, Any]]:
    """A statement over the chunks that match a query, and what is bound to it; `terms` are empty if none can match."""
    condition, bound = where(query.filter)
    # The plus keeps SQLite from asking the word index once for every allowed row.
    narrowed = f"and +rowid in ({sql.ALLOWED.format(condition=condition)})" if condition else ""
    bound |= {"title": weights.title, "headings": weights.headings, "body": weights.body}
    return statement.format(narrowed=narrowed), bound | {"terms": expression(query)}


def _end(connection: apsw.Connection) -> None:
    """Roll back what is still open: something went wrong, and the engine has not rolled back by itself."""
    if connection.in_transaction:
        connection.execute("rollback")


def _document_row(document: Document) -> dict[str, Any]:
    time = timestamp(document.created_at)
    return {
        "key": document.key,
        "kind": document.kind,
        "title": document.title,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "time": timestamp(document.updated_at) if time is None else time,
        "metadata": json.dumps(dict(document.metadata), ensure_ascii=False, default=str),
        "licence": document.licence,
    }


def _put_chunks(connection: apsw.Connection, document: int, chunks: Sequence[AnalysedChunk]) -> None:
    """Bring a document's chunks to the given ones: equal ids keep their row, and the vector if its text is the same."""
    held = {uid: (id, hash) for uid, id, hash in connection.execute(sql.CHUNKS_HELD, (document,)).fetchall()}
    wanted = {each.chunk.id for each in chunks}
    connection.executemany(sql.DROP_CHUNK, [(id,) for uid, (id, _) in held.items() if uid not in wanted])
    last = connection.execute(sql.LAST_CHUNK).get
    new, terms = [], []
    for each in chunks:
        chunk = each.chunk
        row = (chunk.position, _as_json(chunk.headings), chunk.text, *chunk.span, each.hash)
        if chunk.id in held:
            id, hash = held[chunk.id]
            connection.execute(sql.MOVE_CHUNK, (*row, id))
            if hash == each.hash:
                continue
            connection.execute(sql.DROP_STALE_VECTOR, (id,))
            connection.execute(sql.DROP_TERMS, (id,))
        else:
            id = last = last + 1
            new.append((id, chunk.id, document, *row))
        terms.append((id, each.title, each.headings, each.body))
    connection.executemany(sql.PUT_CHUNK, new)
    connection.executemany(sql.PUT_TERMS, terms)
    if connection.execute("select 1 from model where state = 'active'").get:
        # A file that was moved, or a text that is elsewhere too, needs no new vector.
        hashes = {each.chunk.id: each.hash for each in chunks}
        connection.executemany(sql.TAKE_OVER_VECTOR, [{"chunk": row[0], "hash": hashes[row[1]]} for row in new])


def _hit(row: Sequence[Any]) -> Hit:
    (
        uid,
        key,
        path,
        title,
        headings,
        position,
        text,
        start,
        end,
        kind,
        created,
        updated,
        metadata,
        licence,
        collection,
    ) = row
    return Hit(
        chunk_id=f"{uid:016x}",
        document=key,
        path=path,
        title=title,
        heading_path=" > ".join(json.loads(headings)),
        chunk_index=position,
        content=text,
        span=(start, end),
        kind=kind,
        created_at=created,
        updated_at=updated,
        metadata=json.loads(metadata),
        licence=licence,
        collection=collection,
    )
