"""Restoring of an index from a copy: checked first, and in one step that preserves the former file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

from rifflux.errors import Busy, DamagedIndex, InvalidArgument, NotAnIndex, NotFound
from rifflux.store.sqlite.connection.connect import copy_of_pages, translated
from rifflux.store.sqlite.connection.exchange import alone, exchange, new_folder
from rifflux.store.sqlite.maintenance.recognize import check_is_index


def restore(copy: Path, path: Path, check: Callable[[Path], None]) -> Path | None:
    """Replace the index at `path` by a copy, or create it; return the former file's new path, or None.

    `check` is called with the new file before it takes its place, and raises to refuse it. Raises `NotFound` and
    `NotAnIndex` for an invalid copy, `InvalidArgument` for the index itself, and `Busy` while the index is in use,
    without changes.
    """
    if not copy.exists():
        raise NotFound(f"nothing at {copy}: check the path's spelling")
    try:
        if not copy.is_file() and not copy.is_dir():
            raise NotAnIndex(f"{copy} is not a file")  # opening a pipe would wait for a writer
        check_is_index(copy)
    except NotAnIndex:
        raise NotAnIndex(f"{copy} is not a copy of an index: name one that a backup made") from None
    if path.is_dir():
        raise InvalidArgument(f"{path} is a folder: name the index file in it, such as {path / 'index.db'}")
    if path.exists() and copy.samefile(path):
        raise InvalidArgument(f"{copy} is the index itself: name a copy of it")
    if not path.parent.is_dir():
        raise NotFound(f"no folder {path.parent}: make it, or check the path of the index")
    with translated(str(path)), alone(path), new_folder(path) as folder:
        new = folder / "new.db"
        try:
            with translated(str(copy)):
                _copy(copy, new)
            check(new)
        except DamagedIndex as error:
            cause = error.__cause__
            if isinstance(cause, apsw.IOError):
                reason = "a page differs from its checksum"
            else:
                reason = str(cause or error)
            raise DamagedIndex(f"the copy {copy} is damaged ({reason}): restore another one") from error
        _close(new)
        if path.exists():
            _refuse_in_use(path)
        return exchange(path, new, "replaced")


def _copy(copy: Path, new: Path) -> None:
    """Copy a database including its log; the source is only read."""
    source = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    target = copy_of_pages(new)
    try:
        with target.backup("main", source, "main") as steps:
            while not steps.done:
                steps.step(-1)
    finally:
        target.close()
        source.close()
    new.chmod(copy.stat().st_mode & 0o777)


def _close(new: Path) -> None:
    """Convert the database into one file, without a log."""
    connection = apsw.Connection(str(new))
    try:
        connection.pragma("journal_mode", "delete")
    finally:
        connection.close()


def _refuse_in_use(path: Path) -> None:
    """Raise `Busy` if a process has the index open, whose writes would go to the replaced file.

    An unreadable file is replaced as it is.
    """
    connection = apsw.Connection(str(path))
    try:
        connection.pragma("locking_mode", "exclusive")
        connection.pragma("journal_mode", "delete")
    except apsw.BusyError:
        raise Busy(f"another process has {path} open: end it, then try again") from None
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError):
        return
    finally:
        connection.close()
