"""Generations of vectors in the SQLite file: rows of `model` by state, and of `vector` by model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from rifflux.errors import Cure, InvalidArgument
from rifflux.store.semantic import Generation, Generations, ModelInfo, State
from rifflux.store.sqlite.connection.derived import forget

if TYPE_CHECKING:
    from rifflux.store.sqlite.connection.engine import OwnerView

_ALL = """
select model.name, model.backend, model.dimension, model.fingerprint, model.spec, model.state,
    (select count(*) from vector where vector.model = model.id) as vectors, (select count(*) from chunk) as chunks
from model order by model.state = 'retired', model.state = 'building', model.id"""

_BY_STATE = "select name, backend, dimension, fingerprint, spec from model where state = ?"

_REVIVE = "update model set state = 'building', spec = :spec where fingerprint = :fingerprint and state = 'retired'"

_BEGIN = """
insert into model (name, backend, dimension, fingerprint, spec, state)
values (:name, :backend, :dimension, :fingerprint, :spec, 'building')"""

# Every chunk has at most one vector of a model, so equal numbers mean that all have one.
_COMPLETE = """
select (select count(*) from vector where model = model_built.id) = (select count(*) from chunk)
from model as model_built where state = 'building'"""

_MOVE = "update model set state = :after where state = :before"

# Invalidates everything that is cached in memory.
_OTHER_RESULTS = "update owner set generation = generation + 1"

_DROP = """
delete from vector where id in (
    select vector.id from model join vector on vector.model = model.id where model.state = 'retired' limit ?
)"""
_DROP_MODELS = "delete from model where state = 'retired'"


class SqliteGenerations(Generations):
    """The generations of an index. Building and dropping change no search results, so derived files remain valid."""

    def __init__(self, view: OwnerView) -> None:
        self._view = view

    def all(self) -> list[Generation]:
        rows = self._view.rows(_ALL)
        return [Generation(ModelInfo(*model), State(state), vectors, chunks) for *model, state, vectors, chunks in rows]

    def begin(self, model: ModelInfo) -> None:
        bound = {name: getattr(model, name) for name in ModelInfo.__slots__}
        with self._view.writing(content=False) as (connection, _):
            active, building = (_by_state(connection, state) for state in (State.ACTIVE, State.BUILDING))
            if active is None:
                raise InvalidArgument("the index holds no vectors yet: make them with the model first", cure=Cure.INDEX)
            if active.fingerprint == model.fingerprint:
                raise InvalidArgument(f"the index holds vectors of {model.name} already")
            if building and building.fingerprint != model.fingerprint:
                raise InvalidArgument(
                    f"vectors of {building.name} ({building.spec}) are being built",
                    cure=Cure.END_SWITCH,
                    model=building.spec,
                )
            if building is None:
                connection.execute(_REVIVE, bound)
                if not connection.changes():
                    connection.execute(_BEGIN, bound)

    def finish(self) -> bool:
        with self._view.writing() as (connection, _):
            if not connection.execute(_COMPLETE).get:
                return False
            connection.execute(_MOVE, {"before": State.ACTIVE, "after": State.RETIRED})
            connection.execute(_MOVE, {"before": State.BUILDING, "after": State.ACTIVE})
            forget(connection, "vectors*")
            connection.execute(_OTHER_RESULTS)
            return True

    def abort(self) -> ModelInfo | None:
        with self._view.writing(content=False) as (connection, _):
            building = _by_state(connection, State.BUILDING)
            connection.execute(_MOVE, {"before": State.BUILDING, "after": State.RETIRED})
            return building

    def drop(self, most: int) -> int:
        with self._view.writing(content=False) as (connection, _):
            connection.execute(_DROP, (most,))
            dropped = connection.changes()
            if not dropped:
                connection.execute(_DROP_MODELS)
            return dropped


def _by_state(connection: apsw.Connection, state: State) -> ModelInfo | None:
    row = connection.execute(_BY_STATE, (state,)).fetchone()
    if row:
        return ModelInfo(*row)
    return None
