"""A graph of nearest neighbours (HNSW, Malkov and Yashunin 2016) over more than a million packed vectors.

The time of a scan is proportional to the rows; that of a walk through the graph hardly grows with ten times as many.
But the graph takes minutes to build and as much space again, so it is optional (`neighbors="hnsw"`), and there is none
below `LEAST` rows. It only finds candidates, whose cosines come from the packed vectors, as after a scan.

The graph is a folder beside the database (`derived`): a stamp, the nodes, and usearch's own file, memory-mapped. A node
is identified by its chunk and a mark of its vector, so a graph remains usable when the vectors are packed again: nodes
that are no longer packed are ignored, and packed rows without a node are scanned until the graph is updated in the
background, by adding those rows, or by rebuilding it once too many nodes are dead.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux.errors import Cure, MissingExtra
from rifflux.store.sqlite.connection.derived import NotBuilt, StateStamp, Unfit, rebuild
from rifflux.store.sqlite.connection.engine import current
from rifflux.store.sqlite.semantic.packed import NAME as VECTORS
from rifflux.store.sqlite.semantic.packed import PackedVectors
from rifflux.store.sqlite.semantic.scan import FEW, nearest_rows
from rifflux.types import Ids, Scores, Vectors

if TYPE_CHECKING:
    from usearch.index import Index

#: It has the prefix of the packed vectors and is forgotten with them.
NAME = f"{VECTORS}-graph"
FORMAT = 1
#: The minimum number of packed rows for a graph; fewer are scanned as fast.
LEAST = 250_000
#: The number of links per node, and of rows examined to find them.
LINKS = 16
WIDTH = 128
#: The number of candidates per search: the requested number times this, and at least `FEWEST`.
WIDER = 2
FEWEST = 800
#: A filter that leaves a smaller share of the rows is applied by scanning them.
NARROW = 0.1
#: The maximum share of rows without a node, or of nodes without a row, for a graph to be used.
STALE = 0.125
#: The share of rows without a node that is left to the scan.
REST = 0.01
#: The number of rows added at a time.
BATCH = 8192

#: The bytes before the vectors in usearch's file: their number and length.
_HEAD = 8
_STAMP = "stamp"
_NODES = "nodes.npy"
_GRAPH = "links.usearch"
_NODE = np.dtype([("chunk", "<i8"), ("mark", "<u8")])
_ODD = np.uint64(0x9E3779B97F4A7C15)

Mask = NDArray[np.bool_]


def needed() -> None:
    """Raise `MissingExtra` unless graphs can be used."""
    # Imported first: a thread that imports it after usearch crashes the process (onnxruntime 1.32, numkong 7.8).
    with suppress(ImportError):
        import_module("onnxruntime")
    try:
        import usearch.index  # noqa: F401
    except ImportError:
        message = "neighbors='hnsw' needs usearch ('scan' does not)"
        raise MissingExtra(message, cure=Cure.INSTALL, package="rifflux[hnsw]") from None


@dataclass(frozen=True, slots=True)
class Proximity:
    """An open graph matched to a packed file: the row of each node (-1: none), and the rows without a node."""

    graph: Index
    stamp: StateStamp
    rows: NDArray[np.int32]
    rest: Ids
    lock: threading.Lock

    @classmethod
    def open(cls, place: Path, packed: PackedVectors, token: str) -> Proximity:
        """Map the graph at a path. Raises `Unfit` if its token differs, or if it is damaged or too stale."""
        stamp, nodes = _read(place, packed, token)
        rows = _rows_of(nodes, packed)
        held = np.zeros(len(packed), np.bool_)
        held[rows[rows >= 0]] = True
        found = cls(_empty(packed), stamp, rows, np.flatnonzero(~held), threading.Lock())
        if found.stale > STALE:
            raise Unfit("it is of other vectors than are packed")
        _verify(place, stamp, whole=False)
        found.graph.view(place / _GRAPH)
        return found

    @property
    def stale(self) -> float:
        """Return the share of rows without a node, or of nodes without a row, whichever is larger."""
        missing = len(self.rest)
        dead = int(np.count_nonzero(self.rows < 0))
        return max(missing / max(len(self.rows) - dead + missing, 1), dead / max(len(self.rows), 1))

    def nearest_rows(
        self, packed: PackedVectors, among: slice, allowed: Mask | None, vector: Vectors, limit: int
    ) -> tuple[Ids, Scores]:
        """Return rows near a vector, as `scan.nearest_rows` does, which is used if few rows are allowed."""
        if allowed is None:
            left = among.stop - among.start
        else:
            left = int(np.count_nonzero(allowed))
        share = left / max(len(packed), 1)
        if left <= FEW or share < NARROW:
            return nearest_rows(packed, among, allowed, vector, limit)
        wanted = math.ceil(max(FEWEST, WIDER * limit) / share)
        rows = self._counting(self._walked(vector, wanted), among, allowed)
        if len(rows) < min(limit, left - len(self.rest)):
            return nearest_rows(packed, among, allowed, vector, limit)
        others, cosines = self._without_node(packed, among, allowed, vector, limit)
        return np.concatenate([rows, others]), np.concatenate([packed.cosines(rows, vector), cosines])

    def _walked(self, vector: Vectors, wanted: int) -> Ids:
        """Return the rows of about `wanted` nodes near a vector."""
        with self.lock:
            nodes = self.graph.search(vector, wanted, threads=1).keys
        rows: Ids = self.rows[nodes.astype(np.int64)].astype(np.int64)
        return rows[rows >= 0]

    def _counting(self, rows: Ids, among: slice, allowed: Mask | None) -> Ids:
        """Return the rows that are in a slice and allowed in it."""
        rows = rows[(rows >= among.start) & (rows < among.stop)]
        return rows if allowed is None else rows[allowed[rows - among.start]]

    def _without_node(
        self, packed: PackedVectors, among: slice, allowed: Mask | None, vector: Vectors, limit: int
    ) -> tuple[Ids, Scores]:
        rest = self._counting(self.rest, among, allowed)
        mask = np.zeros(among.stop - among.start, np.bool_)
        mask[rest - among.start] = True
        if len(rest):
            return nearest_rows(packed, among, mask, vector, limit)
        return (rest, np.empty(0, np.float64))


def keep(connection: apsw.Connection, place: Path, packed: PackedVectors, going_on: Callable[[], bool]) -> bool:
    """Update the graph to the packed vectors; return False if another process is doing so.

    It is abandoned as soon as `going_on()` is False.
    """
    former = None
    try:
        former = Proximity.open(place, packed, known(connection))
        if len(former.rest) <= REST * len(packed):
            return True
    except Unfit:
        former = None
    try:
        return rebuild(
            connection, place, NAME, FORMAT, lambda new, stamp: _write(new, stamp, packed, former, place, going_on)
        )
    except _GivenUp:
        return True


def known(connection: apsw.Connection) -> str:
    """Return the token of the graph recorded in the database, or an empty string."""
    found = current(connection, NAME)
    if found:
        return found.token
    return ""


def verify(place: Path, packed: PackedVectors, token: str) -> None:
    """Verify a whole graph. Raises `Unfit` if it is damaged; having none is valid."""
    if token:
        _verify(place, _read(place, packed, token)[0], whole=True)


class _GivenUp(Exception):
    """Raised to abandon a build that nobody waits for."""


def _write(
    new: Path,
    stamp: StateStamp,
    packed: PackedVectors,
    former: Proximity | None,
    place: Path,
    going_on: Callable[[], bool],
) -> None:
    """Write a graph: the former one with nodes for the rows that have none, or one of all rows."""
    new.mkdir(0o700)
    graph = _empty(packed)
    nodes = np.empty(0, _NODE)
    rows = np.arange(len(packed))
    if former is not None:
        graph.load(place / _GRAPH)
        nodes = np.load(place / _NODES)
        rows = former.rest
    for start in range(0, len(rows), BATCH):
        if not going_on():
            raise _GivenUp
        some = rows[start : start + BATCH]
        graph.add(np.arange(len(nodes) + start, len(nodes) + start + len(some), dtype=np.uint64), packed.vectors(some))
    added = np.empty(len(rows), _NODE)
    added["chunk"], added["mark"] = packed.chunks[rows], _marks(packed, rows)
    np.save(new / _NODES, np.concatenate([nodes, added]))
    graph.save(new / _GRAPH)
    facts = {
        "model": packed.stamp.facts["model"],
        "sizes": {name: (new / name).stat().st_size for name in (_NODES, _GRAPH)},
        "checksums": {
            "nodes": _checksum(new / _NODES),
            "links": _checksum(new / _GRAPH, *_links(new / _GRAPH)),
            "graph": _checksum(new / _GRAPH),
        },
    }
    (new / _STAMP).write_bytes(replace(stamp, facts=facts).encoded())


def _empty(packed: PackedVectors) -> Index:
    from usearch.index import Index

    width = packed.values.shape[1]
    # With eight bits per component, because the rows only need to find candidates.
    return Index(
        ndim=width, metric="cos", dtype="i8", connectivity=LINKS, expansion_add=WIDTH, enable_key_lookups=False
    )


def _read(place: Path, packed: PackedVectors, token: str) -> tuple[StateStamp, NDArray[Any]]:
    """Return the stamp and the nodes of a graph. Raises `Unfit` if they are damaged or of another model."""
    try:
        try:
            written = (place / _STAMP).read_bytes()
        except FileNotFoundError:
            raise NotBuilt("there is none") from None
        stamp = StateStamp.decoded(written)
        if (stamp.name, stamp.format, stamp.facts["model"]) != (NAME, FORMAT, packed.stamp.facts["model"]):
            raise NotBuilt("it is of another format, or of another model")
        if stamp.token != token:
            raise NotBuilt("it belongs to another state of the database")
        if any((place / name).stat().st_size != size for name, size in stamp.facts["sizes"].items()):
            raise Unfit("it was cut short")
        if _checksum(place / _NODES) != stamp.facts["checksums"]["nodes"]:
            raise Unfit("its nodes are damaged")
        return stamp, np.load(place / _NODES)
    except OSError as error:
        raise Unfit(f"it cannot be read: {error}") from error


def _verify(place: Path, stamp: StateStamp, *, whole: bool) -> None:
    """Verify checksums: of the links, which a walk follows blindly, or of everything."""
    path = place / _GRAPH
    expected = stamp.facts["checksums"]
    if _checksum(path, *_links(path)) != expected["links"] or (whole and _checksum(path) != expected["graph"]):
        raise Unfit("its links are damaged")


def _links(path: Path) -> tuple[int, int]:
    """Return the position and size of the links in usearch's file: after two numbers and the vectors."""
    with path.open("rb") as file:
        rows, width = np.frombuffer(file.read(_HEAD), "<u4").tolist()
    start = _HEAD + rows * width
    return start, path.stat().st_size - start


def _checksum(path: Path, start: int = 0, size: int = -1) -> int:
    """Return the checksum of a part of a file, or of all."""
    checksum = 0
    left = path.stat().st_size if size < 0 else size
    with path.open("rb") as file:
        file.seek(start)
        while left > 0 and (data := file.read(min(left, 1 << 20))):
            checksum = crc32(data, checksum)
            left = left - len(data)
    return checksum


def _marks(packed: PackedVectors, rows: Ids) -> NDArray[np.uint64]:
    """Return a mark for each vector, which differs if the vector does."""
    marks = packed.scales[rows].view("<u4").astype(np.uint64)
    for word in packed.signs:
        marks = marks * _ODD + word[rows]
        marks ^= marks >> np.uint64(29)
    return marks


def _rows_of(nodes: NDArray[Any], packed: PackedVectors) -> NDArray[np.int32]:
    """Return the row of each node, or -1 if its chunk is not packed or has another vector."""
    if not len(packed):
        return np.full(len(nodes), -1, np.int32)
    places = np.searchsorted(packed.chunks, nodes["chunk"], sorter=packed.by_chunk)
    rows = packed.by_chunk[np.minimum(places, len(packed) - 1)].astype(np.int64)
    same = (packed.chunks[rows] == nodes["chunk"]) & (_marks(packed, rows) == nodes["mark"])
    return np.where(same, rows, np.int32(-1)).astype(np.int32)
