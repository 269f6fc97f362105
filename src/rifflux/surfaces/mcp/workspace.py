"""What a server may access: its index, other indexes inside its roots, and the files below those roots."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Unpack

import rifflux
from rifflux import Finder, Index, InvalidArgument, NotFound, OutsideRoots, SearchService
from rifflux.surfaces.mcp.jobs import ToolJobs
from rifflux.surfaces.shared.config import Opening, view_of

#: Device and inode, which distinguish a file from its replacement.
_Identity = tuple[int, int]


@dataclass
class OpenIndex:
    """An index that stays open between calls, and the file it was opened from."""

    index: Index
    identity: _Identity | None
    rrf_k: float = 60.0
    _views: dict[str, OpenIndex] = field(default_factory=dict, init=False, repr=False)

    def of(self, user: str) -> OpenIndex:
        """Return a user's view of it; without a user, the index itself."""
        if user and user not in self._views:
            self._views[user] = replace(self, index=view_of(self.index, user))
        if user:
            return self._views[user]
        return self

    @cached_property
    def service(self) -> SearchService:
        """Return the contract's search over this index."""
        return SearchService(self.index, k=self.rrf_k)


class Workspace:
    """Opens indexes and checks paths for one server. A context manager; safe to share between threads.

    `db` is the configured index, wherever it lies. Any other index, and every path to be indexed, must lie
    inside `roots` once its symbolic links are followed; relative ones start at the working directory. `rrf_k` is the k
    of the contract's search, `options` are those of `rifflux.open`.
    """

    def __init__(
        self,
        db: Path | str,
        *,
        roots: Sequence[Path],
        finder: Finder | None = None,
        rrf_k: float = 60.0,
        **options: Unpack[Opening],
    ) -> None:
        self._finder = finder or Finder()
        self._options = options
        self._rrf_k = rrf_k
        #: The configured index: a file, or an address on a cluster.
        self.db = db if isinstance(db, str) else db.expanduser().resolve()
        self.roots = tuple(root.expanduser().resolve() for root in roots)
        self._open: dict[Path | str, OpenIndex] = {}
        self._lock = threading.Lock()
        #: Runs of indexing.
        self.jobs = ToolJobs()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the jobs, and close all open indexes."""
        self.jobs.close()
        with self._lock:
            while self._open:
                self._open.popitem()[1].index.close()

    def open(self, db_path: str | None = None, *, create: bool = False) -> OpenIndex:
        """Return the index at `db_path`, or the configured one; only that one is made, and only if `create`.

        Raises `OutsideRoots`, `NotFound` or `UnusableIndex`.
        """
        path = self._index_path(db_path)
        with self._lock:
            known = self._open.get(path)
            # An index that was deleted or replaced must not be answered from its old file. The handle is not closed
            # here, since another thread may be reading; it closes with its last user.
            if known is None or known.identity != _identity(path):
                known = self._open[path] = self._opened(path, create=create)
            return known

    def _opened(self, path: Path | str, *, create: bool) -> OpenIndex:
        own = path == self.db
        if not create and _identity(path) is None:
            if own:
                cure = "call reindex to make it"
            else:
                cure = "leave db_path out for the configured index"
            raise NotFound(f"there is no index at {path}: {cure}")
        options = self._options.copy()
        if not own:
            options["model"] = None  # another index is opened with the model of its vectors
        return OpenIndex(rifflux.open(path, create=create, **options), _identity(path), self._rrf_k)

    def _index_path(self, db_path: str | None) -> Path | str:
        if not db_path:
            return self.db
        if "://" in db_path:
            raise OutsideRoots("db_path is the path of a file: leave it out for the configured index")
        path = _real(db_path)
        if path != self.db and not self._holds(path):
            if self.roots:
                inside = f"name an index inside {self._named_roots()}, or "
            else:
                inside = ""
            raise OutsideRoots(
                f"db_path {db_path!r} is outside the allowed folders: {inside}leave db_path out for the configured one"
            )
        return path

    @property
    def usual(self) -> Sequence[str]:
        """Return the default places to index: the working directory, or the roots if it is outside them."""
        here = Path.cwd().resolve()
        if self._holds(here) or not self.roots:
            return [str(here)]
        return [*map(str, self.roots)]

    def places(self, paths: Sequence[str]) -> list[Path]:
        """Return the resolved places to index, each once. Raises `OutsideRoots` or `NotFound` before any is read."""
        return list(dict.fromkeys(self._place(path) for path in paths))

    def _place(self, path: str) -> Path:
        place = _real(path)
        if not self.roots:
            raise OutsideRoots(
                "this server may read no folder: have whoever set it up add --root FOLDER to its arguments"
            )
        if not self._holds(place):
            raise OutsideRoots(f"{path!r} is outside the allowed folders: name a place inside {self._named_roots()}")
        if _identity(place) is None:
            raise NotFound(f"nothing at {path!r}: check the path's spelling")
        return place

    def _holds(self, path: Path) -> bool:
        return _within(self.roots, path)

    def _named_roots(self) -> str:
        return " or ".join(str(root) for root in self.roots)

    @property
    def finder(self) -> Finder:
        """A finder that skips files which a symbolic link places outside the roots."""
        return replace(self._finder, allowed=self.roots)

    @property
    def followed(self) -> Finder:
        """A finder for roots that are indexed already, wherever they are; links out of them are not followed."""
        return self._finder


def _within(roots: Sequence[Path], path: Path) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _real(path: str) -> Path:
    """Return a path with its symbolic links resolved."""
    if not path.strip():
        raise InvalidArgument("a path is empty: name a file or folder, or leave the argument out")
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidArgument(f"{path!r} cannot be a path ({error}): check its spelling") from error


def _identity(path: Path | str) -> _Identity | None:
    """Return the identity of the file at `path`, or None without one; an address has always the same."""
    if isinstance(path, str):
        return 0, 0
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
