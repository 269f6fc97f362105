"""The files of an index beside its database, recognized by name: logs, locks, derived files, former states."""

from __future__ import annotations

import re
from collections.abc import Callable

_MAGIC = b"SQLite format 3\0"
#: The suffixes of file names that begin with the database's.
_BESIDE = re.compile(
    r"(?P<database>.+?)"
    r"(?:-(?:wal|shm|journal)"
    r"|\.[a-z-]+\.lock"
    r"|\.(?:vectors|vectors-graph|words)(?:\.(?:new|old))?"
    r"|\.damaged-\d{8}-\d{6}(?:-wal|-shm)?)"
)
#: The lock file of every index that was ever written to.
_LOCK = "read.lock"


def database_of(name: str) -> str | None:
    """Return the name of the database that a file or folder of this name may belong to, or None."""
    found = _BESIDE.fullmatch(name)
    if found:
        return found["database"]
    return None


def is_database(content: Callable[[str, int], bytes], name: str) -> bool:
    """Return True if the file `name` is a database; `content(name, size)` returns the first bytes of a file beside it.

    A database with a damaged header is recognized by its lock file.
    """
    return content(name, len(_MAGIC)) == _MAGIC or bool(content(f"{name}.{_LOCK}", 1))
