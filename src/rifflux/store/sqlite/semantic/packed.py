"""All vectors of the active model in one memory-mapped file beside the database.

A vector stands here twice: as the sign bits of its components, which are scanned, and as the integers and the scale
that the database has (`rounded` in `store/sqlite/query.py`). Rows are sorted by owner, so that an owner's are one
slice, then by chunk.

The file is a stamp (see `derived`) and the sections of `sections_of`. The checksums of small sections are verified when
the file is opened; those of the vectors themselves by `check`, which reads them all.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux.store.sqlite.connection.derived import STAMP_BYTES, NotBuilt, StateStamp, Unfit, private
from rifflux.store.sqlite.connection.engine import Current
from rifflux.store.sqlite.query import Ascending, from_bytes
from rifflux.store.sqlite.semantic.matrix import cosines_of
from rifflux.types import Ids, Scores, Vectors

NAME = "vectors"
FORMAT = 2
#: Rows that are packed at a time: few enough to stay in the processor's cache.
BATCH = 2048

_WORD_BITS = 64
#: Sections too large to be verified at every start.
_BULKY = ("signs", "values")

_ROWS = """
select vector.owner, vector.chunk, chunk.uid, chunk.document
from vector join chunk on chunk.id = vector.chunk
where vector.model = :model order by vector.owner, vector.chunk"""

# The cross join preserves the order of the list.
_VECTORS = """
select vector.rounded from json_each(:chunks) as wanted
cross join vector on vector.model = :model and vector.chunk = wanted.value"""

Array = NDArray[Any]


class Section(NamedTuple):
    """A section of the file: an array of a type and shape at a byte offset."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int

    @property
    def size(self) -> int:
        """Return its length in bytes."""
        return int(np.prod(self.shape)) * self.dtype.itemsize


def sections_of(rows: int, dimension: int, owners: int) -> dict[str, Section]:
    """Return the sections of a file by name; each starts on a page boundary."""
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        "owners": ("<i8", (owners, 2)),  # an owner's number, and where its rows start
        "chunks": ("<i8", (rows,)),
        "ids": ("<i8", (rows,)),
        "documents": ("<i8", (rows,)),
        "by_chunk": ("<i4", (rows,)),  # rows in the order of chunks, and of public ids
        "by_id": ("<i4", (rows,)),
        "scales": ("<f4", (rows,)),
        "signs": ("<u8", (-(-dimension // _WORD_BITS), rows)),
        "values": ("<i2", (rows, dimension)),
    }
    sections = {}
    start = STAMP_BYTES
    for name, (kind, shape) in shapes.items():
        sections[name] = section = Section(np.dtype(kind), shape, start)
        start += -(-section.size // STAMP_BYTES) * STAMP_BYTES
    return sections


@dataclass(frozen=True, slots=True)
class PackedVectors:
    """A mapped file. `values[row] * scales[row]` is a vector, `signs[:, row]` its sign bits, 64 per word."""

    stamp: StateStamp
    owners: Mapping[int, slice]
    chunks: Ids
    ids: Ids
    documents: Ids
    by_chunk: NDArray[np.int32]
    by_id: NDArray[np.int32]
    scales: NDArray[np.float32]
    signs: NDArray[np.uint64]
    values: NDArray[np.int16]
    #: The public ids in order.
    _by_id: Ascending = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", Ascending(self.ids, self.by_id))

    @classmethod
    def open(cls, path: Path, expected: Current, model: int) -> PackedVectors:
        """Map a file. Raises `Unfit` if it is not the expected one, or damaged."""
        try:
            with path.open("rb") as file:
                stamp = StateStamp.decoded(file.read(STAMP_BYTES))
                stamp.check(expected, NAME, FORMAT)
                if stamp.facts["model"] != model:
                    raise NotBuilt("it is of another model")
                if os.fstat(file.fileno()).st_size != stamp.size:
                    raise Unfit("it was cut short")
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise NotBuilt("there is no file") from None
        except OSError as error:
            raise Unfit(f"it cannot be read: {error}") from error
        arrays = _arrays(data, stamp)
        for name in arrays.keys() - set(_BULKY):
            _verify(name, arrays[name], stamp)
        return cls(stamp, _slices(arrays.pop("owners"), len(arrays["ids"])), **arrays)

    def __len__(self) -> int:
        return len(self.ids)

    def is_of(self, known: Current, model: int) -> bool:
        """Return True if this is the copy recorded in the database, of a given model."""
        return self.stamp.token == known.token and self.stamp.facts["model"] == model

    def verify(self) -> None:
        """Verify all of it. Raises `Unfit` if anything is damaged."""
        for name in _BULKY:
            _verify(name, getattr(self, name), self.stamp)

    def of(self, owner: int) -> slice:
        """Return the rows of an owner."""
        return self.owners.get(owner, slice(0, 0))

    def rows_of_chunks(self, chunks: Ids) -> Ids:
        """Return the rows of chunks, without those that have none."""
        return _found(self.chunks, self.by_chunk, chunks)

    def rows_of_ids(self, ids: Ids) -> Ids:
        """Return the rows of public ids, without those that have none."""
        rows = self._by_id.places_of(ids).astype(np.int64)
        return rows[rows >= 0]

    def cosines(self, rows: Ids, vector: Vectors) -> Scores:
        """Return the cosine of each row with a vector of unit length."""
        return cosines_of(self.values, self.scales, rows, vector)

    def vectors(self, rows: Ids) -> Vectors:
        """Return the vectors of rows."""
        found: Vectors = self.values[rows] * self.scales[rows, None]
        return found


def _arrays(data: mmap.mmap, stamp: StateStamp) -> dict[str, Array]:
    """Return the sections of a file, mapped."""
    layout = sections_of(stamp.facts["rows"], stamp.facts["dimension"], stamp.facts["owners"])
    last = next(reversed(layout.values()))
    if last.start + last.size != stamp.size:
        raise Unfit("its size does not fit its content")
    return {
        name: np.frombuffer(data, section.dtype, int(np.prod(section.shape)), section.start).reshape(section.shape)
        for name, section in layout.items()
    }


def _verify(name: str, array: Array, stamp: StateStamp) -> None:
    if crc32(array.data) != stamp.facts["checksums"][name]:
        raise Unfit(f"its {name} are damaged")


def _slices(owners: Array, rows: int) -> dict[int, slice]:
    starts = [*owners[:, 1].tolist(), rows]
    return {owner: slice(*starts[place : place + 2]) for place, owner in enumerate(owners[:, 0].tolist())}


def _found(known: Ids, order: NDArray[np.int32], wanted: Ids) -> Ids:
    """Return the positions of wanted values in `known`, sorted by `order`, without missing ones."""
    if not len(known):
        return np.empty(0, np.int64)
    places = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    rows: Ids = order[places].astype(np.int64)
    found: Ids = rows[known[rows] == wanted]
    return found


def sign_words(vectors: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack booleans (rows, dimension) into 64-bit words (rows, words), padded with False."""
    packed = np.packbits(vectors, axis=1, bitorder="little")
    missing = -packed.shape[1] % (_WORD_BITS // 8)
    if missing:
        packed = np.pad(packed, ((0, 0), (0, missing)))
    return np.ascontiguousarray(packed).view("<u8")


def write(connection: apsw.Connection, path: Path, stamp: StateStamp, model: int, dimension: int) -> None:
    """Write the vectors of a model to a new file, reading within the caller's transaction."""
    columns = _columns(connection, model)
    layout = sections_of(len(columns["ids"]), dimension, len(columns["owners"]))
    with open(path, "wb", opener=private) as file:
        checksums = _write_vectors(file, layout, _batches(connection, model, columns["chunks"], dimension))
        for name, array in columns.items():
            checksums[name] = _write(file, layout[name], array)
        last = layout["values"]
        facts = {
            "model": model,
            "rows": len(columns["ids"]),
            "dimension": dimension,
            "owners": len(columns["owners"]),
            "checksums": checksums,
        }
        file.truncate(last.start + last.size)
        file.seek(0)
        file.write(replace(stamp, size=last.start + last.size, facts=facts).encoded())
        file.flush()
        os.fsync(file.fileno())


def _columns(connection: apsw.Connection, model: int) -> dict[str, Array]:
    """Return the columns of all rows in packing order."""
    kinds = [("owner", "<i8"), ("chunk", "<i8"), ("id", "<i8"), ("document", "<i8")]
    rows = np.fromiter(connection.execute(_ROWS, {"model": model}), np.dtype(kinds))
    owners, starts = np.unique(rows["owner"], return_index=True)
    return {
        "owners": np.stack([owners, starts], axis=1),
        "chunks": np.ascontiguousarray(rows["chunk"]),
        "ids": np.ascontiguousarray(rows["id"]),
        "documents": np.ascontiguousarray(rows["document"]),
        "by_chunk": np.argsort(rows["chunk"]).astype("<i4"),
        "by_id": np.argsort(rows["id"]).astype("<i4"),
    }


def _batches(
    connection: apsw.Connection, model: int, chunks: Ids, dimension: int
) -> Iterator[tuple[NDArray[np.int16], NDArray[np.float32]]]:
    """Yield the integers and scales of the chunks' vectors, in order, in batches."""
    for start in range(0, len(chunks), BATCH):
        bound = {"model": model, "chunks": json.dumps(chunks[start : start + BATCH].tolist())}
        yield from_bytes([data for (data,) in connection.execute(_VECTORS, bound)], dimension)


def _write_vectors(
    file: BinaryIO,
    layout: Mapping[str, Section],
    batches: Iterator[tuple[NDArray[np.int16], NDArray[np.float32]]],
) -> dict[str, int]:
    """Write the three forms of the vectors, and return the checksum of each."""
    signs = np.zeros(layout["signs"].shape, "<u8")
    scales = np.zeros(layout["scales"].shape, "<f4")
    start = checksum = 0
    file.seek(layout["values"].start)
    for values, batch_scales in batches:
        end = start + len(values)
        signs[:, start:end] = sign_words(values >= 0).T
        scales[start:end] = batch_scales
        data = values.tobytes()
        file.write(data)
        start = end
        checksum = crc32(data, checksum)
    return {
        "values": checksum,
        "signs": _write(file, layout["signs"], signs),
        "scales": _write(file, layout["scales"], scales),
    }


def _write(file: BinaryIO, section: Section, array: Array) -> int:
    """Write a section and return its checksum."""
    data = np.ascontiguousarray(array, section.dtype).data
    file.seek(section.start)
    file.write(data)
    return crc32(data)
