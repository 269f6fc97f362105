"""Copying of a live index: a snapshot, while others read and write."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from rifflux.errors import Cure, DamagedIndex, InvalidArgument
from rifflux.store.sqlite.connection.connect import copy_of_pages, differs, translated
from rifflux.types import Progress
from rifflux.types.temporary import partial, sweep

#: The number of pages copied between progress reports.
STEP = 1_000


def backup(source: apsw.Connection, target: Path, *, force: bool = False, progress: Progress | None = None) -> None:
    """Copy the database of a connection to `target`, which appears when the copy is complete and checked.

    The connection must not be used by others meanwhile. The copy is one file, without a log. Raises `InvalidArgument`
    for an existing target unless `force`, and `UnusableIndex` if it cannot be written.
    """
    target = target.expanduser()
    _check_target(Path(source.filename) if source.filename else None, target, force=force)
    with translated(str(target)), new_file(target) as whole:
        copy = copy_of_pages(whole)
        try:
            try:
                with _one_moment(source):
                    copy_pages(source, copy, progress)
            except apsw.IOError as error:
                if differs(error):
                    raise _damaged(str(error), target) from error
                raise
            copy.pragma("journal_mode", "delete")
            _check_copy(copy, target)
        finally:
            copy.close()
        if source.filename:
            shutil.copymode(source.filename, whole)
        whole.replace(target)


def _check_target(source: Path | None, target: Path, *, force: bool) -> None:
    if target.is_dir():
        raise InvalidArgument(f"{target} is a folder: name the copy in it, such as {target / 'backup.db'}")
    if source and target.exists() and target.samefile(source):
        raise InvalidArgument(f"{target} is the index itself: name another file")
    if target.exists() and not force:
        raise InvalidArgument(f"{target} exists: name another file, or replace this one", cure=Cure.OVERWRITE)
    log = target.with_name(target.name + "-wal")
    if log.exists():
        # Its changes belong to the file that would be replaced; applied to another one they destroy it.
        raise InvalidArgument(f"{target} is in use, or was left without being closed ({log.name}): name another file")


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Create a new file beside the target that is deleted after the block unless it was renamed.

    Such files left by killed processes are removed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target.parent, f"{target.name}.")
    number, name = tempfile.mkstemp(prefix=f"{target.name}.", suffix=partial(), dir=target.parent)
    os.close(number)
    try:
        yield Path(name)
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            Path(name + suffix).unlink(missing_ok=True)


@contextmanager
def _one_moment(source: apsw.Connection) -> Iterator[None]:
    """Hold a snapshot of the database until the block ends: other commits would restart the copy."""
    source.execute("begin")
    try:
        source.execute("select count(*) from sqlite_master").fetchall()
        yield
    finally:
        source.execute("rollback")


def copy_pages(source: apsw.Connection, copy: apsw.Connection, progress: Progress | None) -> None:
    """Copy all pages of a database to an empty one."""
    with copy.backup("main", source, "main") as steps:
        while not steps.done:
            steps.step(STEP)
            if progress:
                progress("copy", steps.page_count - steps.remaining, steps.page_count)


def _check_copy(copy: apsw.Connection, target: Path) -> None:
    for (line,) in copy.execute("pragma quick_check(1)").fetchall():
        if line != "ok":
            raise _damaged(str(line), target)


def _damaged(reason: str, target: Path) -> DamagedIndex:
    return DamagedIndex(f"the index is damaged ({reason}), and its copy {target} was not kept", cure=Cure.CHECK)
