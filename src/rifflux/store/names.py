"""What an index keeps beside its database, by the names of files: logs, locks, derived files, former states."""

from __future__ import annotations

import re
from collections.abc import Callable

_MAGIC = b"SQLite format 3\0"
#: What names begin with the database's and end in.
_BESIDE = re.compile(
    r"(?P<database>.+?)"
    r"(?:-(?:wal|shm|journal)"
    r"|\.[a-z-]+\.lock"
    r"|\.(?:vectors|vectors-graph|words)(?:\.(?:new|old))?"
    r"|\.damaged-\d{8}-\d{6}(?:-wal|-shm)?)"
)
#: The lock that every index has which was ever written to.
_LOCK = "read.lock"


def database_of(name: str) -> str | None:
    """Return the name of the database that a file or folder of this name may belong to; None for any other name."""
    found = _BESIDE.fullmatch(name)
    if found:
        return found["database"]
    return None


def is_database(content: Callable[[str, int], bytes], name: str) -> bool:
    """Return True if the file `name` is a database; `content(name, size)` gives the first bytes of a file beside it.

    One whose header is damaged is still known by its lock.
    """
    return content(name, len(_MAGIC)) == _MAGIC or bool(content(f"{name}.{_LOCK}", 1))
