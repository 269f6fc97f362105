"""The writing half of the store: documents, files, vectors, the model, events and settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np

from rifflux.errors import ModelMismatch
from rifflux.store.base import DocumentChange, Event, FileState, ModelInfo, Placed
from rifflux.store.generations import State
from rifflux.store.sqlite.catalog import sql
from rifflux.store.sqlite.catalog.documents import put_documents
from rifflux.store.sqlite.catalog.reading import Reading
from rifflux.types import Vectors

__all__ = ["Writing"]


class Writing(Reading):
    """Changes a store. Every method is one transaction, or part of the one around it."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Group the writes inside: all of them happen, or none. Nested ones join the outermost."""
        with self._writing():
            yield

    def put(self, collection: str, change: DocumentChange, file: tuple[str, str] | None = None) -> None:
        """Add or replace one document; unchanged chunks keep their rows and vectors. `file` is its (root, path)."""
        self.put_all([Placed(collection, change, file)])

    def put_all(self, documents: Iterable[Placed]) -> None:
        """Add or replace documents as `put` does, but many at once; of two with the same name the later counts."""
        with self._writing() as (connection, owner):
            put_documents(connection, owner, documents)

    def remove(self, collection: str, keys: Sequence[str]) -> int:
        """Remove documents by key and return how many there were."""
        with self._writing() as (connection, owner):
            removed = 0
            for key in keys:
                connection.execute(sql.DROP_DOCUMENT, {"owner": owner, "collection": collection, "key": key})
                removed += connection.changes()
            return removed

    def note_uses(self, collection: str, keys: Sequence[str], time: float) -> None:
        """Count one more use of each document; what is found does not change by it."""
        with self._writing(content=False) as (connection, owner):
            rows = [{"owner": owner, "collection": collection, "key": key, "time": time} for key in keys]
            connection.executemany(sql.NOTE_USE, rows)

    def put_file(self, root: str, state: FileState, keep: Collection[str] | None) -> int:
        """Remember a file's state and drop its documents that are not in `keep` (None: all stay); returns how many."""
        with self._writing() as (connection, owner):
            file = _file(owner, root, state.path)
            connection.execute(sql.PUT_FILE, asdict(state) | file)
            if keep is None:
                return 0
            kept = set(keep)
            held = connection.execute(sql.HELD_BY_FILE, file).fetchall()
            gone = [
                {"owner": owner, "collection": collection, "key": key} for collection, key in held if key not in kept
            ]
            connection.executemany(sql.DROP_DOCUMENT, gone)
            return len(gone)

    def remove_files(self, root: str, paths: Sequence[str]) -> int:
        """Forget files and all their documents; returns how many documents went."""
        with self._writing() as (connection, owner):
            files = [_file(owner, root, path) for path in paths]
            held = sum(len(connection.execute(sql.HELD_BY_FILE, file).fetchall()) for file in files)
            connection.executemany(sql.DROP_FILE, files)
            return held

    def put_vectors(self, ids: Sequence[int], hashes: Sequence[int], vectors: Vectors, model: str | None = None) -> int:
        """Store vectors for chunks that still have the given hash; returns how many did."""
        stored = 0
        with self._writing(content=False) as (connection, owner):
            state = connection.execute(sql.MODEL_STATE, (model,)).get if model else State.ACTIVE
            if state is None:
                raise ModelMismatch("the index was switched to another model meanwhile, or its switch was aborted")
            for id, hash, vector in zip(ids, hashes, vectors, strict=True):
                data = vector.astype(np.float32).tobytes()
                connection.execute(
                    sql.PUT_VECTOR, {"owner": owner, "id": id, "hash": hash, "vector": data, "model": model}
                )
                stored += connection.changes()
            if state == State.ACTIVE:
                self._engine.touch(owner)
        return stored

    def use_model(self, model: ModelInfo) -> None:
        """Record the embedding model; raises ModelMismatch when vectors of another one are stored."""
        known = self.model() or self._first_model(model)
        if known.fingerprint != model.fingerprint:
            raise ModelMismatch(
                f"the index holds vectors of {known.name} ({known.spec}), not of {model.name}: open it with "
                f"model={known.spec!r}, or make a new index for {model.name}"
            )

    def _first_model(self, model: ModelInfo) -> ModelInfo:
        """Record a model unless another process was faster; returns the one that is recorded then."""
        with self._writing() as (connection, _):
            known = self.model()
            if known is None:
                connection.execute(
                    sql.PUT_MODEL, (model.name, model.backend, model.dimension, model.fingerprint, model.spec)
                )
            return known or model

    def record(self, event: Event) -> None:
        """Append an event to the record; its document need not exist."""
        with self._writing(content=False) as (connection, owner):
            connection.execute(sql.PUT_EVENT, asdict(event) | {"owner": owner})

    def set(self, name: str, value: str, *, content: bool = True) -> None:
        """Store a setting; without `content`, one that changes nothing of what is found."""
        with self._writing(content=content) as (connection, owner):
            statement = sql.PUT_OWN_SETTING if owner else sql.PUT_SETTING
            connection.execute(statement, {"owner": owner, "name": name, "value": value})


def _file(owner: int, root: str, path: str) -> dict[str, Any]:
    return {"owner": owner, "root": root, "path": path}
