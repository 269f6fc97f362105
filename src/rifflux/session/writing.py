"""Writing: adding files, folders and documents with their vectors, and removing them."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rifflux.errors import Cure, ModelError, NotFound, OutOfScope, RiffluxError
from rifflux.ingest.machines import machine_of
from rifflux.service.collections import is_collection, user_of
from rifflux.session.arguments import checked_document, checked_path, document_of_fields
from rifflux.session.freshness import note_synced, note_unread, record_refresh
from rifflux.session.places import refuse_twice
from rifflux.session.session import IndexView
from rifflux.session.vectors import confirm, info_of, read_all_vectors
from rifflux.store import DocumentChange, Placed, Totals
from rifflux.types import Document, Failure, IndexReport, Notice, Progress, together

if TYPE_CHECKING:
    from rifflux.ingest.sync import SyncTally, Target, Turns
    from rifflux.ingest.walk.find import Finder
    from rifflux.models.guarded import GuardedEmbedder

#: The namespace of documents given by a program; files are in their root's path.
DOCUMENTS = "documents"
#: The maximum number of documents per transaction, so that others can write in between.
TOGETHER = 2000
#: The number of stored documents that are read at a time, to be compared with given ones.
COMPARED = 100


#: What can be added: a path, a document, a mapping of its fields, or several of these.
Addable: TypeAlias = "str | Path | Document | Mapping[str, Any] | Iterable[str | Path | Document | Mapping[str, Any]]"


@dataclass(frozen=True, slots=True)
class Embedded:
    """The number of chunks that were embedded, and why others are still waiting."""

    chunks: int = 0
    degraded: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Indexing:
    """The options of an indexing run; see `Writer.add`."""

    embed: bool = True
    force: bool = False
    prune: bool | None = None
    progress: Progress | None = None
    finder: Finder | None = None
    processes: int | None = None
    language: str = ""
    exclude: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Writer:
    """Adds to a view of an index, and syncs it with its files."""

    view: IndexView

    def add(
        self,
        *items: Addable,
        collection: str = "",
        language: str = "",
        embed: bool = True,
        force: bool = False,
        prune: bool | None = None,
        progress: Progress | None = None,
        finder: Finder | None = None,
        processes: int | None = None,
        exclude: Sequence[str] | None = None,
    ) -> IndexReport:
        """Index files, folders and documents; unchanged ones are skipped.

        A document is a `Document` or a mapping of its fields (`{"key": …, "text": …}`); items of iterables are added
        individually.

        They go to a `collection`, which is created if it is named without an owner and does not exist. Without one,
        paths inside a root of the caller's own collections go to that collection, and everything else to the library. A
        folder can be in one collection of its owner only: `InvalidArgument` names the one that has it.

        `language` is that of the given folders, files and documents, such as `german`, and decides how their words
        become terms. It is recorded per path and applies to files added there later; if it changes, indexed files are
        analyzed again, which the report's `remarks` mention. Without one, a path has the language of the folder around
        it, or of the index. Raises `InvalidArgument` for an unknown language.

        `exclude` are patterns as in `.gitignore` of files to skip in the given folders, in this run and later ones,
        replacing earlier patterns; an empty list removes them and includes removed files again. A path inside a folder
        that is given explicitly is indexed and no longer skipped.

        `embed=False` leaves the vectors to a later run. `force` reads even unchanged files. Files missing from the
        given folders are removed, as is a given path that is missing itself; but a folder that is now empty, lies on
        another device, or has lost most of its files at once keeps them and fails, unless `prune` is true. With
        `prune=False` nothing is removed. An unreadable file is listed in the report and the run continues. If the model
        fails, the text is stored and the report says so: the next run makes the vectors. If interrupted, everything up
        to the last file is stored and the next run continues from there. For large inputs, `processes` share the work
        (default: one per core; 1: only this one).
        """
        from rifflux.ingest.sync import SyncTally
        from rifflux.ingest.walk.find import Finder

        given: list[Any] = []
        waiting: deque[object] = deque(items)
        while waiting:
            item = waiting.popleft()
            if isinstance(item, Mapping):
                given.append(document_of_fields(item))
            elif isinstance(item, Iterable) and not isinstance(item, str | bytes | PathLike):
                waiting.extendleft(reversed([*item]))
            else:
                given.append(item)
        self.view.language_of(language)  # An unknown one is refused before anything is stored.
        documents = [
            replace(checked_document(item), language=self.view.language_of(item.language, language))
            for item in given
            if isinstance(item, Document)
        ]
        paths = [checked_path(item) for item in given if not isinstance(item, Document)]
        how = Indexing(embed, force, prune, progress, finder or Finder(), processes, language, exclude)
        runs = []
        shares = self._shares(collection, paths)
        if documents or not paths:
            shares.setdefault(collection, [])
        for name, inside in shares.items():
            writer = self._into(name, inside)
            tally = SyncTally()
            try:
                todo = writer._targets(inside, how, tally)
            except NotFound as error:
                if any(isinstance(item, str) for item in given):
                    raise NotFound(str(error), cure=Cure.GIVE_TEXT) from None
                raise
            runs.append((writer, todo, documents if name == collection else (), tally))
        return together([writer._add(todo, given, how, tally) for writer, todo, given, tally in runs])

    def _shares(self, collection: str, paths: Sequence[Path]) -> dict[str, list[Path]]:
        """Return the paths by the collection they go to; the empty name is this writer's collection."""
        from rifflux.ingest.sync import sources

        shares: dict[str, list[Path]] = {}
        # The roots of the caller's own collections, first those of this one under the empty name.
        homes: list[tuple[str, list[str]]] = []
        if not collection:
            store = self.view.session.store
            here = self.view.store.owner
            labels = {each.owner: each.label for each in self.view.rights.visible() if each.owned}
            if labels.pop(here, None) is not None:
                homes = [("", sources(store.of(here)))]
                homes += [(label, sources(store.of(owner))) for owner, label in labels.items()]
        for path in paths:
            place = path.expanduser().resolve()
            label = next(
                (label for label, roots in homes if any(place.is_relative_to(root) for root in roots)), collection
            )
            shares.setdefault(label, []).append(path)
        return shares

    def _into(self, collection: str, paths: Sequence[Path]) -> Writer:
        """Return the writer of a collection for some paths, creating the collection only if all paths exist."""
        rights = self.view.rights
        label = collection or next((each.label for each in rights.visible() if each.owner == self.view.store.owner), "")
        places = [path.expanduser().resolve() for path in paths]
        for each in rights.visible() if label else ():
            if each.label != label and each.owned:
                refuse_twice(places, each.label, self.view.session.store.of(each.owner))
        missing = next((path for path in paths if not path.expanduser().exists()), None)
        return Writer(self.view.writing(collection, create=missing is None))

    def own(self) -> list[Writer]:
        """Return the writers of all collections of the caller, or only this one if it was chosen."""
        store = self.view.session.store
        view = self.view
        owners = [each.owner for each in view.rights.visible() if each.owned]
        if view.is_part or view.store.owner != owners[0]:
            return [self]
        return [self, *(Writer(replace(view, store=store.of(owner))) for owner in owners[1:])]

    def of_everybody(self) -> list[Writer]:
        """Return the writers of all collections of all users. Raises `OutOfScope` in a scope."""
        if self.view.user:
            raise OutOfScope("other users' files cannot be read: ask the administrator of the index")
        found = [each for each in self.view.store.views() if is_collection(each.owner)]
        return [Writer(replace(self.view, store=each)) for each in found]

    def sync_targets(self, targets: Sequence[Target], *, finder: Finder, tally: SyncTally | None = None) -> IndexReport:
        """Sync parts of roots without vectors, counting in `tally`, for callers that know what changed."""
        from rifflux.ingest.sync import SyncTally

        return self._add(targets, (), Indexing(embed=False, finder=finder), tally or SyncTally())

    def _add(
        self, todo: Sequence[Target], documents: Sequence[Document], how: Indexing, tally: SyncTally
    ) -> IndexReport:
        from rifflux.ingest.sync import Turns, absorb

        start = time.perf_counter()
        if how.embed and self.view.store.semantic.model():
            # Another than the index has is refused before anything is stored.
            self.view.again_if_switched(self._use_model)
        turns = Turns(self.view.store)
        remarks: list[Notice] = []
        if how.language or self.view.session.language:
            remarks = self._set_languages(todo, how.language)
        if todo:
            self._refresh(todo, how, tally, turns)
        if documents:
            changes = self.put_now(DOCUMENTS, documents, force=how.force, processes=how.processes)
        else:
            changes = []
        tally.found += len(documents)
        tally.indexed += len(changes)
        tally.unchanged += len(documents) - len(changes)
        for change in changes:
            tally.chunks += len(change.chunks)
        embedded = Embedded()
        if how.embed:
            embedded = self._if_it_can(partial(self._embed_stored, changes, turns, how.progress, wait=bool(todo)))
        # Only now, so that a wider root found the vectors of roots inside it.
        for target in todo:
            absorb(self.view.store, target)
        left_out = Counter(each.kind for each in tally.left_out) + tally.by_rule
        return IndexReport(
            found_files=tally.found,
            indexed_files=tally.indexed,
            unchanged_files=tally.unchanged,
            skipped_files=tally.unchanged + left_out.total(),
            failed_files=tally.failed_kinds.total(),
            deleted_files=tally.deleted,
            failed=tuple(tally.failed),
            failed_kinds=dict(tally.failed_kinds),
            skipped=tuple(tally.left_out),
            skipped_kinds=dict(left_out),
            chunks=tally.chunks,
            embedded_chunks=embedded.chunks,
            indexed_paths=tuple(str(target.within) for target in todo),
            embedding_model=self.view.embedder.name,
            embedding_backend=self.view.embedder.backend,
            seconds=round(time.perf_counter() - start, 3),
            waited_for=tuple(turns.waited_for),
            degraded=embedded.degraded,
            remarks=(*remarks, *tally.remarks),
        )

    def _set_languages(self, todo: Sequence[Target], language: str) -> list[Notice]:
        """Record the language of the targets, and return notices on files whose language changes."""
        from rifflux.ingest.sync import set_language

        remarks: list[Notice] = []
        store = self.view.store
        for target in todo:
            if target.within == target.root:
                below = ""
            else:
                below = target.within.relative_to(target.root).as_posix()
            is_new = not any(store.catalog.files(str(target.root), below=below))
            # The language of an open index applies to new content; known content retains its own.
            chosen = language or (self.view.session.language if is_new else "")
            if chosen:
                former = set_language(store, target.within, chosen)
            else:
                former = None
            if former and not is_new:
                text = f"{target.within}: analyzed again in {chosen} instead of {former}"
                data = {"path": str(target.within), "language": chosen, "former": former}
                remarks.append(Notice("language.changed", text, data=data))
        return remarks

    def _refresh(self, todo: Sequence[Target], how: Indexing, tally: SyncTally, turns: Turns) -> None:
        """Sync roots when it is this process's turn, and count the attempt."""
        from rifflux.ingest.sync import READ, Runner, Sync, remember, set_exclusions, take_again

        assert how.finder
        store = self.view.store
        limits = self.view.session.reader_limits
        try:
            with turns(READ), closing(Runner(self.view.preparer, how.processes, limits)) as reading:
                sync = Sync(store, how.finder, reading, how.force, how.prune)
                for target in todo:
                    started_at = time.time()
                    before = len(tally.left_out)
                    rules = Counter(tally.by_rule)
                    unopened = len(tally.unopened)
                    remember(store, target)
                    if how.exclude is not None and target.within == target.root:
                        set_exclusions(store, str(target.root), how.exclude)
                    if target.within != target.root and not target.noticed:
                        take_again(store, target)
                    sync(target, tally, how.progress)
                    if target.within == target.root:
                        note_synced(store, [str(target.root)], started_at)
                        kinds = Counter(each.kind for each in tally.left_out[before:])
                        kinds += tally.by_rule - rules
                        note_unread(store, str(target.root), kinds, tally.unopened[unopened:])
                sync.remove_missing(tally)
        except (RiffluxError, OSError):
            record_refresh(store, succeeded=False)
            raise
        record_refresh(store, succeeded=True)

    def embed(self, progress: Progress | None = None, *, wait: bool = True) -> int:
        """Embed all chunks without a vector and return their number.

        While another process does that, this one waits for it, or leaves it to the other unless `wait`. Raises
        `ModelError`.
        """
        from rifflux.ingest.sync import Turns

        turns = Turns(self.view.store)
        return self.view.again_if_switched(partial(self._embed_stored, (), turns, progress, wait=wait))

    def embed_imported(self, progress: Progress | None = None, seconds: float | None = None) -> Embedded:
        """Embed all chunks without a vector, at most for some seconds; the rest continues in the background.

        If the model fails, a later run makes the vectors.
        """
        return self._soon(partial(self._if_it_can, partial(self.embed, progress)), seconds)

    def embed_changes(self, changes: Iterable[DocumentChange]) -> Embedded:
        """Embed stored changes without waiting for other processes, or long for the model."""
        from rifflux.ingest.embed import embed_changes

        changes = list(changes)

        def embed() -> int:
            embedder = self.view.embedder.hurried
            self._use_model(embedder)
            confirm(self.view.session.store, self.view.session.confirmed, embedder)
            return embed_changes(self.view.store, embedder, changes)

        return self._if_it_can(embed)

    def _if_it_can(self, embed: Callable[[], int]) -> Embedded:
        """Return the result of embedding, even if the model fails: the text is stored and found by words."""
        before = self._embedded()
        try:
            return Embedded(self.view.again_if_switched(embed))
        except ModelError as error:
            text = f"no vectors for now: {error}; they are made later; text is kept, and found by words"
            failed = Notice.of(error, "vectors.failed", text)
            return Embedded(max(self._embedded() - before, 0), (failed,))

    def _totals(self) -> Totals:
        """Return the totals of all owners."""
        store = self.view.store
        return store.of(*(view.owner for view in store.views())).totals()

    def _embedded(self) -> int:
        return self._totals().embedded

    def _waits(self) -> bool:
        """Return True if any text waits for a vector."""
        totals = self._totals()
        return totals.chunks > totals.embedded

    def embed_soon(self, changes: Sequence[DocumentChange], seconds: float | None) -> Embedded:
        """Embed stored changes, at most for some seconds; the rest continues in the background."""
        if not any(change.chunks for change in changes):
            return Embedded()
        return self._soon(partial(self.embed_changes, changes), seconds)

    def _soon(self, embed: Callable[[], Embedded], seconds: float | None) -> Embedded:
        from rifflux.models.workers import Late

        if seconds is None:
            deadline = None
        else:
            deadline = time.perf_counter() + seconds
        try:
            return self.view.session.workers(embed, deadline, "store")
        except Late as late:
            text = f"stored, and found by words, its vectors are still pending ({late})"
            return Embedded(0, (Notice("vectors.pending", text),))

    def sync(
        self,
        *,
        embed: bool = True,
        force: bool = False,
        prune: bool | None = None,
        progress: Progress | None = None,
        finder: Finder | None = None,
        processes: int | None = None,
    ) -> IndexReport:
        """Sync every folder and file added before, in all of the caller's own collections.

        A root that is missing as a whole, such as an unmounted disk, is reported as failed and remains in the index.
        """
        from rifflux.ingest.walk.find import Finder

        how = Indexing(embed, force, prune, progress, finder or Finder(), processes)
        return together([each.sync_alone(how) for each in self.own()])

    def sync_alone(self, how: Indexing, tally: SyncTally | None = None) -> IndexReport:
        """Sync the contents of this collection, counting in `tally`."""
        from rifflux.ingest.sync import SyncTally, remembered

        known = remembered(self.view.store)
        missing = [
            str(target.within)
            for target in known
            if not target.within.exists() and not machine_of(self.view.store, target.root)
        ]
        found = [target for target in known if target.within.exists()]
        report = self._add(found, (), how, tally or SyncTally())
        for _ in missing:
            record_refresh(self.view.store, succeeded=False)
        lost = (
            Failure(path, "it is gone: its indexed content stays", "gone", Cure.FORGET, {"path": path}, "gone")
            for path in missing
        )
        return replace(report, failed=(*report.failed, *lost))

    def _targets(self, paths: Iterable[Path], how: Indexing, tally: SyncTally) -> list[Target]:
        """Return the targets to sync; forget a known path that is missing. Raises `NotFound` for an unknown one."""
        from rifflux.ingest.sync import folders, forget, targets

        assert how.finder
        paths = [path.expanduser() for path in paths]
        existing = [path for path in paths if path.exists() or how.prune is False]
        found = targets(existing, folders(self.view.store), how.finder)
        for path in paths:
            if how.prune is not False and not path.exists():
                machine = machine_of(self.view.store, path.resolve())
                if machine and not how.prune:
                    raise NotFound(f"{path} is not here: it was read on {machine}", cure=Cure.PRUNE, root=str(path))
                forgotten = forget(self.view.store, path.resolve())
                if forgotten is None:
                    raise NotFound(f"nothing at {path}: check the path's spelling")
                tally.deleted += forgotten
        return found

    def put_now(
        self, namespace: str, documents: Iterable[Document], *, force: bool = False, processes: int | None = None
    ) -> list[DocumentChange]:
        """Store documents and return the changes. Unchanged documents are skipped unless `force`."""
        from rifflux.ingest.prepare import is_same

        store = self.view.store
        latest = {document.key: document for document in documents}.values()
        changed: list[Document] = []
        given = iter(latest)
        while some := list(islice(given, COMPARED)):
            known = {} if force else store.catalog.documents_at([(namespace, each.key) for each in some])
            changed += (each for each in some if not is_same(each, known.get((namespace, each.key))))
        changes: list[DocumentChange] = []
        prepared = self._prepared(namespace, changed, processes)
        while group := list(islice(prepared, TOGETHER)):
            store.catalog.write(*(Placed(namespace, change) for change in group))
            changes += group
        return changes

    def _prepared(
        self, namespace: str, documents: Sequence[Document], processes: int | None
    ) -> Iterator[DocumentChange]:
        """Yield the documents chunked and analyzed, in order; other processes help with large inputs."""
        from rifflux.ingest.prepare import Given, do
        from rifflux.ingest.sync import Runner

        prepare = self.view.preparer
        jobs = [Given(namespace, document) for document in documents]
        with closing(Runner(prepare, processes, self.view.session.reader_limits)) as reading:
            for job, outcome in reading(jobs, sum(job.size for job in jobs)):
                # Do the work here if a process was killed before finishing it.
                change = outcome.prepared or do(job, prepare).prepared
                assert change
                yield change

    def _embed_stored(
        self, changes: Iterable[DocumentChange], turns: Turns, progress: Progress | None, *, wait: bool
    ) -> int:
        """Embed all chunks without a vector; without `wait`, only `changes` while another process embeds."""
        from rifflux.ingest.embed import embed_changes, embed_pending
        from rifflux.ingest.sync import EMBED
        from rifflux.models.guarded import BudgetExhausted

        self._use_model()
        confirm(self.view.session.store, self.view.session.confirmed, self.view.embedder, self._waits)
        with turns(EMBED) if wait else self.view.store.records.lease(EMBED) as mine:
            if mine:
                count = 0
                refused: BudgetExhausted | None = None
                embedder = self.view.embedder
                for view in self.view.store.views():
                    if not self.view.user and self.view.payer is None:
                        # The owner pays, unless a user started the run.
                        embedder = replace(self.view, payer=user_of(view.owner)).embedder
                    try:
                        count += embed_pending(view, embedder, progress)
                    except BudgetExhausted as error:
                        # One user's budget is spent; other users' texts are still embedded.
                        refused = error
                read_all_vectors(self.view.store, self.view.profile, self.view.embedder)
                if refused:
                    raise refused
                return count
            return embed_changes(self.view.store, self.view.embedder, changes)

    def _use_model(self, embedder: GuardedEmbedder | None = None) -> None:
        """Record the embedder as the index's model, without calling it. Raises `ModelMismatch` for another one."""
        known = self.view.store.semantic.model()
        info = info_of(embedder or self.view.embedder, known.dimension if known else None)
        self.view.store.semantic.use_model(info)
