"""Putting what can be read of a damaged database into a new one; the damaged file is kept next to it.

Tables are read by row number: where a page is damaged, the numbers that lie on it are stepped over, and so is whatever
does not fit its column. Terms are not read, they are made again; nor is anything that is derived.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from rifflux.errors import Cure, DamagedIndex, NotAnIndex
from rifflux.store.sqlite.connection.connect import APPLICATION_ID, connect, translated
from rifflux.store.sqlite.connection.exchange import alone, exchange, new_folder
from rifflux.store.sqlite.maintenance.recognize import check_is_index

#: Rows that are read at a time, and stored in one transaction.
BATCH = 256
#: Row numbers that are tried one by one where a page is damaged: no page has room for more rows.
ONE_PAGE = 1024
#: Above the largest number that a row can have.
_LAST_ROW = 1 << 63
#: What is made again, or follows from the other tables.
LEFT_OUT = ("touched", "derived", "fresh_terms")
#: What a database of ours is known by.
OUR_TABLES = frozenset({"document", "chunk", "chunk_terms"})
#: The tables without which files are read again.
READ_ANEW = frozenset({"document", "chunk", "document_text"})
#: Where the header says how large the file is, in pages, and with which change of the file that was true.
_SIZE = 28
_SIZE_VALID = 92
_CHANGES = 24
_FREE = 32
_HEADER = 100

#: What reading a damaged page raises, or text that is none.
_UNREADABLE = (apsw.CorruptError, apsw.IOError, UnicodeDecodeError)

_TABLES = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by rowid"
_VIRTUAL = "select name from sqlite_master where sql like 'create virtual table%'"
_ROWS = "select rowid, {columns} from {table} where rowid > ? order by rowid limit ?"
_BOTH_WAYS = ("select {columns} from {table}", "select {columns} from {table} order by {key} desc")
_PUT = "insert or ignore into {table} ({columns}) values ({places})"
#: What Python makes of a column's declared type.
_TYPES: dict[str, tuple[type, ...]] = {"INTEGER": (int,), "REAL": (int, float), "TEXT": (str,), "BLOB": (bytes,)}


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The result of a salvage: the place of the damaged file, rows saved per table, and files to read again.

    The latter are all files if the table of documents, of their texts or of chunks was not there.
    """

    kept: Path
    rows: dict[str, int]
    again: int = 0


@dataclass(frozen=True, slots=True)
class _SalvagedTable:
    """A table with the columns that both databases have: name, declared type, place in the primary key."""

    name: str
    columns: tuple[tuple[str, str, int], ...]
    by_row: bool

    @property
    def listed(self) -> str:
        return ", ".join(name for name, _, _ in self.columns)

    @property
    def key(self) -> str:
        keys = sorted((place, name) for name, _, place in self.columns if place)
        return ", ".join(f"{name} desc" for _, name in keys).removesuffix(" desc") or "rowid"

    def fits(self, row: Sequence[Any]) -> bool:
        """Return whether the values are of the types that the columns have."""
        typed = zip(row, self.columns, strict=True)
        return all(
            value is None or isinstance(value, _TYPES.get(type.upper(), (object,))) for value, (_, type, _) in typed
        )


def salvage(location: str) -> Salvaged:
    """Put a new database with all readable rows in the place of a damaged one, and keep that under another name.

    The new one has no terms yet: mend it. Nobody else may use the index meanwhile. Raises `DamagedIndex` if nothing can
    be read, `NotAnIndex` for what never was one, and leaves everything as it was.
    """
    path = Path(location).expanduser()
    check_is_index(path)
    with translated(location), alone(path), new_folder(path) as folder:
        copy = folder / "damaged.db"
        new = folder / "new.db"
        for suffix in ("", "-wal"):
            if path.with_name(path.name + suffix).exists():
                shutil.copy(path.with_name(path.name + suffix), copy.with_name(copy.name + suffix))
        connect(str(new), create=True)[0].close()
        _make_readable(copy, new)
        target, _ = connect(str(new), create=False)
        try:
            rows = _carry_over(copy, target)
            lost = any(each not in rows for each in READ_ANEW)
            again = _read_again(target) if lost else 0
            target.pragma("journal_mode", "delete")
        finally:
            target.close()
        if not rows.get("document") and not rows.get("chunk"):
            raise DamagedIndex(
                f"nothing can be read of {path}: restore a copy, or delete it and index your files again"
            )
        kept = exchange(path, new, "damaged")
        assert kept
        return Salvaged(kept, rows, again)


def _make_readable(copy: Path, new: Path) -> None:
    """Give a copy that cannot be opened the header of a new index, then the list of its tables too."""
    ours = _is_ours(copy)
    for mend in (_give_header, _give_tables):
        if (tables := _tables_of(copy)) is not None:
            if not ours and not tables >= OUR_TABLES:
                raise NotAnIndex(f"{copy.name} is a database of another program", cure=Cure.OTHER_INDEX)
            return
        mend(copy, new)


def _is_ours(copy: Path) -> bool:
    """Return True if the file says that it is an index."""
    connection = _opened(copy)
    try:
        return bool(connection.pragma("application_id") == APPLICATION_ID)
    except (apsw.NotADBError, apsw.CorruptError):
        return False
    finally:
        connection.close()


def _read_again(target: apsw.Connection) -> int:
    """Have all files read by the next run of indexing; returns how many."""
    target.execute("update file set size = -1, hash = ''")
    return target.changes()


def _tables_of(copy: Path) -> set[str] | None:
    """Return the names of a database's tables; None if they cannot be read."""
    connection = _opened(copy)
    try:
        return {str(name) for (name,) in connection.execute(_TABLES)}
    except (apsw.NotADBError, apsw.CorruptError):
        return None
    finally:
        connection.close()


def _opened(copy: Path) -> apsw.Connection:
    connection = apsw.Connection(str(copy))
    # A file that was cut off is refused otherwise.
    connection.pragma("writable_schema", True)
    return connection


def _give_tables(copy: Path, new: Path) -> None:
    """Give a file the list of tables of a new index: made in one go, all have their tables on the same pages."""
    source = apsw.Connection(str(new))
    try:
        pages: list[Any] = source.execute("select pageno from dbstat where name = 'sqlite_schema'").fetchall()
    finally:
        source.close()
    with copy.open("r+b") as file, new.open("rb") as model:
        model.seek(16)
        size = struct.unpack(">H", model.read(2))[0]
        for (page,) in pages:
            start = (page - 1) * size + (_HEADER if page == 1 else 0)
            model.seek(start)
            file.seek(start)
            file.write(model.read(page * size - start))
    _give_header(copy, new)


def _give_header(copy: Path, new: Path) -> None:
    """Give a file the first bytes of an index; what they say of the file itself is written again."""
    with copy.open("r+b") as file, new.open("rb") as model:
        header = bytearray(model.read(_HEADER))
        page = struct.unpack_from(">H", header, 16)[0]
        size = file.seek(0, 2)
        if size < 2 * page:
            raise NotAnIndex(f"{copy.name} is no index, or nothing is left of it: restore a copy")
        struct.pack_into(">I", header, _SIZE, size // page)
        struct.pack_into(">II", header, _FREE, 0, 0)
        header[_SIZE_VALID : _SIZE_VALID + 4] = header[_CHANGES : _CHANGES + 4]
        file.seek(0)
        file.write(header)


def _carry_over(copy: Path, target: apsw.Connection) -> dict[str, int]:
    source = _opened(copy)
    try:
        # What the columns hold is looked at here; a reference may point to a row that was lost, and is mended later.
        target.execute("pragma foreign_keys = off")
        source.pragma("cell_size_check", True)
        return {table.name: _copy(source, target, table) for table in _tables(source, target)}
    except (apsw.CorruptError, apsw.NotADBError):
        return {}
    finally:
        source.close()


def _tables(source: apsw.Connection, target: apsw.Connection) -> Iterator[_SalvagedTable]:
    virtual: list[Any] = target.execute(_VIRTUAL).fetchall()
    for (name,) in target.execute(_TABLES).fetchall():
        if name in LEFT_OUT or any(str(name).startswith(f"{other}") for (other,) in virtual):
            continue
        present = {column for column, *_ in _columns(source, str(name))}
        columns = tuple(each for each in _columns(target, str(name)) if each[0] in present)
        if columns:
            by_row = "without rowid" not in str(
                target.execute("select sql from sqlite_master where name = ?", (name,)).get
            )
            yield _SalvagedTable(str(name), columns, by_row)


def _columns(connection: apsw.Connection, table: str) -> list[tuple[str, str, int]]:
    rows: list[Any] = connection.execute(f"pragma table_info({table})").fetchall()
    return [(name, type, key) for _, name, type, _, _, key in rows]


def _copy(source: apsw.Connection, target: apsw.Connection, table: _SalvagedTable) -> int:
    """Store every readable row that fits; returns how many."""
    places = ", ".join("?" * len(table.columns))
    put = _PUT.format(table=table.name, columns=table.listed, places=places)
    read = _by_row if table.by_row else _by_key
    before = target.total_changes()
    for rows in read(source, table):
        target.execute("begin")
        target.executemany(put, [row for row in rows if table.fits(row)])
        target.execute("commit")
    return target.total_changes() - before


def _by_row(source: apsw.Connection, table: _SalvagedTable) -> Iterator[list[Any]]:
    """Yield rows by growing number, some at a time; where that fails one at a time, stepping over what is damaged."""
    statement = _ROWS.format(columns=table.listed, table=table.name)
    after = -(1 << 62)
    batch = BATCH

    def rows_after(number: int, limit: int) -> list[Any] | None:
        try:
            rows: list[Any] = source.execute(statement, (number, limit)).fetchall()
        except _UNREADABLE:
            return None
        return _ascending(rows, number)

    while True:
        rows = rows_after(after, batch)
        if rows is None and batch > 1:
            batch = 1
            continue
        if rows is None:
            # Row numbers are positive and nearly dense.
            next_readable = _next_readable(max(after, 0), rows_after)
            if next_readable is None:
                return
            after = next_readable
            continue
        if not rows:
            return
        after = rows[-1][0]
        batch = min(BATCH, batch * 2)
        yield [row[1:] for row in rows]


def _ascending(rows: list[Any], after: int) -> list[Any] | None:
    """Return the rows up to the first whose number does not grow, None if that is the first of all.

    Where a page is not what the pages above it say, the engine may give the same row without end.
    """
    for place, row in enumerate(rows):
        if row[0] <= after:
            return rows[:place] or None
        after = row[0]
    return rows


def _next_readable(after: int, rows_after: Callable[[int, int], list[Any] | None]) -> int | None:
    """Return a number behind `after` from which on rows can be read, None if there is none.

    The rows of one damaged page are stepped over one by one. Where more is damaged, steps double, and the place where
    that ends is found by halving the last one: a file that lost half of its pages takes no more than some thousand
    steps for each gap.
    """
    for number in range(after + 1, after + ONE_PAGE + 1):
        if rows_after(number, 1) is not None:
            return number
    unreadable = after + ONE_PAGE
    step = ONE_PAGE
    while rows_after(unreadable + step, 1) is None:
        unreadable += step
        step *= 2
        if unreadable + step >= _LAST_ROW:
            return None
    readable = unreadable + step
    while readable - unreadable > 1:
        middle = (readable + unreadable) // 2
        if rows_after(middle, 1) is None:
            unreadable = middle
        else:
            readable = middle
    return readable


def _by_key(source: apsw.Connection, table: _SalvagedTable) -> Iterator[list[Any]]:
    """Yield rows from both ends of the table up to what is damaged; those in one piece twice, which does no harm."""
    for statement in _BOTH_WAYS:
        rows: list[Any] = []
        try:
            rows.extend(source.execute(statement.format(columns=table.listed, table=table.name, key=table.key)))
        except _UNREADABLE:
            yield rows
            continue
        yield rows
        return
