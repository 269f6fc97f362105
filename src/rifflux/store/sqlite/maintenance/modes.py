"""Who else on this machine may read the files of an index, and leaving it as one that is only read."""

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
    """Return the problem of files that any other user of this machine may read or change; groups are no others."""
    names = [path.name for path in _exposed(location)]
    if not names:
        return []
    few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    data = {"place": str(Path(location).expanduser())}
    return [Problem(f"everybody on this machine may read {few}", Cure.CLOSE_FILES, data)]


def close(location: str | Path) -> list[str]:
    """Take the rights of others from files that are ours, and say so; what groups may do stays."""
    done = 0
    for path in _exposed(location):
        if path.stat().st_uid == os.getuid():
            path.chmod(path.stat().st_mode & 0o777 & ~_OTHERS)
            done += 1
    if done:
        return [f"everybody on this machine could read {done} of the files: took that right away"]
    return []


def _exposed(location: str | Path) -> Iterator[Path]:
    """Yield the files named after an index that others have a right to; locks hold nothing.

    Windows has no such rights.
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
    """Turn off the log of writes, and take away locks: nobody writes to the index any more."""
    path = Path(location).expanduser()
    with translated(str(path)), closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "delete")
    for lock in path.parent.glob(f"{path.name}.*lock"):
        lock.unlink()
