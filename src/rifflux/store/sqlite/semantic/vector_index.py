"""The packed vectors of a database as mapped by this process, with the changes since they were packed."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux.errors import InvalidArgument
from rifflux.store.sqlite.connection.derived import DerivedFile, NotBuilt, Unfit, forget, rebuild, touched
from rifflux.store.sqlite.connection.engine import CURRENT, Current, GenerationCache, current, location_of, unmoved
from rifflux.store.sqlite.query import best
from rifflux.store.sqlite.semantic import hnsw
from rifflux.store.sqlite.semantic.matrix import Allowed, Matrix
from rifflux.store.sqlite.semantic.packed import FORMAT, NAME, PackedVectors, write
from rifflux.store.sqlite.semantic.scan import nearest_among, nearest_rows
from rifflux.types import Ids, Ranking, Vectors

#: Reads the rows of a statement on a connection, cached while nothing changes.
Known = Callable[..., Any]
#: The search methods for packed vectors: a scan, or a graph for very large numbers.
WAYS = ("scan", "hnsw")
#: The minimum number of vectors for packing; fewer are read into memory and scanned exactly.
LEAST = 4096
#: The number of changed rows scanned exactly before vectors are packed again: a share of all, up to a maximum.
SHARE = 0.125
MOST = 32_768
#: The share while the index is idle, which it is after `QUIET` seconds without a change.
QUIET_SHARE = 0.01
QUIET = 2.0
#: The maximum number of log entries that a search reads.
TOO_LONG = 4 * MOST

#: Seconds from opening the file to verifying all of it: a process that answers one query has ended by then.
CHECK_AFTER = 2.0

#: The maximum memory for cached rows of several owners together, in bytes.
MOST_TOGETHER = 64 << 20

_NO_ROWS = np.empty(0, np.int64)

_MODEL = "select id, dimension from model where state = 'active'"
_HIGHEST = "select coalesce(max(id), 0) from vector"
_COUNT = "select count(*) from vector where model = :model"

# The cross join fixes the order: the few chunks are looked up, and no table is read as a whole.
_FRESH = """
select vector.owner, vector.chunk, chunk.uid, chunk.document, vector.rounded
from json_each(:chunks) as wanted
cross join vector on vector.model = :model and vector.chunk = wanted.value join chunk on chunk.id = vector.chunk"""


@dataclass(frozen=True, slots=True)
class Fresh:
    """The changes since the vectors were packed, up to an entry of the log.

    `chunks` are all changed chunks; `hidden` are their rows in the packed matrix, ascending, which no longer count.
    `matrix` has the vectors of those that have one, `owners` their owners.
    """

    seen: int
    chunks: Ids
    hidden: Ids
    owners: Ids
    matrix: Matrix

    @classmethod
    def none(cls, seen: int, dimension: int) -> Fresh:
        """Return an empty set of changes up to an entry of the log."""
        nothing = np.empty(0, np.int64)
        return cls(seen, nothing, nothing, nothing, Matrix.of([], dimension))


@dataclass(frozen=True, slots=True)
class Together:
    """The rows of several owners in the packed matrix in the order of their ids, with their sign bits gathered."""

    rows: Ids
    signs: NDArray[np.uint64]

    @property
    def nbytes(self) -> int:
        """Return their memory."""
        return self.rows.nbytes + self.signs.nbytes

    @classmethod
    def of(cls, packed: PackedVectors, owners: Sequence[int]) -> Together:
        """Gather the rows of owners."""
        rows = np.concatenate(
            [np.arange(each.start, each.stop) for each in (packed.of(owner) for owner in owners)] or [_NO_ROWS]
        )
        rows = rows[np.argsort(packed.ids[rows])]
        return cls(rows, np.take(packed.signs, rows, axis=1))


@dataclass(frozen=True, slots=True)
class VectorSnapshot:
    """An immutable snapshot of the packed vectors and later changes: everything a search by meaning needs.

    If there is a graph over the packed ones, it finds the candidates.
    """

    packed: PackedVectors
    fresh: Fresh
    together: GenerationCache[Together]
    graph: hnsw.Proximity | None = None

    def is_of(self, known: Current, model: int) -> bool:
        """Return True if this is the state recorded in the database."""
        return self.fresh.seen == known.latest and self.packed.is_of(known, model)

    def nearest(self, owner: int, vector: Vectors, limit: int, allowed: Allowed | None) -> Ranking:
        """Rank the `limit` allowed chunks of an owner with the highest cosines with a unit vector.

        An owner alone would not have fewer than `LEAST` vectors packed: so few are all examined, whatever else is
        packed.
        """
        mine = self.fresh.owners == owner
        changes = int(np.count_nonzero(mine))
        among = self.packed.of(owner)
        mask = self._mask(among, allowed)
        if among.stop - among.start - len(self._hidden(among)) + changes < LEAST:
            if mask is None:
                rows = np.arange(among.start, among.stop)
            else:
                rows = np.flatnonzero(mask) + among.start
            cosines = self.packed.cosines(rows, vector)
        else:
            if self.graph:
                search = self.graph.nearest_rows
            else:
                search = nearest_rows
            rows, cosines = search(self.packed, among, mask, vector, limit)
        if not changes:
            return best(self.packed.ids[rows], cosines, limit)
        changed = self.fresh.matrix.where(mine).nearest(vector, limit, allowed)
        ids = np.concatenate([self.packed.ids[rows], changed.ids])
        return best(ids, np.concatenate([cosines, changed.scores]), limit)

    def nearest_of_several(
        self, owners: Sequence[int], vector: Vectors, limit: int, allowed: Allowed | None
    ) -> Ranking:
        """Rank the nearest chunks of several owners like an index of only their content.

        Their rows are scanned in the order of their ids, and numbers too small for packing are all examined.
        """
        key = tuple(owners)
        token = self.packed.stamp.token
        gathered = self.together.get(key, token) or self.together.put(key, token, Together.of(self.packed, key))
        rows = gathered.rows
        signs: NDArray[np.uint64] | None = gathered.signs
        fresh = self.fresh.matrix.where(np.isin(self.fresh.owners, owners))
        if len(self.fresh.hidden):
            rows = rows[np.isin(rows, self.fresh.hidden, invert=True)]
            signs = None
        few = len(rows) + len(fresh.ids) < LEAST
        if allowed is not None:
            rows = rows[allowed.mask(self.packed.documents[rows], self.packed.chunks[rows])]
            signs = None
        changed = fresh.nearest(vector, limit, allowed)
        if few:
            near = rows
            cosines = self.packed.cosines(rows, vector)
        else:
            near, cosines = nearest_among(self.packed, rows, vector, limit, signs)
        ids = np.concatenate([self.packed.ids[near], changed.ids])
        return best(ids, np.concatenate([cosines, changed.scores]), limit)

    def lowest(self, owners: Sequence[int], most: int) -> tuple[Ids, object]:
        """Return the lowest public ids of some owners' chunks, ascending, and their vectors' state."""
        rows = np.concatenate(
            [np.arange(each.start, each.stop) for each in (self.packed.of(owner) for owner in owners)] or [_NO_ROWS]
        )
        if len(self.fresh.hidden):
            rows = rows[np.isin(rows, self.fresh.hidden, invert=True)]
        fresh = self.fresh.matrix.ids[np.isin(self.fresh.owners, owners)]
        ids = np.sort(np.concatenate([self.packed.ids[rows], fresh]))[:most]
        return ids, (self.packed.stamp.token, np.isin(ids, fresh).any() and self.fresh.seen)

    def sample(self, owners: Sequence[int], ids: Ids) -> tuple[Ids, Vectors]:
        """Return chunks of some owners with their vectors (len(ids), dimension)."""
        fresh = self.fresh.matrix.where(np.isin(self.fresh.matrix.ids, ids))
        new: Mapping[int, Vectors] = dict(zip(fresh.ids.tolist(), fresh.vectors, strict=True))
        known = {**self.vectors_of(owners, ids), **new}
        vectors = np.empty((len(ids), self.packed.values.shape[1]), np.float32)
        for row, id in enumerate(ids.tolist()):
            vectors[row] = known[id]
        return ids, vectors

    def _mask(self, among: slice, allowed: Allowed | None) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
        """Return which rows of a slice count, or None for all."""
        hidden = self._hidden(among)
        if allowed is None and not len(hidden):
            return None
        if allowed is None:
            mask = np.ones(among.stop - among.start, np.bool_)
        else:
            mask = allowed.mask(self.packed.documents[among], self.packed.chunks[among])
        mask[hidden] = False
        return mask

    def _hidden(self, among: slice) -> Ids:
        """Return the rows of a slice that changed since they were packed, relative to its start."""
        hidden = self.fresh.hidden
        first, last = np.searchsorted(hidden, [among.start, among.stop])
        found: Ids = hidden[first:last] - among.start
        return found

    def rows_of(self, owners: Sequence[int], ids: Ids) -> Ids:
        """Return the rows of some owners' packed and unchanged chunks."""
        rows = self.packed.rows_of_ids(ids)
        if len(self.fresh.hidden):
            rows = np.setdiff1d(rows, self.fresh.hidden)
        visible = [self.packed.of(owner) for owner in owners]
        if sum(mine.stop - mine.start for mine in visible) == len(self.packed):
            return rows
        theirs = np.zeros(len(rows), np.bool_)
        for mine in visible:
            theirs |= (rows >= mine.start) & (rows < mine.stop)
        return rows[theirs]

    def vectors_of(self, owners: Sequence[int], ids: Ids) -> dict[int, Vectors]:
        """Return the vectors of some owners' packed and unchanged chunks, by id."""
        rows = self.rows_of(owners, ids)
        return dict(zip(self.packed.ids[rows].tolist(), self.packed.vectors(rows), strict=True))


class VectorIndex(DerivedFile):
    """Maps the packed vectors of the database at `location`, follows its changes, and packs them again in time."""

    title = "the matrix of packed vectors"

    def __init__(self, location: str, known: Known, *, read_only: bool, way: str) -> None:
        if way not in WAYS:
            raise InvalidArgument(f"unknown search method {way!r} for neighbours: choose one of {', '.join(WAYS)}")
        super().__init__(location, NAME, read_only=read_only)
        self._location = location
        self._known = known
        self._graphs: Path | None = None
        if way == "hnsw":
            hnsw.needed()
            self._graphs = location_of(location, hnsw.NAME)
        # The token of the last graph seen.
        self._graph_seen = ""
        self._closing = self._renewing = False
        self._open: VectorSnapshot | None = None
        self._check: threading.Timer | None = None
        self._together: GenerationCache[Together] = GenerationCache(MOST_TOGETHER)

    def at(self, connection: apsw.Connection) -> VectorSnapshot | None:
        """Return the packed vectors with later changes as seen by a connection, or None if none fit."""
        rows = self._known(connection, CURRENT, name=NAME)
        if not rows or rows[0][2] in ("", self._refused):
            return None
        models = self._known(connection, _MODEL)
        found = self._open
        is_known = found and models and found.is_of(Current(*rows[0]), models[0][0])
        if not is_known or self._graph_moved(connection):
            with unmoved(connection) as others_may_see:
                found = self._followed(connection)
                if others_may_see:
                    self._open = found
        return found

    def _followed(self, connection: apsw.Connection) -> VectorSnapshot | None:
        """Return the current snapshot, derived from the former one if the packed file is unchanged."""
        known = current(connection, NAME)
        model = connection.execute(_MODEL).fetchone()
        if known is None or model is None:
            return None
        former = self._open
        try:
            if former and former.packed.is_of(known, model[0]):
                packed = former.packed
                fresh = former.fresh
            else:
                packed = PackedVectors.open(self.place, known, model[0])
                fresh = Fresh.none(known.covered, model[1])
                self._refused = self.damage = ""
                self._check_later(packed)
        except Unfit as error:
            self._set_aside(known.token, error)
            return None
        if known.latest - fresh.seen > TOO_LONG:
            return None
        followed = _follow(connection, packed, fresh, known.latest)
        return VectorSnapshot(packed, followed, self._together, self._graph_of(connection, packed))

    def _check_later(self, packed: PackedVectors) -> None:
        """Verify a newly opened file in the background: a query does not wait for that."""
        if self._check:
            self._check.cancel()
        self._check = threading.Timer(CHECK_AFTER, self._check_whole, (packed,))
        self._check.daemon = True
        self._check.start()

    def _check_whole(self, packed: PackedVectors) -> None:
        """Stop using a file and rebuild it if its content is not what was written."""
        try:
            packed.verify()
        except Unfit as error:
            self._set_aside(packed.stamp.token, error)
            self._open = None
            self.suggest()

    def _graph_moved(self, connection: apsw.Connection) -> bool:
        """Return True if there is another graph than the last one seen."""
        return self._graphs is not None and hnsw.known(connection) != self._graph_seen

    def _graph_of(self, connection: apsw.Connection, packed: PackedVectors) -> hnsw.Proximity | None:
        """Return the graph over the packed vectors, if it is enabled and can be used."""
        if self._graphs is None or len(packed) < hnsw.LEAST:
            return None
        if self._open and self._open.packed is packed and not self._graph_moved(connection):
            return self._open.graph
        self._graph_seen = hnsw.known(connection)
        try:
            return hnsw.Proximity.open(self._graphs, packed, self._graph_seen)
        except Unfit:
            self.suggest()
            return None

    def unused_graph(self, connection: apsw.Connection) -> str | None:
        """Return why the chosen graph is not used; None if it is used, or none was chosen."""
        if self._graphs is None:
            return None
        found = self.at(connection)
        if found and found.graph:
            return None
        model = connection.execute(_MODEL).fetchone()
        if model:
            count = connection.execute(_COUNT, {"model": model[0]}).get
        else:
            count = 0
        if count < hnsw.LEAST:
            reason = f"{count:,} vectors are scanned faster, and a graph is built from {hnsw.LEAST:,} on"
        else:
            reason = "the graph is not built yet"
        return f"neighbors=hnsw is not used: {reason}"

    def will_be_packed(self, connection: apsw.Connection) -> bool:
        """Have vectors packed soon for the benefit of searches, if there are enough; return whether there are."""
        if self.builder is None or self._known(connection, _HIGHEST)[0][0] < LEAST:
            return False
        self.suggest()
        models = self._known(connection, _MODEL)
        return bool(models) and self._known(connection, _COUNT, model=models[0][0])[0][0] >= LEAST

    def _is_behind(self, connection: apsw.Connection) -> bool:
        """Return True if there may be enough vectors for packing, by the highest row, which is cheap to read."""
        return bool(self._known(connection, _HIGHEST)[0][0] >= LEAST)

    def build(self) -> None:
        """Pack unpacked vectors now, if there are enough."""
        self._changed_at = -QUIET
        super().build()

    def erased(self, owners: Collection[int], *, documents: bool) -> None:
        """Pack the vectors again, so that nothing deleted stays in a file beside the database."""
        if documents and self.builder and self.place.exists():
            self._renewing = True
            self.build()

    def close(self) -> None:
        """End background work; this process's changes are packed first, but no graph is waited for."""
        self._changed_at = -QUIET
        self._closing = True
        if self._check:
            self._check.cancel()
        super().close()

    def _verify(self, connection: apsw.Connection, known: Current) -> None:
        model = connection.execute(_MODEL).fetchone()
        if model is None:
            return
        packed = PackedVectors.open(self.place, known, model[0])
        packed.verify()
        try:
            if self._graphs:
                hnsw.verify(self._graphs, packed, hnsw.known(connection))
        except NotBuilt:
            return
        except Unfit as error:
            raise Unfit(f"of the graph over it, {error}") from error

    def forget(self, connection: apsw.Connection) -> None:
        """Forget any copy, and any graph over it."""
        forget(connection, f"{NAME}*")

    def _keep(self, connection: apsw.Connection) -> bool:
        """Pack if it is time, and update the graph; return False if postponed, or if another process is doing so."""
        return self._keep_packed(connection) and (self._graphs is None or self._keep_graph(connection, self._graphs))

    def _keep_packed(self, connection: apsw.Connection) -> bool:
        model = connection.execute(_MODEL).fetchone()
        if model is None or connection.execute(_COUNT, {"model": model[0]}).get < LEAST:
            if self._renewing:
                self._drop(connection)
            return True
        with unmoved(connection):
            behind, rows = self._behind(connection, model[0])
        quiet = time.monotonic() - self._changed_at >= QUIET
        if not self._renewing:
            if behind <= QUIET_SHARE * rows:
                return True
            if not quiet and behind <= min(SHARE * rows, MOST):
                return False
        built = rebuild(
            connection, self.place, NAME, FORMAT, lambda path, stamp: write(connection, path, stamp, *model)
        )
        if built and self._renewing:
            self._renewing = False
            self._drop_graph(connection)
        return built

    def _drop(self, connection: apsw.Connection) -> None:
        """Delete the files beside the database."""
        self._renewing = False
        self.forget(connection)
        self.place.unlink(missing_ok=True)
        self._drop_graph(connection)

    def _drop_graph(self, connection: apsw.Connection) -> None:
        """Delete the graph, which contains vectors too, until it is rebuilt."""
        forget(connection, hnsw.NAME)
        shutil.rmtree(location_of(self._location, hnsw.NAME), ignore_errors=True)

    def _keep_graph(self, connection: apsw.Connection, place: Path) -> bool:
        known = current(connection, NAME)
        model = connection.execute(_MODEL).fetchone()
        if known is None or model is None or self._closing:
            return True
        try:
            packed = PackedVectors.open(self.place, known, model[0])
        except Unfit:
            return True
        return len(packed) < hnsw.LEAST or hnsw.keep(connection, place, packed, lambda: not self._closing)

    def _behind(self, connection: apsw.Connection, model: int) -> tuple[float, int]:
        """Return the number of chunks changed since packing, and of all; infinity if nothing fits."""
        try:
            known = current(connection, NAME)
            if known and known.token != self._refused:
                return len(touched(connection, NAME, known.covered)), len(PackedVectors.open(self.place, known, model))
        except Unfit:
            pass
        return float("inf"), 0


def _follow(connection: apsw.Connection, packed: PackedVectors, fresh: Fresh, latest: int) -> Fresh:
    """Return the changes up to the log's last entry."""
    chunks = np.array(touched(connection, NAME, fresh.seen), np.int64)
    if not len(chunks):
        return replace(fresh, seen=latest)
    bound = {"chunks": json.dumps(chunks.tolist()), "model": packed.stamp.facts["model"]}
    rows: list[Any] = connection.execute(_FRESH, bound).fetchall()
    kept = ~np.isin(fresh.matrix.chunks, chunks)
    every = np.union1d(fresh.chunks, chunks)
    return Fresh(
        latest,
        every,
        np.sort(packed.rows_of_chunks(every)),
        np.concatenate([fresh.owners[kept], np.array([row[0] for row in rows], np.int64)]),
        fresh.matrix.where(kept).and_those(Matrix.of([row[1:] for row in rows], packed.values.shape[1])),
    )
