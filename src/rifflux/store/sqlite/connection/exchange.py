"""Putting another file in the place of an index, so that at no moment there is none, or half of one.

What was there is kept under another name, by hard links, before anything is changed. Then the new file, whole and on
the disk, takes the name that says so; the log of the old one is removed, and the new one renamed. Whoever finds a file
of that name finishes what was interrupted.
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from rifflux.errors import Busy
from rifflux.store.sqlite.connection.locks import file_lock

#: What others claim while they change an index.
TASKS = ("read", "embed", "switch")
#: The end of the name of a new file that is whole: what was there is kept, and the rest can be done again.
WHOLE = ".whole"
#: Behind the name of an index: the folders in which new files are made.
NEW = ".new-"
#: The log of an index and what its readers share: they belong to the former file and would damage the new one.
_LOGS = ("-wal", "-shm")


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold all that others claim while they change an index. Raises `Busy` if somebody is at it."""
    with ExitStack() as claims:
        for task in TASKS:
            if not claims.enter_context(file_lock(path.with_name(f"{path.name}.{task}.lock"))):
                raise Busy(f"another process works on {path}: end it, then try again")
        yield


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Make a folder for a new file beside an index, and remove those that killed processes left; called `alone`."""
    _remove_folders(path)
    with tempfile.TemporaryDirectory(prefix=f"{path.name}{NEW}", dir=path.parent) as folder:
        yield Path(folder)


def _remove_folders(path: Path) -> None:
    for left in path.parent.glob(f"{glob.escape(path.name)}{NEW}*"):
        shutil.rmtree(left, ignore_errors=True)


def exchange(path: Path, new: Path, reason: str) -> Path | None:
    """Put a new file in the place of an index and preserve what was there; return where, None if nothing was.

    `reason` is part of the name by which it is kept. To be called `alone`.
    """
    kept = None
    if path.exists():
        kept = _unused(path.with_name(f"{path.name}.{reason}-{time.strftime('%Y%m%d-%H%M%S')}"))
        _keep(path, kept)
        log = path.with_name(f"{path.name}-wal")
        if log.exists():
            _keep(log, kept.with_name(f"{kept.name}-wal"))
    _sync(new)
    new.replace(path.with_name(path.name + WHOLE))
    _sync(path.parent)
    finish_exchange(path)
    return kept


def finish_exchange(path: Path) -> None:
    """Do the rest of an exchange once the new file is whole: from here on it can only be finished."""
    _remove_folders(path)
    for suffix in _LOGS:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.with_name(path.name + WHOLE).replace(path)
    _sync(path.parent)


def finish_interrupted(path: Path) -> None:
    """Finish an exchange that was interrupted. Raises `Busy` while another process is at it."""
    with alone(path):
        if path.with_name(path.name + WHOLE).exists():
            finish_exchange(path)


def _unused(path: Path) -> Path:
    """Return a path that nothing is at: this one, or with a number behind it."""
    number = 1
    unused = path
    while unused.exists():
        number += 1
        unused = path.with_name(f"{path.name}-{number}")
    return unused


def _keep(path: Path, other: Path) -> None:
    """Preserve a file under another name too."""
    try:
        other.hardlink_to(path)
    except OSError:  # a file system without links
        shutil.copy2(path, other)


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, reach the disk."""
    with suppress(OSError):  # some systems cannot do that with folders
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
