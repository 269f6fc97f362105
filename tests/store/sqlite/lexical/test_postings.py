"""Postings of several owners say what the tables say, to the last digit, whatever changed since they were built."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rifflux.store import CollectionRecord, Grant, LogEntry, Placed
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.lexical import postings_index
from rifflux.testing import WEIGHTS, change
from rifflux.types import Filter, Query

OWNERS = ("", "ann", "bob", "eve")
SEEN = ("", "ann", "bob")
WORDS = [f"w{number}" for number in range(40)]
QUERIES = [
    Query("", (("w1",), ("w5",), ("w39",)), worths={("w5",): 2.0}, variants=(("w7",),)),
    Query("", (("w1", "w2"), ("w3",)), required=(("w0",),), excluded=(("w4",),)),
    Query("", (("w6",),), required=(("w0", "w1"),), prefixes=("w3",), filter=Filter(kinds=("note",))),
    Query("", (("none",), ("W1",), ("it's",), ("",))),
    Query("", prefixes=("zz", "w")),
]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """An index of four owners, small enough for the tables."""
    monkeypatch.setattr(postings_index, "LEAST", 10**9)
    store = SqliteStore.open(str(tmp_path / "index.db"))
    for number, owner in enumerate(OWNERS):
        put(store.of(owner), range(30), first=1000 * number)
    yield store
    store.close()


def put(store: SqliteStore, keys: range, first: int) -> None:
    chance = random.Random(first)
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    changes = []
    for key in keys:
        texts = [" ".join(chance.choices(WORDS, weights, k=chance.randint(1, 20))) for _ in range(2)]
        kind, title = chance.choice(("note", "text")), " ".join(chance.choices(WORDS, k=2))
        changes.append(Placed("c", change(str(key), *texts, title=title, kind=kind, first_id=first + 10 * key + 1)))
    store.catalog.put_all(changes)


def told(store: SqliteStore) -> list[Any]:
    """Return what the lexical role of three owners together answers."""
    lexical, found = store.united(SEEN).lexical, list[Any]()
    store.database.frequencies._values.clear()
    for query in QUERIES:
        ranking = lexical.match(query, 50, WEIGHTS)
        some = np.array([*ranking.ids[::3].tolist(), 3001, 10**9], np.int64)
        found += [ranking.ids.tolist(), ranking.scores.tolist(), lexical.bm25_of(query, some, WEIGHTS).tolist()]
        found += [sorted(lexical.holding(clause, ranking.ids).tolist()) for clause in query.clauses]
    frequencies = dict(lexical.document_frequencies([*WORDS, "none"]))
    return [*found, frequencies, dict(lexical.vocabulary("w1", 2, 3))]


def built(store: SqliteStore) -> postings_index.PostingsIndex:
    postings = store.database.postings
    assert postings
    postings.build()
    assert used(store)
    return postings


def used(store: SqliteStore) -> bool:
    postings = store.database.postings
    assert postings
    with store.united(SEEN).view.reading() as (connection, owners):
        return postings.seen(connection, owners) is not None


def by_tables(store: SqliteStore) -> list[Any]:
    """Return the same by the tables alone."""
    postings = store.database.postings
    assert postings
    postings.seen, seen = lambda *_: None, postings.seen  # type: ignore[method-assign]
    try:
        return told(store)
    finally:
        postings.seen = seen  # type: ignore[method-assign]


def test_they_say_what_the_tables_say(store: SqliteStore) -> None:
    expected = told(store)
    built(store)
    assert told(store) == expected


def test_they_follow_what_changes(store: SqliteStore) -> None:
    built(store)
    put(store.of("ann"), range(25, 40), first=7000)
    put(store.of("eve"), range(5), first=8000)
    store.of("bob").catalog.remove("c", ["3", "4"])
    new = change("0", "w0 w1 w2 w3", title="w9", first_id=9000)
    store.catalog.put("c", replace(new, path="elsewhere"))
    assert told(store) == by_tables(store)
    before = told(store)
    built(store)
    assert told(store) == before


def test_what_is_put_after_they_were_first_built_keeps_its_words(store: SqliteStore) -> None:
    built(store)
    put(store.of("new"), range(3), first=9000)
    store.of("ann").catalog.put("c", change("x", "w0 w1", first_id=9500))
    assert used(store)
    assert told(store) == by_tables(store)


def test_a_damaged_file_is_told_and_the_tables_answer(store: SqliteStore) -> None:
    postings = built(store)
    expected = told(store)
    with postings.place.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 64)
    postings._open = None
    assert told(store) == expected
    assert [problem for problem in store.check() if "postings" in problem.what]
    assert any("the file of postings is not used" in trouble.text for trouble in store.troubles())


def test_nothing_of_a_user_who_is_erased_stays_in_it(store: SqliteStore) -> None:
    postings = built(store)
    store.registry.erase("eve")
    assert not postings.place.exists()
    assert told(store) == by_tables(store)
    built(store)
    assert told(store) == by_tables(store)


def test_they_are_wanted_as_soon_as_something_is_shared(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings_index, "LEAST", 1)
    postings = store.database.postings
    assert postings
    assert postings not in store.database.wanted()
    record = CollectionRecord("ann", "ann", "notes", "", 0.0)
    store.registry.sharing.put(record)
    store.registry.sharing.share(record.owner, Grant("bob"), LogEntry("ann", "collection.share", ""))
    assert postings in store.database.wanted()
    store.accelerate()
    assert used(store)
