"""What an index knows of its files: how far it may be behind them, which were left out, and how refreshing went."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rifflux.errors import RiffluxError
from rifflux.store import EARLIEST_NS, LATEST_NS, Store
from rifflux.types import Freshness

#: The settings that hold the moments of looks at whole roots, what was left out of them, and how refreshing went.
_SYNCED = "synced"
_LEFT_OUT = "left_out"
_REFRESHES = "refreshes"
#: Files looked at each time, and for `status`.
FEW = 50
MANY = 1000
#: Seconds between two looks.
PAUSE = 5.0
#: A look begins this many seconds after the search that asked for it, which should be done by then.
LATER = 0.02


@dataclass
class Sampler:
    """Samples the files of a store. The first search waits a millisecond for it; later ones get the latest finding."""

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
    """Record the moment at which roots were last synced as a whole."""
    if not store.read_only:
        known = {root: at for root, at in synced(store).items() if Path(root).exists()}
        store.registry.set(_SYNCED, json.dumps(known | dict.fromkeys(roots, time), ensure_ascii=False), content=False)


def look(store: Store, number: int) -> Freshness:
    """Return how far a store may be behind its files, by looking at `number` of them."""
    total, sampled = store.catalog.some_files(number)
    last = synced(store)
    there: dict[str, bool] = {}
    folders: set[tuple[str, Path]] = set()
    changed = 0
    for root, state in sampled:
        if root not in there:
            there[root] = Path(root).exists()
        if not there[root]:
            continue
        path = Path(root, state.path)
        folders.add((root, path.parent))
        try:
            status = path.stat()
            mtime_ns = min(max(status.st_mtime_ns, EARLIEST_NS), LATEST_NS)
            changed += (status.st_size, mtime_ns) != (state.size, state.mtime_ns)
        except OSError:  # it is gone
            changed += 1
    touched = 0  # folders in which something came or went since their root was last looked at as a whole
    for root, folder in folders:
        with suppress(OSError):
            touched += root in last and folder.stat().st_mtime > last[root]
    oldest = min(last.values(), default=None)
    return Freshness(
        files=total,
        sampled_files=len(sampled),
        changed_files=round(changed / len(sampled) * total) if changed else 0,
        changed_folders=touched,
        synced_at=None if oldest is None else datetime.fromtimestamp(oldest, UTC).isoformat(timespec="seconds"),
        missing_roots=tuple(sorted(root for root, exists in there.items() if not exists)),
    )


# How many files of each root were left out when all of it was last looked at, by their kind


def note_left_out(store: Store, root: str, counts: Mapping[str, int]) -> None:
    """Record the numbers of files that were left out of a root, by their kinds."""
    known = _recorded(store)
    kinds = dict(counts)
    if known.get(root, {}) == kinds:
        return
    current = {each: counts for each, counts in known.items() if Path(each).exists()}
    current[root] = kinds
    store.registry.set(_LEFT_OUT, json.dumps(current, ensure_ascii=False), content=False)


def left_out_kinds(stores: Iterable[Store]) -> Mapping[str, int]:
    """Return the number of files of each kind that were left out of the roots that the stores still hold."""
    from rifflux.ingest.sync import folders

    total: Counter[str] = Counter()
    for store in stores:
        # A folder of which nothing is read is no root of any file.
        roots = {*store.catalog.roots(), *folders(store)}
        for root, counts in _recorded(store).items():
            if root in roots:
                total.update(counts)
    return dict(total)


def _recorded(store: Store) -> dict[str, dict[str, int]]:
    recorded: dict[str, dict[str, int]] = json.loads(store.registry.setting(_LEFT_OUT) or "{}")
    return recorded


# How available refreshing is: attempts to bring an index up to date with its files, and whether it is now


@dataclass(frozen=True, slots=True)
class Refreshes:
    """Attempts to bring collections up to date with their files, since the index was made.

    An attempt fails if its root is gone or could not be read as a whole; a file that no reader understands is reported
    as failed by itself, and its attempt succeeds.
    """

    succeeded: int = 0
    failed: int = 0


def record_refresh(store: Store, *, succeeded: bool) -> None:
    """Count an attempt to bring a collection up to date; an index that cannot be written counts none."""
    if store.read_only:
        return
    with suppress(RiffluxError), store.transaction():
        counts = json.loads(store.registry.setting(_REFRESHES) or "{}")
        outcome = "succeeded" if succeeded else "failed"
        counts[outcome] = counts.get(outcome, 0) + 1
        store.registry.set(_REFRESHES, json.dumps(counts), content=False)


def refreshes_of(stores: Iterable[Store]) -> Refreshes:
    """Return the attempts of several collections together."""
    counts = [json.loads(store.registry.setting(_REFRESHES) or "{}") for store in stores]
    return Refreshes(
        sum(each.get("succeeded", 0) for each in counts),
        sum(each.get("failed", 0) for each in counts),
    )


def is_fresh(stores: Iterable[Store]) -> bool:
    """Return True if no collection is behind its files, as far as a sample of them tells, and no root is gone."""
    for store in stores:
        found = look(store, FEW)
        if found.note or found.missing_roots:
            return False
    return True
