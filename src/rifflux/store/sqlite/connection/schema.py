"""The version of the tables: create them, and bring those of an earlier version up to date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import apsw

from rifflux.errors import Cure, NewerIndex, UnusableIndex
from rifflux.store.sqlite.connection.tables import SCRIPTS, TRIGGERS

#: Written into the file's header, so that a database of something else is recognised: "RFLX".
APPLICATION_ID = 0x52464C58
SCHEMA_VERSION = 1
#: What changes the tables of a version into those of the next one, by the version that it starts from. It runs in the
#: transaction that writes the new version, with references unchecked. A version without an entry cannot be read.
MIGRATIONS: Mapping[int, Callable[[apsw.Connection], object]] = {}


def version_of(connection: apsw.Connection) -> int:
    """Return the version of the tables of a database, 0 if it has none."""
    return int(connection.pragma("user_version"))


def check_version(connection: apsw.Connection, path: Path | None, *, read_only: bool) -> None:
    """Raise `NewerIndex` or `UnusableIndex`, with the cure, for tables that are not of this version and cannot be."""
    version = version_of(connection)
    if version > SCHEMA_VERSION:
        raise NewerIndex(
            f"{path} was written by a newer Rifflux (schema {version}, this one knows {SCHEMA_VERSION})",
            cure=Cure.UPGRADE,
        )
    if any(each not in MIGRATIONS for each in range(version, SCHEMA_VERSION)):
        raise UnusableIndex(
            f"{path} was written by an older Rifflux (schema {version}, this one reads {SCHEMA_VERSION}): move it away "
            "and index your files again"
        )
    if version < SCHEMA_VERSION and read_only:
        raise UnusableIndex(
            f"{path} is of an older version, and cannot be upgraded where it is only read", cure=Cure.OPEN_WRITABLE
        )


def write_schema(connection: apsw.Connection) -> None:
    """Create the tables in an empty database, or bring those of an earlier version up to date, in one transaction."""
    if version_of(connection) == SCHEMA_VERSION:
        return
    # A migration can make a table again that others refer to only while nobody checks the references.
    connection.execute("pragma foreign_keys = off")
    connection.execute("begin immediate")
    try:
        # Another process may have finished while this one waited for the lock.
        version = version_of(connection)
        if not version:
            for script in (*SCRIPTS, TRIGGERS):
                connection.execute(script)
        else:
            for each in range(version, SCHEMA_VERSION):
                MIGRATIONS[each](connection)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", SCHEMA_VERSION)
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")
    connection.execute("pragma foreign_keys = on")
