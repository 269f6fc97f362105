"""The word index beside the database: FTS5's answers after every change, and whatever happens to its files."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import Cure, OutOfScope
from rifflux.store import DocumentChange, FieldWeights, Store
from rifflux.store.sqlite import SqliteStore
from rifflux.testing import StoreContract, change, words
from rifflux.types import Filter, Query, Ranking
from tests.support.commands import PATIENCE
from tests.support.exploring import examples

WEIGHTS = FieldWeights()


class _Following:
    """The lexical role with a word index that is brought up to date before it answers, so that it answers alone."""

    def __init__(self, store: SqliteStore) -> None:
        self._store, self._lexical = store, store.lexical

    def match(self, query: Query, limit: int, weights: FieldWeights, **options: Any) -> Ranking:
        if not self._store.view.engine.connection.in_transaction:
            SqliteStore(self._store.database).accelerate()
        return self._lexical.match(query, limit, weights, **options)

    def __getattr__(self, name: str) -> object:
        return getattr(self._lexical, name)


class TestUpToDate(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SqliteStore]:
        store = SqliteStore.open(str(tmp_path / "index.db")).with_roles(lexical=_Following)
        yield store
        store.close()


class TestView(StoreContract):
    """An owner among others, each with a word index."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
        monkeypatch.setattr("rifflux.store.sqlite.lexical.word_index.LEAST_CHUNKS", 0)
        monkeypatch.setattr("rifflux.store.sqlite.connection.derived.PAUSE", 60.0)
        store = SqliteStore.open(str(tmp_path / "index.db"))
        for number, owner in enumerate(("", "bob")):
            put = change("a", "text of cache rivers one two", title="cache", first_id=(number + 1) * 10**12)
            store.of(owner).catalog.put("c", put)
        yield store.with_roles(lexical=_Following).of("ann")
        store.close()

    def test_a_store_in_use_is_sound(self, store: Store) -> None:
        with pytest.raises(OutOfScope):
            store.check()


class TestBehind(StoreContract):
    """Nothing that the store is given is in the word index: it was built when there was nothing."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
        monkeypatch.setattr("rifflux.store.sqlite.connection.derived.PAUSE", 60.0)
        store = SqliteStore.open(str(tmp_path / "index.db"))
        store.accelerate()
        yield store
        store.close()


# The same answers

VOCABULARY = ("cache", "queue", "river", "rivers", "stone", "c++", "h^1", "naïve", "re-use", "40", "zebra")
KINDS = ("note", "mail", "code")

texts = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12).map(" ".join)
clauses = st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=2).map(tuple), max_size=3).map(tuple)
filters = st.builds(
    Filter,
    paths=st.sampled_from([(), ("a/**",), ("*.md",), ("a/*.txt", "b/"), ("a/b/3.md",), ("**",), ("?/*", "*3*")]),
    kinds=st.sampled_from([(), ("note",), ("mail", "code", "none")]),
    since=st.sampled_from([None, "2024-01-10"]),
    until=st.sampled_from([None, "2024-01-20", "2024"]),
    metadata=st.dictionaries(
        st.sampled_from(["year", "tags", "odd", 'quo"te', "back\\slash"]),
        st.sampled_from([1, 2.0, True, "1", "red", ["red", 3], None, 2**70, '["x"]', "é"]),
        max_size=2,
    ),
    documents=st.sampled_from([(), (), ("d3", "d7", "none")]),
    namespaces=st.sampled_from([(), (), ("c",), ("other", "none")]),
)
#: Prefixes of more than one term.
_OF_SEVERAL = ("c", "zz")
queries = st.builds(
    Query,
    st.just(""),
    clauses=clauses,
    required=clauses,
    excluded=clauses.map(lambda each: each[:1]),
    variants=clauses,
    prefixes=st.sampled_from([(), (), ("riv",), _OF_SEVERAL]),
    filter=filters,
)


def document(number: int, text: str, last_id: int = 1000) -> DocumentChange:
    """A document whose fields follow from its number."""
    metadata = {
        "year": [number % 3, 2.0, True][number % 3],
        "tags": [["red", number], "red", [], None][number % 4],
        "odd": [{"x": "é"}, [["x"]], 2**70][number % 3],
        'quo"te': 1,
        "back\\slash": 1,
    }
    date = None if number % 5 == 0 else f"2024-01-{number % 28 + 1:02}"
    path = f"{'ab'[number % 2]}/{'b/' * (number % 3 == 0)}{number}.{('md', 'txt')[number % 2]}"
    put = change(
        f"d{number}", text, kind=KINDS[number % 3], created_at=date, metadata=metadata, first_id=last_id - 7 * number
    )
    return replace(put, path=path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A hundred short documents, the length of which Tantivy does not round, all of them in the word index."""
    generator = random.Random(5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rifflux.store.sqlite.lexical.word_index.LEAST_CHUNKS", 100)
        store = SqliteStore.open(str(tmp_path_factory.mktemp("words") / "index.db"))
        for view, last_id in ((store, 1000), (store.of("ann"), 10**6)):
            with view.transaction():
                for number in range(100):
                    text = " ".join(generator.choices(VOCABULARY, k=generator.randint(1, 12)))
                    view.catalog.put("c" if number % 4 else "other", document(number, text, last_id))
        store.accelerate()
    yield store
    store.close()


def exactly(store: SqliteStore, query: Query, limit: int) -> Ranking:
    return store.lexical.match(query, limit, WEIGHTS, exact=True)


@examples(300)
@given(query=queries, limit=st.sampled_from([3, 200]), owner=st.sampled_from(["", "ann"]))
def test_it_ranks_as_the_tables_do_whatever_is_asked(filled: SqliteStore, query: Query, limit: int, owner: str) -> None:
    view = filled.of(owner)
    found, expected = view.lexical.match(query, limit, WEIGHTS), exactly(view, query, limit)
    beside = bool(query.required and (query.clauses or query.variants or query.prefixes))
    phrases = (*query.clauses, *query.required, *query.variants)
    if query.prefixes == _OF_SEVERAL or beside or any(len(set(phrase)) < len(phrase) for phrase in phrases):
        # Each term that a prefix stands for is weighed by itself; the tables count them together. FTS5 does not always
        # count an alternative beside what is required, if it stands behind in the postings. And the two count
        # differently how often a phrase occurs that overlaps itself, such as a word said twice.
        assert limit == 3 or set(found.ids) == set(expected.ids)
        return
    assert found.scores == pytest.approx(expected.scores, rel=1e-4)
    if limit == 200:
        assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(
            dict(zip(expected.ids.tolist(), expected.scores.tolist(), strict=True)), rel=1e-4
        )


@pytest.mark.parametrize("owner", ["", "ann"])
def test_it_answers_without_the_tables(filled: SqliteStore, tmp_path: Path, owner: str) -> None:
    path = _copy(filled, tmp_path)
    connection = apsw.Connection(str(path))
    connection.execute("delete from chunk_terms; delete from owned_terms")
    connection.close()
    store = SqliteStore.open(str(path))
    query = Query("", (("cach",), ("zebra",)))
    assert len(exactly(store.of(owner), query, 10)) == 0
    assert len(store.of(owner).lexical.match(query, 10, WEIGHTS)) == 10
    assert store.troubles() == []
    store.close()


def _copy(store: SqliteStore, folder: Path) -> Path:
    """The index and its word index somewhere else, as a person would copy them."""
    location = Path(store.view.engine.location)
    store.view.engine.connection.execute("pragma wal_checkpoint(truncate)")
    shutil.copy(location, folder / "index.db")
    for place in location.parent.glob("index.db.words*"):
        if place.is_dir():
            shutil.copytree(place, folder / place.name)
    return folder / "index.db"


operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), texts),
        st.tuples(st.just("remove"), st.integers(0, 9), st.just("")),
        st.tuples(st.just("follow"), st.just(0), st.just("")),
    ),
    max_size=14,
)


@pytest.mark.slow
@examples(12)
@given(steps=operations)
def test_it_finds_what_there_is_after_every_change(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    store = SqliteStore.open(str(tmp_path_factory.mktemp("words") / "index.db"))
    with store.transaction():
        for number in range(8):
            store.catalog.put("c", document(number, f"cache {VOCABULARY[number]}"))
    store.accelerate()
    for step, number, text in steps:
        if step == "put":
            store.catalog.put("c", document(number, text))
        elif step == "remove":
            store.catalog.remove("c", [f"d{number}"])
        else:
            store.accelerate()
        for query in (words("cache river c++"), Query("", prefixes=("riv",)), words("cache", filter=_NOTES)):
            assert set(store.lexical.match(query, 50, WEIGHTS).ids) == set(exactly(store, query, 50).ids)
    store.close()


_NOTES = Filter(kinds=("note",), since="2024-01-02")


def test_a_change_of_metadata_alone_is_followed(filled: SqliteStore, tmp_path: Path) -> None:
    store = SqliteStore.open(str(_copy(filled, tmp_path)))
    query = Query("", (("cach",),), filter=Filter(metadata={"colour": "blue"}))
    for follow in (False, True):
        put = document(5, "cache")
        put = replace(put, document=replace(put.document, metadata={"colour": "blue", "again": follow}))
        store.catalog.put("c", put)
        if follow:
            store.accelerate()
        assert store.lexical.match(query, 5, WEIGHTS).ids.tolist() == [put.chunks[0].chunk.id]
    store.close()


# What happens to its files


def _damages() -> dict[str, Callable[[Path], object]]:
    def each(pattern: str, do: Callable[[Path], object]) -> Callable[[Path], object]:
        return lambda place: [do(path) for path in place.glob(pattern)]

    def cut(path: Path) -> None:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    def scramble(path: Path) -> None:
        path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))

    return {
        "it is a file": lambda place: (shutil.rmtree(place), place.write_text("?")),
        "its terms are cut": each("*.term", cut),
        "its postings are gone": each("*.idx", Path.unlink),
        "its places are garbage": each("*.pos", scramble),
        "its list of files is garbage": each("meta.json", scramble),
        "its stamp is garbage": each("*.stamp", scramble),
    }


@pytest.mark.parametrize("damage", _damages().values(), ids=_damages())
def test_whatever_is_damaged_the_tables_answer_and_it_can_be_built_anew(
    filled: SqliteStore, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    path = _copy(filled, tmp_path)
    damage(tmp_path / "index.db.words")
    store = SqliteStore.open(str(path))
    query = words("cache river stone")
    expected = exactly(store, query, 50)
    assert store.lexical.match(query, 50, WEIGHTS).ids.tolist() == expected.ids.tolist()
    (notice,) = store.troubles()
    assert (notice.text, notice.cure) == ("the word index is not used, it is damaged", Cure.BUILD)
    assert any(problem.cure is Cure.BUILD for problem in store.check())
    store.accelerate()
    assert store.lexical.match(query, 50, WEIGHTS).scores == pytest.approx(expected.scores, rel=1e-4)
    assert store.troubles() == []
    assert store.check() == []
    store.close()


def test_a_changed_byte_is_found_by_checking(filled: SqliteStore, tmp_path: Path) -> None:
    path = _copy(filled, tmp_path)
    (postings,) = (tmp_path / "index.db.words").glob("*.idx")
    data = bytearray(postings.read_bytes())
    data[10] ^= 1
    postings.write_bytes(data)
    store = SqliteStore.open(str(path))
    assert [postings.name in problem.what for problem in store.check()] == [True]
    store.close()


def test_the_word_index_of_another_database_is_not_used(filled: SqliteStore, tmp_path: Path) -> None:
    store = SqliteStore.open(str(tmp_path / "index.db"))
    store.catalog.put("c", change("a", "cache"))
    store.accelerate()
    shutil.rmtree(tmp_path / "index.db.words")
    shutil.copytree(f"{filled.view.engine.location}.words", tmp_path / "index.db.words")
    assert len(store.lexical.match(words("cache river"), 10, WEIGHTS)) == 1
    store.close()


_KILLED = """
import os, sys, tantivy
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.lexical import word_index_build as words_build
from rifflux.testing import change

store = SqliteStore.open(sys.argv[1])
def dead(*_): os.kill(os.getpid(), 9)
if sys.argv[2] == "adding":
    words_build.entry = dead
elif sys.argv[2] == "committed":
    words_build.stamp_file = dead
else:
    words_build.Upkeep._sweep = dead
store.catalog.put("c", change("new", "fresh cache"))
store.accelerate()
"""


@pytest.mark.parametrize("moment", ["adding", "committed", "covered"])
def test_a_build_that_is_killed_harms_nothing(filled: SqliteStore, tmp_path: Path, moment: str) -> None:
    path = _copy(filled, tmp_path)
    done = subprocess.run([sys.executable, "-c", _KILLED, str(path), moment], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    store = SqliteStore.open(str(path))
    query = words("cache fresh")
    expected = exactly(store, query, 50)
    assert len(expected) > 1
    for _ in range(2):
        assert set(store.lexical.match(query, 50, WEIGHTS).ids) == set(expected.ids)
        store.accelerate()
    assert store.check() == []
    store.close()


# Several at once


_WRITER = """
import sys
from rifflux.store.sqlite import SqliteStore
from rifflux.testing import change

store = SqliteStore.open(sys.argv[1])
store.catalog.put("c", change("new", "fresh cache"))
store.accelerate()
store.close()
"""


def test_what_another_process_built_is_seen(filled: SqliteStore, tmp_path: Path) -> None:
    path = _copy(filled, tmp_path)
    store = SqliteStore.open(str(path))
    assert len(store.lexical.match(words("fresh"), 10, WEIGHTS)) == 0
    subprocess.run([sys.executable, "-c", _WRITER, str(path)], check=True)
    assert len(store.lexical.match(words("fresh"), 10, WEIGHTS)) == 1
    assert store.troubles() == []
    store.close()


def test_whoever_cannot_write_searches_all_the_same(
    filled: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _copy(filled, tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    store = SqliteStore.open(str(path))
    assert store.read_only
    query = words("cache river")
    assert store.lexical.match(query, 50, WEIGHTS).scores == pytest.approx(exactly(store, query, 50).scores, rel=1e-4)
    store.accelerate()
    store.close()


def test_two_that_build_at_once_both_get_it(filled: SqliteStore, tmp_path: Path) -> None:
    path = _copy(filled, tmp_path)
    shutil.rmtree(tmp_path / "index.db.words")
    stores = [SqliteStore.open(str(path)) for _ in range(2)]
    threads = [threading.Thread(target=store.accelerate) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        assert len(store.lexical.match(words("cache"), 5, WEIGHTS)) == 5
        assert store.troubles() == []
        store.close()


def test_a_large_index_gets_one_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rifflux.store.sqlite.lexical.word_index.LEAST_CHUNKS", 3)
    path = tmp_path / "index.db"
    store = SqliteStore.open(str(path))
    store.catalog.put("c", change("a", "one", "two"))
    store.close()
    assert not (tmp_path / "index.db.words").exists()
    store = SqliteStore.open(str(path))
    store.catalog.put("c", change("b", "three"))
    store.close()
    assert (tmp_path / "index.db.words").is_dir()


def test_it_waits_for_the_end_of_a_long_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rifflux.store.sqlite.lexical.word_index.LEAST_CHUNKS", 3)
    monkeypatch.setattr("rifflux.store.sqlite.connection.derived.PAUSE", 0.01)
    store, place = SqliteStore.open(str(tmp_path / "index.db")), tmp_path / "index.db.words"
    with store.registry.claim("read"):
        store.catalog.put("c", change("a", "one", "two", "three", "four"))
        time.sleep(0.2)
        assert not place.exists()
    deadline = time.monotonic() + PATIENCE
    while not place.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert place.is_dir(), "nothing was built after it"
    store.close()


def test_damage_that_a_search_finds_is_mended_in_the_background(
    filled: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rifflux.store.sqlite.connection.derived.READER_PAUSE", 0.0)
    path = _copy(filled, tmp_path)
    for place in (tmp_path / "index.db.words").glob("*.pos"):
        place.write_bytes(bytes(len(data := place.read_bytes()) - 40) + data[-40:])
    store = SqliteStore.open(str(path))
    query = Query("", (("cach", "river"),))
    assert len(store.lexical.match(query, 10, WEIGHTS)) == len(exactly(store, query, 10))
    assert len(store.troubles()) == 1
    deadline = time.monotonic() + PATIENCE
    while store.troubles() and time.monotonic() < deadline:
        time.sleep(0.05)
        store.lexical.match(query, 10, WEIGHTS)
    assert store.troubles() == []
    assert store.check() == []
    store.close()
