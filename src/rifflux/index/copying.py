"""Copying an index to another place, from any engine to any other.

A first pass takes everything. Further ones compare both sides in the order in which documents and records were added,
and take what changed meanwhile, until one finds both sides equal: what it counted and hashed is reported. How far the
first pass is stands in the target, with what it has taken so far, so a copy that was ended at any moment goes on.

Terms are not copied but made again from the texts, by the analysis of the index. The number of terms of each chunk is
compared.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rifflux.conversations.model import OTHERS
from rifflux.conversations.profile import CONVERSATIONS
from rifflux.conversations.writing import Window, message_terms
from rifflux.errors import Conflict, Cure, InvalidArgument, ModelMismatch, NotFound, UnusableIndex
from rifflux.ingest.prepare import analyzed
from rifflux.ingest.sync import COPYING, Turns
from rifflux.memories.profile import MEMORIES
from rifflux.service.copies import COPY, CopyState, check_is_complete, copy_state, keep_copy_state
from rifflux.service.registry import PARTS
from rifflux.session.profile import profile as find_profile
from rifflux.store import (
    ABSENT,
    PART,
    REVISION,
    AnalyzedChunk,
    Delete,
    DocumentUses,
    FileRemoval,
    FileUpdate,
    IndexPlace,
    Placed,
    Put,
    Record,
    Removal,
    SourceData,
    State,
    Store,
    StoredDocument,
    Where,
    Write,
    open_store,
)
from rifflux.store.sqlite.query import rounded_all
from rifflux.text.analyzer import Analyzer, analyzer
from rifflux.types import Document, Notice, Progress, Vectors

Item = TypeVar("Item")

#: Documents with their chunks that are put at a time; on a cluster, each time makes what was put searchable.
ITEMS_AT_ONCE = 1_000
#: Documents, and records, that are compared at a time.
DOCUMENTS_AT_ONCE = 64
RECORDS_AT_ONCE = 500
#: Passes that compare a part of the index before it is given up.
MOST_PASSES = 5
#: The parts that every report has.
_REPORTED = ("documents", "chunks", "vectors", "files", "settings", *dict.fromkeys(PARTS.values()))


@dataclass(frozen=True, slots=True)
class CopiedPart:
    """A part of an index on both sides of a copy: the numbers of its items, and whether their hashes are equal.

    `hash` is the source's.
    """

    name: str
    source: int
    target: int
    hash: str
    equal: bool


@dataclass(frozen=True, slots=True)
class CopyReport:
    """A copy of an index: the places, its parts on both sides, and the seconds that the call took.

    `waited_for` names other processes that copied to the same place, and had to finish or were given up first.
    """

    source: str
    target: str
    parts: tuple[CopiedPart, ...]
    seconds: float
    notices: tuple[Notice, ...] = ()
    waited_for: tuple[str, ...] = ()


def copy(source: str | Path, target: str | Path, *, progress: Progress | None = None) -> CopyReport:
    """Copy the index at a place to another one; see `copy_store`. Raises `NotFound` if there is none."""
    try:
        opened = open_store(source, create=False)
    except NotFound as error:
        raise NotFound(f"{error}: check its spelling") from error
    with closing(opened) as store:
        check_is_complete(store, source)
        return copy_store(store, source, target, progress=progress)


def copy_store(store: Store, place: str | Path, target: str | Path, *, progress: Progress | None = None) -> CopyReport:
    """Copy the index of a store, which is at a place, to another place, a file or a cluster, and verify the copy.

    Everything is copied but derived files: documents, vectors, settings, tokens, collections and their readers,
    messages, memories, works, feedback, usage and the log. The index may be searched and written meanwhile. A call that
    was ended goes on where it was when it is made again; until it is complete, the copy cannot be opened. A complete
    one that nobody changed takes what came since.

    Raises `InvalidArgument` if the target holds anything else or was changed, and `Conflict` if both sides differ in
    the end, with the `parts` in its data.
    """
    names = _place_name(place), _place_name(target)
    if names[0] == names[1]:
        raise InvalidArgument(f"{names[0]} is the index itself: give another place for the copy")
    with closing(open_store(target)) as other:
        return Copying(store, other, *names, progress).run()


def _place_name(location: str | Path) -> str:
    """Return the name of a place by which it is known again; an address that was opened holds no secret."""
    place = IndexPlace.of(location)
    if not place.is_file:
        return f"{place.scheme}://{place.name}"
    if place.name == ":memory:":
        raise InvalidArgument(":memory: is gone when this ends: give the path of a file, or a cluster's address")
    return str(place.path.resolve())


@dataclass(slots=True)
class _Tally:
    """The number of some items, and a hash of their digests in order."""

    count: int = 0
    hash: Any = field(default_factory=lambda: blake2b(digest_size=16))

    def add(self, digest: bytes) -> None:
        """Count an item."""
        self.count += 1
        self.hash.update(digest)


@dataclass(slots=True)
class ComparedParts:
    """What a pass found of each part on both sides, and how many items it changed in the target."""

    source: defaultdict[str, _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    target: defaultdict[str, _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    changed: int = 0

    def part(self, name: str) -> CopiedPart:
        """Return a part as both sides have it."""
        ours = self.source[name]
        theirs = self.target[name]
        is_equal = (ours.count, ours.hash.digest()) == (theirs.count, theirs.hash.digest())
        return CopiedPart(name, ours.count, theirs.count, ours.hash.hexdigest(), is_equal)


@dataclass
class Copying:
    """A copy of one store to another, whose places have these names."""

    source: Store
    target: Store
    source_name: str
    target_name: str
    progress: Progress | None = None

    def run(self) -> CopyReport:
        """Copy, or go on, and verify; see `copy`."""
        start = time.perf_counter()
        turns = Turns(self.target)
        with turns(COPYING):
            self._check_revision()
            state = self._begin()
            self._use_model()
            if not state.is_filled:
                self._fill(state)
                keep_copy_state(self.target, replace(state, is_filled=True))
            found: dict[str, CopiedPart] = {}
            for compare in (self._compare_documents, self._compare_settings, self._compare_records):
                found.update(self._until_equal(compare))
            parts = _in_order(found)
            hashes = {each.name: each.hash for each in parts}
            keep_copy_state(self.target, CopyState(self.source_name, is_filled=True, hashes=hashes))
        seconds = round(time.perf_counter() - start, 3)
        notices = tuple(self._notices())
        return CopyReport(self.source_name, self.target_name, parts, seconds, notices, tuple(turns.waited_for))

    # Before anything is written

    def _check_revision(self) -> None:
        """Raise `UnusableIndex` for terms by another version of the analyzer, which cannot be made again."""
        revision = self._analyzer().revision
        if int(self.source.records.setting(REVISION, of_index=True) or 1) != revision:
            raise UnusableIndex(
                f"{self.source_name} was made by another version of the analyzer: its terms cannot be made again as "
                "they are",
                cure=Cure.REPAIR,
            )

    def _begin(self) -> CopyState:
        """Return the state of the copy, which is new or goes on. Raises `InvalidArgument` for any other target."""
        state = copy_state(self.target)
        if state is None:
            if not _is_empty(self.target):
                raise InvalidArgument(f"{self.target_name} is not empty, and no copy: give another place")
            state = CopyState(self.source_name)
        elif state.source != self.source_name:
            raise InvalidArgument(
                f"{self.target_name} is a copy of {state.source}: give that as the source, or another place"
            )
        elif state.hashes is not None:
            self._check_unchanged(state.hashes)
            state = replace(state, hashes=None)
        keep_copy_state(self.target, state)
        return state

    def _check_unchanged(self, hashes: Mapping[str, str]) -> None:
        """Raise `InvalidArgument` if a complete copy was changed since: what is new there would be lost."""
        itself = replace(self, source=self.target)
        found: dict[str, CopiedPart] = {}
        for compare in (itself._compare_documents, itself._compare_settings, itself._compare_records):
            found.update(itself._until_equal(compare))
        changed = [each.name for each in _in_order(found) if hashes.get(each.name, "") != each.hash]
        if changed:
            raise InvalidArgument(
                f"{self.target_name} is a complete copy that was changed since ({', '.join(changed)}), which would be "
                "lost: give another place"
            )

    def _use_model(self) -> None:
        model = self.source.semantic.model()
        if model is None:
            return
        try:
            self.target.semantic.use_model(model)
        except ModelMismatch:
            raise Conflict(
                f"{self.source_name} was switched to another model since the copy was begun: give another place"
            ) from None

    def _notices(self) -> Iterator[Notice]:
        """Yield what was left out on purpose."""
        for each in self.source.semantic.generations.all():
            if each.state == State.BUILDING:
                text = f"vectors of {each.model.name}, to which the index is being switched, are not copied"
                yield Notice("copy.switching", text, Cure.END_SWITCH, {"model": each.model.public_spec})

    # The first pass

    def _fill(self, state: CopyState) -> None:
        """Take all files and documents behind the state, and keep the state with what was taken."""
        views = _by_owner(self.source)
        total = sum(view.totals().documents for view in views.values())
        done = sum(view.totals().documents for view in self.target.views())
        for owner, view in views.items():
            if owner < state.owner:
                continue
            mine = self.target.of(owner)
            self._compare_files(view, mine, ComparedParts())
            after = state.after if owner == state.owner else 0
            for some in _groups(view.catalog.stored(after)):
                placed = self._with_terms(view, some)
                vectors = _vectors_of(view, some)
                with mine.transaction():
                    _put_documents(mine, some, placed, {})
                    _put_vectors(mine, some, vectors)
                # An interruption before this has the same documents put once more.
                keep_copy_state(self.target, replace(state, owner=owner, after=some[-1].number))
                done += len(some)
                self._report("documents", done, total)

    def _report(self, stage: str, done: int, total: int) -> None:
        if self.progress:
            self.progress(stage, min(done, total), total)

    # Comparing

    def _until_equal(self, compare: Callable[[ComparedParts], None]) -> dict[str, CopiedPart]:
        """Compare parts, and take what differs, until a pass finds no difference; return them.

        Raises `Conflict` if none does.
        """
        for _ in range(MOST_PASSES):
            found = ComparedParts()
            compare(found)
            if not found.changed:
                break
        parts = {name: found.part(name) for name in found.source.keys() | found.target.keys()}
        different = sorted(name for name, each in parts.items() if not each.equal)
        if found.changed or different:
            raise Conflict(
                f"{self.source_name} and its copy differ in {', '.join(different) or 'what was just written'} after "
                f"{MOST_PASSES} passes: if the index is written all the time, copy when it is written less",
                cure=Cure.COPY,
                source=self.source_name,
                target=self.target_name,
                parts=_in_order(parts),
            )
        return parts

    def _compare_documents(self, found: ComparedParts) -> None:
        """Compare files, documents and vectors of all owners, and take what differs."""
        views = _by_owner(self.source)
        for owner in _by_owner(self.target):
            if owner not in views:
                self.target.erase(owner, lambda _: True, parts=False)
                found.changed += 1
        total = sum(view.totals().documents for view in views.values())
        done = 0
        for owner, view in views.items():
            mine = self.target.of(owner)
            self._compare_files(view, mine, found)
            pairs = _paired(view.catalog.stored(), mine.catalog.stored(), _name_of)
            for some in _batches(pairs, DOCUMENTS_AT_ONCE):
                self._compare_some(view, mine, some, found)
                done += len(some)
                self._report("compare", done, total)

    def _compare_some(
        self,
        view: Store,
        mine: Store,
        pairs: Sequence[tuple[StoredDocument | None, StoredDocument | None]],
        found: ComparedParts,
    ) -> None:
        changed = []
        superfluous = []
        for ours, theirs in pairs:
            is_same = _tallied(ours, found.source) == _tallied(theirs, found.target)
            if ours and not is_same:
                changed.append(ours)
            # Uses only grow, unless a document was removed and is back.
            if theirs and (ours is None or (theirs.uses or (0, 0.0)) > (ours.uses or (0, 0.0))):
                superfluous.append(theirs)
        wanted = [ours for ours, _ in pairs if ours]
        known = {_name_of(theirs): theirs for _, theirs in pairs if theirs}
        placed = self._with_terms(view, changed)
        vectors = _vectors_of(view, wanted)
        with mine.transaction():
            names = [_name_of(each) for each in superfluous]
            mine.catalog.write(*(Removal(namespace, [key]) for namespace, key in names))
            _put_documents(mine, changed, placed, known)
            # What has no vector in the source may have one in the copy, if the same text has one there.
            stored = rounded_all(mine.semantic.vectors_of(np.array([*vectors], np.int64)))
            digests = {id: _digest(id, vector.tobytes().hex()) for id, vector in vectors.items()}
            known_digests = {id: _digest(id, stored[id].tobytes().hex()) for id in vectors if id in stored}
            missing = {id: vector for id, vector in vectors.items() if digests[id] != known_digests.get(id)}
            _put_vectors(mine, wanted, missing)
        for each in digests.values():
            found.source["vectors"].add(each)
        for each in known_digests.values():
            found.target["vectors"].add(each)
        found.changed += len(superfluous) + len(changed) + len(missing)

    def _compare_files(self, view: Store, mine: Store, found: ComparedParts) -> None:
        for root in sorted({*view.catalog.roots(), *mine.catalog.roots()}):
            ours = {file.path: file for file in view.catalog.files(root)}
            theirs = {file.path: file for file in mine.catalog.files(root)}
            for files, tallies in ((ours, found.source), (theirs, found.target)):
                for path in sorted(files):
                    tallies["files"].add(_digest(root, asdict(files[path])))
            changed = [state for path, state in ours.items() if theirs.get(path) != state]
            gone = sorted(theirs.keys() - ours.keys())
            for some in _batches(changed, RECORDS_AT_ONCE):
                mine.catalog.write(*(FileUpdate(root, state, None) for state in some))
            for paths in _batches(gone, RECORDS_AT_ONCE):
                mine.catalog.write(FileRemoval(root, paths))
            found.changed += len(changed) + len(gone)

    def _compare_settings(self, found: ComparedParts) -> None:
        for owner, view in _by_owner(self.source).items():
            mine = self.target.of(owner)
            stored = mine.records.settings()
            for name, value in sorted(view.records.settings().items()):
                if name == COPY:
                    continue
                found.source["settings"].add(_digest(owner, name, value))
                if name in stored:
                    found.target["settings"].add(_digest(owner, name, stored[name]))
                if stored.get(name) != value:
                    mine.records.set(name, value)
                    found.changed += 1

    def _compare_records(self, found: ComparedParts) -> None:
        for owner, view in _by_owner(self.source).items():
            mine = self.target.of(owner)
            for kind in sorted({*view.records.kinds(), *mine.records.kinds()}):
                name = PARTS.get(kind, kind)
                pairs = _paired(view.records.scan(Where(kind)), mine.records.scan(Where(kind)), lambda each: each.key)
                for some in _batches(_record_changes(owner, name, pairs, found), RECORDS_AT_ONCE):
                    mine.records.write(*some)
                    found.changed += len(some)

    # Terms

    def _analyzer(self) -> Analyzer:
        """Return the analyzer of the index."""
        files = find_profile("files")
        records = self.source.records
        return analyzer(
            records.setting("language", of_index=True) or files.language,
            records.setting("mathematics", of_index=True) or files.mathematics,
        )

    def _with_terms(self, view: Store, some: Sequence[StoredDocument]) -> list[Placed]:
        """Return documents to put, with the terms of their chunks."""
        _, _, part = view.owner.partition(PART)
        profile = {CONVERSATIONS.name: CONVERSATIONS, MEMORIES.name: MEMORIES}.get(part)
        analyze = self._analyzer()
        if profile:
            analyze = analyzer(
                self.source.records.setting("language", of_index=True) or profile.language, profile.mathematics
            )
        if profile is CONVERSATIONS:
            terms = _terms_of_messages(view, some, analyze)
        else:
            terms = [_terms_of(each, analyze) for each in some]
        placed = []
        for each, fields in zip(some, terms, strict=True):
            change = each.placed.change
            chunks = [
                replace(chunk, title=title, headings=headings, body=body)
                for chunk, (title, headings, body) in zip(change.chunks, fields, strict=True)
            ]
            placed.append(replace(each.placed, change=replace(change, chunks=tuple(chunks))))
        return placed


Terms = tuple[str, str, str]


def _terms_of(stored: StoredDocument, analyze: Analyzer) -> list[Terms]:
    """Return the terms of each chunk of a document."""
    change = stored.placed.change
    chunks = analyzed(analyze, change.document, change.path, [each.chunk for each in change.chunks])
    return [(each.title, each.headings, each.body) for each in chunks]


def _terms_of_messages(view: Store, some: Sequence[StoredDocument], analyze: Analyzer) -> list[list[Terms]]:
    """Return the terms of each chunk of messages, to which the turns around them lend theirs."""
    window = Window()
    number = max(window.before, window.after) + OTHERS
    around = view.catalog.around([_name_of(each) for each in some], number, number)
    found: list[list[Terms]] = []
    for each in some:
        row = each.placed.change.document
        chunks = [one.chunk for one in each.placed.change.chunks]
        if not chunks:
            # A conversation is a document without chunks.
            found.append([])
            continue
        rows: Sequence[Document] = around.get(_name_of(each), (row,))
        at = [one.key for one in rows].index(row.key)
        before, after = window.around(rows, at)
        found.append([*message_terms(analyze, row, before, after, chunks, window.words)])
    return found


# Reading and writing some items


def _by_owner(store: Store) -> dict[str, Store]:
    """Return the views of a store by the names of their owners, in order."""
    return {view.owner: view for view in sorted(store.views(), key=lambda each: each.owner)}


def _is_empty(store: Store) -> bool:
    views = store.views()
    totals = [view.totals() for view in views]
    return not any(each.documents or each.files for each in totals) and not any(view.records.kinds() for view in views)


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    remaining = iter(items)
    while some := [*islice(remaining, size)]:
        yield some


def _groups(documents: Iterable[StoredDocument]) -> Iterator[list[StoredDocument]]:
    """Yield documents in groups of about `ITEMS_AT_ONCE` documents and chunks."""
    some: list[StoredDocument] = []
    items = 0
    for each in documents:
        some.append(each)
        items += 1 + len(each.lengths)
        if items >= ITEMS_AT_ONCE:
            yield some
            some = []
            items = 0
    if some:
        yield some


def _name_of(stored: StoredDocument) -> tuple[str, str]:
    return stored.placed.namespace, stored.placed.change.document.key


def _paired(
    source: Iterable[Item], target: Iterator[Item], name: Callable[[Item], object]
) -> Iterator[tuple[Item | None, Item | None]]:
    """Pair the items of a source with those of its copy; one without the other is paired with None.

    Both have the order of addition. So what stands in the copy where the source has another item is gone from the
    source, or was added again later, and what is new in the source follows after all of the copy.
    """
    theirs = next(target, None)
    for ours in source:
        while theirs is not None and name(theirs) != name(ours):
            yield None, theirs
            theirs = next(target, None)
        yield ours, theirs
        if theirs is not None:
            theirs = next(target, None)
    while theirs is not None:
        yield None, theirs
        theirs = next(target, None)


def _put_documents(
    mine: Store,
    some: Sequence[StoredDocument],
    placed: Sequence[Placed],
    known: Mapping[tuple[str, str], StoredDocument],
) -> None:
    """Put documents with their records and uses; `known` are those that are there already, by name."""
    if not some:
        return
    used = defaultdict[str, list[str]](list)
    for each in some:
        if each.uses:
            namespace, key = _name_of(each)
            used[namespace].append(key)
    counted = {namespace: mine.catalog.uses(namespace, keys) for namespace, keys in used.items()}
    others: list[Write] = []
    for each in some:
        namespace, key = _name_of(each)
        theirs = known.get((namespace, key))
        if each.records or (theirs and theirs.records):
            others.append(SourceData(namespace, key, each.records))
        if each.uses:
            uses, used_at = each.uses
            known_uses, _ = counted[namespace].get(key, (0, 0.0))
            others.append(DocumentUses(namespace, [key], used_at, uses - known_uses))
    mine.catalog.write(*placed, *others)


def _vectors_of(view: Store, some: Sequence[StoredDocument]) -> dict[int, Vectors]:
    """Return the vectors of the chunks of some documents by id, in their order."""
    ids = [each.chunk.id for stored in some for each in stored.placed.change.chunks]
    if not ids or view.semantic.model() is None:
        return {}
    # An engine may keep them rounded, and the copy of another's must equal it.
    found = rounded_all(view.semantic.vectors_of(np.array(ids, np.int64)))
    return {id: found[id] for id in ids if id in found}


def _put_vectors(mine: Store, some: Sequence[StoredDocument], vectors: Mapping[int, Vectors]) -> None:
    """Put vectors of the chunks of some documents."""
    if not vectors:
        return
    hashes = {each.chunk.id: each.hash for stored in some for each in stored.placed.change.chunks}
    mine.semantic.put_vectors([*vectors], [hashes[id] for id in vectors], np.stack([*vectors.values()]))


def _record_changes(
    owner: str, name: str, pairs: Iterable[tuple[Record | None, Record | None]], found: ComparedParts
) -> Iterator[Put | Delete]:
    """Yield the changes that make the records of a copy those of its source, and count both."""
    for ours, theirs in pairs:
        wanted = _record_digest(owner, ours)
        stored = _record_digest(owner, theirs)
        if wanted:
            found.source[name].add(wanted)
        if stored:
            found.target[name].add(stored)
        if ours is None and theirs:
            yield Delete(theirs.kind, theirs.key)
        elif ours and wanted != stored:
            yield Put(replace(ours, number=theirs.number if theirs else 0, version=ABSENT, owner=""))


# Digests


def _digest(*parts: object) -> bytes:
    """Return a digest of values that JSON can hold."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _record_digest(owner: str, record: Record | None) -> bytes:
    """Return a digest of a record; nothing without one."""
    if record is None:
        return b""
    return _digest(owner, record.kind, record.key, record.value, record.user, record.time, record.amount)


def _tallied(stored: StoredDocument | None, tallies: Mapping[str, _Tally]) -> list[bytes]:
    """Count a document and its chunks; return their digests."""
    if stored is None:
        return []
    chunks = zip(stored.placed.change.chunks, stored.lengths, strict=True)
    digests = [_chunk_digest(each, length) for each, length in chunks]
    for digest in digests:
        tallies["chunks"].add(digest)
    document = _document_digest(stored)
    tallies["documents"].add(document)
    return [document, *digests]


def _document_digest(stored: StoredDocument) -> bytes:
    """Return a digest of a document without its chunks; engines return links, identifiers and tags in any order."""
    document = stored.placed.change.document
    links = {(each.key, each.kind): each.confidence for each in document.links}
    return _digest(
        stored.placed.namespace,
        stored.placed.change.path,
        stored.placed.file,
        document.key,
        document.text,
        document.title,
        document.kind,
        document.created_at,
        document.updated_at,
        # The order of its fields is that of its remarks.
        json.dumps(document.metadata, default=str),
        sorted((*name, confidence) for name, confidence in links.items()),
        document.license,
        sorted({(each.scheme, each.value) for each in document.identifiers}),
        sorted({(each.scheme, each.value) for each in document.tags}),
        [asdict(each) for each in document.parts],
        document.language,
        dict(stored.records),
        stored.uses,
    )


def _chunk_digest(each: AnalyzedChunk, length: int) -> bytes:
    words = each.hash if each.words is None else each.words
    return _digest(asdict(each.chunk), each.hash, each.embedded, words, length)


def _in_order(parts: Mapping[str, CopiedPart]) -> tuple[CopiedPart, ...]:
    """Return parts in the order of a report, with empty ones that every report has."""
    empty = ComparedParts()
    names = dict.fromkeys((*_REPORTED, *sorted(parts)))
    return tuple(parts.get(name) or empty.part(name) for name in names)
