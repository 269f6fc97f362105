"""The freshness of an index: how far it may lag behind its files, skipped files, and the success of refreshes."""

from __future__ import annotations

import errno
import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rifflux.errors import RiffluxError
from rifflux.ingest.machines import machine_of
from rifflux.store import EARLIEST_NS, LATEST_NS, STORED_BITS, Capability, Store
from rifflux.types import Failure, Freshness

#: Settings for the times of complete checks of roots, the skipped files and the files that could not be opened in
#: them, and the outcomes of refreshes.
_SYNCED = "synced"
_LEFT_OUT = "left_out"
_UNOPENED = "unopened"
_REFRESHES = "refreshes"
#: The number of files checked each time, and for `status`.
FEW = 50
MANY = 1000
#: The maximum number of files recorded per root that could not be opened.
MOST_UNOPENED = 1000
#: Seconds between two checks.
PAUSE = 5.0
#: Seconds from a search to the check that it triggers, which starts when the search should be done.
LATER = 0.02


@dataclass
class Sampler:
    """Samples the files of a store. The first search waits a millisecond for it; later ones get the latest result."""

    store: Store
    _latest: Freshness | None = field(default=None, init=False)
    _next_at: float = field(default=0.0, init=False)

    def latest(self) -> Freshness | None:
        """Return the latest result, or None if there is none. Takes microseconds, except the first time."""
        now = time.monotonic()
        found = self._latest
        is_gone = False
        if found:
            # Its files or roots are no longer the owner's, such as those of a user who was deleted and returns.
            roots = found.missing_roots
            is_gone = bool(found.files) and not self.store.totals().files
            is_gone = is_gone or (bool(roots) and not {*roots} <= {*self.store.catalog.roots()})
        if found is None or is_gone:
            self._next_at = now + PAUSE
            self._latest = None
            self._look()
        elif now >= self._next_at:
            self._next_at = now + PAUSE
            threading.Timer(LATER, self._look).start()
        return self._latest

    def now(self) -> Freshness:
        """Return the result of checking many files now."""
        found = look(self.store, MANY)
        self._latest, self._next_at = found, time.monotonic() + PAUSE
        return found

    def _look(self) -> None:
        with suppress(RiffluxError):  # the index was closed meanwhile, or nobody may read it any more
            self._latest = look(self.store, FEW)


def synced(store: Store) -> Mapping[str, float]:
    """Return the time of the last complete check of each root, in seconds since 1970."""
    found: dict[str, float] = {}
    for owner in store.owners:
        found |= json.loads(store.of(owner).records.setting(_SYNCED) or "{}")
    return found


def note_synced(store: Store, roots: Iterable[str], time: float) -> None:
    """Record the time at which roots were last synced completely."""
    if not store.read_only:
        known = {root: at for root, at in synced(store).items() if Path(root).exists() or machine_of(store, root)}
        store.records.set(_SYNCED, json.dumps(known | dict.fromkeys(roots, time), ensure_ascii=False), content=False)


def look(store: Store, number: int) -> Freshness:
    """Return how far a store may lag behind its files, by checking `number` of them."""
    total, sampled = store.catalog.some_files(number)
    last = synced(store)
    there: dict[str, bool] = {}
    # What another machine read cannot be judged by what lies here.
    elsewhere: set[str] = set()
    if Capability.ONE_FILE not in store.capabilities:
        elsewhere = {root for root in {root for root, _ in sampled} if machine_of(store, root)}
    folders: set[tuple[str, Path]] = set()
    changed = 0
    for root, state in sampled:
        if root not in there:
            there[root] = Path(root).exists()
        if not there[root] or root in elsewhere:
            continue
        path = Path(root, state.path)
        folders.add((root, path.parent))
        try:
            status = path.stat()
            mtime_ns = min(max(status.st_mtime_ns, EARLIEST_NS), LATEST_NS)
            identity = (status.st_ino & STORED_BITS, status.st_ctime_ns & STORED_BITS)
            same = (status.st_size, mtime_ns) == (state.size, state.mtime_ns)
            # An index of an earlier version knows no inode until its files are read again.
            changed += not same or (state.inode != 0 and identity != (state.inode, state.ctime_ns))
        except OSError as error:
            # It is gone, unless its path is longer than the system takes: then nobody knows.
            changed += error.errno != errno.ENAMETOOLONG
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
        missing_roots=tuple(sorted(root for root, exists in there.items() if not exists and root not in elsewhere)),
    )


# The files of each root that were not opened at its last complete check: skipped ones, by kind, and failed ones


def note_unread(store: Store, root: str, left_out: Mapping[str, int], failed: Sequence[Failure]) -> None:
    """Record the numbers of files skipped in a root, by kind, and the files that could not be opened."""
    unopened = [[each.path, each.reason, each.kind] for each in failed[:MOST_UNOPENED]]
    for setting, noted in ((_LEFT_OUT, dict(left_out)), (_UNOPENED, unopened)):
        known = _recorded(store, setting)
        if known.get(root, type(noted)()) == noted:
            continue
        current = {each: value for each, value in known.items() if Path(each).exists() or machine_of(store, each)}
        current[root] = noted
        store.records.set(setting, json.dumps(current, ensure_ascii=False), content=False)


def unopened_files(stores: Iterable[Store]) -> list[Failure]:
    """Return the files that could not be opened, in roots that the stores still contain."""
    from rifflux.ingest.sync import folders

    found: list[Failure] = []
    for store in stores:
        roots = {*store.catalog.roots(), *folders(store)}
        for root, failed in _recorded(store, _UNOPENED).items():
            if root in roots:
                found += [Failure(path, reason, kind=kind) for path, reason, kind in failed]
    return found


def left_out_kinds(stores: Iterable[Store]) -> Mapping[str, int]:
    """Return the number of skipped files of each kind, in roots that the stores still contain."""
    from rifflux.ingest.sync import folders

    total: Counter[str] = Counter()
    for store in stores:
        # A folder of which no file is read is not a root of any file.
        roots = {*store.catalog.roots(), *folders(store)}
        for root, counts in _recorded(store, _LEFT_OUT).items():
            if root in roots:
                total.update(counts)
    return dict(total)


def _recorded(store: Store, setting: str) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(store.records.setting(setting) or "{}")
    return recorded


# The success of refreshes: attempts to bring an index up to date with its files, and whether it is now


@dataclass(frozen=True, slots=True)
class Refreshes:
    """Attempts to refresh collections from their files, since the index was created.

    An attempt fails if its root is missing or could not be listed; an unreadable file is reported separately, and the
    attempt succeeds.
    """

    succeeded: int = 0
    failed: int = 0


def record_refresh(store: Store, *, succeeded: bool) -> None:
    """Count an attempt to refresh a collection, unless the index is read-only."""
    if store.read_only:
        return
    with suppress(RiffluxError), store.transaction():
        counts = json.loads(store.records.setting(_REFRESHES) or "{}")
        outcome = "succeeded" if succeeded else "failed"
        counts[outcome] = counts.get(outcome, 0) + 1
        store.records.set(_REFRESHES, json.dumps(counts), content=False)


def refreshes_of(stores: Iterable[Store]) -> Refreshes:
    """Return the combined attempts of several collections."""
    counts = [json.loads(store.records.setting(_REFRESHES) or "{}") for store in stores]
    return Refreshes(
        sum(each.get("succeeded", 0) for each in counts),
        sum(each.get("failed", 0) for each in counts),
    )


def is_fresh(stores: Iterable[Store]) -> bool:
    """Return True if no collection lags behind its files, judging by a sample, and no root is missing."""
    for store in stores:
        found = look(store, FEW)
        if found.note or found.missing_roots:
            return False
    return True
