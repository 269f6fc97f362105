"""What is looked up by id or key costs as much as what is found, however much the index holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from rifflux.store import DocumentChange, Placed, Selection, chunk_at, find_documents, holding
from rifflux.store.sqlite import SqliteStore
from rifflux.testing import MODEL, change
from rifflux.types import Filter, Ranking

IDS = np.array([1, 2], np.int64)
LOOKUPS: dict[str, Callable[[SqliteStore], object]] = {
    "hydrate": lambda store: store.catalog.hydrate(Ranking(IDS, np.zeros(2))),
    "chunk": lambda store: chunk_at(store.catalog, f"{1:016x}"),
    "chunks_of": lambda store: store.catalog.chunks_of("c", "a"),
    "find_documents": lambda store: find_documents(store.catalog, "c/a"),
    "listed": lambda store: [*store.catalog.documents(Selection(), after=("c", ""), most=10)],
    "document": lambda store: store.catalog.document("c", "a"),
    "vectors_of": lambda store: store.semantic.vectors_of(IDS),
    "vectors_by_hash": lambda store: store.semantic.vectors_by_hash([1, 2]),
    "facts": lambda store: store.catalog.facts(IDS),
    "passing": lambda store: store.catalog.passing(Filter(kinds=("text",)), IDS),
    "holding": lambda store: holding(store.lexical, ("words",), IDS),
    "document_frequencies": lambda store: store.lexical.document_frequencies(["words", "none"]),
    "setting": lambda store: store.records.setting("language"),
    "model": lambda store: store.semantic.model(),
}
#: What grows with the index. The word index is asked by its words, and has no other plan.
LARGE = ("chunk", "document", "document_text", "vector", "file")


@pytest.mark.parametrize("owner", ["", "ann"])
@pytest.mark.parametrize("name", LOOKUPS)
def test_a_lookup_goes_through_no_table(name: str, owner: str) -> None:
    store = SqliteStore.open(":memory:").of(owner)
    store.semantic.use_model(MODEL)
    store.catalog.write(Placed("c", change("a", "some words", "more words")))
    assert _gone_through(store, LOOKUPS[name]) == []


@pytest.mark.parametrize("owner", ["", "ann"])
def test_a_document_is_put_without_going_through_a_table(owner: str) -> None:
    store = SqliteStore.open(":memory:").of(owner)
    store.semantic.use_model(MODEL)
    first = change("a", "some words")
    store.catalog.write(Placed("c", first))
    store.semantic.put_vectors([first.chunks[0].chunk.id], [first.chunks[0].hash], np.ones((1, 2), np.float32))
    for texts in (("more words", "others"), ("more words", "further")):
        assert _gone_through(store, partial(_put, change("b", *texts))) == []


def _put(change: DocumentChange, store: SqliteStore) -> None:
    store.catalog.write(Placed("c", change))


def _gone_through(store: SqliteStore, work: Callable[[SqliteStore], object]) -> list[str]:
    """The steps of some work's statements that go through all of a large table, or all that an owner has in it."""
    connection = store.view.engine.connection
    asked: list[tuple[str, Any]] = []
    connection.exec_trace = lambda _cursor, statement, bound: not asked.append((statement, bound))
    work(store)
    connection.exec_trace = None
    steps = [
        str(step)
        for statement, bound in asked
        if statement.lstrip().startswith(("select", "insert", "update", "delete")) and not statement.endswith("limit 1")
        for *_, step in connection.execute(f"explain query plan {statement}", bound).fetchall()
    ]
    assert steps
    return [
        step
        for step in steps
        if (step.startswith("SCAN ") and step.split()[1] in LARGE)
        or step.endswith(("(owner=?)", "vector_model (model=? AND owner=?)"))
    ]


# Vectors are looked for by hash only to be written.
@pytest.mark.parametrize("name", sorted(LOOKUPS.keys() - {"vectors_by_hash"}))
def test_a_lookup_of_several_owners_goes_through_no_table(name: str) -> None:
    store = SqliteStore.open(":memory:")
    store.semantic.use_model(MODEL)
    for number, owner in enumerate(("", "ann", "bob")):
        store.of(owner).catalog.write(Placed("c", change("a", "some words", "more words", first_id=10 * number + 1)))
    assert _gone_through(store.of("", "ann", "bob"), LOOKUPS[name]) == []
