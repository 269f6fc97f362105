"""Temporary files and folders named after their process, so that a later process can remove leftovers."""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

__all__ = ["OURS", "partial", "sweep", "temporary_folder"]

#: The prefix of folders in the folder of the system for temporary files.
OURS = "rifflux-"

_PARTIAL = re.compile(r".*\.(\d+)\.partial(-journal|-wal|-shm)?", re.DOTALL)


def partial() -> str:
    """Return the suffix of this process's unfinished files."""
    return f".{os.getpid()}.partial"


def sweep(folder: Path, start: str) -> None:
    """Remove unfinished files with this prefix from a folder if the process that made them is gone."""
    for each in folder.glob(f"{glob.escape(start)}*.partial*"):
        found = _PARTIAL.fullmatch(each.name)
        if not found or _lives(int(found[1])):
            continue
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)
        else:
            with suppress(OSError):
                each.unlink()


@contextmanager
def temporary_folder(start: str = OURS, place: Path | None = None) -> Iterator[Path]:
    """Yield a new folder with this prefix, by default in the system's for temporary files, until the block ends.

    Folders left there by killed processes are removed.
    """
    if place is None:
        place = Path(gettempdir())
    sweep(place, start)
    with TemporaryDirectory(prefix=start, suffix=partial(), dir=place) as folder:
        yield Path(folder).resolve()


def _lives(process: int) -> bool:
    if process == os.getpid():
        return True
    with suppress(PermissionError):
        try:
            os.kill(process, 0)
        except (ProcessLookupError, OverflowError):
            return False
    return True
