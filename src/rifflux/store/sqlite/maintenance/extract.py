"""Extraction of collections into a new index that contains nothing else, not even in unused bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from pathlib import Path, PurePath
from typing import Any

import apsw

from rifflux.store.records import Put, Record
from rifflux.store.sqlite.connection.connect import UNLOCKED, connect, copy_of_pages, translated
from rifflux.store.sqlite.connection.engine import transaction
from rifflux.store.sqlite.maintenance.backup import backup, copy_pages, new_file
from rifflux.store.sqlite.maintenance.check import WORDS
from rifflux.store.sqlite.records.records import written
from rifflux.types import Progress

_OWNERS = "select id from owner where name in (select value from json_each(:names))"
# In this order: documents outlive their files, and rows that depend on owners are deleted before them.
_OTHERS = (
    "update document set file = null",
    "delete from document where owner not in (select value from json_each(:owners))",
    "delete from owner_setting where owner not in (select value from json_each(:owners)) "
    "or name not in (select value from json_each(:settings))",
    "delete from setting where name not in (select value from json_each(:settings))",
    "insert into setting values ('generation', '0'), ('last_dropped_chunk', '0')",
    "delete from model where state <> 'active'",
)
_LICENSES = "select distinct namespace, licence from document"
_LEAVE_OUT = "delete from document where namespace = ? and licence is ?"
_ROOTS = "select distinct root from file where owner in (select value from json_each(:owners)) order by root"
_RENAME = "update document set namespace = ? where namespace = ?"
# Users' data, others' permissions, and the state of derived files.
_EMPTIED = ("file", "service_record", "document_use", "derived", "touched", "fresh_terms")
_NAMELESS = (
    "delete from owner where id not in (select value from json_each(:owners)) and id <> 0",
    "update owner set generation = 0",
    "delete from sqlite_sequence where name <> 'owner'",
    "update sqlite_sequence set seq = (select max(id) from owner)",
)
_MODEL = "update model set spec = ?"
_NO_MODEL = "delete from model"
# Merges all segments into one: they retain the terms of deleted rows.
_OPTIMIZE = "insert into {table} ({table}) values ('optimize')"


def extract(
    source: apsw.Connection,
    target: Path,
    owners: Sequence[str],
    records: Sequence[Record],
    *,
    settings: Collection[str],
    may_leave: Callable[[str, str | None], bool],
    model: str | None,
    progress: Progress | None = None,
) -> int:
    """Copy the documents of owners to a new index with some records; return the number of documents left out.

    See `LocalFiles.extract`. The source is first copied as a whole beside the target; that copy is deleted afterwards.
    """
    with translated(str(target)), new_file(target) as whole:
        whole.unlink()
        backup(source, whole, progress=progress)
        with closing(connect(str(whole), create=False)[0]) as connection:
            left_out = _keep(connection, owners, records, settings, may_leave, model)
            for table in WORDS:
                connection.execute(_OPTIMIZE.format(table=table))
            # A copy of the used pages only: deleted content stays behind, in this file and its log. Pages of the copy
            # that were written before its first one have no checksum yet.
            with new_file(target) as used, new_file(target) as compact:
                connection.execute("vacuum into ?", (str(used),))
                with (
                    closing(apsw.Connection(str(used), flags=apsw.SQLITE_OPEN_READONLY, vfs=UNLOCKED)) as source,
                    closing(copy_of_pages(compact)) as made,
                ):
                    copy_pages(source, made, progress)
                    made.pragma("journal_mode", "delete")
                compact.replace(target)
    return left_out


def _keep(
    connection: apsw.Connection,
    owners: Sequence[str],
    records: Sequence[Record],
    settings: Collection[str],
    may_leave: Callable[[str, str | None], bool],
    model: str | None,
) -> int:
    """Delete all but some owners' documents, and put records; return the number of documents left out."""
    with transaction(connection, "begin immediate"):
        numbers = [id for (id,) in _rows(connection, _OWNERS, names=json.dumps([*owners]))]
        bound = {"owners": json.dumps(numbers), "settings": json.dumps([*settings])}
        roots = [root for (root,) in _rows(connection, _ROOTS, **bound)]
        for statement in _OTHERS:
            _rows(connection, statement, **bound)
        left_out = 0
        for namespace, license in _rows(connection, _LICENSES):
            if not may_leave(namespace, license):
                connection.execute(_LEAVE_OUT, (namespace, license))
                left_out += connection.changes()
        _rename(connection, roots)
        for table in _EMPTIED:
            connection.execute(f"delete from {table}")
        for statement in _NAMELESS:
            _rows(connection, statement, **bound)
        written(connection, 0, [Put(each) for each in records])
        connection.execute(*((_NO_MODEL,) if model is None else (_MODEL, (model,))))
    return left_out


def _rename(connection: apsw.Connection, roots: Sequence[str]) -> None:
    """Rename each folder so that its path is not revealed; readers only see its last part anyway."""
    named: dict[str, str] = {}
    for root in roots:
        name = PurePath(root).name
        tries = (f"/{name}", *(f"/{number}/{name}" for number in range(2, len(named) + 3)))
        named[root] = next(each for each in tries if each not in named.values())
    # Through names that no folder has: a new name may equal another's former one.
    for number, root in enumerate(named):
        connection.execute(_RENAME, (f"\0{number}", root))
    for number, name in enumerate(named.values()):
        connection.execute(_RENAME, (name, f"\0{number}"))


def _rows(connection: apsw.Connection, statement: str, **bound: str) -> list[Any]:
    return connection.execute(
        statement, {name: each for name, each in bound.items() if f":{name}" in statement}
    ).fetchall()
