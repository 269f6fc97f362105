"""Keeping an index up to date while its files change."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from rifflux.errors import ModelError
from rifflux.ingest.sync import SyncTally, folders, sources
from rifflux.ingest.walk.find import Finder, Links
from rifflux.ingest.watch import Watcher, WatchScope
from rifflux.session.freshness import note_synced
from rifflux.session.writing import Indexing, Writer
from rifflux.types import Failure, IndexReport, together

#: Seconds between checks for vanished or returned folders, and the maximum time to stop.
LOOK = 0.5
#: Seconds before a failed embedder is tried again.
RETRY = 30.0


class _Interrupted(Exception):
    """Raised to interrupt embedding for other work."""


@dataclass(frozen=True, slots=True)
class _Watched:
    """The folders and files to watch, and the device and inode of existing folders, including those of single files."""

    folders: tuple[Path, ...]
    files: frozenset[Path]
    there: dict[Path, tuple[int, int]]


@dataclass
class Follower:
    """Follows the files of an index until `stop` is set; iterating yields a report whenever something was done.

    `writers` returns those of the current collections, any of which embeds for all. Text is searchable immediately.
    Vectors are made while nothing changes: a change interrupts their making.
    """

    writers: Callable[[], Sequence[Writer]]
    finder: Finder
    embed: bool = True
    stop: threading.Event = field(default_factory=threading.Event)
    _embed_at: float | None = None
    _links: Links = field(default_factory=dict)

    def __iter__(self) -> Iterator[IndexReport]:
        while not self.stop.is_set():
            watched = self._watched()
            with self._watcher(watched) as watcher:
                # The watch starts first, so that no change goes unnoticed in between.
                reports = [
                    writer.sync_alone(Indexing(embed=False, finder=self.finder), SyncTally(links=self._links))
                    for writer in self.writers()
                ]
                yield self._embedded(together(reports), watcher)
                yield from self._follow(watched, watcher)

    def _follow(self, watched: _Watched, watcher: Watcher) -> Iterator[IndexReport]:
        """Follow changes until the set of watched folders changes."""
        while not self.stop.is_set() and self._watched() == watched:
            changes = watcher.wait(LOOK)
            if changes:
                done = [*filter(None, (self._synced(writer, changes) for writer in self.writers()))]
            else:
                done = []
            report = together(done) if done else IndexReport()
            if done or (self._embed_at is not None and self._embed_at <= time.monotonic()):
                report = self._embedded(report, watcher)
            if report.indexed_files or report.deleted_files or report.embedded_chunks or report.failed:
                yield report

    def _synced(self, writer: Writer, changes: Collection[Path]) -> IndexReport | None:
        """Sync the changed files of one collection, if any."""
        folders, files = _roots_of(writer)
        targets = WatchScope(folders, files, self._links).targets_of(changes)
        if not targets:
            return None
        started_at = time.time()
        report = writer.sync_targets(targets, finder=self.finder, tally=SyncTally(links=self._links))
        # All changes until then were noticed.
        note_synced(writer.view.store, {str(target.root) for target in targets}, started_at)
        return report

    def _embedded(self, report: IndexReport, watcher: Watcher) -> IndexReport:
        """Return the report with the vectors that could be made before the next change."""
        if not self.embed:
            return report
        done = 0
        failed = report.failed
        self._embed_at = None

        def count(_: str, so_far: int, __: int | None) -> None:
            nonlocal done
            done = so_far
            if watcher or self.stop.is_set():
                raise _Interrupted

        start = time.perf_counter()
        try:
            done = self.writers()[0].embed(count, wait=False)
        except _Interrupted:
            self._embed_at = time.monotonic()
        except ModelError as error:
            self._embed_at = time.monotonic() + RETRY
            failure = Failure.of(report.embedding_model, error)
            failed = (*failed, replace(failure, reason=f"no vectors: {error}"))
        seconds = round(report.seconds + time.perf_counter() - start, 3)
        return replace(report, embedded_chunks=done, failed=failed, seconds=seconds)

    def _watched(self) -> _Watched:
        roots = [*(_roots_of(each) for each in self.writers())]
        whole = tuple(dict.fromkeys(chain.from_iterable(folders for folders, _ in roots)))
        files = frozenset(chain.from_iterable(files for _, files in roots))
        places = {*whole, *(file.parent for file in files)}
        return _Watched(whole, files, {place: identity for place in places if (identity := _identity(place))})

    def _watcher(self, watched: _Watched) -> Watcher:
        scope = WatchScope(watched.folders, watched.files, self._links, hidden=self.finder.hidden)
        there = watched.there.keys()
        files = [file for file in watched.files if file.parent in there]
        return Watcher([folder for folder in watched.folders if folder in there], files, scope.wants)


def _roots_of(writer: Writer) -> tuple[tuple[Path, ...], frozenset[Path]]:
    """Return the folders that a collection contains as a whole, and its single files."""
    whole = tuple(Path(each) for each in folders(writer.view.store))
    return whole, frozenset(path for path in (Path(each) for each in sources(writer.view.store)) if path not in whole)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the folder at a path, or None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
