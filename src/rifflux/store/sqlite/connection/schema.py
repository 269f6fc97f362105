"""How the tables of an earlier version become those of today."""

from __future__ import annotations

import json

import apsw

from rifflux.store.sqlite.connection.tables import LENGTHS, PUT_CREDIT, SCRIPTS, TRIGGERS

__all__ = ["APPLICATION_ID", "FORMER", "SCHEMA_VERSION", "upgrade"]

#: Written into the file's header, so that a database of something else is recognised: "RFLX".
APPLICATION_ID = 0x52464C58
SCHEMA_VERSION = 20
#: Tables whose columns changed, each with the first version that has them as they are.
_CHANGED = {"file": 6, "vector": 6, "event": 16, "chunk": 9, "document": 16, "token": 18}
#: What columns were called before. A column that is gone takes its values with it.
FORMER = {"namespace": "collection"}
#: The first version that keeps the length of chunks of owner 0.
_HAS_LENGTHS = 15
#: The first version that keeps who wrote what and where it appeared apart from the metadata.
_HAS_CREDITS = 20

_WITH_CREDITS = "select id, metadata from document where instr(metadata, '\"authors\"') or instr(metadata, '\"venue\"')"
_MADE_AGAIN = "select type, name from sqlite_master where type in ('index', 'trigger') and sql is not null"


def upgrade(connection: apsw.Connection, version: int) -> None:
    """Bring the tables of a version, 0 for none at all, to this one, within a transaction that is open.

    A table that lacks columns is made again: its rows wait in another one meanwhile, before any trigger sees them.
    """
    for kind, name in connection.execute(_MADE_AGAIN).fetchall():
        connection.execute(f"drop {kind} {name}")
    waiting = [table for table, since in _CHANGED.items() if version < since and _columns(connection, table)]
    for table in waiting:
        connection.execute(f"create table old_{table} as select * from {table}")
        connection.execute(f"drop table {table}")
    for script in SCRIPTS:
        connection.execute(script)
    for table in waiting:
        _bring_back(connection, table)
    connection.execute(TRIGGERS)
    if version < _HAS_LENGTHS:
        connection.execute(LENGTHS)
    if 0 < version < _HAS_CREDITS:
        from rifflux.text.people import credits_of

        for id, metadata in connection.execute(_WITH_CREDITS).fetchall():
            connection.executemany(PUT_CREDIT, [(id, *each) for each in credits_of(json.loads(str(metadata)))])


def _bring_back(connection: apsw.Connection, table: str) -> None:
    """Move the rows that wait into the table that was made again; new columns have their defaults."""
    held = _columns(connection, f"old_{table}")
    origins = {name: name if name in held else FORMER.get(name) for name in _columns(connection, table)}
    kept = {name: origin for name, origin in origins.items() if origin in held}
    connection.execute(f"insert into {table} ({', '.join(kept)}) select {', '.join(kept.values())} from old_{table}")
    connection.execute(f"drop table old_{table}")


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    """Return the names of a table's columns; none for a table that is not there."""
    return [str(name) for _, name, *_ in connection.execute(f"pragma table_info({table})")]
