"""Watching of files for changes reported by the system, and mapping of changes to parts of the index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from rifflux.errors import UnusableIndex
from rifflux.ingest.sync import Target
from rifflux.ingest.walk.find import GENERATED, Links, belongs_to_index, real_place
from rifflux.ingest.walk.ignore import IGNORE_FILES

#: Changes within these intervals, in milliseconds, are grouped: an editor's save is several.
PAUSE_MS = 100
LONGEST_MS = 400
#: The interval at which the system is polled, and so the time to start watching. In milliseconds.
ASK_MS = 200
#: With more changes in a root, all of it is synced: that is faster, and misses nothing if the system dropped some.
MANY = 256

Changes = frozenset[Path]


@dataclass(slots=True)
class Watcher:
    """Collects changed paths of folders, and of single files in other folders, in its own threads.

    Paths rejected by `wanted` are not collected. Used as a context manager: no change is missed after entry.
    """

    folders: Sequence[Path]
    files: Collection[Path]
    wanted: Callable[[Path], bool]
    _queue: SimpleQueue[Changes | Exception] = field(default_factory=SimpleQueue)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Watcher:
        around = sorted({file.parent for file in self.files})
        for paths, recursive in ((self.folders, True), (around, False)):
            if paths:
                started = threading.Event()
                thread = threading.Thread(
                    target=self._watch, args=(paths, recursive, started), name="watch", daemon=True
                )
                self._threads.append(thread)
                thread.start()
                started.wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def __bool__(self) -> bool:
        """Return True if there are changes that `wait` has not returned yet."""
        return not self._queue.empty()

    def wait(self, seconds: float) -> Changes:
        """Return all changes since the last call, or the next change within `seconds` if there are none."""
        found: set[Path] = set()
        with suppress(Empty):
            while True:
                change = self._queue.get(block=not found, timeout=seconds)
                if isinstance(change, Exception):
                    raise change
                found |= change
        return frozenset(found)

    def _watch(self, paths: Sequence[Path], recursive: bool, started: threading.Event) -> None:
        from watchfiles import Change, watch

        def passes(_: Change, name: str) -> bool:
            started.set()
            path = Path(name)
            return (recursive or path in self.files) and self.wanted(path)

        try:
            for changes in watch(
                *paths,
                watch_filter=passes,
                recursive=recursive,
                step=PAUSE_MS,
                debounce=LONGEST_MS,
                rust_timeout=ASK_MS,
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                started.set()
                if changes:
                    self._queue.put(frozenset(Path(name) for _, name in changes))
        except Exception as error:  # whatever the system has against watching
            self._queue.put(_explained(error))
        finally:
            started.set()


@dataclass(frozen=True, slots=True)
class WatchScope:
    """The watched paths: folders as a whole, and single files in other folders.

    `links` are the links in the folders, added as they are encountered; `hidden` is True if hidden files are indexed.
    """

    folders: Sequence[Path]
    files: Collection[Path] = ()
    links: Links = field(default_factory=dict)
    hidden: bool = False

    def root_of(self, path: Path) -> Path | None:
        """Return the innermost watched folder that contains a path, or None."""
        holding = [folder for folder in self.folders if path.is_relative_to(folder)]
        return max(holding, key=lambda folder: len(folder.parts), default=None)

    def wants(self, path: Path) -> bool:
        """Return True if a changed path may be indexable or contain ignore rules.

        The system also reports changes behind links, under any of their paths: changes outside the folders are
        irrelevant.
        """
        if path in self.files:
            return True
        real = real_place(path)
        if self.root_of(real) is None or belongs_to_index(real):
            return False
        if any(place in self.links for place in (real, *real.parents)):
            return True
        return self._is_worth_a_look(path) or (path != real and self._is_worth_a_look(real))

    def _is_worth_a_look(self, path: Path) -> bool:
        """Return True if no name on a path below its root excludes it."""
        root = self.root_of(path)
        if root:
            parts = path.relative_to(root).parts
        else:
            parts = (path.name,)
        if not GENERATED.isdisjoint(parts):
            return parts[-3:] == (".git", "info", "exclude")
        return self.hidden or path.name in IGNORE_FILES or not any(part.startswith(".") for part in parts)

    def targets_of(self, changes: Iterable[Path]) -> list[Target]:
        """Return the targets of changed paths, existing ones first, so that a moved file retains its vectors.

        A missing single file stays in the index.
        """
        found = [Target(path.parent, path) for path in changes if path in self.files and path.exists()]
        by_root: dict[Path, set[Path]] = {}
        for change in changes:
            for path in self._names_of(change):
                root = self.root_of(path)
                if root is not None and path not in self.files:
                    by_root.setdefault(root, set()).add(path.parent if path.name in IGNORE_FILES else path)
        found += [target for root, paths in by_root.items() if root.exists() for target in _targets(root, paths)]
        return sorted(found, key=lambda target: (not target.within.exists(), target.within))

    def _names_of(self, change: Path) -> set[Path]:
        """Return the paths under which a change may be indexed: the reported one, its real path, links to that.

        A created, removed or linked path may have changed where any link leads.
        """
        real = real_place(change)
        names = {change, real}
        if change.is_symlink() or not change.is_file():
            return names.union(*self.links.values())
        for place in (real, *real.parents):
            names |= self.links.get(place, set())
        return names


def _explained(error: Exception) -> Exception:
    if isinstance(error, FileNotFoundError):
        return error
    return UnusableIndex(
        f"the folders cannot be watched ({error}): raise the system's limit (fs.inotify.max_user_watches), or set "
        "WATCHFILES_FORCE_POLLING=1"
    )


def _targets(root: Path, paths: set[Path]) -> list[Target]:
    if len(paths) > MANY or root in paths:
        return [Target(root, root)]
    return [Target(root, path, noticed=True) for path in paths if paths.isdisjoint(path.parents)]
