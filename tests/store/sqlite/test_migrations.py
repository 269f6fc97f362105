"""What an earlier version of an index holds besides documents is there when it is brought up to date."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

import rifflux
from rifflux.errors import DamagedIndex, NewerIndex, UnusableIndex
from rifflux.service.nouns import (
    CollectionRecord,
    Event,
    Grant,
    JobRecord,
    LogEntry,
    QuestionDigest,
    Reaction,
    RecordedAnswer,
    SpendingSum,
    Token,
)
from rifflux.service.registry import Registry
from rifflux.store import Store, former_versions, open_store
from rifflux.store.catalog import Selection
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection.connect import SCHEMA_VERSION
from rifflux.store.sqlite.connection.locks import BusyHandler
from rifflux.store.sqlite.connection.texts import LEFT, text_hash
from rifflux.store.sqlite.query import rounded
from rifflux.types import Vectors
from rifflux.types.nouns import iso_time
from tests.support.places import small_disk, word

#: Rows as version 3 of the tables had them.
ROWS = """
insert into admin_log values (7, 5.0, 'root', 'token.create', 'one', 'ann', '', 'role user');
insert into admin_log values (9, 6.5, 'root', 'group.set', 'birders', '', 'ann', 'joined');
update sqlite_sequence set seq = 12 where name = 'admin_log';
insert into token values ('one', 'ann', 'user', 'laptop', 1.5, 3.0, null, 9000000000.0, x'0aff');
insert into token values ('two', 'bob', 'admin', '', 1.0, null, 4.0, null, x'');
insert into event values (1, 2.0, 'judgement', 'where', 'c', 'a', '0001', 2, 'ann', 1);
insert into event values (2, 3.0, 'click', 'where', 'c', 'a', '', null, 'ann', 1);
insert into usage values (1, 'ann', 'search', 'm', 7, 0.5, 86401.0), (2, 'ann', 'search', 'm', 3, 0.25, 86402.0);
insert into question values (1, 'ann', x'01ff', 2.0, x'0203');
insert into answer values ('ann', 'k', x'aa', 5.0, 201, x'7b7d');
insert into job values ('j', 'ann', 'works', 'a.bib', 'running', 'store', 3, 9, 5.0, 6.0, 0.0, 0, '', '', 1);
insert into collection values ('ann' || char(31) || '@birds', 'ann', 'birds', 'what flies', 4.0);
insert into reader values ('birders', 'ann' || char(31) || '@birds', 1);
insert into user_group values ('birders'), ('empty');
insert into member values ('bob', 'birders');
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    path = tmp_path / "index.db"
    path.write_bytes(gzip.decompress((Path(__file__).parent / "schema-3.db.gz").read_bytes()))
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(ROWS)
    store = open_store(path)
    yield store
    store.close()


def test_accounts_decisions_and_usage_are_there(store: Store) -> None:
    registry = Registry(store)
    one = Token("one", "ann", "user", "laptop", iso_time(1.5, "auto"), iso_time(3), None, iso_time(9e9))
    two = Token("two", "bob", "admin", "", iso_time(1), None, iso_time(4), None)
    assert registry.tokens() == [two, one]
    assert registry.token("one") == (one, b"\x0a\xff")
    joined = LogEntry("root", "group.set", iso_time(6.5, "auto"), "birders", "", "ann", "joined", 9)
    assert registry.log() == [joined, LogEntry("root", "token.create", iso_time(5), "one", "ann", "", "role user", 7)]
    registry.revoke("one", 10.0, LogEntry("root", "token.revoke", iso_time(10)))
    assert registry.log()[0].id > 12
    assert registry.spent() == [SpendingSum("1970-01-02", "ann", "search", "m", 2, 10, 0.75)]
    assert registry.questions() == [QuestionDigest("ann", b"\x01\xff", 2.0, b"\x02\x03")]
    answer = RecordedAnswer("ann", "k", b"\xaa", 5.0)
    assert registry.begin_answer(answer, 0.0) == RecordedAnswer("ann", "k", b"\xaa", 5.0, 201, b"{}")
    job = JobRecord("j", "ann", "works", "a.bib", "running", "store", 3, 9, 5.0, 6.0, stop=True)
    assert registry.jobs() == [job]


def test_feedback_and_sharing_are_there(store: Store) -> None:
    judged = Event("judgement", "where", "c", "a", "0001", 2, "ann", iso_time(2))
    clicked = Event("click", "where", "c", "a", user="ann", created_at=iso_time(3))
    assert Registry(store.of("ann")).events() == [judged, clicked]
    assert Registry(store).reactions() == [Reaction("ann", "click", "where", 3.0)]
    sharing = Registry(store).sharing
    birds = CollectionRecord("ann\x1f@birds", "ann", "birds", "what flies", 4.0)
    assert sharing.collections() == [birds]
    assert sharing.grants(birds.owner) == [Grant("birders", write=True)]
    assert sharing.groups() == {"birders": ("bob",), "empty": ()}
    assert sharing.shared_with("bob") == [(birds, True)]


def of_schema_5(path: Path, count: int) -> Vectors:
    """Write an index of the tables of version 5 with vectors of chunks; return them in the order of the chunks."""
    path.write_bytes(gzip.decompress((Path(__file__).parent / "schema-5.db.gz").read_bytes()))
    drawn = np.random.default_rng(5).standard_normal((count, 32), np.float32)
    vectors = np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)
    with closing(apsw.Connection(str(path))) as connection, connection:
        connection.execute("delete from vector")
        chunks = range(1000, 1000 + count)
        model = connection.execute("select id from model where state = 'active'").get
        connection.executemany(
            "insert into chunk (id, uid, document, position, headings, text, span_start, span_end, hash) "
            "values (?1, ?1, 1, ?1, '[]', 'text', 0, 4, ?1)",
            [(chunk,) for chunk in chunks],
        )
        connection.executemany(
            "insert into vector (model, chunk, hash, data) values (?, ?2, ?2, ?3)",
            [(model, chunk, vector.tobytes()) for chunk, vector in zip(chunks, vectors, strict=True)],
        )
    return vectors


def test_vectors_are_rounded_and_their_space_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    vectors = of_schema_5(path, 3000)
    before = path.stat().st_size
    with closing(SqliteStore.open(str(path))) as store:
        known = store.semantic.vectors_of(np.arange(1000, 4000))
        values, scales = rounded(vectors)
        assert np.array_equal(np.array([*known.values()]), values * scales[:, None])
    assert before - path.stat().st_size > vectors.nbytes * 0.4
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.pragma("integrity_check") == "ok"


def test_a_vector_of_a_wrong_length_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    of_schema_5(path, 3)
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("update vector set data = zeroblob(8) where chunk = 1001")
    with closing(SqliteStore.open(str(path))) as store:
        assert [*store.semantic.vectors_of(np.array([1000, 1001, 1002]))] == [1000, 1002]
        assert 1001 in [each.id for batch in store.semantic.pending(100) for each in batch]


def test_a_disk_that_fills_while_vectors_are_rounded_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    of_schema_5(tmp_path / "index.db", 3000)
    size = (tmp_path / "index.db").stat().st_size
    with small_disk(tmp_path / "disk", (size >> 10) + 200) as disk:
        path = disk / "index.db"
        shutil.copy(tmp_path / "index.db", path)
        with closing(apsw.Connection(str(path))) as connection:
            before = connection.execute("select id, chunk, hash, data from vector order by id").fetchall()
        with pytest.raises(UnusableIndex, match="full"):
            SqliteStore.open(str(path))
        assert not list(disk.glob("*.schema-*"))
        with closing(apsw.Connection(str(path))) as connection:
            assert connection.pragma("user_version") == 5
            assert connection.execute("select id, chunk, hash, data from vector order by id").fetchall() == before
            assert connection.pragma("integrity_check") == "ok"
        subprocess.run(["mount", "-o", "remount,size=9000k", str(disk)], check=True)
        with closing(SqliteStore.open(str(path))) as store:
            assert len(store.semantic.vectors_of(np.arange(1000, 4000))) == 3000


def test_texts_are_compressed(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    path.write_bytes(gzip.decompress((Path(__file__).parent / "schema-6.db.gz").read_bytes()))
    texts = {1: "Größe läuft. " * 300, 2: "", 3: "x"}
    with closing(apsw.Connection(str(path))) as connection:
        known: list[Any] = connection.execute("select document from document_text order by document").fetchall()
        documents = [document for (document,) in known]
        for document, text in zip(documents, texts.values(), strict=False):
            connection.execute(
                "update document_text set text = ?, hash = ? where document = ?", (text, text_hash(text), document)
            )
    with closing(SqliteStore.open(str(path))) as store:
        listed = store.view.engine.connection.execute(
            f"select {LEFT}, hash = text_hash({LEFT}) from document_text order by document limit 3"
        ).fetchall()
    assert listed == [(text, 1) for text in texts.values()]


@pytest.mark.parametrize("version", [3, 6])
def test_texts_of_a_damaged_index_of_an_earlier_version_are_kept(tmp_path: Path, version: int) -> None:
    path = tmp_path / "index.db"
    data = bytearray(gzip.decompress((Path(__file__).parent / f"schema-{version}.db.gz").read_bytes()))
    # The first page, whose checksum no longer holds.
    data[8000] ^= 1
    path.write_bytes(data)
    repaired = rifflux.repair(path)
    assert repaired.original
    assert not [each for each in repaired.done if "lost their text" in each]
    with rifflux.open(path, model="hash:32") as index:
        assert index.document("a").text == "Ein heron läuft."
        assert index.admin.check() == []


def of_schema_7(path: Path, count: int) -> dict[str, str]:
    """Write an index of the tables of version 7 with documents of a file; return their texts."""
    path.write_bytes(gzip.decompress((Path(__file__).parent / "schema-7.db.gz").read_bytes()))
    texts = {}
    with closing(apsw.Connection(str(path))) as connection, connection:
        for number in range(1000, 1000 + count):
            passage = " ".join(word(number + each) for each in range(400))
            text = texts[f"{number}.md"] = f"# {number}\n\n{passage}\n"
            connection.execute(
                "insert into document (id, namespace, key, file, path, kind, title) "
                "values (?1, 'here', ?2, 1, ?2, 'markdown', '')",
                (number, f"{number}.md"),
            )
            connection.execute(
                "insert into document_text values (?, ?, ?)", (number, text_hash(text), zlib.compress(text.encode()))
            )
            connection.execute(
                "insert into chunk (id, uid, document, position, headings, text, span_start, span_end, hash) "
                "values (?1, ?1, ?1, 0, '[]', ?2, 8, ?3, ?1)",
                (number, passage, 8 + len(passage)),
            )
    return texts


def texts_of(store: Store) -> dict[str, str]:
    return {
        each.document.key: each.document.text for each in store.catalog.documents(Selection("here"), with_text=True)
    }


def test_what_passages_have_is_no_longer_stored_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    texts = of_schema_7(path, 300)
    with closing(apsw.Connection(str(path))) as connection:
        # As a damaged disk leaves it: it stays so, for a repair.
        connection.execute("update document_text set compressed = zeroblob(40) where document = 1299")
    before = path.stat().st_size
    with closing(SqliteStore.open(str(path))) as store:
        assert {each for (each,) in store.view.rows("select whole from document_text where document >= 1000")} == {0, 1}
        with pytest.raises(DamagedIndex):
            texts_of(store)
        store.view.engine.connection.execute("delete from document where id = 1299")
        texts.pop("1299.md")
        assert texts_of(store) == texts
    assert before - path.stat().st_size > 0.2 * sum(map(len, texts.values()))
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.pragma("integrity_check") == "ok"


def test_a_disk_that_fills_while_passages_are_left_out_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    texts = of_schema_7(tmp_path / "index.db", 600)
    size = (tmp_path / "index.db").stat().st_size
    with small_disk(tmp_path / "disk", (size >> 10) + 200) as disk:
        path = disk / "index.db"
        shutil.copy(tmp_path / "index.db", path)
        with closing(apsw.Connection(str(path))) as connection:
            before = connection.execute("select * from document_text").fetchall()
        with pytest.raises(UnusableIndex, match="full"):
            SqliteStore.open(str(path))
        assert not list(disk.glob("*.schema-*"))
        with closing(apsw.Connection(str(path))) as connection:
            assert connection.pragma("user_version") == 7
            assert connection.execute("select * from document_text").fetchall() == before
            assert connection.pragma("integrity_check") == "ok"
        subprocess.run(["mount", "-o", "remount,size=20000k", str(disk)], check=True)
        with closing(SqliteStore.open(str(path))) as store:
            assert texts_of(store) == texts


def test_two_that_bring_it_up_to_date_at_once_copy_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "index.db"
    texts = of_schema_7(path, 30)
    waiting = threading.Event()
    busy = BusyHandler.__call__

    def note(self: BusyHandler, tries: int) -> bool:
        waiting.set()
        return busy(self, tries)

    def wait(*_: Any) -> None:
        """Go on with the first once the second waits for it."""
        if not second:
            second.append(pool.submit(SqliteStore.open, str(path)))
        assert waiting.wait(60)

    second: list[Future[SqliteStore]] = []
    monkeypatch.setattr(BusyHandler, "__call__", note)
    with ThreadPoolExecutor(1) as pool:
        with closing(SqliteStore.open(str(path), progress=wait)) as store:
            assert texts_of(store) == texts
        with closing(second[0].result()) as store:
            assert texts_of(store) == texts
    assert [each.name for each in tmp_path.glob("*.schema-*")] == ["index.db.schema-7"]


def test_one_that_waited_for_a_newer_version_leaves_it_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index.db"
    of_schema_7(path, 1)
    waiting = threading.Event()
    busy = BusyHandler.__call__

    def note(self: BusyHandler, tries: int) -> bool:
        waiting.set()
        return busy(self, tries)

    monkeypatch.setattr(BusyHandler, "__call__", note)
    with closing(apsw.Connection(str(path))) as newer, ThreadPoolExecutor(1) as pool:
        newer.execute("begin immediate")
        found = pool.submit(SqliteStore.open, str(path))
        assert waiting.wait(60)
        newer.pragma("user_version", SCHEMA_VERSION + 1)
        newer.execute("commit")
        with pytest.raises(NewerIndex):
            found.result()
        assert newer.pragma("user_version") == SCHEMA_VERSION + 1


def test_a_copy_of_before_is_kept_when_another_index_is_brought_up_to_date_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    of_schema_7(path, 20)
    SqliteStore.open(str(path)).close()
    first_copy = path.with_name("index.db.schema-7").read_bytes()
    # As if it was restored, and written by the earlier version.
    texts = of_schema_7(path, 40)
    for _ in range(2):
        with closing(SqliteStore.open(str(path))) as store:
            assert texts_of(store) == texts
            assert len(former_versions(path)) == 2
        # The same again: this copy is there.
        shutil.copy(path.with_name("index.db.schema-7-2"), path)
    assert path.with_name("index.db.schema-7").read_bytes() == first_copy
    assert sorted(each.name for each in tmp_path.glob("*.schema-*")) == ["index.db.schema-7", "index.db.schema-7-2"]
