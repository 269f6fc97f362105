"""File permissions of an index for other users, and sealing it as read-only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw

from rifflux.errors import Cure
from rifflux.store.mending import Problem
from rifflux.store.sqlite.connection.connect import translated

_OTHERS = 0o007


def exposure(location: str | Path) -> list[Problem]:
    """Return the problem of files that any other user of this machine can read or change; groups do not count."""
    names = [path.name for path in _exposed(location)]
    if not names:
        return []
    few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    data = {"place": str(Path(location).expanduser())}
    return [Problem(f"everybody on this machine may read {few}", Cure.CLOSE_FILES, data)]


def close(location: str | Path) -> list[str]:
    """Remove the permissions of others from the caller's files, and report it; those of groups stay."""
    done = 0
    for path in _exposed(location):
        if path.stat().st_uid == os.getuid():
            path.chmod(path.stat().st_mode & 0o777 & ~_OTHERS)
            done += 1
    if done:
        return [f"everybody on this machine could read {done} of the files: took that right away"]
    return []


def _exposed(location: str | Path) -> Iterator[Path]:
    """Yield an index's files that others have permissions on, except locks, which are empty.

    None on Windows, which has no such permissions.
    """
    path = Path(location).expanduser()
    if os.name == "nt" or not path.exists():
        return
    named = (f"{path.name}-wal", f"{path.name}-shm", f"{path.name}.")
    for each in sorted(path.parent.iterdir()):
        is_ours = each.name == path.name or (each.name.startswith(named) and each.suffix != ".lock")
        if is_ours and each.stat().st_mode & _OTHERS:
            yield each


def seal(location: str | Path) -> None:
    """Disable the write-ahead log, and delete locks: nobody writes to the index any more."""
    path = Path(location).expanduser()
    with translated(str(path)), closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "delete")
    for lock in path.parent.glob(f"{path.name}.*lock"):
        lock.unlink()
