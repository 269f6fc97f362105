"""The writing half of the store: documents, files, vectors, the model, events and settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw
import numpy as np

from rifflux.errors import ModelMismatch
from rifflux.store.base import AnalysedChunk, DocumentChange, Event, FileState, ModelInfo
from rifflux.store.sqlite import sql
from rifflux.store.sqlite.graph import drop_names, put_names
from rifflux.store.sqlite.reading import Reading
from rifflux.text.dates import timestamp
from rifflux.types import Document, Vectors

__all__ = ["Writing"]

# Made once: json.dumps makes an encoder at every call that sets an option.
_as_json = json.JSONEncoder(ensure_ascii=False).encode


class Writing(Reading):
    """Changes a store. Every method is one transaction, or part of the one around it."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Group the writes inside: all of them happen, or none. Nested ones join the outermost."""
        with self._engine.writing():
            yield

    def put(self, collection: str, change: DocumentChange, file: tuple[str, str] | None = None) -> None:
        """Add or replace one document; unchanged chunks keep their rows and vectors. `file` is its (root, path)."""
        document = change.document
        with self._engine.writing() as connection:
            row = _document_row(document) | {"collection": collection, "path": change.path}
            row["file"] = connection.execute(sql.FILE_ID, file).get if file else None
            document_id = connection.execute(sql.PUT_DOCUMENT, row).get
            connection.execute(sql.PUT_TEXT, (document_id, document.text))
            connection.execute("delete from link where document = ?", (document_id,))
            connection.executemany(
                sql.PUT_LINK, [(document_id, link.key, link.kind, link.confidence) for link in document.links]
            )
            drop_names(connection, document_id)
            put_names(connection, document_id, document)
            _put_chunks(connection, document_id, change.chunks)

    def remove(self, collection: str, keys: Sequence[str]) -> int:
        """Remove documents by key and return how many there were."""
        with self._engine.writing() as connection:
            removed = 0
            for key in keys:
                connection.execute(sql.DROP_DOCUMENT, (collection, key))
                removed += connection.changes()
            return removed

    def put_file(self, root: str, state: FileState, keep: Sequence[str] | None) -> int:
        """Remember a file's state and drop its documents that are not in `keep` (None: all stay); returns how many."""
        with self._engine.writing() as connection:
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
        with self._engine.writing() as connection:
            held = sum(len(connection.execute(sql.HELD_BY_FILE, (root, path)).fetchall()) for path in paths)
            connection.executemany(sql.DROP_FILE, [(root, path) for path in paths])
            return held

    def put_vectors(self, ids: Sequence[int], hashes: Sequence[int], vectors: Vectors) -> int:
        """Store vectors for chunks that still have the given hash; returns how many did."""
        stored = 0
        with self._engine.writing() as connection:
            for id, hash, vector in zip(ids, hashes, vectors, strict=True):
                connection.execute(sql.PUT_VECTOR, (vector.astype(np.float32).tobytes(), id, hash))
                stored += connection.changes()
        return stored

    def use_model(self, model: ModelInfo) -> None:
        """Record the embedding model; raises ModelMismatch when vectors of another one are stored."""
        known = self.model()
        if known is None:
            with self._engine.writing() as connection:
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
        with self._engine.writing(content=False) as connection:
            connection.execute(sql.PUT_EVENT, row)

    def set(self, name: str, value: str) -> None:
        """Store a setting."""
        with self._engine.writing() as connection:
            connection.execute("insert or replace into setting values (?, ?)", (name, value))


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
