"""A folder that is created atomically, and replaces a former one in one step."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from rifflux import Cure, DiskFull, InvalidArgument, NotFound, UnusableIndex
from rifflux.types.temporary import partial, sweep

#: Files of every export: the hashes of its files, and facts about it.
SUMS = "SHA256SUMS"
FACTS = "export.json"
# For the system call that exchanges the names of two folders.
_HERE = -100
_EXCHANGE = 2


@contextmanager
def made_anew(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a new folder, which becomes `target` if the block succeeds, and is removed otherwise.

    With `force` it replaces a former export; anything else that is there is left alone. Raises `InvalidArgument`,
    `NotFound` without the folder above, and `UnusableIndex` where it cannot be written.
    """
    _check(target, force=force)
    sweep(target.parent, f".{target.name}.")
    new = target.with_name(f".{target.name}{partial()}")
    try:
        new.mkdir(0o700)
        yield new
        _close(new)
        _check(target, force=force)  # another may have been created meanwhile
        _put(new, target)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(
                f"the disk that holds {target} is full: free some space, then try again. Nothing was changed"
            ) from error
        reason = (error.strerror or str(error)).lower()
        raise UnusableIndex(f"{target} cannot be written ({reason}): check the permissions of its folder") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def sums(folder: Path, apart: str) -> str:
    """Return the hashes of the files in a folder except one, in the format of `sha256sum`."""
    files = sorted(each for each in folder.rglob("*") if each.is_file() and each.name not in (apart, SUMS))
    return "".join(f"{_digest(each)}  {each.relative_to(folder).as_posix()}\n" for each in files)


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _check(target: Path, *, force: bool) -> None:
    if not target.parent.is_dir():
        raise NotFound(f"no folder {target.parent}: make it, or check the path")
    if not target.exists():
        return
    if not target.is_dir() or (any(target.iterdir()) and not (target / FACTS).is_file()):
        raise InvalidArgument(f"{target} is there and is no export: name another folder")
    if any(target.iterdir()) and not force:
        raise InvalidArgument(f"{target} is there: name another folder, or replace this one", cure=Cure.OVERWRITE)


def _close(folder: Path) -> None:
    """Remove everybody else's permissions on a folder and its contents."""
    for each in (folder, *folder.rglob("*")):
        each.chmod(each.stat().st_mode & 0o700)


def _put(new: Path, target: Path) -> None:
    """Exchange a new folder with another, whose content then has the new one's name."""
    if not target.exists():
        new.rename(target)
    elif not _exchanged(new, target):
        former = target.with_name(f".{target.name}.former{partial()}")
        target.rename(former)
        try:
            new.rename(target)
        except BaseException:
            former.rename(target)
            raise
        shutil.rmtree(former, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; return False if the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
