"""Locks between processes that die with their owner: the operating system's, on a file next to the index.

The file says who holds it. It stays where it is, empty of meaning while nobody does: one that is removed could be held
twice, by who still has the old one open and by who made it again.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rifflux.errors import UnusableIndex

__all__ = ["held"]

#: How often one that waits looks again, in seconds.
PAUSE = 0.05
#: The place in the file that is locked where locks hide what they cover: far behind the owner's number.
_FAR = 1 << 20


@contextmanager
def held(path: Path, waiting: Callable[[str], None] | None = None) -> Iterator[bool]:
    """Hold a lock file; it is free again when its owner ends, however.

    If somebody else holds it, `waiting` is called with who (`process 4711`) and it is waited for; without `waiting`,
    the block gets False at once.
    """
    with _open(path) as file:
        mine = _lock(file)
        if not mine and waiting:
            waiting(_owner(path))
            while not (mine := _lock(file)):
                time.sleep(PAUSE)
        if mine:
            _sign(file)
        try:
            yield mine
        finally:
            if mine:
                _unlock(file)


def _open(path: Path) -> BinaryIO:
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnusableIndex(f"{path} cannot be written ({reason}): check the permissions of its folder") from error
    return os.fdopen(number, "r+b", buffering=0)


def _sign(file: BinaryIO) -> None:
    """Write down who holds the file, for those who wait; a full disk is no reason not to go on."""
    try:
        file.seek(0)
        # Always as long, since cutting a file short takes milliseconds.
        file.write(f"{os.getpid():<20}".encode())
    except OSError:
        pass


def _owner(path: Path) -> str:
    number = path.read_bytes()[:20].decode("ascii", "replace").strip()
    return f"process {number}" if number.isdigit() else "another process"


if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO) -> bool:
        try:
            file.seek(_FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: BinaryIO) -> None:
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # A file system without locks: as with SQLite's own, two at once are then their owner's affair.
            return True
        return True

    def _unlock(file: BinaryIO) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
