"""Whatever is derived, missing or damaged, words are answered alike to the last digit; the words file says so alone."""

from __future__ import annotations

import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import Cure, OutOfScope
from rifflux.service.registry import Registry
from rifflux.store import DocumentChange, FieldWeights, Placed, Removal, Store, holding
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection.derived import BackgroundBuilder, touched
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.lexical.lexical import SqliteLexical
from rifflux.store.sqlite.lexical.words_index import WordsIndex
from rifflux.testing import WEIGHTS, StoreContract, change, words
from rifflux.text.analyzer import AnyOf, NearSpelling
from rifflux.types import Filter, Query, Ranking
from tests.support.agents import eventually
from tests.support.exploring import examples

OWNERS = ("", "ann", "bob", "eve")
#: Whose content is read: of one owner, of several.
SEEN = (("",), ("ann",), ("", "ann", "bob"), ("ann", "eve"), ("nobody",))
VOCABULARY = (
    "cache",
    "queue",
    "river",
    "rivers",
    "stone",
    "c++",
    "h^1",
    "naïve",
    "re-use",
    "40",
    "zebra",
    "cache cache",
)
#: Their terms, and some of no chunk.
TERMS = (*dict.fromkeys(term for clause in words(" ".join(VOCABULARY)).clauses for term in clause), "cache", "none")
KINDS = ("note", "mail", "code")
#: Also of another `b`, with what no derived file could have counted in advance.
PARAMETERS = (WEIGHTS, FieldWeights(title=1.7, headings=0.3, b=0.4))


_match = SqliteLexical.match


def _following(self: SqliteLexical, query: Query, limit: int, weights: FieldWeights) -> Ranking:
    """Bring the words file up to date before the lexical role answers, so that the file answers alone."""
    if self.index and not self.view.engine.connection.in_transaction:
        self.index.build()
    return _match(self, query, limit, weights)


class TestUpToDate(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
        monkeypatch.setattr(SqliteLexical, "match", _following)
        store = SqliteStore.open(str(tmp_path / "index.db"))
        yield store
        store.close()


class TestView(StoreContract):
    """An owner among others."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
        monkeypatch.setattr(SqliteLexical, "match", _following)
        store = SqliteStore.open(str(tmp_path / "index.db"))
        for number, owner in enumerate(("", "bob")):
            put = change("a", "text of cache rivers one two", title="cache", first_id=(number + 1) * 10**12)
            store.of(owner).catalog.write(Placed("c", put))
        yield store.of("ann")
        store.close()

    def test_a_store_in_use_is_sound(self, store: Store) -> None:
        with pytest.raises(OutOfScope):
            store.check()


class TestBehind(StoreContract):
    """Nothing that the store is given is in the words file: it was made when there was nothing."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
        monkeypatch.setattr(BackgroundBuilder, "require", lambda self: None)
        monkeypatch.setattr(BackgroundBuilder, "suggest", lambda self: None)
        store = SqliteStore.open(str(tmp_path / "index.db"))
        store.local.build()
        yield store
        store.close()


# The same answers, to the last digit

clauses = st.lists(st.lists(st.sampled_from(TERMS), min_size=1, max_size=2).map(tuple), max_size=3).map(tuple)
filters = st.builds(
    Filter,
    paths=st.sampled_from([(), (), ("a/**",), ("*.md",)]),
    kinds=st.sampled_from([(), (), ("note",), ("mail", "code", "none")]),
    since=st.sampled_from([None, "2024-01-10"]),
)
queries = st.builds(
    Query,
    st.just(""),
    clauses=clauses,
    required=clauses,
    excluded=clauses.map(lambda each: each[:1]),
    variants=clauses,
    worths=st.dictionaries(st.sampled_from([(each,) for each in TERMS]), st.sampled_from([0.5, 2.0]), max_size=2),
    prefixes=st.sampled_from([(), (), ("riv",), ("c", "zz"), ("re", "r")]),
    filter=filters,
)


def document(number: int, text: str, first_id: int) -> DocumentChange:
    """A document of two chunks, whose other fields follow from its number."""
    date = None if number % 5 == 0 else f"2024-01-{number % 28 + 1:02}"
    title = VOCABULARY[number % 7] if number % 3 else ""
    put = change(
        f"d{number}", text, f"{text} stone", title=title, kind=KINDS[number % 3], created_at=date,
        first_id=first_id + 10 * number,
    )  # fmt: skip
    return replace(put, path=f"{'ab'[number % 2]}/{number}.{('md', 'txt')[number % 2]}")


def fill(store: SqliteStore, *, first: int = 0, count: int = 40) -> None:
    chance = random.Random(first)
    for number, owner in enumerate(OWNERS):
        with store.of(owner).transaction():
            for key in range(count):
                text = " ".join(chance.choices(VOCABULARY, k=chance.randint(1, 20)))
                store.of(owner).catalog.write(Placed("c", document(key, text, first + 10_000 * (number + 1))))


def answers(store: SqliteStore, query: Query, owners: tuple[str, ...]) -> list[Any]:
    """Return all that the lexical role of some owners says of a query."""
    lexical = store.of(*owners).lexical
    found: list[Any] = []
    for weights in PARAMETERS:
        for limit in (3, 200):
            ranking = lexical.match(query, limit, weights)
            found += [ranking.ids.tolist(), ranking.scores.tolist()]
        by_match = lexical.match(query, 200, replace(weights, by_match=True))
        alike = lexical.match(replace(query, worths=dict.fromkeys(query.variants, 1.0)), 200, weights)
        assert [by_match.ids.tolist(), by_match.scores.tolist()] == [alike.ids.tolist(), alike.scores.tolist()]
    every = (*query.clauses, *query.required, *query.variants)
    found += [sorted(holding(lexical, clause, ranking.ids).tolist()) for clause in every]
    found.append(dict(lexical.document_frequencies([term for clause in every for term in clause])))
    found += [dict(sorted(lexical.vocabulary(start, 1, 9).items())) for start in ("", "r", "c+", "z")]
    for like in (NearSpelling("rivr", 1), NearSpelling("naive", 2), NearSpelling("naïv", 1), NearSpelling("qeuue", 2)):
        size = len(like.term)
        near = lexical.vocabulary(like.term[0], size - like.most, size + like.most, like)
        found.append(dict(sorted(near.items())))
    for start in "rnqc":
        some = AnyOf(("river", "rivr", "naiv", "naïv", "queue", "queu", "cach", "c++", "revir"))
        found.append(dict(sorted(lexical.vocabulary(start, 3, 5, some).items())))
    return found


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SqliteStore, SqliteStore, SqliteStore]]:
    """The same content three times: by the tables, by a words file, and by one that changed since it was made."""
    folder = tmp_path_factory.mktemp("words")
    tables, whole, behind = (SqliteStore.open(str(folder / f"{name}.db")) for name in ("tables", "whole", "behind"))
    for store in (tables, whole, behind):
        fill(store, first=5)
        if store is behind:
            store.local.build()
        for number, owner in enumerate(OWNERS[:3]):
            store.of(owner).catalog.write(Placed("c", document(3, "river of stones", 90_000 + number * 1000)))
            store.of(owner).catalog.write(Removal("c", ["d7", "d8"]))
    whole.local.build()
    assert (used(tables), used(whole), used(behind)) == (False, True, True)
    yield tables, whole, behind
    for store in (tables, whole, behind):
        store.close()


def used(store: SqliteStore) -> bool:
    """Return whether the words file answers."""
    index = index_of(store)
    with store.view.reading() as (connection, owners):
        return index.visible(connection, owners) is not None


def index_of(store: SqliteStore) -> WordsIndex:
    index = store.database.words
    assert index
    return index


@examples(100)
@given(query=queries, owners=st.sampled_from(SEEN))
def test_every_answer_is_the_same_to_the_last_digit(
    twins: tuple[SqliteStore, ...], query: Query, owners: tuple[str, ...]
) -> None:
    by_tables, by_file, behind = (answers(store, query, owners) for store in twins)
    assert by_file == by_tables
    assert behind == by_tables


@pytest.mark.parametrize(
    "query",
    [
        Query("", (("W1",), ("ca'ch",), ("",), ("Cach",), ("ri|ver",), ("none",))),
        Query("", (("ri ver",), ("river", "")), prefixes=("RIV", "re-", "it's")),
        Query("", (("cach", "cach"),), required=(("cach", "cach", "cach"),)),
        Query("", (("cach",),), excluded=(("river",),), filter=Filter(kinds=("note",))),
    ],
)
@pytest.mark.parametrize("owners", SEEN)
def test_so_is_that_of_unusual_questions(twins: tuple[SqliteStore, ...], query: Query, owners: tuple[str, ...]) -> None:
    by_tables, by_file, behind = (answers(store, query, owners) for store in twins)
    assert by_file == behind == by_tables


@pytest.mark.parametrize("many", [1, 20])
def test_what_many_chunks_hold_is_left_out_of_no_sum(
    twins: tuple[SqliteStore, ...], monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    tables, whole, _ = twins
    query = Query("", tuple((term,) for term in TERMS), worths={("zebra",): 2.0})
    expected = [tables.of(*owners).lexical.match(query, 5, WEIGHTS) for owners in SEEN]
    monkeypatch.setattr("rifflux.store.sqlite.lexical.lexical.MANY", many)
    for owners, ranking in zip(SEEN, expected, strict=True):
        found = whole.of(*owners).lexical.match(query, 5, WEIGHTS)
        assert (found.ids.tolist(), found.scores.tolist()) == (ranking.ids.tolist(), ranking.scores.tolist())


def test_scores_are_those_of_sqlite(twins: tuple[SqliteStore, ...]) -> None:
    tables, whole, _ = twins
    asked = ("cach", "river", "zebra")
    connection = tables.view.engine.connection
    rows = connection.execute(
        "select uid, -bm25(chunk_terms, 2.0, 1.0, 1.0) from chunk_terms join chunk on chunk.id = chunk_terms.rowid "
        "where chunk_terms match ?",
        (" OR ".join(asked),),
    )
    expected: dict[int, float] = dict(rows)
    found = whole.lexical.match(Query("", tuple((word,) for word in asked)), 1000, WEIGHTS)
    assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-9)


operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), st.lists(st.sampled_from(VOCABULARY), min_size=1).map(" ".join)),
        st.tuples(st.just("remove"), st.integers(0, 9), st.just("")),
        st.tuples(st.just("follow"), st.just(0), st.just("")),
        st.tuples(st.just("delete"), st.just(0), st.just("")),
    ),
    max_size=14,
)


@pytest.mark.slow
@examples(12)
@given(steps=operations)
def test_it_says_what_the_tables_say_after_every_change(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    store = SqliteStore.open(str(tmp_path_factory.mktemp("words") / "index.db"))
    fill(store, count=8)
    store.local.build()
    for step, number, text in steps:
        view = store.of(OWNERS[number % 3])
        if step == "put":
            view.catalog.write(Placed("c", document(number, text, 100_000 * (number % 3 + 1))))
        elif step == "remove":
            view.catalog.write(Removal("c", [f"d{number}"]))
        elif step == "delete":
            index_of(store).place.unlink(missing_ok=True)
        else:
            store.local.build()
        for query in (words("cache river c++"), Query("", (("cach", "river"),), prefixes=("riv",))):
            for owners in SEEN:
                assert answers(store, query, owners) == answers_by_tables(store, query, owners)
    store.close()


def answers_by_tables(store: SqliteStore, query: Query, owners: tuple[str, ...]) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WordsIndex, "visible", lambda *_: None)
        return answers(store, query, owners)


# What happens to the file


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """An index with a words file, which is made when a test asks for it."""
    for name in ("require", "suggest"):
        monkeypatch.setattr(BackgroundBuilder, name, lambda self: None)
    (tmp_path / "original").mkdir()
    store = SqliteStore.open(str(tmp_path / "original" / "index.db"))
    fill(store)
    store.local.build()
    assert used(store)
    yield store
    store.close()


QUERY = Query("", (("cach",), ("river",), ("cach", "stone")), prefixes=("z",))
ALL = ("", "ann", "bob")


def copied(store: SqliteStore, folder: Path) -> Path:
    """The index and its words file somewhere else, as a person would copy them."""
    location = Path(store.view.engine.location)
    store.view.engine.connection.execute("pragma wal_checkpoint(truncate)")
    for name in ("index.db", "index.db.words"):
        shutil.copy(location.with_name(name), folder / name)
    return folder / "index.db"


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _scrambled(data: bytes) -> bytes:
    return bytes(255 - byte for byte in data)


def _of_another_version(data: bytes) -> bytes:
    return re.sub(rb'"format": \d', b'"format": 0', data[:4096]) + data[4096:]


def _flipped(data: bytes) -> bytes:
    return data[:8200] + bytes([data[8200] ^ 1]) + data[8201:]


@pytest.mark.parametrize("damage", [_cut, _scrambled, _of_another_version, _flipped, lambda _: b""])
def test_whatever_is_damaged_is_not_used_and_made_anew(
    filled: SqliteStore, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    expected = answers(filled, QUERY, ALL)
    path = copied(filled, tmp_path)
    place = tmp_path / "index.db.words"
    place.write_bytes(damage(place.read_bytes()))
    store = SqliteStore.open(str(path))
    assert answers(store, QUERY, ALL) == expected
    assert len(store.local.troubles()) == 1
    assert any(problem.cure is Cure.BUILD for problem in store.check())
    store.local.build()
    assert answers(store, QUERY, ALL) == expected
    assert used(store)
    assert (store.local.troubles(), store.check()) == ([], [])
    store.close()


def test_any_changed_byte_is_found_by_checking(filled: SqliteStore, tmp_path: Path) -> None:
    path = copied(filled, tmp_path)
    place = tmp_path / "index.db.words"
    data = bytearray(place.read_bytes())
    stored = index_of(filled)._open
    assert stored
    section = stored.file.places.tobytes()
    data[data.index(section) + len(section) // 2] ^= 1
    place.write_bytes(data)
    store = SqliteStore.open(str(path))
    assert ["the words file" in problem.what for problem in store.check()] == [True]
    store.close()


def test_the_file_of_another_database_is_not_used(filled: SqliteStore, tmp_path: Path) -> None:
    store = SqliteStore.open(str(tmp_path / "index.db"))
    store.catalog.write(Placed("c", change("a", "cache")))
    store.local.build()
    shutil.copy(f"{filled.view.engine.location}.words", tmp_path / "index.db.words")
    assert len(store.lexical.match(words("cache river"), 10, WEIGHTS)) == 1
    assert (store.local.troubles(), store.check()) == ([], [])
    store.close()


def test_it_answers_without_the_tables(filled: SqliteStore, tmp_path: Path) -> None:
    expected = [filled.of(*owners).lexical.match(QUERY, 50, WEIGHTS).scores.tolist() for owners in SEEN]
    path = copied(filled, tmp_path)
    connection = apsw.Connection(str(path))
    connection.execute("delete from chunk_terms; delete from owned_terms")
    connection.close()
    store = SqliteStore.open(str(path))
    assert [store.of(*owners).lexical.match(QUERY, 50, WEIGHTS).scores.tolist() for owners in SEEN] == expected
    assert store.local.troubles() == []
    store.close()


@pytest.mark.parametrize("headings", ["", "tide"])
def test_rows_are_found_on_both_sides_of_a_size_that_stores_them_otherwise(tmp_path: Path, headings: str) -> None:
    store = SqliteStore.open(str(tmp_path / "index.db"))
    store.catalog.write(Placed("c", change("a", "river", first_id=1)))
    connection = store.view.engine.connection
    query = words("cache tide")
    for count in (1 << 16, (1 << 16) + 1):
        last = connection.execute("select max(id) from chunk").get
        with connection:
            connection.execute(
                "with recursive each (id) as (select ?1 + 1 union all select id + 1 from each where id < ?2) "
                "insert into chunk (id, uid, document, position, headings, text, span_start, span_end, hash, length) "
                "select id, id, 1, id, '[]', '', 0, 0, id, 2 from each",
                (last, count),
            )
            connection.execute(
                "insert into chunk_terms (rowid, title, headings, body) select id, '', "
                "iif(id % 7, '', ?3), iif(id % 16384 = 0 or id > 65535, 'cach stone', 'stone') "
                "from chunk where id > ?1 and id <= ?2",
                (last, count, headings),
            )
            connection.execute("update owner set generation = generation + 1")
        store.local.build()
        assert used(store)
        found = store.lexical.match(query, 10, WEIGHTS)
        path = tmp_path / "index.db.words"
        kept = path.read_bytes()
        path.unlink()
        with closing(SqliteStore.open(str(tmp_path / "index.db"))) as other:
            expected = other.lexical.match(query, 10, WEIGHTS)
        path.write_bytes(kept)
        assert found.ids.tolist() == expected.ids.tolist()
        assert found.scores.tolist() == expected.scores.tolist()
        holding = {1 << 14, 1 << 15, 3 << 14, 1 << 16, count}
        assert holding == {*store.lexical.match(words("cache"), 10, WEIGHTS).ids.tolist()}
    store.close()


def test_a_change_of_metadata_alone_is_followed(filled: SqliteStore) -> None:
    query = Query("", (("cach",),), filter=Filter(metadata={"colour": "blue"}))
    for again in (False, True):
        put = document(5, "cache", 50_000)
        put = replace(put, document=replace(put.document, metadata={"colour": "blue", "again": again}))
        filled.catalog.write(Placed("c", put))
        assert used(filled)
        assert len(filled.lexical.match(query, 5, WEIGHTS)) == 2


def test_what_is_new_is_added_without_reading_the_tables(filled: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: apsw.Connection) -> None:
        raise AssertionError("all of the tables was read")

    monkeypatch.setattr("rifflux.store.sqlite.lexical.words_build.from_tables", fail)
    filled.of("new").catalog.write(Placed("c", document(1, "new zebra words", 70_000)))
    filled.of("ann").catalog.write(Placed("c", document(2, "river cache stone", 80_000)))
    filled.catalog.write(Removal("c", ["d1", "d2"]))
    expected = answers_by_tables(filled, QUERY, (*ALL, "new"))
    assert answers(filled, QUERY, (*ALL, "new")) == expected
    filled.local.build()
    snapshot = index_of(filled)
    assert used(filled)
    assert snapshot._open
    assert not snapshot._open.fresh.chunks
    assert answers(filled, QUERY, (*ALL, "new")) == expected


def test_nothing_of_a_user_who_is_erased_stays_in_it(filled: SqliteStore) -> None:
    filled.of("eve").catalog.write(Placed("c", document(1, "unheardof", 70_000)))
    filled.local.build()
    place = index_of(filled).place
    assert b"unheardof" in place.read_bytes()
    Registry(filled).erase("eve")
    assert not place.exists()
    expected = answers(filled, QUERY, ALL)
    filled.local.build()
    assert b"unheardof" not in place.read_bytes()
    assert answers(filled, QUERY, ALL) == expected


_KILLED = """
import os, sys
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection import derived
from rifflux.store.sqlite.lexical import words_build, words_file
from rifflux.store import Placed
from rifflux.testing import change

store = SqliteStore.open(sys.argv[1])
def dead(*_): os.kill(os.getpid(), 9)
parts = {"reading": (words_build, "_sections"), "writing": (words_file, "_padded"), "put": (derived, "_replace")}
module, name = parts[sys.argv[2]]
store.catalog.write(Placed("c", change("new", "fresh cache")))
setattr(module, name, dead)
store.local.build()
"""


@pytest.mark.parametrize("moment", ["reading", "writing", "put"])
def test_a_build_that_is_killed_harms_nothing(filled: SqliteStore, tmp_path: Path, moment: str) -> None:
    path = copied(filled, tmp_path)
    done = subprocess.run([sys.executable, "-c", _KILLED, str(path), moment], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    store = SqliteStore.open(str(path))
    expected = answers_by_tables(store, words("cache fresh"), ALL)
    for _ in range(2):
        assert answers(store, words("cache fresh"), ALL) == expected
        store.local.build()
    assert store.check() == []
    store.close()


_WRITER = """
import sys
from rifflux.store import Placed
from rifflux.store.sqlite import SqliteStore
from rifflux.testing import change

store = SqliteStore.open(sys.argv[1])
store.catalog.write(Placed("c", change("new", "fresh cache")))
store.local.build()
store.close()
"""


def test_what_another_process_built_is_seen(filled: SqliteStore, tmp_path: Path) -> None:
    path = copied(filled, tmp_path)
    store = SqliteStore.open(str(path))
    assert len(store.lexical.match(words("fresh"), 10, WEIGHTS)) == 0
    subprocess.run([sys.executable, "-c", _WRITER, str(path)], check=True)
    assert len(store.lexical.match(words("fresh"), 10, WEIGHTS)) == 1
    assert store.local.troubles() == []
    store.close()


def test_whoever_cannot_write_searches_all_the_same(
    filled: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(filled, QUERY, ALL)
    path = copied(filled, tmp_path)
    for without in (False, True):
        if without:
            (tmp_path / "index.db.words").unlink()
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda *_: False)
            store = SqliteStore.open(str(path))
        assert store.read_only
        assert answers(store, QUERY, ALL) == expected
        assert used(store) is not without
        store.local.build()
        store.close()


def test_two_that_build_at_once_both_get_it(filled: SqliteStore, tmp_path: Path) -> None:
    path = copied(filled, tmp_path)
    (tmp_path / "index.db.words").unlink()
    stores = [SqliteStore.open(str(path)) for _ in range(2)]
    threads = [threading.Thread(target=store.local.build) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        assert len(store.lexical.match(words("cache"), 5, WEIGHTS)) == 5
        assert used(store)
        store.close()


# By itself


def test_an_index_that_is_no_longer_small_gets_one_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_index, "LEAST", 3)
    path = tmp_path / "index.db"
    store = SqliteStore.open(str(path))
    store.catalog.write(Placed("c", change("a", "one", "two")))
    store.close()
    assert not (tmp_path / "index.db.words").exists()
    store = SqliteStore.open(str(path))
    store.catalog.write(Placed("c", change("b", "three")))
    store.close()
    assert (tmp_path / "index.db.words").is_file()


def test_it_waits_for_the_end_of_a_long_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_index, "LEAST", 3)
    monkeypatch.setattr("rifflux.store.sqlite.connection.derived.PAUSE", 0.01)
    store, place = SqliteStore.open(str(tmp_path / "index.db")), tmp_path / "index.db.words"
    with store.records.lease("read"):
        store.catalog.write(Placed("c", change("a", "one", "two", "three", "four")))
        time.sleep(0.2)
        assert not place.exists()
    eventually(place.exists)
    store.close()


def test_it_is_made_again_once_enough_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_index, "FEW_FRESH", 2)
    monkeypatch.setattr("rifflux.store.sqlite.connection.derived.PAUSE", 0.01)
    store = SqliteStore.open(str(tmp_path / "index.db"))
    store.local.build()
    index = index_of(store)
    before = index.place.stat().st_ino
    store.catalog.write(Placed("c", change("a", "one")))
    assert used(store)
    store.catalog.write(Placed("c", change("b", "two", "three")))
    eventually(lambda: index.place.stat().st_ino != before)
    assert len(store.lexical.match(words("one two three"), 9, WEIGHTS)) == 3
    store.close()


def test_damage_that_a_search_finds_is_mended_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rifflux.store.sqlite.connection.derived.READER_PAUSE", 0.0)
    store = SqliteStore.open(str(tmp_path / "index.db"))
    store.catalog.write(Placed("c", change("a", "cache")))
    store.local.build()
    index_of(store).place.write_bytes(b"no words")
    assert len(store.lexical.match(words("cache"), 10, WEIGHTS)) == 1
    eventually(lambda: used(store))
    assert (store.local.troubles(), store.check()) == ([], [])
    store.close()


def test_threads_that_ask_at_once_are_answered_alike(filled: SqliteStore) -> None:
    asked = [words(f"{word} river {other} {place}") for place, (word, other) in enumerate(pairwise(VOCABULARY * 40))]
    expected = [answers_by_tables(filled, query, ("",)) for query in asked[:20]]
    lexical = filled.of("").lexical
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    with ThreadPoolExecutor(8) as pool:
        counts = [*pool.map(lambda place: lexical.document_frequencies(["river", f"none{place}"]), range(5000))]
    sys.setswitchinterval(interval)
    assert counts == [counts[0]] * len(counts)
    assert [answers(filled, query, ("",)) for query in asked[:20]] == expected


def test_two_that_follow_at_once_see_each_what_was_written_before_they_looked(
    filled: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first saw one change, the second that and another: it is not answered from what the first made."""
    another = SqliteStore.open(filled.view.engine.location)
    both = words("platypus")
    assert filled.lexical.match(both, 5, WEIGHTS).ids.tolist() == []
    real = touched
    read = {name: threading.Event() for name in ("first", "second")}
    go_on = {name: threading.Event() for name in ("first", "second")}

    def slowly(*arguments: Any) -> list[int]:
        found = real(*arguments)
        name = threading.current_thread().name
        if name in read:
            read[name].set()
            assert go_on[name].wait(60)
        return found

    found: dict[str, list[int]] = {}

    def ask() -> None:
        found[threading.current_thread().name] = filled.lexical.match(both, 5, WEIGHTS).ids.tolist()

    monkeypatch.setattr(f"{words_index.__name__}.touched", slowly)
    threads = [threading.Thread(target=ask, name=name) for name in read]
    try:
        for number, thread in enumerate(threads, 1):
            another.catalog.write(Placed("c", document(900 + number, "platypus", 10**9)))
            thread.start()
            assert read[thread.name].wait(60)
        for thread in threads:
            go_on[thread.name].set()
            thread.join()
    finally:
        for event in go_on.values():
            event.set()
        another.close()
    assert [len(found[name]) for name in read] == [2, 4], "each document has two chunks"
    assert len(filled.lexical.match(both, 5, WEIGHTS).ids) == 4


GIVEN_BACK = """
import sys
from contextlib import closing
from pathlib import Path
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection import derived

if sys.argv[2] == "kept":
    derived.give_back = lambda: None
with closing(SqliteStore.open(sys.argv[1])) as store:
    store.local.build()
    assert Path(sys.argv[1] + ".words").stat().st_size > derived.LARGE
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    print(sum(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")))
"""


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs what Linux tells of memory")
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library cannot give memory back")
def test_the_memory_of_a_build_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    store = SqliteStore.open(str(path))
    store.catalog.write(Placed("c", change("a", "river", first_id=1)))
    connection = store.view.engine.connection
    with connection:
        connection.execute(
            "with recursive each (id) as (select 2 union all select id + 1 from each where id < 20000) "
            "insert into chunk (id, uid, document, position, headings, text, span_start, span_end, hash, length) "
            "select id, id, 1, id, '[]', '', 0, 0, id, 40 from each"
        )
        rows = [(id, " ".join(f"w{id * each % 4999}" for each in range(1, 41))) for id in range(2, 20001)]
        connection.executemany("insert into chunk_terms (rowid, title, headings, body) values (?, '', '', ?)", rows)
    store.close()
    memory = {}
    for way in ("kept", "given back"):
        path.with_name("index.db.words").unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", GIVEN_BACK, str(path), way], capture_output=True, text=True, check=True
        )
        memory[way] = int(done.stdout)
    assert memory["given back"] < memory["kept"] - 10_000
