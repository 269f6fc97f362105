"""Opening of files inside a folder without following links that lead outside.

A path is only a name: between the check and the opening, somebody with write access to the folder can replace one of
its parts by a link. Therefore a root is opened once, and everything below it is opened relative to that descriptor, one
component at a time, by calls that refuse links. Links are resolved beforehand: the path that is opened is the real
path, which contains none.

On systems without such calls (Windows), the real path is checked before and after opening, and the opened file is
compared with the one there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

Identity = tuple[int, int]

#: Whether files can be opened relative to an open folder.
HAS_DESCRIPTORS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")
#: The maximum number of folders on the way to the last used one that stay open for the next.
MOST_OPEN = 32

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
# Non-blocking, because opening a pipe would wait for a writer.
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _NO_LINK
# Enough to pass through a folder that cannot be listed.
_PASS = getattr(os, "O_PATH", 0)
# The errors of opening a link as a file or a folder.
_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


class Root(Protocol):
    """An open folder. `parts` are the names on the way from it to a real path below it."""

    @property
    def identity(self) -> Identity:
        """Return the device and inode of the folder."""

    def scan(self, parts: Sequence[str]) -> _Scan:
        """Return the entries of a folder; their status can be read until it is closed. Raises `OSError`."""

    def open(self, parts: Sequence[str]) -> BinaryIO:
        """Open a regular file for reading. Raises `OSError`."""

    def status(self, parts: Sequence[str]) -> os.stat_result:
        """Return the status of a file or folder. Raises `OSError`."""

    def close(self) -> None:
        """Close the folder."""


@dataclass(slots=True)
class _Scan:
    """The entries of a folder, and its identity. Closing it closes the folder."""

    identity: Identity
    entries: list[os.DirEntry[str]]
    descriptor: int | None = None

    def close(self) -> None:
        """Close the folder."""
        if self.descriptor is not None:
            os.close(self.descriptor)


def open_root(path: str) -> Root:
    """Open a folder by its real path. Raises `OSError`, also if the path contains a link."""
    if HAS_DESCRIPTORS:
        return _DescriptorRoot(path)
    return _CheckedRoot(path)


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a file: a root with its identity, and a path without links below it."""

    root: str
    identity: tuple[int, int]
    path: str

    def open(self) -> BinaryIO:
        """Open the file for reading. Raises `OSError`, also if the root or a part of the path was replaced."""
        parts = self.path.split("/")
        if not HAS_DESCRIPTORS:
            return _CheckedRoot(self.root, self.identity).open(parts)
        try:
            root = os.open(self.root, _FOLDER)
        except OSError as error:
            raise _replaced() if error.errno in _LINK_ERRORS else error from None
        try:
            if _identity(os.fstat(root)) != self.identity:
                raise _replaced()
            return _open_below(root, parts)
        finally:
            os.close(root)


class _DescriptorRoot:
    """A root with descriptors: its own, and those of the folders on the way to the last used one."""

    def __init__(self, path: str) -> None:
        top, *parts = Path(path).parts
        self._root = _descend(os.open(top, _FOLDER), parts)
        self._names: list[str] = []
        self._folders: list[int] = []
        self.identity = _identity(os.fstat(self._root))

    def scan(self, parts: Sequence[str]) -> _Scan:
        descriptor = self._reach(parts)
        try:
            with os.scandir(descriptor) as entries:
                return _Scan(_identity(os.fstat(descriptor)), list(entries), descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    def open(self, parts: Sequence[str]) -> BinaryIO:
        folder = self._reach(parts[:-1])
        try:
            return _open_below(folder, parts[-1:])
        finally:
            os.close(folder)

    def status(self, parts: Sequence[str]) -> os.stat_result:
        folder = self._reach(parts[:-1])
        try:
            if parts:
                return os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
            return os.fstat(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        for descriptor in (*self._folders, self._root):
            os.close(descriptor)
        self._folders.clear()
        self._names.clear()

    def _reach(self, parts: Sequence[str]) -> int:
        """Return a new descriptor of a folder."""
        common = 0
        while common < min(len(parts), len(self._names)) and parts[common] == self._names[common]:
            common += 1
        del self._names[common:]
        while len(self._folders) > common:
            os.close(self._folders.pop())
        if self._folders:
            last = self._folders[-1]
        else:
            last = self._root
        for name in parts[common:MOST_OPEN]:
            last = _step(last, name)
            self._folders.append(last)
            self._names.append(name)
        return _descend(os.dup(last), parts[MOST_OPEN:])


@dataclass(frozen=True, slots=True)
class _CheckedRoot:
    """A root without descriptors: paths are checked before and after opening."""

    path: str
    known: Identity | None = None

    def __post_init__(self) -> None:
        if os.path.realpath(self.path, strict=True) != self.path:
            raise _replaced()
        if self.known is not None and self.identity != self.known:
            raise _replaced()

    @property
    def identity(self) -> Identity:
        return _identity(os.lstat(self.path))

    def scan(self, parts: Sequence[str]) -> _Scan:
        with self._checked(parts) as (path, identity), os.scandir(path) as entries:
            return _Scan(identity, list(entries))

    def open(self, parts: Sequence[str]) -> BinaryIO:
        with self._checked(parts) as (path, identity):
            descriptor = os.open(path, _FILE)
            try:
                if _identity(os.fstat(descriptor)) != identity:
                    raise _replaced()
                return _regular(descriptor)
            except BaseException:
                os.close(descriptor)
                raise

    def status(self, parts: Sequence[str]) -> os.stat_result:
        with self._checked(parts[:-1]) as (path, _):
            return os.lstat(os.path.join(path, *parts[-1:]))  # noqa: PTH118 (a string, as the other paths here)

    def close(self) -> None:
        """Do nothing, because no descriptor is open."""

    @contextmanager
    def _checked(self, parts: Sequence[str]) -> Iterator[tuple[str, Identity]]:
        """Yield the path and identity of a place, checked to be unchanged and without links afterwards."""
        path = os.path.join(self.path, *parts)  # noqa: PTH118
        before = self._check(path)
        yield path, before
        if self._check(path) != before:
            raise _replaced()

    @staticmethod
    def _check(path: str) -> Identity:
        if os.path.realpath(path, strict=True) != path:
            raise _replaced()
        return _identity(os.lstat(path))


def _descend(folder: int, parts: Sequence[str]) -> int:
    """Return a descriptor of the folder at `parts` below another one, whose descriptor is closed."""
    for name in parts:
        try:
            inner = _step(folder, name)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _step(folder: int, name: str) -> int:
    """Open a folder inside another one."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        if not _PASS:
            raise
        return os.open(name, _FOLDER | _PASS, dir_fd=folder)
    except OSError as error:
        raise _replaced() if error.errno in _LINK_ERRORS else error from None


def _open_below(folder: int, parts: Sequence[str]) -> BinaryIO:
    """Open a regular file below a folder, whose descriptor stays open."""
    parent = _descend(os.dup(folder), parts[:-1])
    try:
        descriptor = os.open(parts[-1], _FILE, dir_fd=parent)
    except OSError as error:
        raise _replaced() if error.errno in _LINK_ERRORS else error from None
    finally:
        os.close(parent)
    try:
        return _regular(descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def _regular(descriptor: int) -> BinaryIO:
    """Return a descriptor as a file. Raises `OSError` for a pipe, a device or a folder."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise _replaced()
    return os.fdopen(descriptor, "rb")


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _replaced() -> OSError:
    return OSError(errno.ELOOP, "something else took its place while it was read")
