"""Where the index lives: a store of four roles, their values, and the engines that offer them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rifflux.errors import InvalidArgument
from rifflux.store import catalog, lexical, mending, reader, registry, semantic, store
from rifflux.store.catalog import *  # noqa: F403
from rifflux.store.lexical import *  # noqa: F403
from rifflux.store.mending import *  # noqa: F403
from rifflux.store.mending import Problem
from rifflux.store.names import database_of, is_database
from rifflux.store.reader import *  # noqa: F403
from rifflux.store.registry import *  # noqa: F403
from rifflux.store.semantic import *  # noqa: F403
from rifflux.store.store import *  # noqa: F403
from rifflux.store.store import Store

if TYPE_CHECKING:
    from rifflux.store.sqlite.maintenance.salvage import Salvaged

__all__ = [
    "STORES",
    "check_is_index",
    "close_to_others",
    "database_of",
    "exposure",
    "is_database",
    "open_store",
    "restore_store",
    "salvage_store",
    "seal",
]
__all__ += catalog.__all__
__all__ += lexical.__all__
__all__ += mending.__all__
__all__ += reader.__all__
__all__ += registry.__all__
__all__ += semantic.__all__
__all__ += store.__all__

#: Engine by URL scheme; a plain path is SQLite.
STORES = {"sqlite": "rifflux.store.sqlite:SqliteStore"}


def open_store(location: str | Path, *, create: bool = True, neighbours: str = "scan", state: str | Path = "") -> Store:
    """Open the store at a path or URL (`notes.db`, `sqlite:notes.db`, `:memory:`).

    `neighbours` says how very many vectors are searched: `scan` or `hnsw`. With a `state` file, which is made where it
    is not there, the rest is only read: tokens, usage, questions, feedback and their log are kept in that.
    """
    scheme, separator, rest = str(location).partition("://")
    if not separator:
        scheme = "sqlite"
        rest = str(location)
    if scheme not in STORES:
        raise InvalidArgument(f"no store for {scheme}://; choose one of {', '.join(STORES)}")
    module, _, name = STORES[scheme].partition(":")
    store: Store = getattr(import_module(module), name).open(
        rest, create=create, neighbours=neighbours, state=str(state)
    )
    return store


def exposure(path: str | Path) -> list[Problem]:
    """Return the problem of an index whose files everybody on this machine may read; none if groups alone may."""
    from rifflux.store.sqlite.maintenance.modes import exposure

    return exposure(path)


def close_to_others(path: str | Path) -> list[str]:
    """Take that right away where the files are ours; returns what was done, in words."""
    from rifflux.store.sqlite.maintenance.modes import close

    return close(path)


def seal(path: str | Path) -> None:
    """Leave an index that nobody has open as files to be read alone, without a log of writes and locks."""
    from rifflux.store.sqlite.maintenance.modes import seal

    seal(path)


def check_is_index(path: str | Path) -> None:
    """Raise `NotAnIndex`, with the cure, for a file that is no index and holds no page of one."""
    from rifflux.store.sqlite.maintenance.recognize import check_is_index

    check_is_index(Path(path).expanduser())


def salvage_store(path: str | Path) -> Salvaged:
    """Put what can be read of a damaged index file into a new one in its place; mend that afterwards.

    Raises `DamagedIndex` if nothing can be read, `NotAnIndex` for what never was one, and leaves everything as it was.
    """
    from rifflux.store.sqlite.maintenance.salvage import salvage

    return salvage(str(path))


def restore_store(copy: str | Path, path: str | Path, check: Callable[[Path], None]) -> Path | None:
    """Put a copy of an index in the place of the one at `path`, after `check` of it; return where that is now.

    Raises `NotFound`, `NotAnIndex`, `InvalidArgument`, `Busy` and what `check` raises, and leaves everything as it was.
    """
    from rifflux.store.sqlite.maintenance.restore import restore

    return restore(Path(copy).expanduser(), Path(path).expanduser(), check)
