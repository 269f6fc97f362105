"""The pages of a database file, read without the engine: which are intact, and the rows on them.

This reads pages that no other page refers to, which the engine cannot do. See https://www.sqlite.org/fileformat2.html
for the format, and https://sqlite.org/cksumvfs.html for the checksums.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rifflux.store.sqlite.connection.connect import RESERVED, file_beside, translated

#: The size of an index's pages, and the used part of it.
PAGE = 8192
USABLE = PAGE - RESERVED
#: The types of pages: inner pages and leaves, of indexes and tables without row numbers, and of tables.
INNER_INDEX, INNER_TABLE, LEAF_INDEX, LEAF_TABLE = 2, 5, 10, 13
_HEADER = 100
#: The offset of the first free page's number in the file header.
_FREE = 32
#: Payloads up to these lengths are on their page; of longer ones only a part, and the rest on overflow pages.
_MOST_OF_TABLE = USABLE - 35
_MOST_OF_INDEX = (USABLE - 12) * 64 // 255 - 23
_LEAST = (USABLE - 12) * 32 // 255 - 23
#: The number of pages compared with their checksums at a time.
_BATCH = 512
_LOG_HEADER = 32
_FRAME_HEADER = 24
_LOG_MAGIC = 0x377F0682

Words = NDArray[np.uint32]


class NoRow(Exception):
    """Raised if data on a page is not a valid row."""


class Row(NamedTuple):
    """A stored row: its number, None in a table without; its values; and whether its pages are intact."""

    number: int | None
    values: tuple[Any, ...]
    whole: bool


class _Content:
    """The bytes of an index's file, which may be open in this process; a slice is read when it is taken."""

    def __init__(self, path: Path) -> None:
        with translated(str(path)):
            self._file = file_beside(path)
            self._size = self._file.xFileSize()

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, end, _ = part.indices(self._size)
        return self._file.xRead(end - start, start) if start < end else b""

    def close(self) -> None:
        self._file.xClose()


@dataclass(slots=True)
class DatabasePages:
    """A database file as read, with the pages of its log in their places; pages count from 1."""

    data: _Content
    log: dict[int, bytes] = field(default_factory=dict)
    damaged: frozenset[int] = frozenset()

    @classmethod
    def read(cls, path: Path) -> DatabasePages:
        """Read a file and the committed pages of its log."""
        log = path.with_name(f"{path.name}-wal")
        pages = cls(_Content(path), _committed(log.read_bytes()) if log.exists() else {})
        pages.damaged = frozenset(pages._damaged())
        return pages

    def __len__(self) -> int:
        return max(len(self.data) // PAGE, max(self.log, default=0))

    def close(self) -> None:
        """Close the file."""
        self.data.close()

    def page(self, number: int) -> bytes:
        """Return a page. Raises `NoRow` if there is none with that number."""
        found = self.log.get(number) or self.data[(number - 1) * PAGE : number * PAGE]
        if number < 1 or len(found) != PAGE:
            raise NoRow(f"there is no page {number}")
        return found

    def _damaged(self) -> Iterator[int]:
        """Yield the pages that differ from their checksums, except those in the log, which is verified itself."""
        free = self.free()
        present = len(self.data) // PAGE
        for start in range(0, present, _BATCH):
            end = min(start + _BATCH, present)
            words = np.frombuffer(self.data[start * PAGE : end * PAGE], "<u4").reshape(end - start, -1)
            wrong = np.any(_checksums(words[:, : USABLE // 4]) != words[:, USABLE // 4 :], axis=1)
            # A page of zeros has a checksum of zeros. Only a free page may be empty.
            empty = ~np.any(words, axis=1)
            for number, bad, zeros in zip(range(start + 1, end + 1), wrong.tolist(), empty.tolist(), strict=True):
                if number not in self.log and (bad or (zeros and number not in free)):
                    yield number
        # A process may end while it moves the log's last page, half of which is then behind the others.
        if present * PAGE < len(self.data) and present + 1 not in self.log:
            yield present + 1

    def free(self) -> set[int]:
        """Return the pages in the list of free ones, as far as it can be read."""
        found: set[int] = set()
        try:
            trunk = struct.unpack_from(">I", self.page(1), _FREE)[0]
            while trunk and trunk not in found:
                found.add(trunk)
                page = self.page(trunk)
                trunk, count = struct.unpack_from(">II", page)
                found.update(struct.unpack_from(f">{min(count, USABLE // 4 - 2)}I", page, 8))
        except NoRow:
            pass
        return found

    def kind(self, number: int) -> int:
        """Return the type of a page, or 0 if it does not exist."""
        try:
            return self.page(number)[_start(number)]
        except NoRow:
            return 0

    def children(self, number: int) -> list[int]:
        """Return the child pages of an inner page, in order."""
        page = self.page(number)
        start = _start(number)
        places = self._places(number, 12)
        below = [struct.unpack_from(">I", page, place)[0] for place in places if place + 4 <= USABLE]
        return [*below, struct.unpack_from(">I", page, start + 8)[0]]

    def _places(self, number: int, header: int) -> tuple[int, ...]:
        """Return the offsets of the cells of a page."""
        page = self.page(number)
        start = _start(number)
        count = struct.unpack_from(">H", page, start + 3)[0]
        if start + header + 2 * count > USABLE:
            raise NoRow(f"page {number} counts more cells than it has room for")
        return struct.unpack_from(f">{count}H", page, start + header)

    def rows(self, number: int) -> Iterator[Row]:
        """Yield the readable rows on a page."""
        kind = self.kind(number)
        try:
            places = self._places(number, 12 if kind in (INNER_INDEX, INNER_TABLE) else 8)
        except NoRow:
            return
        if kind == INNER_TABLE:
            return
        for place in places:
            try:
                yield self._row(number, kind, place)
            except (NoRow, IndexError, struct.error, UnicodeDecodeError, OverflowError):
                continue

    def _row(self, number: int, kind: int, place: int) -> Row:
        page = self.page(number)
        if kind == INNER_INDEX:
            place += 4
        length, place = _varint(page, place)
        row: int | None = None
        if kind == LEAF_TABLE:
            row, place = _varint(page, place)
            row -= (row >> 63) << 64
        local = _local(length, table=kind == LEAF_TABLE)
        if place + local > USABLE:
            raise NoRow("a row is longer than its page")
        payload = page[place : place + local]
        whole = number not in self.damaged
        if local < length:
            rest, rest_whole = self._overflow(struct.unpack_from(">I", page, place + local)[0], length - local)
            payload += rest
            whole = whole and rest_whole
        return Row(row, _values(payload), whole)

    def _overflow(self, number: int, length: int) -> tuple[bytes, bool]:
        """Return the content of overflow pages, and whether these are intact."""
        if length > len(self) * USABLE:
            raise NoRow("a row is longer than the file")
        parts = []
        whole = True
        while length > 0:
            page = self.page(number)
            whole = whole and number not in self.damaged
            parts.append(page[4 : min(USABLE, 4 + length)])
            length -= len(parts[-1])
            number = struct.unpack_from(">I", page)[0]
        return b"".join(parts), whole


def _start(number: int) -> int:
    """Return the offset of a page's header, which on the first page follows the file header."""
    return _HEADER if number == 1 else 0


def _local(length: int, *, table: bool) -> int:
    """Return the length of a payload's part on its page."""
    most = _MOST_OF_TABLE if table else _MOST_OF_INDEX
    if length <= most:
        return length
    part = _LEAST + (length - _LEAST) % (USABLE - 4)
    return part if part <= most else _LEAST


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and the offset after it."""
    value = 0
    for _ in range(8):
        byte = data[place]
        place += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place
    return value << 8 | data[place], place + 1


def _values(payload: bytes) -> tuple[Any, ...]:
    """Return the values of a record."""
    end, place = _varint(payload, 0)
    kinds = []
    while place < end:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    if place != end:
        raise NoRow("a record's header does not end where it says")
    found = []
    for kind in kinds:
        value, place = _value(payload, kind, place)
        found.append(value)
    if place != len(payload):
        raise NoRow("a record does not end where it says")
    return tuple(found)


#: The byte lengths of integers by type.
_WIDTHS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def _value(payload: bytes, kind: int, place: int) -> tuple[Any, int]:
    """Return a value of a type, and the offset after it."""
    if kind in _WIDTHS:
        end = place + _WIDTHS[kind]
        return int.from_bytes(payload[place:end], "big", signed=True), end
    if kind == 0:
        return None, place
    if kind == 7:
        return struct.unpack_from(">d", payload, place)[0], place + 8
    if kind in (8, 9):
        return kind - 8, place
    if kind < 12:
        raise NoRow(f"no value is of sort {kind}")
    end = place + (kind - 12) // 2
    if end > len(payload):
        raise NoRow("a value is longer than its record")
    if kind % 2:
        return payload[place:end].decode(), end
    return payload[place:end], end


@lru_cache
def _powers(pairs: int) -> tuple[Words, Words, Words, Words]:
    """Return the factors of each word of `pairs` pairs in the two sums, from the first pair on.

    A pair (a, b) turns the sums (s, t) into (s + a + t, t + b + s + a + t), and each later pair does so again.
    """
    rows = np.empty((pairs, 4), np.uint64)
    p, q, r = 1, 0, 1
    for place in reversed(range(pairs)):
        # The matrix ((p, q), (q, r)), a power of ((1, 1), (1, 2)), times the pair's own part (a, a + b).
        rows[place] = (p + q, q, q + r, r)
        p, q, r = p + q, p + 2 * q, q + 2 * r
        p, q, r = (each & 0xFFFFFFFF for each in (p, q, r))
    columns = rows.astype(np.uint32)
    return columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3]


def _checksums(words: Words) -> Words:
    """Return the two sums of each row of words."""
    first_a, first_b, second_a, second_b = _powers(words.shape[1] // 2)
    a = words[:, 0::2]
    b = words[:, 1::2]
    return np.stack([a @ first_a + b @ first_b, a @ second_a + b @ second_b], axis=1)


def _committed(log: bytes) -> dict[int, bytes]:
    """Return the pages of a log up to the last commit, the latest version of each number."""
    if len(log) < _LOG_HEADER:
        return {}
    magic, _, size, _, salt, other, *sums = struct.unpack_from(">8I", log)
    if magic & ~1 != _LOG_MAGIC or size != PAGE:
        return {}
    order = ">u4" if magic & 1 else "<u4"
    if _continued(log[:24], (0, 0), order) != tuple(sums):
        return {}
    state = (sums[0], sums[1])
    committed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    for start in range(_LOG_HEADER, len(log) - _FRAME_HEADER - PAGE + 1, _FRAME_HEADER + PAGE):
        number, commit, *salts, first, second = struct.unpack_from(">6I", log, start)
        page = log[start + _FRAME_HEADER : start + _FRAME_HEADER + PAGE]
        state = _continued(log[start : start + 8] + page, state, order)
        if salts != [salt, other] or state != (first, second):
            break
        waiting[number] = page
        if commit:
            committed |= waiting
            waiting = {}
    return committed


def _continued(data: bytes, state: tuple[int, int], order: str) -> tuple[int, int]:
    """Return the two sums of a log continued with more data."""
    words = np.frombuffer(data, order).astype(np.uint32)
    # Sums before the first pair count like a pair of their own: (s, t) results from (s, t - s) and zero.
    before = np.array([state[0], (state[1] - state[0]) & 0xFFFFFFFF], np.uint32)
    first, second = _checksums(np.concatenate([before, words])[None, :])[0].tolist()
    return first, second
