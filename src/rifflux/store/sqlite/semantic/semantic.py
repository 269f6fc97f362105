"""The semantic role in SQLite: ranking by the packed vectors beside the database, or by its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import filterfalse
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from rifflux.errors import Cure, ModelMismatch, OutOfScope
from rifflux.store.semantic import ModelInfo, Pending, Semantic, State
from rifflux.store.sqlite.connection.engine import GenerationCache, OwnerView, unmoved
from rifflux.store.sqlite.filters import numbers_of, passing
from rifflux.store.sqlite.query import Terms, by_table, from_bytes, rounded
from rifflux.store.sqlite.semantic.generations import SqliteGenerations
from rifflux.store.sqlite.semantic.matrix import Allowed, Matrix, scanned
from rifflux.types import Ids, Query, Ranking, Vectors

if TYPE_CHECKING:
    from rifflux.store.sqlite.semantic.vector_index import VectorIndex

HOLDING_ALL = "select rowid from {table} where {table} match :terms"

# The model with the given fingerprint, if it is in use or being built; by default the model in use.
_MODEL = """(
    select id from model where state in ('active', 'building')
    and iif(:model is null, state = 'active', fingerprint = :model)
)"""

MODEL_STATE = "select state from model where fingerprint = ? and state in ('active', 'building')"

PENDING = f"""
select chunk.id, chunk.uid, chunk.hash, document.title, chunk.headings, iif(chunk.span_end, chunk.text, ''),
    chunk.embedded
from chunk join document on document.id = chunk.document
where chunk.owner = :owner and chunk.id > :after and not exists (
    select 1 from vector where vector.chunk = chunk.id
    and vector.model = {_MODEL}
)
order by chunk.id limit :batch"""

PUT_VECTOR = f"""
insert or replace into vector (model, chunk, owner, hash, rounded)
select {_MODEL}, id, owner, hash, :vector
from chunk where owner = :owner and uid = :id and hash = :hash"""

VECTORS_BY_HASH = f"""
select hash, rounded from vector
where owner = :owner and model = {_MODEL}
and hash in (select value from json_each(:hashes)) group by hash"""

# The cross joins fix the order: the few ids are looked up, and no table is read as a whole.
VECTORS_OF = """
select chunk.uid, vector.rounded
from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and chunk.owner = :owner cross join vector
    on vector.chunk = chunk.id and vector.model = (select id from model where state = 'active')"""

# The first ids of the whole index, if an owner has enough of them; otherwise all of the owner's, sorted.
_SAMPLE = """
select chunk.uid, vector.rounded
from ({chunks}) as chunk cross join vector
    on vector.chunk = chunk.id and vector.model = (select id from model where state = 'active')
where chunk.owner = :owner
order by chunk.uid limit :most"""
SAMPLE_FIRST = _SAMPLE.format(chunks="select id, uid, owner from chunk order by uid limit 16 * :most")
SAMPLE_OWN = _SAMPLE.format(chunks="select id, uid, owner from chunk where owner = :owner order by uid")

ACTIVE_MODEL = "select name, backend, dimension, fingerprint, spec from model where state = 'active'"

PUT_MODEL = "insert into model (name, backend, dimension, fingerprint, spec, state) values (?, ?, ?, ?, ?, 'active')"


@dataclass(frozen=True, slots=True)
class SqliteSemantic(Semantic):
    """The vectors of one owner's chunks, ranked by cosine; chunks are not loaded."""

    view: OwnerView
    #: The packed vectors; None for an index in memory.
    index: VectorIndex | None
    matrices: GenerationCache[Matrix]
    #: The cached rows of documents that pass a filter, since filters are mostly reused.
    allowed: GenerationCache[Ids]
    samples: GenerationCache[tuple[Ids, Vectors]]

    @property
    def generations(self) -> SqliteGenerations:
        if self.view.owner:
            raise OutOfScope("the models are the whole index's: ask who looks after it")
        return SqliteGenerations(self.view)

    def put_vectors(self, ids: Sequence[int], hashes: Sequence[int], vectors: Vectors, model: str | None = None) -> int:
        stored = 0
        with self.view.writing(content=False) as (connection, owner):
            if model:
                state = connection.execute(MODEL_STATE, (model,)).get
            else:
                state = State.ACTIVE
            if state is None:
                raise ModelMismatch("the index was switched to another model meanwhile, or its switch was aborted")
            values, scales = rounded(vectors.astype(np.float32))
            for id, hash, value, scale in zip(ids, hashes, values, scales, strict=True):
                data = scale.tobytes() + value.tobytes()
                connection.execute(PUT_VECTOR, {"owner": owner, "id": id, "hash": hash, "vector": data, "model": model})
                stored += connection.changes()
            if state == State.ACTIVE:
                self.view.engine.touched.add(owner)
        return stored

    def use_model(self, model: ModelInfo) -> None:
        known = self.model()
        if known is None:
            # Nothing has a vector yet, so the first model changes no search results.
            with self.view.writing(content=False) as (connection, _):
                # Another process may have been faster.
                known = self.model()
                if known is None:
                    connection.execute(
                        PUT_MODEL, (model.name, model.backend, model.dimension, model.fingerprint, model.spec)
                    )
                    return
        if known.fingerprint != model.fingerprint:
            raise ModelMismatch(
                f"the index holds vectors of {known.name} ({known.public_spec}), not of {model.public_spec}",
                cure=Cure.SWITCH_MODEL,
                model=model.public_spec,
            )

    def model(self) -> ModelInfo | None:
        rows = self.view.known(ACTIVE_MODEL)
        return ModelInfo(*rows[0]) if rows else None

    def pending(self, batch: int, model: str | None = None) -> Iterator[list[Pending]]:
        """Yield the chunks without a vector, in batches by row number."""
        after = 0
        while True:
            rows = self.view.rows(PENDING, {"after": after, "batch": batch, "model": model})
            if not rows:
                return
            after = rows[-1][0]
            yield [
                Pending(id, hash, title, tuple(json.loads(heads)), text, whole)
                for _, id, hash, title, heads, text, whole in rows
            ]

    def vectors_by_hash(self, hashes: Sequence[int], model: str | None = None) -> Mapping[int, Vectors]:
        rows = self.view.rows(VECTORS_BY_HASH, {"hashes": json.dumps(list(hashes)), "model": model})
        return _by_key(rows) if rows else {}

    def vectors_of(self, ids: Ids) -> Mapping[int, Vectors]:
        with self.view.reading() as (connection, owners):
            packed = self.index.at(connection) if self.index else None
            matrix = None if packed else self.matrices.get(owners, self.view.generation(connection))
        if matrix:
            rows = np.flatnonzero(np.isin(matrix.ids, ids))
            return dict(zip(matrix.ids[rows].tolist(), matrix.vectors[rows], strict=True))
        if packed:
            known = packed.vectors_of(owners, ids)
        else:
            known = {}
        missing = [*filterfalse(known.__contains__, ids.tolist())]
        if missing:
            stored = self.view.rows(VECTORS_OF, {"ids": json.dumps(missing)})
            known |= _by_key(stored) if stored else {}
        return known

    def sample(self, most: int) -> tuple[Ids, Vectors]:
        with self.view.reading() as (connection, owners):
            generation = self.view.generation(connection)
            found = self.samples.get((owners, most), generation)
            if found is not None:
                return found
            packed = self.index.at(connection) if self.index else None
        if packed:
            ids, vectors_state = packed.lowest(owners, most)
            # Vectors are read again only if the sample has other chunks than the last one.
            state = (vectors_state, ids.tobytes())
            found = self.samples.get((owners, most, "read"), state)
            if found is None:
                found = self.samples.put((owners, most, "read"), state, packed.sample(owners, ids))
        else:
            rows = self.view.rows(SAMPLE_FIRST, {"most": most})
            if len(rows) < most:
                rows = self.view.rows(SAMPLE_OWN, {"most": most})
            found = np.zeros(0, np.int64), np.zeros((0, 0), np.float32)
            if rows:
                listed, data = zip(*rows, strict=True)
                values, scales = from_bytes(data)
                found = np.array(listed, np.int64), values * scales[:, None]
        return self.samples.put((owners, most), generation, found)

    def nearest(
        self,
        query: Query,
        vector: Vectors | None,
        limit: int,
        *,
        model: str | None = None,
        others: Ids | None = None,
        cosines: dict[int, float] | None = None,
    ) -> Ranking:
        """Rank the `limit` chunks of highest cosine; add those of `others` to `cosines`, as far as they are packed."""
        if vector is None:
            return Ranking.empty()
        length = float(np.linalg.norm(vector))
        if not length:
            return Ranking.empty()
        vector = vector / length
        allowed = None
        if query.required or query.excluded or query.filter:
            allowed = self._allowed(query)
        with self.view.reading() as (connection, owners):
            packed = self.index.at(connection) if self.index else None
            if packed is None:
                return self._nearest_exactly(connection, owners, vector, limit, allowed, model)
            # Checked last: if the index is switched to another model after this, the vectors are still of the former
            # one.
            self._check_model(connection, model)
        if others is not None and cosines is not None:
            rows = packed.rows_of(owners, others)
            found = packed.packed.cosines(rows, vector)
            cosines.update(zip(packed.packed.ids[rows].tolist(), found.tolist(), strict=True))
        if self.view.several:
            return packed.nearest_of_several(owners, vector, limit, allowed)
        return packed.nearest(owners[0], vector, limit, allowed)

    def _nearest_exactly(
        self,
        connection: apsw.Connection,
        owners: tuple[int, ...],
        vector: Vectors,
        limit: int,
        allowed: Allowed | None,
        model: str | None,
    ) -> Ranking:
        """Rank without packed vectors: by cached ones, or by scanning the tables if they are about to be packed."""
        if self.index and self.index.will_be_packed(connection):
            with unmoved(connection):
                self._check_model(connection, model)
                return scanned(connection, owners, vector, limit, allowed)
        generation = self.view.generation(connection)
        matrix = self.matrices.get(owners, generation)
        if matrix is None:
            with unmoved(connection):
                self._check_model(connection, model)
                matrix = self.matrices.put(owners, generation, Matrix.read(connection, owners, len(vector)))
        self._check_model(connection, model)
        return matrix.nearest(vector, limit, allowed)

    def _check_model(self, connection: apsw.Connection, model: str | None) -> None:
        """Raise `ModelMismatch` if the query was embedded by another model than the one in use."""
        known = self.view.engine.known(connection, ACTIVE_MODEL)
        if known and model and ModelInfo(*known[0]).fingerprint != model:
            raise ModelMismatch(f"the question was embedded by another model than {known[0][0]}: embed it again")

    def _allowed(self, query: Query) -> Allowed:
        """Return the rows allowed by the filter and the query's required and excluded words."""
        return Allowed(
            passing(self.view, self.allowed, query.filter) if query.filter else None,
            self._holding(query, Terms.all_of) if query.required else None,
            self._holding(query, Terms.any_of) if query.excluded else None,
        )

    def _holding(self, query: Query, expression: Callable[[Terms, Query], str]) -> Ids:
        """Return the rows that match an expression."""
        found = []
        with self.view.reading() as (_, owners):
            for table, every in by_table(owners):
                matched = " OR ".join(f"({expression(terms, query)})" for terms in every)
                found.append(numbers_of(self.view, HOLDING_ALL.format(table=table), {"terms": matched}))
        if found:
            return np.concatenate(found)
        return np.empty(0, np.int64)


def _by_key(rows: list[Any]) -> dict[int, Vectors]:
    """Return vectors by the first column of rows, whose second has their bytes."""
    keys, data = zip(*rows, strict=True)
    values, scales = from_bytes(data)
    return dict(zip(keys, values * scales[:, None], strict=True))
