"""Salvaging of a damaged database: everything readable goes into a new one; the damaged file remains beside it.

The pages are read one by one, so every row on an intact page is found, whatever is wrong with the pages above it. Terms
and derived data are not read but recomputed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from rifflux.errors import Cure, DamagedIndex, NotAnIndex
from rifflux.store.sqlite.connection.connect import (
    APPLICATION_ID,
    connect,
    translated,
)
from rifflux.store.sqlite.connection.engine import transaction
from rifflux.store.sqlite.connection.exchange import alone, exchange, new_folder
from rifflux.store.sqlite.connection.texts import compressed, decompressed, text_hash
from rifflux.store.sqlite.maintenance.pages import (
    INNER_INDEX,
    INNER_TABLE,
    LEAF_INDEX,
    LEAF_TABLE,
    DatabasePages,
    NoRow,
    Row,
)
from rifflux.store.sqlite.maintenance.recognize import check_is_index

#: Tables that are recomputed, or follow from the other tables.
LEFT_OUT = frozenset({"touched", "derived", "fresh_terms"})
#: Tables that are recomputed rather than read from a damaged page.
MADE_AGAIN = frozenset({"vector"})
#: The tables that identify a database as an index.
OUR_TABLES = frozenset({"document", "chunk", "chunk_terms"})
#: The tables without which files are read again.
READ_ANEW = frozenset({"document", "chunk", "document_text"})
_APPLICATION = 68

_SCHEMA = "select type, name, tbl_name, rootpage, sql from sqlite_master"
_PUT = "insert or ignore into {table} ({columns}) values ({places})"
_READ_AGAIN = "update file set size = -1, hash = ''"
#: The Python types of a column's declared type.
_TYPES: dict[str, tuple[type, ...]] = {"INTEGER": (int,), "REAL": (int, float), "TEXT": (str,), "BLOB": (bytes,)}
_ANYTHING = (object,)


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The result of a salvage: the damaged file's path, rows saved per table, and files to read again.

    `uncertain` is the number of rows read from damaged pages, which may have changed. `unknown` is the number of intact
    pages whose table cannot be determined.
    """

    original: Path
    rows: dict[str, int]
    again: int = 0
    uncertain: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class _Tree:
    """A table or an index: its stored columns, with their types and whether each may be null."""

    name: str
    columns: tuple[str, ...]
    types: tuple[tuple[tuple[type, ...], bool], ...]
    #: The position of the column that is the row number; None without one, and for indexes and tables without numbers.
    number: int | None
    by_row: bool
    is_table: bool

    def fits(self, row: Row) -> bool:
        """Return True if a row may belong to this tree."""
        if len(row.values) != len(self.types):
            return False
        return all(
            nullable if value is None else isinstance(value, types)
            for value, (types, nullable) in zip(row.values, self.types, strict=True)
        )

    def values(self, row: Row) -> tuple[Any, ...]:
        """Return the values of a row, including its number."""
        if self.number is None:
            return row.values
        return (*row.values[: self.number], row.number, *row.values[self.number + 1 :])


@dataclass(slots=True)
class _Found:
    """The pages of a damaged file by the tree they belong to."""

    pages: DatabasePages
    trees: dict[str, _Tree]
    owned: dict[int, str] = field(default_factory=dict)
    #: Trees with a damaged page or an unknown root, to which other pages may belong.
    broken: set[str] = field(default_factory=set)
    #: Pages that are free according to the file, if it can be trusted.
    free: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.broken = {*self.trees}
        if 1 not in self.pages.damaged:
            self.free = self.pages.free()

    def claim(self, root: int, name: str, *, trusting: bool) -> None:
        """Assign to a tree the pages reachable from its root through intact pages, or, trusting, damaged ones too."""
        tree = self.trees[name]
        inner, leaf = (INNER_TABLE, LEAF_TABLE) if tree.by_row else (INNER_INDEX, LEAF_INDEX)
        waiting = [root]
        self.broken.discard(name)
        seen: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            if number in self.pages.damaged:
                self.broken.add(name)
            elsewhere = number in self.free or self.owned.get(number, name) != name
            if elsewhere or self.pages.kind(number) not in (inner, leaf):
                self.broken.add(name)
                continue
            seen.add(number)
            if not self._may_be(number, tree):
                self.broken.add(name)
                continue
            self.owned[number] = name
            if self.pages.kind(number) == inner and (trusting or number not in self.pages.damaged):
                try:
                    waiting += self.pages.children(number)
                except NoRow:
                    continue

    def _may_be(self, number: int, tree: _Tree) -> bool:
        """Return True if any row of a page fits a tree, or the page has none."""
        rows = list(self.pages.rows(number))
        return not rows or any(tree.fits(row) for row in rows)

    def adopt(self) -> int:
        """Assign each unreachable page to the only tree that its rows fit, preferring broken ones.

        Returns the number of intact pages of rows that fit several trees.
        """
        unknown = 0
        for number in range(1, len(self.pages) + 1):
            kind = self.pages.kind(number)
            if number in self.owned or number in self.free or kind not in (LEAF_TABLE, LEAF_INDEX, INNER_INDEX):
                continue
            rows = list(self.pages.rows(number))
            if not rows:
                continue
            by_row = kind == LEAF_TABLE
            fitting = [
                tree.name
                for tree in self.trees.values()
                if tree.by_row == by_row and all(tree.fits(row) for row in rows)
            ]
            # If two pages were exchanged, a tree may look intact without being so.
            able = [name for name in fitting if name in self.broken] or fitting
            if "document_text" in able and all(_is_text(row) for row in rows):
                able = ["document_text"]
            if len(able) == 1:
                self.owned[number] = able[0]
            elif any(self.trees[name].is_table and name not in LEFT_OUT for name in able):
                unknown += number not in self.pages.damaged
        return unknown

    def rows(self, name: str, *, whole: bool) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table on intact pages, or those on damaged ones.

        What a page of zeros took from a text becomes spaces: at its end, it would be a page of zeros again.
        """
        tree = self.trees[name]
        for number, owner in self.owned.items():
            if owner == name:
                for row in self.pages.rows(number):
                    if row.whole == whole and tree.fits(row):
                        values = tree.values(row)
                        if not whole:
                            values = tuple(_without_zeros(value) for value in values)
                        yield values


def _is_text(row: Row) -> bool:
    """Return True if a row is a document's text with its hash, of whatever version."""
    _, hash, *whole, text = row.values
    if whole == [0]:
        # Only together with its passages it has this hash.
        return not decompressed(text).endswith("\ufffd")
    return bool(hash == text_hash(decompressed(text) if isinstance(text, bytes) else text))


def salvage(location: str) -> Salvaged:
    """Replace a damaged database by a new one with all readable rows, keeping the damaged file under another name.

    The new one has no terms yet: call `mend`. Nobody else may use the index meanwhile. Raises `DamagedIndex` if nothing
    can be read and `NotAnIndex` for a file that never was one, without changes.
    """
    path = Path(location).expanduser()
    check_is_index(path)
    with translated(location), alone(path), new_folder(path) as folder:
        new = folder / "new.db"
        with closing(connect(str(new), create=True)[0]) as target:
            with closing(DatabasePages.read(path)) as pages:
                found, unknown = _found(pages, target)
                rows, uncertain = _carry_over(found, target)
                suspect = bool(pages.damaged) or any(each not in rows for each in READ_ANEW)
            again = 0
            if suspect:
                target.execute(_READ_AGAIN)
                again = target.changes()
            target.pragma("journal_mode", "delete")
        if not rows.get("document") and not rows.get("chunk"):
            raise DamagedIndex(
                f"nothing can be read of {path}: restore a copy, or delete it and index your files again"
            )
        original = exchange(path, new, "damaged")
        assert original
        return Salvaged(original, rows, again, uncertain, unknown)


def _without_zeros(value: Any) -> Any:
    return value.replace("\0", " ") if isinstance(value, str) else value


def _found(pages: DatabasePages, target: apsw.Connection) -> tuple[_Found, int]:
    """Return the pages by tree, and the number of pages that could not be assigned."""
    listed = list(_listed(pages))
    ours = struct.unpack_from(">I", pages.page(1), _APPLICATION)[0] == APPLICATION_ID
    names = {name for _, name, *_ in listed}
    if listed and not ours and not names >= OUR_TABLES:
        raise NotAnIndex("this is a database of another program", cure=Cure.OTHER_INDEX)
    # Databases created in one go have their trees on the same pages: those missing from an unreadable list are searched
    # there.
    known: list[Any] = target.execute(_SCHEMA).fetchall()
    with closing(apsw.Connection(":memory:")) as model:
        model.execute("pragma writable_schema = on")
        described = {name: sql for _, name, _, _, sql in known if sql} | {
            name: sql for _, name, _, _, sql in listed if sql
        }
        trees = dict(_trees(model, described, [*known, *listed]))
    found = _Found(pages, trees)
    # The file's own list of trees takes precedence over that of a new database.
    for trusting in (False, True):
        for rows in (listed, [each for each in known if each[1] not in names]):
            for _, name, _, root, _ in rows:
                if name in trees and root:
                    found.claim(root, name, trusting=trusting)
    return found, found.adopt()


def _listed(pages: DatabasePages) -> Iterator[tuple[str, str, str, int, str | None]]:
    """Yield the rows of the list of tables and indexes, as far as it can be read."""
    tree = _Tree("sqlite_master", (), (_TEXT, _TEXT, _TEXT, (_TYPES["INTEGER"], True), (_TYPES["TEXT"], True)), None,
                 by_row=True, is_table=True)  # fmt: skip
    found = _Found(pages, {tree.name: tree})
    found.claim(1, tree.name, trusting=True)
    for number in found.owned:
        for row in pages.rows(number):
            if tree.fits(row) and row.whole:
                yield row.values


_TEXT = (_TYPES["TEXT"], False)
_Made = tuple[str, Callable[[Any], Any]]
#: What became of a column of an earlier version, by table and name, with what makes its values.
_FORMER: dict[tuple[str, str], _Made] = {("document_text", "text"): ("compressed", compressed)}


def _same(value: Any) -> Any:
    return value


def _trees(
    model: apsw.Connection, described: dict[str, str], listed: Iterable[Sequence[Any]]
) -> Iterator[tuple[str, _Tree]]:
    """Yield the tables and indexes by name, as in an empty database created by the same statements."""
    for name, sql in sorted(described.items(), key=lambda each: "index" in each[1][:20].lower()):
        if not sql.lower().startswith("create virtual") and not name.startswith("sqlite_"):
            try:
                model.execute(sql)
            except apsw.SQLError:
                continue
    for name in {name for kind, name, *_ in listed if kind == "table"}:
        if tree := _table(model, str(name)):
            yield tree.name, tree
            for _, index, *_ in model.execute(f"pragma index_list('{name}')").fetchall():
                yield str(index), _index(model, str(index), str(name))


def _table(model: apsw.Connection, name: str) -> _Tree | None:
    rows: list[Any] = model.execute(f"pragma table_info('{name}')").fetchall()
    if not rows:
        return None
    sql = str(model.execute("select sql from sqlite_master where name = ?", (name,)).get)
    by_row = "without rowid" not in sql.lower()
    if not by_row:
        # The columns of the key come first.
        rows.sort(key=lambda row: (not row[5], row[5]))
    keys = [place for place, row in enumerate(rows) if row[5]]
    number = keys[0] if by_row and len(keys) == 1 and rows[keys[0]][2].upper() == "INTEGER" else None
    types = tuple(
        (() if place == number else _TYPES.get(row[2].upper(), _ANYTHING), place == number or not (row[3] or row[5]))
        for place, row in enumerate(rows)
    )
    return _Tree(name, tuple(row[1] for row in rows), types, number, by_row, is_table=True)


def _index(model: apsw.Connection, name: str, table: str) -> _Tree:
    declared = {row[1]: _TYPES.get(row[2].upper(), _ANYTHING) for row in model.execute(f"pragma table_info('{table}')")}
    rows: list[Any] = model.execute(f"pragma index_xinfo('{name}')").fetchall()
    types = tuple(
        (_TYPES["INTEGER"] if place == -1 else declared.get(column, _ANYTHING), place != -1)
        for _, place, column, *_ in rows
    )
    return _Tree(name, (), types, None, by_row=False, is_table=False)


def _carry_over(found: _Found, target: apsw.Connection) -> tuple[dict[str, int], int]:
    """Store the rows of every table; return their numbers by table, and the number from damaged pages."""
    # The columns' types were checked; a reference may point to a lost row, and is mended later.
    target.execute("pragma foreign_keys = off")
    stored: dict[str, int] = {}
    uncertain = 0
    virtual = [name for (name,) in target.execute("select name from sqlite_master where sql like 'create virtual%'")]
    for (name,) in target.execute("select name from sqlite_master where type = 'table'").fetchall():
        table = str(name)
        derived = table in LEFT_OUT or table.startswith(("sqlite_", *(f"{each}_" for each in virtual)))
        if derived or table in virtual or table not in found.owned.values():
            continue
        tree = found.trees[table]
        present = {column for _, column, *_ in target.execute(f"pragma table_info({table})")}
        made = {}
        for place, column in enumerate(tree.columns):
            name, make = _FORMER.get((table, column), (column, _same))
            if name in present:
                made[place] = name, make
        columns = ", ".join(name for name, _ in made.values())
        put = _PUT.format(table=table, columns=columns, places=", ".join("?" * len(made)))
        before = target.total_changes()
        with transaction(target, "begin immediate"):
            rows = found.rows(table, whole=True)
            target.executemany(put, ([make(row[place]) for place, (_, make) in made.items()] for row in rows))
            certain = target.total_changes()
            if table not in MADE_AGAIN:
                rows = found.rows(table, whole=False)
                target.executemany(put, ([make(row[place]) for place, (_, make) in made.items()] for row in rows))
        stored[table] = target.total_changes() - before
        uncertain += target.total_changes() - certain
    return stored, uncertain
