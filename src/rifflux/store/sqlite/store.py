"""The SQLite store: four roles over one engine, composed into the view of an owner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from time import perf_counter

import numpy as np

from rifflux.errors import Cure, OutOfScope
from rifflux.store.local import LocalFiles
from rifflux.store.mending import Analysis, Mended, Problem
from rifflux.store.reader import LEXICAL, CandidateRequest, CandidateResponse, Totals
from rifflux.store.records import Record, Records
from rifflux.store.sqlite.catalog import sql
from rifflux.store.sqlite.catalog.catalog import CachedFacts, SqliteCatalog, misread
from rifflux.store.sqlite.connection.connect import MEMORY, SCHEMA_VERSION, former_versions
from rifflux.store.sqlite.connection.derived import DerivedFile
from rifflux.store.sqlite.connection.engine import OWNER, Engine, GenerationCache, OwnerView
from rifflux.store.sqlite.connection.tables import TABLES, TERM_TABLES
from rifflux.store.sqlite.lexical.lexical import SqliteLexical
from rifflux.store.sqlite.lexical.words_index import WordsIndex
from rifflux.store.sqlite.query import ChunkColumns
from rifflux.store.sqlite.records.records import SqliteRecords
from rifflux.store.sqlite.semantic.matrix import Matrix
from rifflux.store.sqlite.semantic.semantic import SqliteSemantic
from rifflux.store.sqlite.semantic.vector_index import VectorIndex
from rifflux.store.store import BESIDE, PART, Capability, ErasedContent, Store
from rifflux.types import Ids, Notice, Progress, Ranking, Vectors

#: The maximum memory for cached vectors of named owners, in bytes.
MOST_VECTORS = 256 << 20
#: The maximum number of owners whose sample of vectors is cached.
MOST_SAMPLES = 64
#: The maximum number of chunks whose facts are cached, of all views.
MOST_CACHED_FACTS = 1 << 15
#: The maximum number of cached term lists, by owner and first letter, while the tables answer.
MOST_LETTERS = 64
#: Seconds between checks for changes by other processes.
FOLLOW_S = 1.0
#: The maximum memory for cached columns of chunks while the tables answer, in bytes.
MOST_COLUMNS = 64 << 20
#: The maximum memory for cached rows that pass filters, in bytes.
MOST_ALLOWED = 32 << 20

#: The names of the first numbers of `TOTALS`.
COUNTED = ("documents", "chunks", "files", "embedded_chunks")
_ANY_ROW = "select * from {table} limit 1"
_ANY_POSTING = "select rowid from {table} where {table} match 'e*' limit 1"

# The log's last entry, the last chunk, and the derived files: while these are unchanged, nothing needs updating.
STATE = """
select (select seq from sqlite_sequence where name = 'touched'), (select max(id) from chunk),
    (select group_concat(name || ' ' || token) from derived)"""

# The views that a name leads to: its parts; for owner 0, everyone.
OWNERS = """
select name from owner
where name <> :name and (:name = '' or substr(name, 1, length(:part)) = :part)
order by name"""


@dataclass(frozen=True, slots=True)
class Database:
    """The shared state of all views of one database: the engine, derived files, and caches.

    With a `state`, the engine only reads, and users' data is stored there.
    """

    engine: Engine
    words: WordsIndex | None
    vectors: VectorIndex | None
    state: Engine | None = None
    #: A graph of neighbours may miss some.
    lacking: frozenset[Capability] = frozenset()
    columns: GenerationCache[ChunkColumns] = field(default_factory=lambda: GenerationCache(MOST_COLUMNS))
    terms: GenerationCache[Mapping[str, int]] = field(default_factory=lambda: GenerationCache(MOST_LETTERS))
    matrices: GenerationCache[Matrix] = field(default_factory=lambda: GenerationCache(MOST_VECTORS))
    allowed: GenerationCache[Ids] = field(default_factory=lambda: GenerationCache(MOST_ALLOWED))
    facts: GenerationCache[CachedFacts] = field(default_factory=lambda: GenerationCache(MOST_CACHED_FACTS))
    samples: GenerationCache[tuple[Ids, Vectors]] = field(default_factory=lambda: GenerationCache(MOST_SAMPLES))

    @classmethod
    def open(cls, location: str, *, create: bool, way: str, state: str, progress: Progress | None) -> Database:
        """Open a file, or a temporary database at `:memory:`, optionally with a state file, created if missing."""
        engine = Engine(location, create=create and not state, only_reads=bool(state), progress=progress)
        try:
            read_only = engine.read_only
            words: WordsIndex | None = None
            vectors: VectorIndex | None = None
            if location != MEMORY:
                words = WordsIndex(location, engine.known, read_only=read_only)
                vectors = VectorIndex(location, engine.known, read_only=read_only, way=way)
            if state:
                kept = _opened_state(state, engine)
            else:
                kept = None
        except BaseException:
            engine.close()
            raise
        engine.followers += [each for each in (words, vectors) if each]
        lacking = {Capability.EXACT_NEIGHBORS} if way == "hnsw" else ()
        return cls(engine, words, vectors, kept, frozenset(lacking))

    def derived(self) -> list[DerivedFile]:
        """Return the derived files; a database in memory has none."""
        return [each for each in (self.words, self.vectors) if each]

    def leave_building(self) -> None:
        """Build nothing in the background from now on."""
        for derived in self.derived():
            derived.elsewhere = True


def _opened_state(location: str, index: Engine) -> Engine:
    """Open the state file beside an index; a new one starts with the index's tokens."""
    from rifflux.store.sqlite.records.apart import ApartRecords, open_state

    state = open_state(location, index.location)
    try:
        ApartRecords(OwnerView(state), SqliteRecords(OwnerView(index))).begin()
    except BaseException:
        state.close()
        raise
    return state


@dataclass(frozen=True, slots=True)
class SqliteFiles(LocalFiles):
    """The database file as a view sees it, and what is derived beside it."""

    database: Database
    view: OwnerView

    @property
    def state(self) -> str:
        return self.database.state.location if self.database.state else ""

    def build(self) -> None:
        if self.view.owner:
            raise OutOfScope("only the whole index is built: ask who looks after it")
        for derived in self.database.derived():
            derived.build()

    def leave_building(self) -> None:
        self.database.leave_building()

    def keep_up(self, stop: threading.Event) -> Iterator[str]:
        seen = None
        known: list[str] = []
        while not stop.wait(FOLLOW_S):
            with self.view.reading() as (connection, _):
                state = connection.execute(STATE).fetchone()
                for derived in self.database.derived() if state != seen else ():
                    derived.follow(connection)
            seen = state
            former = known
            known = [f"{each.title} is not used, {each.trouble}" for each in self.database.derived() if each.trouble]
            yield from (each for each in known if each not in former)

    def backup(self, target: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        if self.view.owner:
            raise OutOfScope("only the whole index can be copied: ask who looks after it")
        from rifflux.store.sqlite.maintenance.backup import backup

        with self.database.engine.alone() as connection:
            backup(connection, target, force=force, progress=progress)
        if self.database.state:
            with self.database.state.alone() as connection:
                backup(connection, target.with_name(f"{target.name}.state"), force=force, progress=progress)

    def extract(
        self,
        target: Path,
        owners: Sequence[str],
        records: Sequence[Record],
        *,
        settings: Collection[str],
        may_leave: Callable[[str, str | None], bool],
        model: str | None,
        progress: Progress | None = None,
    ) -> int:
        if self.view.owner:
            raise OutOfScope("only the whole index is extracted from: ask who looks after it")
        from rifflux.store.sqlite.maintenance.extract import extract

        with self.database.engine.alone() as connection:
            return extract(
                connection,
                target,
                owners,
                records,
                settings=settings,
                may_leave=may_leave,
                model=model,
                progress=progress,
            )

    def troubles(self) -> list[Notice]:
        if self.view.owner:
            return []
        found = []
        for derived in (self.database.words, self.database.vectors):
            if derived and (derived.damage or (derived.builder and derived.builder.trouble)):
                text = f"{derived.title} is not used, {derived.condition}"
                found.append(Notice("derived_file.not_used", text, Cure.BUILD, {"file": derived.title}))
        return found

    def notices(self) -> list[Notice]:
        if self.view.owner or self.database.vectors is None:
            return []
        with self.view.reading() as (connection, _):
            unused = self.database.vectors.unused_graph(connection)
        found = former_versions(self.view.engine.location)
        return [Notice("graph.not_used", unused), *found] if unused else found


class SqliteStore(Store):
    """One owner's view of a database in one file. Safe to share between threads."""

    schema_version = SCHEMA_VERSION

    def __init__(
        self,
        database: Database,
        owner: str = "",
        several: tuple[str, ...] = (),
    ) -> None:
        self.owner = owner
        self.owners = several or (owner,)
        self.database = database
        self.view = view = OwnerView(database.engine, owner, several)
        self.catalog = SqliteCatalog(view, database.facts, database.words.visible if database.words else None)
        self.lexical = SqliteLexical(view, database.words, database.columns, database.allowed, database.terms)
        self.semantic = SqliteSemantic(view, database.vectors, database.matrices, database.allowed, database.samples)
        records = SqliteRecords(view)
        if database.state:
            from rifflux.store.sqlite.records.apart import ApartRecords

            self.records: Records = ApartRecords(OwnerView(database.state, owner, several), records)
        else:
            self.records = records
        self.local = SqliteFiles(database, view)
        self.capabilities = frozenset(Capability) - database.lacking

    @classmethod
    def open(
        cls,
        location: str,
        *,
        create: bool = True,
        neighbours: str = "scan",
        state: str = "",
        progress: Progress | None = None,
    ) -> SqliteStore:
        """Open the index at a path, or a temporary one at `:memory:`; `neighbours` is one of `neighbours.WAYS`.

        With a `state` file the index must exist and is only read. `progress` is told of a migration.
        """
        return cls(Database.open(location, create=create, way=neighbours, state=state, progress=progress))

    def of(self, *owners: str) -> SqliteStore:
        names = tuple(sorted({*owners})) or (BESIDE,)
        if names == (self.owner,):
            return self
        for name in names:
            if self.owner and not any(name == each or name.startswith(each + PART) for each in self.owners):
                raise OutOfScope("this view is of one owner: take another owner's from the store that was opened")
        if len(names) == 1:
            return SqliteStore(self.database, names[0])
        return SqliteStore(self.database, BESIDE.join(("", *names)), names)

    def views(self) -> list[SqliteStore]:
        found: dict[str, SqliteStore] = {}
        for each in self.owners:
            # In a view of several, the unnamed owner contributes its own parts, not everyone's.
            name = each or PART * bool(self.view.several)
            rows = OwnerView(self.view.engine, each).rows(OWNERS, {"name": name, "part": each + PART})
            found |= {owner: self.of(owner) for (owner,) in rows if owner not in self.owners}
        return [self, *found.values()]

    @property
    def read_only(self) -> bool:
        return self.database.engine.read_only

    def transaction(self) -> AbstractContextManager[object]:
        # The writes within record themselves whose contents they change.
        return self.view.writing(content=False)

    def erase(self, owner: str, finish: Callable[[ErasedContent], bool], *, parts: bool = True) -> None:
        if self.owner:
            raise OutOfScope("this concerns the whole index: ask who looks after it")
        from rifflux.store.sqlite.records.erase import erase

        view = self.view
        if self.database.state:
            from rifflux.store.sqlite.records.apart import check_unmentioned

            check_unmentioned(view, owner, owner + PART)
            view = OwnerView(self.database.state)
        erase(view, owner, finish, parts=parts)

    def memoized(self, deadline: float | None = None) -> AbstractContextManager[None]:
        del deadline
        return self.database.engine.memoized()

    @property
    def moment(self) -> object:
        if self.database.state:
            # What concerns users is in another file.
            return None
        with self.view.reading() as (connection, _):
            return self.database.engine.moment(connection)

    def totals(self) -> Totals:
        documents, chunks, files, embedded, works, in_others = self.view.summed(sql.TOTALS)
        languages = {""}
        if in_others:
            languages = {language for (language,) in self.view.rows(sql.LANGUAGES)}
            if not all(isinstance(each, str) for each in languages):
                raise misread(self.view, TypeError("a language is not text"))
            if in_others < documents:
                languages.add("")
        return Totals(documents, chunks, files, embedded, works > 0, tuple(sorted(languages)))

    def search(self, request: CandidateRequest) -> CandidateResponse:
        run = request.execution
        rankings: dict[str, Ranking] = {}
        milliseconds = {}
        # Candidates that words have named are compared with the vector at once.
        cosines: dict[int, float] = {}
        for name in request.channels:
            start = perf_counter()
            if name == LEXICAL:
                rankings[name] = self.lexical.match(request.query, run.limit, request.weights)
            else:
                others = rankings[LEXICAL].ids[: run.pool] if rankings else None
                rankings[name] = self.semantic.nearest(
                    request.query, run.vector, run.sufficient, model=run.model, others=others, cosines=cosines
                )
            milliseconds[name] = (perf_counter() - start) * 1000
        if not request.described:
            return CandidateResponse(rankings, milliseconds=milliseconds)
        # Nothing is far away here: steps read the facts that they need.
        facts = self.catalog.fact_table(np.empty(0, np.int64))
        return CandidateResponse(rankings, facts, milliseconds, cosines)

    def contents(self) -> str:
        rows = [self.view.known(OWNER, name=each) for each in self.owners]
        changes = [row[0][1] if row else 0 for row in rows]
        model = self.semantic.model()
        counts = sorted(zip(COUNTED, self.view.summed(sql.TOTALS), strict=False))
        told = repr(([*zip(self.owners, changes, strict=True)], counts, model and model.fingerprint))
        return f"{sum(changes)}-{sha256(told.encode()).hexdigest()[:16]}"

    def close(self) -> None:
        if not self.owner:
            self.database.engine.close()
            if self.database.state:
                self.database.state.close()

    def probe(self) -> None:
        with self.view.reading() as (connection, _):
            for table in sorted(TABLES):
                connection.execute(_ANY_ROW.format(table=table)).fetchall()
            for table in TERM_TABLES:
                connection.execute(_ANY_POSTING.format(table=table)).fetchall()

    def check(self, analysis: Analysis | None = None) -> list[Problem]:
        if self.owner:
            raise OutOfScope("only the whole index can be checked: ask who looks after it")
        from rifflux.store.sqlite.maintenance.check import check

        with self.database.engine.alone() as connection:
            problems = check(connection, self.database.engine.location, analysis)
            if any(problem.unreadable for problem in problems):
                return problems
            for derived in self.database.derived():
                if trouble := derived.check(connection):
                    problems.append(Problem(f"{derived.title} {derived.place} cannot be used: {trouble}", Cure.BUILD))
            return problems

    def mend(self, analysis: Analysis) -> Mended:
        if self.owner:
            raise OutOfScope("only the whole index can be mended: ask who looks after it")
        from rifflux.store.sqlite.maintenance.repair import mend

        mended = mend(self.view, analysis)
        return replace(mended, done=(*mended.done, *self._build_anew()))

    def _build_anew(self) -> Iterator[str]:
        """Rebuild the derived files that cannot be used."""
        for derived in self.database.derived():
            with self.view.reading() as (connection, _):
                trouble = derived.check(connection)
            if trouble:
                with self.view.writing(content=False) as (connection, _):
                    derived.forget(connection)
                derived.build()
                yield f"{derived.title} {derived.place} could not be used: built it anew"
