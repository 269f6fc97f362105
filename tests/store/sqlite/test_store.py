"""The SQLite store fulfils the contract, and guards its file."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux.errors import (
    Busy,
    DamagedIndex,
    InvalidArgument,
    NewerIndex,
    NotAnIndex,
    NotFound,
    OutOfScope,
    UnusableIndex,
)
from rifflux.service import log
from rifflux.service.nouns import Event, LogEntry, Token
from rifflux.service.registry import Registry
from rifflux.store import FieldWeights, FileState, FileUpdate, Placed, Removal, Store, open_store
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection import connect as opening
from rifflux.store.sqlite.connection import locks
from rifflux.store.sqlite.connection.connect import SCHEMA_VERSION, connect
from rifflux.store.sqlite.connection.derived import BackgroundBuilder
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.query import from_bytes
from rifflux.store.sqlite.semantic import vector_index
from rifflux.testing import (
    AccountsContract,
    GenerationContract,
    LogContract,
    OwnerContract,
    SharingContract,
    StoreContract,
    UnitedContract,
    change,
    words,
)
from rifflux.testing.making import embedded
from rifflux.types import Filter, Progress
from rifflux.types.nouns import iso_time
from tests.support.commands import PATIENCE

#: Migrations by the version that they start from.
Steps = dict[int, Callable[[apsw.Connection, Progress | None], object]]


class TestSqliteFile(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore.open(str(tmp_path / "index.db"))
        yield store
        store.close()


class TestSqliteWhole(AccountsContract, GenerationContract, LogContract, SharingContract):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore.open(str(tmp_path / "index.db"))
        yield store
        store.close()


class TestSqliteView(StoreContract):
    """A named owner's view is a store like any other, however much others hold."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        opened = SqliteStore.open(":memory:")
        for number, owner in enumerate(("", "bob", "ann2"), 1):
            crowd(opened.of(owner), number * 10**12)
        yield opened.of("ann")
        opened.close()

    def test_a_store_in_use_is_sound(self, store: Store) -> None:
        embedded(store, {"a": (1, 0)})
        store.catalog.write(Removal("c", ["a"]))
        with pytest.raises(OutOfScope, match="whole index"):
            store.check()


def crowd(store: Store, first_id: int) -> None:
    """Fill a view with documents like those of the contract, under the same collections and keys."""
    for number, key in enumerate(("a", "b", "x/1.txt", "README.md", "alpha")):
        put = change(key, f"text of {key}: cache words rivers one two", "red car", title="cache", first_id=first_id)
        store.catalog.write(Placed("c", put))
        first_id += 10
        Registry(store).record(Event("judgement", "how long", "c", key))
        store.catalog.write(FileUpdate("/root", FileState(f"{number}.jsonl", 10, 1, "h"), keep=None))


class TestSqliteOwners(OwnerContract, UnitedContract):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore.open(str(tmp_path / "index.db"))
        yield store
        assert [problem for problem in store.check() if "have no vector" not in problem.what] == []
        store.close()


class TestSqliteOwnersOfALargeIndex(OwnerContract, UnitedContract):
    """The same where every derived file is wanted, however little there is; it is built when a test asks for that."""

    @pytest.fixture
    def opened(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
        for module in (words_index, vector_index):
            monkeypatch.setattr(module, "LEAST", 1)
        monkeypatch.setattr(BackgroundBuilder, "require", lambda self: None)
        monkeypatch.setattr(BackgroundBuilder, "suggest", lambda self: None)
        store = SqliteStore.open(str(tmp_path / "index.db"))
        yield store
        assert [problem for problem in store.check() if "have no vector" not in problem.what] == []
        store.close()


class TestSqliteMemory(StoreContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = SqliteStore.open(":memory:")
        yield store
        store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index file that holds one document."""
    path = tmp_path / "index.db"
    store = SqliteStore.open(str(path))
    store.catalog.write(Placed("c", change("a", "some words")))
    store.close()
    return path


def test_what_was_written_is_there_when_opened_again(path: Path) -> None:
    store = SqliteStore.open(str(path), create=False)
    assert len(store.lexical.match(words("words"), 5, FieldWeights())) == 1
    assert store.schema_version == SCHEMA_VERSION


def test_a_missing_file_is_not_made_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no index"):
        SqliteStore.open(str(tmp_path / "none.db"), create=False)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_a_new_index_is_its_owners_alone_to_read(tmp_path: Path) -> None:
    former = os.umask(0o022)
    try:
        with closing(open_store(tmp_path / "index.db")) as store:
            store.catalog.write(Placed("c", change("a", "words")))
            files = [each for each in tmp_path.iterdir() if each.suffix != ".lock"]  # a lock holds nothing
            assert {each.name for each in files} >= {"index.db", "index.db-wal"}
            assert {each.stat().st_mode & 0o077 for each in files} == {0}
    finally:
        os.umask(former)


def test_a_new_index_makes_its_folder_but_none_above_it(tmp_path: Path) -> None:
    SqliteStore.open(str(tmp_path / "a" / "index.db")).close()
    assert (tmp_path / "a" / "index.db").is_file()
    with pytest.raises(NotFound, match="no folder"):
        SqliteStore.open(str(tmp_path / "b" / "c" / "index.db"))
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("content", [b"hello, this is text", b"%PDF-1.4 ..."])
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(NotAnIndex, match="not a Rifflux index"):
        SqliteStore.open(str(path))
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotAnIndex, match="another program"):
        SqliteStore.open(str(path))
    assert path.read_bytes() == before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAnIndex, match="folder"):
        SqliteStore.open(str(tmp_path))


def test_an_empty_file_becomes_an_index(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    store = SqliteStore.open(str(path))
    assert store.totals().chunks == 0


def test_an_index_of_a_newer_version_is_refused(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", SCHEMA_VERSION + 1)
    connection.close()
    with pytest.raises(NewerIndex, match="newer"):
        SqliteStore.open(str(path))


def test_an_index_of_a_version_that_cannot_be_migrated_is_refused_as_it_is(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("user_version", 1)
    with pytest.raises(UnusableIndex, match="index your files again"):
        SqliteStore.open(str(path))
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.pragma("user_version") == 1


@pytest.mark.parametrize("moment", range(9))
def test_an_index_that_another_creates_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    new = tmp_path / "new.db"
    connect = opening._for_writing
    statements: list[str] = []

    def watched(place: Path) -> apsw.Connection:
        connection = connect(place)
        if not statements:
            connection.exec_trace = trace
        return connection

    def trace(cursor: apsw.Cursor, statement: str, bindings: object) -> bool:
        statements.append(statement)
        if len(statements) == moment + 1:
            SqliteStore.open(str(new)).close()
        return True

    monkeypatch.setattr(opening, "_for_writing", watched)
    with closing(SqliteStore.open(str(new))) as store:
        assert store.totals().documents == 0
    assert len(statements) > 9


class TestMigration:
    @pytest.fixture
    def steps(self, monkeypatch: pytest.MonkeyPatch) -> Steps:
        """Return the migrations of a package that knows one version more."""
        steps: Steps = {}
        monkeypatch.setattr(opening, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
        monkeypatch.setattr(opening, "MIGRATIONS", steps)
        return steps

    def test_tables_of_an_earlier_version_are_changed_once(self, path: Path, steps: Steps) -> None:
        steps[SCHEMA_VERSION] = lambda connection, _: connection.execute("create table added (id integer)")
        for _ in range(2):
            with closing(SqliteStore.open(str(path))) as store:
                assert store.totals().documents == 1
                assert store.view.engine.connection.execute("select count(*) from added").get == 0
        with closing(apsw.Connection(str(path))) as connection:
            assert connection.pragma("user_version") == SCHEMA_VERSION + 1

    def test_a_migration_that_fails_leaves_the_index_as_it_was(self, path: Path, steps: Steps) -> None:
        def fail(connection: apsw.Connection, _: Progress | None) -> None:
            connection.execute("drop table setting")
            raise RuntimeError("no room")

        steps[SCHEMA_VERSION] = fail
        copy = path.with_name(f"{path.name}.schema-{SCHEMA_VERSION}")
        with pytest.raises(UnusableIndex, match=rf"from schema {SCHEMA_VERSION} to .*no room.* a copy is {copy}"):
            SqliteStore.open(str(path))
        with closing(apsw.Connection(str(path))) as connection:
            assert connection.pragma("user_version") == SCHEMA_VERSION
            assert connection.execute("select count(*) from setting").get

    def test_who_only_looks_at_an_index_leaves_it_as_it_is(self, path: Path, steps: Steps) -> None:
        steps[SCHEMA_VERSION] = lambda connection, _: connection.execute("create table added (id integer)")
        before = path.read_bytes()
        with pytest.raises(UnusableIndex, match="next command that indexes"):
            SqliteStore.open(str(path), create=False)
        assert path.read_bytes() == before
        assert not list(path.parent.glob("*.schema-*"))

    def test_a_copy_is_made_before(self, path: Path, steps: Steps) -> None:
        steps[SCHEMA_VERSION] = lambda connection, _: connection.execute("create table added (id integer)")
        SqliteStore.open(str(path)).close()
        copy = path.with_name(f"{path.name}.schema-{SCHEMA_VERSION}")
        assert copy.stat().st_mode == path.stat().st_mode
        with closing(apsw.Connection(str(copy))) as connection:
            assert connection.pragma("user_version") == SCHEMA_VERSION
            assert connection.pragma("integrity_check") == "ok"
            assert connection.execute("select count(*) from document").get == 1
        assert not list(path.parent.glob("*.partial*"))

    def test_without_room_for_a_copy_it_is_brought_up_to_date_all_the_same(
        self, path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        steps[SCHEMA_VERSION] = lambda connection, _: connection.execute("create table added (id integer)")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 15))
        SqliteStore.open(str(path)).close()
        assert not list(path.parent.glob("*.schema-*"))
        with closing(apsw.Connection(str(path))) as connection:
            assert connection.pragma("user_version") == SCHEMA_VERSION + 1

    def test_an_index_that_is_only_read_names_where_it_is_migrated(self, path: Path, steps: Steps) -> None:
        steps[SCHEMA_VERSION] = lambda connection, _: None
        with pytest.raises(UnusableIndex, match="open it once where it can be written"):
            connect(str(path), create=False, read_only=True)


#: An index of each version from 2 on, as the code of its time made it. Whoever changes the tables gives them another
#: number, says in `MIGRATIONS` what makes the new of the old ones, and adds a file.
KEPT = sorted(Path(__file__).parent.glob("schema-*.db.gz"))


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name.split(".")[0])
def test_an_index_of_every_version_is_brought_up_to_date(kept: Path, tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    path.write_bytes(gzip.decompress(kept.read_bytes()))
    with rifflux.open(path, model="hash:32") as index:
        assert index.admin.check() == []
        assert index.search("heron läuft", mode="lexical")[0].key == "a"
        in_files = [hit for hit in index.search("otters", mode="lexical") if hit.key == "d.md"]
        assert [hit.lines for hit in in_files] == [(3, 3)] * len(in_files)
        assert [work.title for work in index.works.all()] == ["On herons"]
        ann = index.scoped(rifflux.Scope("ann"))
        assert [hit.key for hit in ann.search("marmot", mode="lexical")] == ["c"]
        assert [memory.text for memory in ann.memories.all()] == ["ann drinks tea"]
        assert [hit.message.text for hit in ann.conversations.search("kingfisher")] == ["A kingfisher dives."]


def tables_of(version: int, folder: Path) -> set[str]:
    """The statements that made the tables of a version."""
    path = folder / f"{version}.db"
    path.write_bytes(gzip.decompress((Path(__file__).parent / f"schema-{version}.db.gz").read_bytes()))
    with closing(apsw.Connection(str(path))) as connection:
        return {sql for (sql,) in connection.execute("select sql from sqlite_master where type = 'table'")}


def test_files_of_an_index_without_their_inodes_are_opened_once_more(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Herons fish.")
    path = tmp_path / "index.db"
    with rifflux.open(path, model="hash:32") as index:
        index.add(folder)
    with closing(apsw.Connection(str(path))) as connection:
        for column in ("problem_kind", "inode", "ctime_ns"):
            connection.execute(f"alter table file drop column {column}")
        connection.execute("alter table chunk drop column line")
        stored: list[Any] = connection.execute("select model, chunk, hash, rounded from vector").fetchall()
        connection.execute("drop table vector")
        (former,) = [each for each in tables_of(5, tmp_path) if each.lower().startswith("create table vector")]
        connection.execute(former)
        values, scales = from_bytes([data for *_, data in stored], 32)
        floats = [(*row[:-1], each.tobytes()) for row, each in zip(stored, values * scales[:, None], strict=True)]
        connection.executemany("insert into vector (model, chunk, hash, data) values (?, ?, ?, ?)", floats)
        connection.execute("alter table document_text add column text text not null default ''")
        connection.execute("update document_text set text = ?", ("Herons fish.",))
        connection.execute("alter table document_text drop column compressed")
        connection.execute("drop table service_record")
        for statement in tables_of(3, tmp_path) - tables_of(4, tmp_path):
            connection.execute(statement)
        connection.pragma("user_version", 2)
    with rifflux.open(path, model="hash:32") as index:
        hit = index.search("herons", mode="lexical")[0]
        assert (hit.key, hit.lines) == ("a.md", (1, 1))
        report = index.sync()
        assert (report.unchanged_files, report.indexed_files, report.embedded_chunks) == (1, 0, 0)
        assert index.admin.check() == []
    assert path.with_name("index.db.schema-2").exists()


def test_tables_change_only_together_with_their_number(tmp_path: Path) -> None:
    assert f"schema-{SCHEMA_VERSION}.db.gz" in {each.name for each in KEPT}
    former = tmp_path / "former.db"
    former.write_bytes(gzip.decompress((Path(__file__).parent / f"schema-{SCHEMA_VERSION}.db.gz").read_bytes()))
    SqliteStore.open(str(tmp_path / "new.db")).close()
    listed = []
    for each in (former, tmp_path / "new.db"):
        with closing(apsw.Connection(str(each))) as connection:
            rows = connection.execute("select type, name, sql from sqlite_master where name not like '%_terms_%'")
            listed.append({(kind, name, " ".join(str(sql).split())) for kind, name, sql in rows})
    assert listed[0] == listed[1]


def test_a_truncated_index_says_so(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises((DamagedIndex, NotAnIndex)):
        _use(path)


def _use(path: Path) -> None:
    """Open an index and read all of it; what is damaged shows at the latest in the check."""
    store = SqliteStore.open(str(path))
    store.totals()
    store.lexical.match(words("words"), 5, FieldWeights())
    if problems := store.check():
        raise DamagedIndex(problems[0].what)


def test_doctor_finds_a_damaged_word_index(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("delete from chunk_terms")
    connection.close()
    store = SqliteStore.open(str(path))
    assert any("word index" in problem.what for problem in store.check())


def test_doctor_finds_vectors_of_an_older_text(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("insert into model values (1, 'm', 'hash', 2, 'f', 'm', 'active')")
    connection.execute("insert into vector (model, chunk, hash, rounded) values (1, 1, 99, zeroblob(8))")
    connection.close()
    store = SqliteStore.open(str(path))
    assert any("older text" in problem.what for problem in store.check())


def test_a_read_only_file_can_be_searched_but_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write anything, so the check of permissions is what has to be told.
    monkeypatch.setattr(os, "access", lambda *_: False)
    store = SqliteStore.open(str(path))
    assert store.read_only
    assert len(store.lexical.match(words("words"), 5, FieldWeights())) == 1
    with pytest.raises(UnusableIndex, match="cannot be written"):
        store.catalog.write(Placed("c", change("b", "more")))


def test_a_writer_that_waits_too_long_is_told_who_to_wait_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "BUSY_TIMEOUT_MS", 50)
    first, second = SqliteStore.open(str(path)), SqliteStore.open(str(path))
    with first.transaction(), pytest.raises(Busy, match="another process"):
        second.catalog.write(Placed("c", change("b", "more")))
    second.catalog.write(Placed("c", change("b", "more")))


def test_readers_see_the_last_committed_state_while_a_writer_works(path: Path) -> None:
    writer, reader = SqliteStore.open(str(path)), SqliteStore.open(str(path))
    with writer.transaction():
        writer.catalog.write(Placed("c", change("b", "fresh words")))
        assert reader.totals().documents == 1
    assert reader.totals().documents == 2


def test_threads_may_share_a_store(path: Path) -> None:
    store = SqliteStore.open(str(path))
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for round in range(20):
                store.catalog.write(Placed("c", change(f"{number}-{round}", "shared words")))
                store.lexical.match(words("words"), 5, FieldWeights())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.totals().documents == 81


def test_a_thread_reads_what_was_committed_while_another_is_in_a_transaction(path: Path) -> None:
    store = SqliteStore.open(str(path))
    found: list[int] = []

    def read() -> None:
        found.append(store.totals().documents)
        found.append(len(store.lexical.match(words("fresh"), 5, FieldWeights())))

    with store.transaction():
        store.catalog.write(Placed("c", change("b", "fresh words")))
        thread = threading.Thread(target=read)
        thread.start()
        thread.join(PATIENCE)
        assert found == [1, 0]
        assert store.totals().documents == 2
    read()
    assert found == [1, 0, 2, 1]


def test_a_thread_never_reads_from_a_file_that_took_the_place_of_its_own(path: Path, tmp_path: Path) -> None:
    store, other = SqliteStore.open(str(path)), SqliteStore.open(str(tmp_path / "other.db"))
    other.close()
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(store.totals().documents))
    with store.transaction():
        (tmp_path / "other.db").replace(path)
        thread.start()
    thread.join(PATIENCE)
    assert found == [1]


def test_an_unknown_engine_names_those_there_are() -> None:
    with pytest.raises(InvalidArgument, match="sqlite"):
        open_store("oracle://x")


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_in_metadata_is_found_by_a_filter(value: str, other: str) -> None:
    store = SqliteStore.open(":memory:")
    store.catalog.write(Placed("c", change("one", "words", metadata={"field": value})))
    store.catalog.write(Placed("c", change("many", "words", metadata={"field": [other, value], "more": value})))
    store.catalog.write(Placed("c", change("none", "words", metadata={"more": value})))
    ids = store.lexical.match(words("words"), 9, FieldWeights()).ids
    assert len(store.catalog.passing(Filter(metadata={"field": value}), ids)) == 2
    assert len(store.catalog.passing(Filter(metadata={"field": [value, other]}), ids)) == 2
    store.close()


@pytest.mark.parametrize("owner", ["", "ann"])
def test_what_is_asked_often_is_read_once_in_a_block_until_something_changed(path: Path, owner: str) -> None:
    store, other = SqliteStore.open(str(path)).of(owner), SqliteStore.open(str(path)).of(owner)
    store.catalog.write(Placed("c", change("a", "words")))
    asked: list[str] = []
    with store.memoized():
        assert (store.records.setting("name"), store.totals().documents) == (None, 1)
        store.view.engine.connection.exec_trace = lambda _cursor, statement, _bound: not asked.append(statement)
        assert (store.records.setting("name"), store.totals().documents) == (None, 1)
        assert asked == []
        store.records.set("name", "mine")
        assert store.records.setting("name") == "mine"
        other.catalog.write(Placed("c", change("b", "words")))
        assert len(store.lexical.match(words("words"), 10, FieldWeights())) == 2
        assert store.totals().documents == 2
    other.records.set("name", "other")
    assert store.records.setting("name") == "other"


def test_nobody_pushes_what_others_did_out_of_the_log(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MOST_PER_USER", 2)
    with closing(SqliteStore.open(str(path))) as store:
        for number, user in enumerate(["root", *["ann"] * 5]):
            Registry(store).put_token(
                Token(str(number), user, "user"), b"", LogEntry(user, "token.create", iso_time(number), str(number))
            )
        assert [each.target for each in Registry(store).log()] == ["5", "4", "0"]
