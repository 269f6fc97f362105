"""How far an index may be behind its files, by looking at some of them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import filterfalse
from pathlib import Path

from rifflux.errors import RiffluxError
from rifflux.store import FileState, Store
from rifflux.types import Freshness

_SYNCED = "synced"
#: Files looked at each time, and for `status`.
FEW = 50
MANY = 1000
#: Seconds between two looks.
PAUSE = 5.0
#: A look begins this many seconds after the search that asked for it, which should be done by then.
LATER = 0.02


@dataclass
class Sampler:
    """Looks at some files of a store. The first search waits for it, a millisecond; later ones get what is known."""

    store: Store
    _latest: Freshness | None = field(default=None, init=False)
    _due: float = field(default=0.0, init=False)

    def latest(self) -> Freshness | None:
        """Return the latest finding; None if there can be none. Takes microseconds, but for the first time."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + PAUSE
            if self._latest is None:
                self._look()
            else:
                threading.Timer(LATER, self._look).start()
        return self._latest

    def now(self) -> Freshness:
        """Return the finding of a look at many files."""
        found = look(self.store, MANY)
        self._latest, self._due = found, time.monotonic() + PAUSE
        return found

    def _look(self) -> None:
        with suppress(RiffluxError):  # the index was closed meanwhile, or nobody may read it any more
            self._latest = look(self.store, FEW)


def synced(store: Store) -> Mapping[str, float]:
    """Return the moment of the last look at each root as a whole, in seconds since 1970."""
    found: dict[str, float] = {}
    for each in store.members():
        found |= json.loads(each.registry.setting(_SYNCED) or "{}")
    return found


def note_synced(store: Store, roots: Iterable[str], time: float) -> None:
    """Note that roots are as they were at a moment."""
    if not store.read_only:
        known = {root: at for root, at in synced(store).items() if Path(root).exists()}
        store.registry.set(_SYNCED, json.dumps(known | dict.fromkeys(roots, time), ensure_ascii=False), content=False)


def look(store: Store, number: int) -> Freshness:
    """Return how far a store may be behind its files, by looking at so many of them."""
    total, sampled = store.catalog.some_files(number)
    last = synced(store)
    there: dict[str, bool] = {}
    folders: set[tuple[str, Path]] = set()
    changed = 0
    for root, state in sampled:
        if root not in there:
            there[root] = Path(root).exists()
        if there[root]:
            path = Path(root, state.path)
            folders.add((root, path.parent))
            changed += _differs(path, state)
    oldest = min(last.values(), default=None)
    return Freshness(
        files=total,
        sampled_files=len(sampled),
        changed_files=round(changed / len(sampled) * total) if changed else 0,
        changed_folders=_touched(folders, last),
        synced_at=None if oldest is None else datetime.fromtimestamp(oldest, UTC).isoformat(timespec="seconds"),
        missing_roots=tuple(sorted(filterfalse(there.__getitem__, there))),
    )


def _differs(path: Path, state: FileState) -> bool:
    """Return True if a file is not as it was read, or gone."""
    try:
        status = path.stat()
    except OSError:
        return True
    return (status.st_size, status.st_mtime_ns) != (state.size, state.mtime_ns)


def _touched(folders: Iterable[tuple[str, Path]], last: Mapping[str, float]) -> int:
    """Count the folders in which something came or went since their root was last looked at as a whole."""
    touched = 0
    for root, folder in folders:
        with suppress(OSError):
            touched += root in last and folder.stat().st_mtime > last[root]
    return touched
