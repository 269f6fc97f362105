"""A second engine, in memory: the protocols of the store read as plainly as they can be.

It declares no capability, and keeps nothing. The contract suites run against it, so that they ask for nothing that only
one engine has; whoever writes an engine may read it first.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import sha256
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rifflux.errors import InvalidArgument, ModelMismatch, OutOfScope
from rifflux.store import (
    ABSENT,
    BESIDE,
    DEFAULT,
    DESCRIBED,
    LEXICAL,
    MOST_COUNTED,
    MOST_CREDITED,
    MOST_IDENTIFIED,
    MOST_LINKED,
    PART,
    VARIANT,
    Analysis,
    AnalyzedChunk,
    CandidateRequest,
    CandidateResponse,
    Catalog,
    ChunkFacts,
    CodePiece,
    Credited,
    Delete,
    DocumentChange,
    DocumentUses,
    Edge,
    ErasedContent,
    FactTable,
    FieldValue,
    FieldWeights,
    FileRemoval,
    FileState,
    FileUpdate,
    Generation,
    Generations,
    Lexical,
    Listed,
    Mended,
    ModelInfo,
    Order,
    Pending,
    Placed,
    Problem,
    Put,
    Record,
    Records,
    Removal,
    Selection,
    Semantic,
    SourceData,
    State,
    Store,
    StoredDocument,
    Sum,
    Totals,
    Where,
    Write,
    lines_in_file,
    most_credited,
    summed,
)
from rifflux.text.dates import parse_time, timestamp, whole_day_end
from rifflux.text.names import credits_of
from rifflux.text.properties import TAGS, searchable_properties
from rifflux.types import (
    CREDITS,
    LICENSED,
    Bound,
    Clause,
    Document,
    Filter,
    Hit,
    Ids,
    Query,
    Ranking,
    Scores,
    Tag,
    Vectors,
    Why,
    of_owner,
    parted,
)

Place = tuple[str, str]


@dataclass(slots=True)
class _Row:
    """A document of an owner, numbered as it was added."""

    number: int
    owner: str
    namespace: str
    change: DocumentChange
    file: Place | None

    @property
    def document(self) -> Document:
        return self.change.document

    @property
    def place(self) -> Place:
        return self.namespace, self.document.key

    @property
    def time(self) -> float | None:
        created = timestamp(self.document.created_at)
        if created is None:
            return timestamp(self.document.updated_at)
        return created

    @property
    def is_work(self) -> bool:
        return self.namespace.startswith(LICENSED)

    @property
    def by_date(self) -> tuple[float, int]:
        """Return where it stands among others: by date, those without one last, equals as they were added."""
        return inf if self.time is None else self.time, self.number

    @property
    def names(self) -> frozenset[str]:
        return frozenset(str(each) for each in self.document.identifiers)

    @property
    def whole(self) -> Document:
        """Return it as lists of documents have it: without what hangs on it."""
        return replace(self.document, links=(), tags=(), parts=())

    def is_called(self, name: str) -> bool:
        """Return whether a name is its key, path or absolute path."""
        path = self.change.path
        splits = {(name[:place], name[place + 1 :]) for place, char in enumerate(name) if char == "/"}
        is_root = self.namespace == name and name.endswith(f"/{path}")
        return name in (self.document.key, path) or is_root or bool({self.place, (self.namespace, path)} & splits)


@dataclass(slots=True)
class _Owned:
    """What an owner has. Vectors are by the model's fingerprint and the chunk, each with the hash of its text."""

    documents: dict[Place, _Row] = field(default_factory=dict)
    files: dict[Place, FileState] = field(default_factory=dict)
    records: dict[Place, dict[str, str]] = field(default_factory=dict)
    uses: dict[Place, tuple[int, float]] = field(default_factory=dict)
    vectors: dict[str, dict[int, tuple[int, Vectors]]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    own_records: dict[Place, Record] = field(default_factory=dict)
    changes: int = 0

    def drop(self, place: Place) -> bool:
        """Drop a document with all that hangs on it; returns whether it was there."""
        row = self.documents.pop(place, None)
        if row is None:
            return False
        self.records.pop(place, None)
        self.uses.pop(place, None)
        for each in row.change.chunks:
            self.drop_vectors(each.chunk.id)
        return True

    def drop_vectors(self, id: int) -> None:
        for known in self.vectors.values():
            known.pop(id, None)


@dataclass(slots=True)
class _World:
    """Everything that an index holds, of all owners, and what concerns the whole of it."""

    owners: dict[str, _Owned] = field(default_factory=dict)
    models: dict[str, tuple[ModelInfo, State]] = field(default_factory=dict)
    leases: dict[str, threading.Lock] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)
    samples: dict[object, tuple[Ids, Vectors]] = field(default_factory=dict)
    number: int = 0

    def next(self) -> int:
        self.number += 1
        return self.number

    def models_in(self, *states: State) -> list[ModelInfo]:
        return [model for model, state in self.models.values() if state in states]


@dataclass(frozen=True, slots=True)
class _View:
    """What some owners have of the world; each role has the same one."""

    world: _World
    owners: tuple[str, ...]

    @property
    def several(self) -> bool:
        return len(self.owners) > 1

    @property
    def owned(self) -> list[_Owned]:
        return [self.world.owners[name] for name in self.owners if name in self.world.owners]

    def mine(self, *, content: bool = True) -> _Owned:
        """Return what the owner has, to write. Raises OutOfScope for several owners."""
        if self.several:
            raise OutOfScope("a view of several owners is only read")
        owned = self.world.owners.setdefault(self.owners[0], _Owned())
        owned.changes += content
        return owned

    def whole(self) -> _World:
        """Return the world. Raises OutOfScope for all but the view that was opened."""
        if self.owners != ("",):
            raise OutOfScope("this concerns the whole index: ask who looks after it")
        return self.world

    def rows(self, filter: Filter | None = None) -> list[_Row]:
        """Return the documents that a filter lets through, by namespace, key and owner."""
        rows = [row for owned in self.owned for row in owned.documents.values()]
        rows.sort(key=lambda row: (*row.place, row.owner))
        return [row for row in rows if not filter or _passes(row, filter)]

    def rows_in(self, namespace: str) -> list[_Row]:
        """Return the documents of a namespace, which may name its owner, by date."""
        name, owner = parted(namespace)
        if owner is None or owner not in self.owners or not self.several:
            name, owner = namespace, None
        found = [row for row in self.rows() if row.namespace == name and owner in (None, row.owner)]
        return sorted(found, key=lambda row: row.by_date)

    def row_at(self, place: Place) -> _Row | None:
        """Return the document at a place; of several owners' the first owner's."""
        found = [row for row in self.rows_in(place[0]) if row.document.key == place[1]]
        return min(found, key=lambda row: row.owner, default=None)

    def named(self, row: _Row) -> str:
        """Return a document's namespace, with its owner where there are several."""
        return of_owner(row.namespace, row.owner if self.several else None)

    def chunks(self, filter: Filter | None = None) -> dict[int, tuple[_Row, AnalyzedChunk]]:
        """Return the chunks of the documents that a filter lets through, by id."""
        return {each.chunk.id: (row, each) for row in self.rows(filter) for each in row.change.chunks}

    def chosen(self, ids: Ids) -> list[tuple[int, _Row, AnalyzedChunk]]:
        """Return those of some chunks that are there, by id."""
        chunks = self.chunks()
        return [(id, *chunks[id]) for id in sorted({*ids.tolist()}) if id in chunks]

    def first_chunk(self, row: _Row) -> int | None:
        return next((each.chunk.id for each in row.change.chunks if each.chunk.position == 0), None)

    def vectors(self, fingerprint: str | None) -> dict[int, tuple[int, Vectors]]:
        """Return the vectors of a model by chunk, each with the hash of its text."""
        known = {}
        for owned in self.owned:
            known.update(owned.vectors.get(fingerprint or "", {}))
        return known

    def active(self) -> ModelInfo | None:
        return next(iter(self.world.models_in(State.ACTIVE)), None)

    def in_use(self) -> str | None:
        """Return the fingerprint of the model that is searched."""
        active = self.active()
        return active.fingerprint if active else None


class MemoryStore(Store):
    """One owner's view, or several's, of an index in memory."""

    schema_version = 0
    read_only = False

    def __init__(self, world: _World | None = None, owners: tuple[str, ...] = ("",)) -> None:
        self.view = view = _View(world or _World(), owners)
        self.owners = owners
        self.owner = owners[0]
        if view.several:
            self.owner = BESIDE.join(("", *owners))
        self.capabilities = frozenset()
        self.local = None
        self.catalog = MemoryCatalog(view)
        self.lexical = MemoryLexical(view)
        self.semantic = MemorySemantic(view)
        self.records = MemoryRecords(view)

    def totals(self) -> Totals:
        rows = self.view.rows()
        return Totals(
            len(rows),
            len(self.view.chunks()),
            sum(len(owned.files) for owned in self.view.owned),
            len(self.view.vectors(self.view.in_use())),
            any(row.is_work for row in rows),
            tuple(sorted({row.document.language for row in rows} or {""})),
        )

    def contents(self) -> str:
        changes = [owned.changes for owned in self.view.owned]
        state = repr((self.owners, changes, self.totals(), self.view.active()))
        return f"{sum(changes)}-{sha256(state.encode()).hexdigest()[:16]}"

    def search(self, request: CandidateRequest) -> CandidateResponse:
        run = request.execution
        rankings: dict[str, Ranking] = {}
        for name in request.channels:
            if name == LEXICAL:
                rankings[name] = self.lexical.match(request.query, run.limit, request.weights)
            else:
                rankings[name] = self.semantic.nearest(request.query, run.vector, run.sufficient, model=run.model)
        facts = FactTable()
        if request.described:
            described = [rankings[name].ids[: DESCRIBED[name]] for name in request.channels]
            facts = FactTable.of(self.catalog.facts(np.unique(np.concatenate(described))))
        return CandidateResponse(rankings, facts, dict.fromkeys(request.channels, 0.0))

    def of(self, *owners: str) -> MemoryStore:
        names = tuple(sorted({*owners})) or (BESIDE,)
        for name in names:
            is_own = any(name == each or name.startswith(each + PART) for each in self.owners)
            if not is_own and self.owners != ("",):
                raise OutOfScope("this view is not of that owner: take another owner's from the store that was opened")
        return MemoryStore(self.view.world, names)

    def views(self) -> list[MemoryStore]:
        names = sorted(name for name in self.view.world.owners if name not in self.owners)
        if self.owners != ("",):
            names = [name for name in names if any(name.startswith(each + PART) for each in self.owners)]
        return [self, *(MemoryStore(self.view.world, (name,)) for name in names)]

    def transaction(self) -> AbstractContextManager[object]:
        self.view.mine(content=False)
        return nullcontext()

    def erase(self, owner: str, finish: Callable[[ErasedContent], bool], *, parts: bool = True) -> None:
        world = self.view.whole()
        kinds: Counter[str] = Counter()
        files = records = settings = 0
        for name in [*world.owners]:
            if name == owner or (parts and name.startswith(owner + PART)):
                owned = world.owners.pop(name)
                kinds.update(row.document.kind or "document" for row in owned.documents.values())
                files += len(owned.files)
                records += len(owned.own_records)
                settings += len(owned.settings)
        finish(ErasedContent(kinds, files, records, settings))

    def memoized(self, deadline: float | None = None) -> AbstractContextManager[None]:
        del deadline
        return nullcontext()

    def probe(self) -> None:
        """Find nothing wrong: what is in memory can be read."""

    def check(self, analysis: Analysis | None = None) -> list[Problem]:
        del analysis
        self.view.whole()
        return []

    def mend(self, analysis: Analysis) -> Mended:
        del analysis
        self.view.whole()
        return Mended(())

    def close(self) -> None:
        """Release nothing."""


@dataclass(frozen=True, slots=True)
class MemoryCatalog(Catalog):
    """The documents of a view."""

    view: _View

    def write(self, *changes: Write) -> int:
        owned = self.view.mine(content=any(not isinstance(each, SourceData | DocumentUses) for each in changes))
        return sum(self._carry_out(owned, each) for each in changes)

    def _carry_out(self, owned: _Owned, change: Write) -> int:
        match change:
            case Placed():
                self._put(owned, change)
            case Removal(namespace, keys):
                return sum(owned.drop((namespace, key)) for key in keys)
            case FileUpdate(root, state, keep):
                file = (root, state.path)
                owned.files[file] = state
                removed = [place for place, row in owned.documents.items() if row.file == file]
                return sum(owned.drop(place) for place in removed if keep is not None and place[1] not in keep)
            case FileRemoval(root, paths):
                files = {(root, path) for path in paths} & owned.files.keys()
                for file in files:
                    del owned.files[file]
                return sum(owned.drop(place) for place, row in [*owned.documents.items()] if row.file in files)
            case SourceData(namespace, key, data) if (namespace, key) in owned.documents:
                owned.records[namespace, key] = dict(sorted(data.items()))
            case DocumentUses(namespace, keys, time, number):
                for place in {(namespace, key) for key in keys} & owned.documents.keys():
                    uses, used_at = owned.uses.get(place, (0, time))
                    owned.uses[place] = (uses + number, max(used_at, time))
        return 0

    def _put(self, owned: _Owned, each: Placed) -> None:
        place = (each.namespace, each.change.document.key)
        former = owned.documents.get(place)
        stored_hashes = {one.chunk.id: one.hash for one in former.change.chunks} if former else {}
        new_hashes = {one.chunk.id: one.hash for one in each.change.chunks}
        number = former.number if former else self.view.world.next()
        for id, hash in new_hashes.items():
            if id not in stored_hashes:
                self._take_over(owned, id, hash)
        for id, hash in stored_hashes.items():
            if new_hashes.get(id) != hash:
                owned.drop_vectors(id)
        owned.documents[place] = _Row(number, self.view.owners[0], each.namespace, each.change, each.file)

    def _take_over(self, owned: _Owned, id: int, hash: int) -> None:
        """Give a new chunk the vectors that the owner has of the same text."""
        for known in owned.vectors.values():
            vector = next((vector for stored_hash, vector in known.values() if stored_hash == hash), None)
            if vector is not None:
                known[id] = (hash, vector)

    def hydrate(self, ranking: Ranking, trails: Sequence[tuple[Why, ...]] = ()) -> list[Hit]:
        chunks = self.view.chunks()
        entries = zip(ranking.ids.tolist(), ranking.scores.tolist(), trails or [()] * len(ranking), strict=True)
        return [self._hit(*chunks[id], score, why) for id, score, why in entries if id in chunks]

    def _hit(self, row: _Row, each: AnalyzedChunk, score: float = 0.0, why: tuple[Why, ...] = ()) -> Hit:
        document = row.document
        chunk = each.chunk
        return Hit(
            f"{chunk.id:016x}", document.key, row.change.path, document.title, " > ".join(chunk.headings),
            chunk.position, chunk.text, chunk.span, score, why, document.kind, document.created_at,
            document.updated_at, document.metadata, document.license, row.namespace, page=chunk.page,
            language=document.language, owner=row.owner if self.view.several else None,
            lines=lines_in_file(row.change).get(chunk.span),
        )  # fmt: skip

    def chunks_of(self, namespace: str, key: str, most: int | None = None) -> list[Hit]:
        row = self.view.row_at((namespace, key))
        if row is None:
            return []
        chunks = sorted(row.change.chunks, key=lambda each: each.chunk.position)
        return [self._hit(row, each) for each in chunks[:most]]

    def documents(
        self,
        where: Selection,
        order: Order = Order.PLACE,
        *,
        after: Place | None = None,
        most: int | None = None,
        with_text: bool = False,
    ) -> Iterator[Listed]:
        rows = self._selected(where)
        if order is Order.PLACE:
            rows = [row for row in rows if after is None or self._stands(row) > self._place(after)]
        else:
            rows.sort(key=lambda row: row.by_date, reverse=order is Order.NEWEST)
            if after is not None:
                first = self.view.row_at(after)
                rows = rows[rows.index(first) + 1 :] if first else []
        for row in rows[:most]:
            document = row.whole if with_text else replace(row.whole, text="")
            yield Listed(self.view.named(row), row.change.path, document, len(row.change.chunks))

    @staticmethod
    def _stands(row: _Row) -> tuple[str, str, str]:
        return (*row.place, row.owner)

    def _place(self, after: Place) -> tuple[str, str, str]:
        """Return where a place stands among others: behind those of all owners, unless it names one of several."""
        name, owner = parted(after[0])
        if owner is None or not self.view.several:
            return (*after, chr(0x10FFFF))
        return (name, after[1], owner)

    def _selected(self, where: Selection) -> list[_Row]:
        """Return the documents of a selection by namespace, key and owner."""
        rows = self.view.rows() if where.namespace is None else self.view.rows_in(where.namespace)
        folded = where.words.casefold()
        return sorted(
            (
                row
                for row in rows
                if row.namespace.startswith(where.prefix)
                and (where.name is None or row.is_called(where.name))
                and any(folded in text.casefold() for text in (row.change.path, row.document.title))
                and (where.works or not row.is_work)
                and (where.filter is None or _passes(row, where.filter))
            ),
            key=lambda row: (*row.place, row.owner),
        )

    def documents_at(self, places: Sequence[Place]) -> Mapping[Place, Document]:
        found = {place: self.view.row_at(place) for place in places}
        return {place: row.document for place, row in found.items() if row}

    def around(self, places: Sequence[Place], before: int, after: int) -> Mapping[Place, Sequence[Document]]:
        found = {}
        for place in places:
            rows = self.view.rows_in(place[0])
            for at, row in enumerate(rows):
                if row is self.view.row_at(place):
                    found[place] = [each.whole for each in rows[max(at - before, 0) : at + after + 1]]
        return found

    def stored(self, after: int = 0) -> Iterator[StoredDocument]:
        if self.view.several:
            raise OutOfScope("what several owners have is read whole from the view of each")
        rows = [row for row in self.view.rows() if row.number > after]
        for row in sorted(rows, key=lambda row: row.number):
            owned = self.view.world.owners[row.owner]
            chunks = tuple(replace(each, title="", headings="", body="") for each in row.change.chunks)
            lengths = tuple(
                len(f"{each.title} {each.headings} {each.body}".split()) for each in row.change.chunks
            )  # fmt: skip
            placed = Placed(row.namespace, replace(row.change, chunks=chunks), row.file)
            records = owned.records.get(row.place, {})
            yield StoredDocument(row.number, placed, lengths, records, owned.uses.get(row.place))

    def files(self, root: str, *, below: str = "") -> Iterator[FileState]:
        for owned in self.view.owned:
            for (file_root, path), state in sorted(owned.files.items()):
                if file_root == root and (not below or path == below or path.startswith(f"{below}/")):
                    yield state

    def some_files(self, number: int) -> tuple[int, list[tuple[str, FileState]]]:
        files = [(root, state) for owned in self.view.owned for (root, _), state in sorted(owned.files.items())]
        return len(files), files[:number]

    def roots(self) -> list[str]:
        return sorted({root for owned in self.view.owned for root, _ in owned.files})

    def facts(self, ids: Ids) -> Mapping[int, ChunkFacts]:
        found = {}
        for id, row, each in self.view.chosen(ids):
            document = row.document
            found[id] = ChunkFacts(
                document.title,
                tuple(each.chunk.headings),
                searchable_properties(document.kind, document.metadata).names,
                document.key,
                document.key == row.change.path,
                row.namespace,
                document.language,
                document.kind,
                tuple(document.identifiers),
            )
        return found

    def code_of(self, ids: Ids, beside: Ids | None = None) -> Mapping[int, CodePiece]:
        del beside
        return {
            id: CodePiece(row.change.path, tuple(each.chunk.headings), each.chunk.text, each.chunk.position)
            for id, row, each in self.view.chosen(ids)
            if row.document.kind == "code"
        }

    def passing(self, filter: Filter, ids: Ids) -> Ids:
        return np.array([id for id, row, _ in self.view.chosen(ids) if _passes(row, filter)], np.int64)

    def any_passes(self, filter: Filter) -> bool:
        return bool(self.view.rows(filter))

    def identified(self, names: Sequence[str], most: int = MOST_IDENTIFIED) -> Mapping[str, list[Place]]:
        found = {}
        for name in names:
            rows = [row for row in self.view.rows() if name in row.names]
            by_owner = [[row for row in rows if row.owner == owner][:most] for owner in {row.owner for row in rows}]
            places = sorted((self.view.named(row), row.document.key) for some in by_owner for row in some)
            if places:
                found[name] = places
        return found

    def credited(self, role: str, keys: Collection[str], most: int = MOST_CREDITED) -> list[Credited]:
        found: Counter[tuple[str, str, str, str | None]] = Counter()
        for row in self.view.rows():
            if row.is_work:
                named = {each for each in credits_of(row.document.metadata) if each[0] == role and each[1] in keys}
                found.update((key, name, self.view.named(row), row.document.license) for _, key, name in named)
        return most_credited(found, most)

    def first_of(self, filter: Filter, limit: int) -> Ids:
        found = []
        for row in self.view.rows(filter):
            first = self.view.first_chunk(row)
            if first is not None:
                found.append((inf if row.time is None else -row.time, first))
        return np.array([id for _, id in sorted(found)[:limit]], np.int64)

    def linked(self, ids: Ids, *, incoming: bool = False, most: int = MOST_LINKED) -> list[Edge]:
        found: dict[tuple[int, int, str], float] = {}
        for id, row, _ in self.view.chosen(ids):
            linked: set[int] = set()
            for other in sorted(self.view.rows(), key=lambda each: self.view.first_chunk(each) or 0):
                source, target = (other, row) if incoming else (row, other)
                first = self.view.first_chunk(other)
                if other is row or first is None or len(linked) == most:
                    continue
                for link in source.document.links:
                    if _leads(source, link.key, target):
                        linked.add(first)
                        edge = (id, first, link.kind)
                        found[edge] = max(found.get(edge, 0.0), link.confidence)
        return [Edge(*edge, confidence) for edge, confidence in sorted(found.items())]

    def citations(self, ids: Ids, kind: str = "cites") -> Mapping[int, int]:
        found = {}
        for id, row, _ in self.view.chosen(ids):
            sources = [
                other
                for other in self.view.rows()
                if other is not row
                and any(link.kind == kind and _leads(other, link.key, row) for link in other.document.links)
            ]
            if sources:
                found[id] = len(sources)
        return found

    def tags_of(self, ids: Ids) -> Mapping[int, list[Tag]]:
        return {
            id: sorted(row.document.tags, key=lambda tag: (tag.scheme, tag.value))
            for id, row, _ in self.view.chosen(ids)
            if row.document.tags
        }

    def records(self, namespace: str, key: str) -> Mapping[str, str]:
        row = self.view.row_at((namespace, key))
        if row is None:
            return {}
        return self.view.world.owners[row.owner].records.get(row.place, {})

    def uses(self, namespace: str, keys: Sequence[str]) -> Mapping[str, tuple[int, float]]:
        found = {}
        for key in keys:
            row = self.view.row_at((namespace, key))
            if row and row.place in self.view.world.owners[row.owner].uses:
                found[key] = self.view.world.owners[row.owner].uses[row.place]
        return found

    def values(self, field: str, where: Selection, most: int = MOST_COUNTED) -> list[tuple[FieldValue, int]]:
        found: Counter[tuple[type, Any]] = Counter()
        for row in self._selected(where):
            folder, slash, _ = row.change.path.partition("/")
            known = {
                "kind": row.document.kind or None,
                "namespace": row.namespace,
                "folder": f"{row.namespace}/{folder}" if folder and slash else None,
            }
            value = known[field] if field in known else row.document.metadata.get(field)
            items = value if isinstance(value, list) else [value]
            found.update({(type(each), each) for each in items if isinstance(each, str | int | float)})
        ordered = sorted(found.items(), key=lambda each: (-each[1], each[0][0] is str, each[0][1]))
        return [(value, count) for (_, value), count in ordered[:most]]


def _leads(source: _Row, key: str, target: _Row) -> bool:
    """Return whether a link's key is an identifier of a document, or its key in the link's own namespace."""
    is_near = (source.owner, source.namespace) == (target.owner, target.namespace)
    return key in target.names or (is_near and key == target.document.key)


def _passes(row: _Row, filter: Filter) -> bool:
    """Return whether a filter lets a document through."""
    document = row.document
    path = row.change.path
    metadata = document.metadata
    folder, slash, _ = path.partition("/")
    time = row.time
    tags = {name.casefold() for tag in document.tags for name in (tag.value, f"{tag.scheme}:{tag.value}")}
    tests = (
        not filter.paths or any(fnmatchcase(path, _glob(each)) for each in filter.paths),
        not filter.folders or bool(folder and slash and f"{row.namespace}/{folder}" in filter.folders),
        not filter.kinds or document.kind in filter.kinds,
        not filter.namespaces or row.namespace in filter.namespaces,
        not filter.documents or document.key in filter.documents,
        not filter.since or (time is not None and time >= parse_time(filter.since).timestamp()),
        not filter.until or (time is not None and time <= whole_day_end(filter.until)),
        all(_has(document, name, value) for name, value in filter.metadata.items()),
        all(_within(metadata.get(bound.field), bound) for bound in filter.bounds),
        all(metadata.get(name) is None for name in filter.without),
        not filter.tags or not tags.isdisjoint(each.casefold() for each in filter.tags),
        document.kind not in filter.not_kinds,
    )
    return all(tests)


def _glob(pattern: str) -> str:
    if pattern.endswith("/"):
        pattern += "*"
    return pattern.replace("**/", "*").replace("**", "*")


def _has(document: Document, name: str, value: object) -> bool:
    """Return whether a document has any of some values in a field of its metadata."""
    alternatives = [*value] if isinstance(value, list | tuple | set | frozenset) else [value]
    if name in CREDITS and all(isinstance(each, str) for each in alternatives):
        return any(role == name and known in alternatives for role, _, known in credits_of(document.metadata))
    stored = document.metadata.get(name)
    items = stored if isinstance(stored, list) else [stored]
    if name.lower() in TAGS:
        return any(item == each or str(item).startswith(f"{each}/") for item in items for each in alternatives)
    return any(item in alternatives for item in items if item is not None)


def _within(value: object, bound: Bound) -> bool:
    if value is None:
        return bound.missing
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (bound.least is None or value >= bound.least) and (bound.most is None or value <= bound.most)


@dataclass(frozen=True, slots=True)
class MemoryLexical(Lexical):
    """The terms of a view's chunks. Everything is counted again for each question."""

    view: _View

    def match(self, query: Query, limit: int, weights: FieldWeights) -> Ranking:
        named = [id for id in self._fields() if self._is_named(id, query)]
        ids = np.array([id for id in named if id in _left(self.view, query)], np.int64)
        return _best(ids, self._bm25(query, ids, weights), limit)

    def occurring(self, clauses: Iterable[Clause], most: int = 1) -> list[Clause]:
        return [each for each in clauses if len(self.match(Query("", required=(each,)), 1, DEFAULT))][:most]

    def best_with(self, clauses: Sequence[Clause], weights: FieldWeights) -> list[Ranking]:
        return [self.match(Query("", required=(clause,)), 1, weights) for clause in clauses]

    def _is_named(self, id: int, query: Query) -> bool:
        fields = self._fields()[id]
        if query.required:
            return True
        return any(_places(fields, clause, is_prefix) for clause, _, is_prefix in _ranked(query))

    def _bm25(self, query: Query, ids: Ids, weights: FieldWeights) -> Scores:
        fields = self._fields()
        lengths = {id: sum(len(terms) for terms in each) for id, each in fields.items()}
        usual = sum(lengths.values()) / max(len(lengths), 1) or 1.0
        scores = np.zeros(len(ids))
        for clause, worth, is_prefix in _ranked(query):
            places = {id: found for id, each in fields.items() if (found := _places(each, clause, is_prefix))}
            idf = max(log((len(fields) - len(places) + 0.5) / (len(places) + 0.5)), 1e-6)
            for row, id in enumerate(ids.tolist()):
                if id in places:
                    shares = (weights.title, weights.headings, weights.body)
                    count = sum(share * found for share, found in zip(shares, places[id], strict=True))
                    damped = weights.k1 * (1 - weights.b + weights.b * lengths[id] / usual)
                    scores[row] += worth * idf * count * (weights.k1 + 1) / (count + damped)
        return scores

    def _fields(self) -> dict[int, list[list[str]]]:
        """Return the terms of each chunk, of title, headings and body."""
        return {
            id: [each.title.split(), each.headings.split(), each.body.split()]
            for id, (_, each) in self.view.chunks().items()
        }

    def holders(self, clauses: Sequence[Clause], ids: Ids) -> NDArray[np.bool_]:
        fields = self._fields()
        found = [[id in fields and bool(_places(fields[id], clause)) for id in ids.tolist()] for clause in clauses]
        return np.array(found, np.bool_).reshape(len(clauses), len(ids))

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        known = self._known()
        return {term: known[term] for term in terms if term in known}

    def vocabulary(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
    ) -> Mapping[str, int]:
        return {
            term: count
            for term, count in self._known().items()
            if term.startswith(start) and shortest <= len(term) <= longest and (like is None or like(term))
        }

    def _known(self) -> Counter[str]:
        """Count the chunks that hold each term."""
        return Counter(term for fields in self._fields().values() for term in {*fields[0], *fields[1], *fields[2]})


def _best(ids: Ids, scores: Scores, limit: int) -> Ranking:
    """Rank the best, ties by id."""
    order = np.lexsort((ids, -scores))[:limit]
    return Ranking(ids[order], scores[order])


def _ranked(query: Query) -> list[tuple[Clause, float, bool]]:
    """Return the alternatives that score, each with what it is worth and whether it is the beginning of a term."""
    worths = {clause: query.worths.get(clause, 1.0) for clause in (*query.clauses, *query.required)}
    for clause in query.variants:
        worths.setdefault(clause, VARIANT)
    clauses = [(clause, worth, False) for clause, worth in worths.items()]
    return [*clauses, *(((start,), 1.0, True) for start in query.prefixes)]


def _places(fields: Sequence[Sequence[str]], clause: Clause, is_prefix: bool = False) -> list[int]:
    """Count where a clause stands in each field; empty where it stands in none."""
    counts = []
    for terms in fields:
        if is_prefix:
            counts.append(sum(term.startswith(clause[0]) for term in terms))
        else:
            starts = range(len(terms) - len(clause) + 1)
            counts.append(sum(tuple(terms[start : start + len(clause)]) == clause for start in starts))
    return counts if any(counts) else []


def _left(view: _View, query: Query) -> set[int]:
    """Return the chunks that a query's filter, and what it requires and excludes, leave."""
    left = set()
    for id, (_, each) in view.chunks(query.filter).items():
        fields = [each.title.split(), each.headings.split(), each.body.split()]
        forms = [(clause, *query.languages.forms.get(clause, ())) for clause in query.required]
        has_all = all(any(_places(fields, form) for form in each) for each in forms)
        if has_all and not any(_places(fields, clause) for clause in query.excluded):
            left.add(id)
    return left


@dataclass(frozen=True, slots=True)
class MemorySemantic(Semantic):
    """The vectors of a view's chunks."""

    view: _View

    def nearest(self, query: Query, vector: Vectors | None, limit: int, *, model: str | None = None) -> Ranking:
        active = self.view.active()
        if active and model and active.fingerprint != model:
            raise ModelMismatch(f"the question was embedded by another model than {active.name}: embed it again")
        if vector is None or not np.linalg.norm(vector):
            return Ranking.empty()
        left = _left(self.view, query)
        known = {id: each for id, (_, each) in self._known().items() if id in left}
        cosines = np.array([each @ vector / np.linalg.norm(vector) for each in known.values()], np.float64)
        return _best(np.array([*known], np.int64), cosines, limit)

    def _known(self, model: str | None = None) -> dict[int, tuple[int, Vectors]]:
        return self.view.vectors(model or self.view.in_use())

    def vectors_of(self, ids: Ids) -> Mapping[int, Vectors]:
        known = self._known()
        return {id: known[id][1] for id in ids.tolist() if id in known}

    def sample(self, most: int) -> tuple[Ids, Vectors]:
        known = self._known()
        ids = np.array(sorted(known)[:most], np.int64)
        key = (self.view.owners, tuple((id, known[id][0]) for id in ids.tolist()))
        vectors = np.stack([known[id][1] for id in ids.tolist()]) if len(ids) else np.zeros((0, 0), np.float32)
        return self.view.world.samples.setdefault(key, (ids, vectors))

    def vectors_by_hash(self, hashes: Sequence[int], model: str | None = None) -> Mapping[int, Vectors]:
        known = dict(self._known(model).values())
        return {hash: known[hash] for hash in hashes if hash in known}

    def pending(self, batch: int, model: str | None = None) -> Iterator[list[Pending]]:
        known = self._known(model)
        waiting = []
        for id, (row, each) in sorted(self.view.chunks().items()):
            if id not in known:
                headings = tuple(each.chunk.headings)
                text = each.chunk.text if each.chunk.span[1] else ""
                waiting.append(Pending(id, each.hash, row.document.title, headings, text, each.embedded))
        for start in range(0, len(waiting), batch):
            yield waiting[start : start + batch]

    def put_vectors(self, ids: Sequence[int], hashes: Sequence[int], vectors: Vectors, model: str | None = None) -> int:
        owned = self.view.mine()
        in_use = [each.fingerprint for each in self.view.world.models_in(State.ACTIVE, State.BUILDING)]
        if not in_use or (model and model not in in_use):
            raise ModelMismatch("the index was switched to another model: embed this again")
        known = owned.vectors.setdefault(model or self.view.in_use() or in_use[0], {})
        chunks = self.view.chunks()
        stored = 0
        for id, hash, vector in zip(ids, hashes, vectors, strict=True):
            if id in chunks and chunks[id][1].hash == hash:
                known[id] = (hash, np.asarray(vector, np.float32))
                stored += 1
        return stored

    def model(self) -> ModelInfo | None:
        return self.view.active()

    def use_model(self, model: ModelInfo) -> None:
        active = self.view.active()
        if active and active.fingerprint != model.fingerprint:
            raise ModelMismatch(f"the index holds vectors of {active.name}, not of {model.name}")
        self.view.world.models[model.fingerprint] = (model, State.ACTIVE)

    @property
    def generations(self) -> MemoryGenerations:
        return MemoryGenerations(self.view.whole())


@dataclass(frozen=True, slots=True)
class MemoryGenerations(Generations):
    """The models whose vectors an index holds."""

    world: _World

    def all(self) -> list[Generation]:
        chunks = sum(len(_View(self.world, (name,)).chunks()) for name in self.world.owners)
        found: list[Generation] = []
        for state in (State.ACTIVE, State.BUILDING, State.RETIRED):
            found += [Generation(model, state, self._count(model), chunks) for model in self.world.models_in(state)]
        return found

    def _count(self, model: ModelInfo) -> int:
        return sum(len(owned.vectors.get(model.fingerprint, {})) for owned in self.world.owners.values())

    def begin(self, model: ModelInfo) -> None:
        active = self.world.models_in(State.ACTIVE)
        building = self.world.models_in(State.BUILDING)
        if not active:
            raise InvalidArgument("there are no vectors to switch from: embed with the model instead")
        if model in active:
            raise InvalidArgument(f"{model.name} is already in use")
        if building and building != [model]:
            raise InvalidArgument(f"vectors of {building[0].name} are being built: abort_switch first")
        self.world.models[model.fingerprint] = (model, State.BUILDING)

    def finish(self) -> bool:
        for model in self.world.models_in(State.BUILDING):
            if any(each.chunks > each.vectors for each in self.all() if each.model == model):
                return False
            for active in self.world.models_in(State.ACTIVE):
                self.world.models[active.fingerprint] = (active, State.RETIRED)
            self.world.models[model.fingerprint] = (model, State.ACTIVE)
            return True
        return False

    def abort(self) -> ModelInfo | None:
        for model in self.world.models_in(State.BUILDING):
            self.world.models[model.fingerprint] = (model, State.RETIRED)
            return model
        return None

    def drop(self, most: int) -> int:
        dropped = 0
        for model in self.world.models_in(State.RETIRED):
            for owned in self.world.owners.values():
                known = owned.vectors.get(model.fingerprint, {})
                for id in [*known][: most - dropped]:
                    del known[id]
                    dropped += 1
            if not self._count(model):
                del self.world.models[model.fingerprint]
        return dropped


@dataclass(frozen=True, slots=True)
class MemoryRecords(Records):
    """The records and settings of an owner."""

    view: _View
    read_only = False

    def get(self, kind: str, key: str, *, recent: bool = False) -> Record | None:
        return next(
            (owned.own_records[kind, key] for owned in self.view.owned if (kind, key) in owned.own_records), None
        )

    def write(self, *changes: Put | Delete) -> bool:
        with self.view.world.lock:
            records = self.view.mine(content=False).own_records
            for each in changes:
                if isinstance(each, Delete):
                    records.pop((each.kind, each.key), None)
                elif not self._put(records, each):
                    return False
        return True

    def _put(self, records: dict[Place, Record], put: Put) -> bool:
        place = (put.record.kind, put.record.key)
        known = records.get(place)
        if put.expects not in (None, known.version if known else ABSENT):
            return False
        number = self.view.world.next()
        owner = self.view.owners[0]
        records[place] = replace(
            put.record, number=known.number if known else number, version=str(number), owner=owner
        )  # fmt: skip
        return True

    def _selected(self, where: Where) -> list[Record]:
        owners = self.view.owned
        if where.everybody:
            owners = [*self.view.whole().owners.values()]
        found = [each for owned in owners for each in owned.own_records.values() if _is_selected(each, where)]
        return sorted(found, key=lambda each: each.number)

    def scan(self, where: Where, *, after: int = 0, most: int | None = None, newest: bool = False) -> Iterator[Record]:
        found = self._selected(where)
        if newest:
            found = [each for each in found[::-1] if not after or each.number < after]
        else:
            found = [each for each in found if each.number > after]
        return iter(found[:most])

    def sum(self, where: Where, by: Sequence[str], of: Sequence[str] = ()) -> Sequence[Sum]:
        return summed(self._selected(where), by, of)

    def reserve(self, record: Record, where: Where, limit: float) -> bool:
        with self.view.world.lock:
            if sum(each.amount for each in self._selected(where)) + record.amount > limit * (1 + 1e-9):
                return False
            return self.write(Put(record, ABSENT))

    def drop(self, where: Where) -> int:
        with self.view.world.lock:
            found = self._selected(where)
            for each in found:
                del self.view.world.owners[each.owner].own_records[each.kind, each.key]
        return len(found)

    def kinds(self) -> set[str]:
        return {kind for owned in self.view.owned for kind, _ in owned.own_records}

    def settings(self) -> Mapping[str, str]:
        if self.view.several:
            return {}
        return dict(self.view.mine(content=False).settings)

    @contextmanager
    def lease(self, task: str, waiting: Callable[[str], None] | None = None) -> Iterator[bool]:
        lock = self.view.world.leases.setdefault(task, threading.Lock())
        is_free = lock.acquire(blocking=False)
        if not is_free and waiting:
            waiting("another thread")
            is_free = lock.acquire()
        try:
            yield is_free
        finally:
            if is_free:
                lock.release()

    def setting(self, name: str, *, of_index: bool = False) -> str | None:
        everybodys = self.view.world.owners.get("", _Owned())
        owned = [everybodys] if of_index else self.view.owned
        return next((each.settings[name] for each in owned if name in each.settings), None)

    def set(self, name: str, value: str, *changes: Put | Delete, content: bool = True) -> None:
        self.view.mine(content=content).settings[name] = value
        self.write(*changes)


def _is_selected(record: Record, where: Where) -> bool:
    return (
        record.kind == where.kind
        and record.key.startswith(where.prefix)
        and (where.keys is None or record.key in where.keys)
        and (where.users is None or record.user in where.users)
        and where.since <= record.time < where.until
    )
