"""Replacement of an index by another file, so that at no moment there is none, or half of one.

The former file is preserved under another name, by hard links, before anything is changed. Then the new file, complete
and on the disk, is renamed to a name that marks it as complete; the log of the old one is removed, and the new one
renamed to its place. Whoever finds a file with that name finishes an interrupted exchange.
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

#: The tasks that processes claim while they change an index.
TASKS = ("read", "embed", "switch")
#: The suffix of a new file that is complete: the former one is preserved, and the rest can be repeated.
WHOLE = ".whole"
#: The infix, after the name of an index, of folders in which new files are created.
NEW = ".new-"
#: The log of an index and its readers' shared memory: they belong to the former file and would damage the new one.
_LOGS = ("-wal", "-shm")


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Claim all tasks that change an index. Raises `Busy` if another process has any."""
    with ExitStack() as claims:
        for task in TASKS:
            if not claims.enter_context(file_lock(path.with_name(f"{path.name}.{task}.lock"))):
                raise Busy(f"another process works on {path}: end it, then try again")
        yield


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Create a folder for a new file beside an index, and remove those left by killed processes; requires `alone`."""
    _remove_folders(path)
    with tempfile.TemporaryDirectory(prefix=f"{path.name}{NEW}", dir=path.parent) as folder:
        yield Path(folder)


def _remove_folders(path: Path) -> None:
    for left in path.parent.glob(f"{glob.escape(path.name)}{NEW}*"):
        shutil.rmtree(left, ignore_errors=True)


def exchange(path: Path, new: Path, reason: str) -> Path | None:
    """Replace an index by a new file and preserve the former one; return that one's path, or None.

    `reason` is part of the preserved file's name. Requires `alone`.
    """
    former = None
    if path.exists():
        former = _unused(path.with_name(f"{path.name}.{reason}-{time.strftime('%Y%m%d-%H%M%S')}"))
        _keep(path, former)
        log = path.with_name(f"{path.name}-wal")
        if log.exists():
            _keep(log, former.with_name(f"{former.name}-wal"))
    _sync(new)
    new.replace(path.with_name(path.name + WHOLE))
    _sync(path.parent)
    finish_exchange(path)
    return former


def finish_exchange(path: Path) -> None:
    """Finish an exchange with a complete new file: from here on it can only be finished."""
    _remove_folders(path)
    for suffix in _LOGS:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.with_name(path.name + WHOLE).replace(path)
    _sync(path.parent)


def finish_interrupted(path: Path) -> None:
    """Finish an interrupted exchange. Raises `Busy` while another process is doing so."""
    with alone(path):
        if path.with_name(path.name + WHOLE).exists():
            finish_exchange(path)


def _unused(path: Path) -> Path:
    """Return an unused path: this one, or with a number appended."""
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
    """Flush a file, or the names in a folder, to the disk."""
    with suppress(OSError):  # some systems cannot do that with folders
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
