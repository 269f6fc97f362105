"""Storage of the index: the store's four roles, their values, and the engines that implement them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rifflux.store import catalog, lexical, local, mending, place, reader, records, semantic, store
from rifflux.store.catalog import *  # noqa: F403
from rifflux.store.lexical import *  # noqa: F403
from rifflux.store.local import *  # noqa: F403
from rifflux.store.mending import *  # noqa: F403
from rifflux.store.mending import Problem
from rifflux.store.names import database_of, is_database
from rifflux.store.place import *  # noqa: F403
from rifflux.store.place import STORES, IndexPlace
from rifflux.store.reader import *  # noqa: F403
from rifflux.store.records import *  # noqa: F403
from rifflux.store.semantic import *  # noqa: F403
from rifflux.store.store import *  # noqa: F403
from rifflux.store.store import Store
from rifflux.types import Notice, Progress

if TYPE_CHECKING:
    from rifflux.store.sqlite.maintenance.salvage import Salvaged

__all__ = [
    "check_is_index",
    "close_to_others",
    "database_of",
    "exposure",
    "former_versions",
    "is_database",
    "open_store",
    "restore_store",
    "salvage_store",
    "seal",
]
__all__ += catalog.__all__
__all__ += lexical.__all__
__all__ += local.__all__
__all__ += mending.__all__
__all__ += place.__all__
__all__ += reader.__all__
__all__ += records.__all__
__all__ += semantic.__all__
__all__ += store.__all__


def open_store(
    location: str | Path,
    *,
    create: bool = True,
    neighbours: str = "scan",
    state: str | Path = "",
    progress: Progress | None = None,
) -> Store:
    """Open the store at a path or URL (`notes.db`, `sqlite:notes.db`, `:memory:`).

    `neighbours` is the search method for very large numbers of vectors: `scan` or `hnsw`. With a `state` file, which is
    created if missing, the index itself is only read: tokens, usage, questions, feedback and their log are stored in
    that file. `progress` is told of bringing a file of an earlier version up to date.
    """
    place = IndexPlace.of(location)
    module, _, name = STORES[place.scheme].partition(":")
    where = place.name
    options: dict[str, Any] = {"create": create, "neighbours": neighbours, "state": str(state)}
    if place.is_file:
        where = str(_behind_link(where))
        options["progress"] = progress
    store: Store = getattr(import_module(module), name).open(where, **options)
    return store


def _behind_link(path: str | Path) -> Path:
    """Return the path of the file itself: locks and files beside an index are named after it, whatever links to it."""
    path = Path(path).expanduser()
    if path.is_symlink():
        return path.resolve()
    return path


def former_versions(path: str | Path) -> list[Notice]:
    """Return a notice for each copy of an index that an earlier version left beside it."""
    from rifflux.store.sqlite.connection.connect import former_versions

    return former_versions(str(path))


def exposure(path: str | Path) -> list[Problem]:
    """Return the problem of an index whose files any user of this machine can read; none if only groups can."""
    from rifflux.store.sqlite.maintenance.modes import exposure

    return exposure(path)


def close_to_others(path: str | Path) -> list[str]:
    """Remove that permission where the files are the caller's; return descriptions of the changes."""
    from rifflux.store.sqlite.maintenance.modes import close

    return close(path)


def seal(path: str | Path) -> None:
    """Leave an index that nobody has open as files that can be read alone, without write-ahead log and locks."""
    from rifflux.store.sqlite.maintenance.modes import seal

    seal(path)


def check_is_index(path: str | Path) -> None:
    """Raise `NotAnIndex`, with the cure, for a file that is not an index and contains no page of one."""
    from rifflux.store.sqlite.maintenance.recognize import check_is_index

    check_is_index(Path(path).expanduser())


def salvage_store(path: str | Path) -> Salvaged:
    """Replace a damaged index file by a new one with everything that can be read; call `mend` on it afterwards.

    Raises `DamagedIndex` if nothing can be read and `NotAnIndex` for a file that never was one, without changes.
    """
    from rifflux.store.sqlite.maintenance.salvage import salvage

    return salvage(str(_behind_link(path)))


def restore_store(copy: str | Path, path: str | Path, check: Callable[[Path], None]) -> Path | None:
    """Replace the index at `path` by a copy, after `check` of the copy; return the former one's new path.

    Raises `NotFound`, `NotAnIndex`, `InvalidArgument`, `Busy` and what `check` raises, without changes.
    """
    from rifflux.store.sqlite.maintenance.restore import restore

    return restore(Path(copy).expanduser(), _behind_link(path), check)
