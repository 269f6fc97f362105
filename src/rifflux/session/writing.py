"""Writing: adding files, folders and documents with their vectors, and removing them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rifflux.errors import ModelError, NotFound
from rifflux.session.arguments import checked_document, checked_path
from rifflux.session.reading import Reader
from rifflux.session.session import IndexView, info_of, note_synced
from rifflux.store import DocumentChange, Placed
from rifflux.types import Document, Failure, IndexReport, Progress

if TYPE_CHECKING:
    from rifflux.ingest.sync import Tally, Target, Turns
    from rifflux.ingest.walk.find import Finder

__all__ = ["DOCUMENTS", "Writer"]

#: Where documents given by a program live; those of files live under their root's path.
DOCUMENTS = "documents"
#: So many documents of a program are stored in one transaction: others write between two.
TOGETHER = 2000


@dataclass(frozen=True, slots=True)
class Indexing:
    """How a run of indexing is done; see `Writer.add`."""

    embed: bool = True
    force: bool = False
    prune: bool = True
    progress: Progress | None = None
    finder: Finder | None = None
    processes: int | None = None


@dataclass(frozen=True, slots=True)
class Writer:
    """Adds to a view of an index and removes from it."""

    view: IndexView

    def add(
        self,
        *items: str | Path | Document,
        embed: bool = True,
        force: bool = False,
        prune: bool = True,
        progress: Progress | None = None,
        finder: Finder | None = None,
        processes: int | None = None,
    ) -> IndexReport:
        """Index files, folders and documents; what did not change is left alone.

        `embed=False` leaves the vectors to a later run. `force` reads even unchanged files. `prune` removes what is
        gone from the given folders, and a given path that is gone itself. A file that cannot be read is listed in
        the report and the run goes on. Interrupted, everything up to the last file is kept and the next run goes on
        from there. Where there is much to read, `processes` share the work (default: one per core; 1: only this one).
        """
        from rifflux.ingest.sync import Tally
        from rifflux.ingest.walk.find import Finder

        documents = [checked_document(item) for item in items if isinstance(item, Document)]
        paths = [checked_path(item) for item in items if not isinstance(item, Document)]
        how = Indexing(embed, force, prune, progress, finder or Finder(), processes)
        todo = self._targets(paths, how, tally := Tally())
        return self._add(todo, documents, how, tally)

    def sync(self, targets: Sequence[Target], *, finder: Finder) -> IndexReport:
        """Bring parts of roots up to date, without vectors: for who knows what changed."""
        from rifflux.ingest.sync import Tally

        return self._add(targets, (), Indexing(embed=False, finder=finder), Tally())

    def _add(self, todo: Sequence[Target], documents: Sequence[Document], how: Indexing, tally: Tally) -> IndexReport:
        from rifflux.ingest.sync import Turns, absorb

        start = time.perf_counter()
        if how.embed:
            self._use_model()
        turns = Turns(self.view.store)
        if todo:
            self._read(todo, how, tally, turns)
        changes = self._put(DOCUMENTS, documents, force=how.force, processes=how.processes) if documents else []
        tally.indexed += len(changes)
        tally.skipped += len(documents) - len(changes)
        for change in changes:
            tally.chunks += len(change.chunks)
        embedded = 0
        if how.embed:
            embedded = self.view.again_if_switched(
                partial(self._embed_stored, changes, turns, how.progress, wait=bool(todo))
            )
        # Only now, so that a wider root found the vectors of those inside it.
        for target in todo:
            absorb(self.view.store, target)
        return IndexReport(
            indexed_files=tally.indexed,
            skipped_files=tally.skipped,
            deleted_files=tally.deleted,
            failed=tuple(tally.failed),
            skipped=tuple(tally.left_out),
            chunks=tally.chunks,
            embedded_chunks=embedded,
            indexed_paths=tuple(str(target.within) for target in todo),
            embedding_model=self.view.embedder.name,
            embedding_backend=self.view.embedder.backend,
            seconds=round(time.perf_counter() - start, 3),
            waited_for=tuple(turns.waited_for),
        )

    def _read(self, todo: Sequence[Target], how: Indexing, tally: Tally, turns: Turns) -> None:
        """Bring roots up to date, when it is this process's turn."""
        from rifflux.ingest.parallel.job import Runner
        from rifflux.ingest.sync import READ, Sync, remember

        assert how.finder
        with turns(READ), Runner(self.view.preparer, how.processes) as reading:
            sync = Sync(self.view.store, how.finder, reading, how.force, how.prune)
            for target in todo:
                begun = time.time()
                sync(target, tally, how.progress)
                remember(self.view.store, target)
                if target.within == target.root:
                    note_synced(self.view.store, [str(target.root)], begun)

    def embed(self, progress: Progress | None = None, *, wait: bool = True) -> int:
        """Give vectors to all that waits for one; returns how many got one.

        While another process does that, this one waits for it, or without `wait` leaves it to the other.
        """
        from rifflux.ingest.sync import Turns

        self._use_model()
        turns = Turns(self.view.store)
        return self.view.again_if_switched(partial(self._embed_stored, (), turns, progress, wait=wait))

    def embed_changes(self, changes: Iterable[DocumentChange]) -> int:
        """Give vectors to what was just stored, without waiting for anybody; returns how many chunks got one."""
        from rifflux.ingest.embed import embed_changes

        changes = list(changes)
        self._use_model()
        return self.view.again_if_switched(lambda: embed_changes(self.view.store, self.view.embedder, changes))

    def update(
        self,
        *,
        embed: bool = True,
        force: bool = False,
        prune: bool = True,
        progress: Progress | None = None,
        finder: Finder | None = None,
        processes: int | None = None,
    ) -> IndexReport:
        """Bring every folder and file that was added before up to date.

        What is gone as a whole, such as a disk that is not mounted, is reported as failed and stays in the index.
        """
        from rifflux.ingest.sync import sources

        known = sources(self.view.store)
        gone = [path for path in known if not Path(path).exists()]
        found = [path for path in known if path not in gone]
        report = self.add(
            *found, embed=embed, force=force, prune=prune, progress=progress, finder=finder, processes=processes
        )
        lost = (Failure(path, f"it is gone: 'rifflux index {path}' forgets it") for path in gone)
        return replace(report, failed=(*report.failed, *lost))

    def _targets(self, paths: Iterable[Path], how: Indexing, tally: Tally) -> list[Target]:
        """Return the targets to sync; forget a known path that is gone. Raises `NotFound` for an unknown one."""
        from rifflux.ingest.sync import folders, forget, targets

        assert how.finder
        paths = [path.expanduser() for path in paths]
        existing = [path for path in paths if path.exists() or not how.prune]
        found = targets(existing, folders(self.view.store), how.finder)
        for path in paths:
            if how.prune and not path.exists():
                forgotten = forget(self.view.store, path.resolve())
                if forgotten is None:
                    raise NotFound(f"nothing at {path}: check the path's spelling")
                tally.deleted += forgotten
        return found

    def put_at_once(self, namespace: str, documents: Sequence[Document]) -> None:
        """Store documents and their vectors; where the embedder fails, a later run makes them."""
        from rifflux.ingest.embed import embed_changes

        changes = self._put(namespace, documents)
        with suppress(ModelError):
            self._use_model()
            embed_changes(self.view.store, self.view.embedder, changes)

    def _put(
        self, namespace: str, documents: Iterable[Document], *, force: bool = False, processes: int | None = None
    ) -> list[DocumentChange]:
        """Store documents; returns what changed. Unless `force`, one that is stored as it is given is left alone."""
        from rifflux.ingest.prepare import is_same

        store = self.view.store
        wanted = {document.key: document for document in documents}.values()
        changed = [each for each in wanted if force or not is_same(each, store.catalog.document(namespace, each.key))]
        changes, prepared = list[DocumentChange](), self._prepared(namespace, changed, processes)
        while group := list(islice(prepared, TOGETHER)):
            store.catalog.put_all(Placed(namespace, change) for change in group)
            changes += group
        return changes

    def _prepared(
        self, namespace: str, documents: Sequence[Document], processes: int | None
    ) -> Iterator[DocumentChange]:
        """Documents chunked and analyzed, in their order; by other processes, too, where they are many."""
        from rifflux.ingest.parallel.job import Given, Runner, do

        prepare, jobs = self.view.preparer, [Given(namespace, document) for document in documents]
        with Runner(prepare, processes) as reading:
            for job, outcome in reading(jobs, sum(job.size for job in jobs)):
                # What a process could not do, because it was ended, is done here.
                change = outcome.prepared or do(job, prepare).prepared
                assert change
                yield change

    def _embed_stored(
        self, changes: Iterable[DocumentChange], turns: Turns, progress: Progress | None, *, wait: bool
    ) -> int:
        """Give vectors to all that wait for one; without `wait`, only to `changes` while another process is at it."""
        from rifflux.ingest.embed import embed_changes, embed_pending
        from rifflux.ingest.sync import EMBED
        from rifflux.session.vectors import read_all_vectors

        with turns(EMBED) if wait else self.view.store.registry.claim(EMBED) as mine:
            if mine:
                count = 0
                for view in self.view.store.views():
                    count += embed_pending(view, self.view.embedder, progress)
                read_all_vectors(self.view.store, self.view.profile, self.view.embedder)
                return count
            return embed_changes(self.view.store, self.view.embedder, changes)

    def _use_model(self) -> None:
        self.view.again_if_switched(lambda: self.view.store.semantic.use_model(info_of(self.view.embedder)))

    def remove(self, *keys: str) -> int:
        """Remove documents by key, path or absolute path; returns how many. Raises `NotFound` before removing any."""
        found = [Reader(self.view).place_of(key) for key in keys]
        with self.view.store.transaction():
            return sum(self.view.store.catalog.remove(namespace, [key]) for namespace, key in found)
