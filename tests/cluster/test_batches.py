"""What is written is seen whole or not at all: by readers who never stop, and after writers that were killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import rifflux
from rifflux.errors import Busy
from rifflux.store import Placed, by_words
from rifflux.store.lexical import DEFAULT
from rifflux.store.opensearch import OpenSearchStore, batches
from rifflux.store.opensearch.batches import ContentBatch
from rifflux.store.opensearch.filters import terms
from rifflux.testing import MODEL, change
from rifflux.types import Query

PARTS = 4


def version(number: int, key: str = "a") -> rifflux.Document:
    """Return a document of several passages, each of which says which version it is of."""
    parts = [f"# Part {part}\n\nheron {key} version{number} of part {part}\n" for part in range(PARTS)]
    return rifflux.Document(key, "\n".join(parts), kind="markdown")


def seen(index: rifflux.Index) -> dict[str, list[str]]:
    """Return the versions of the passages that a search finds, by document."""
    found: dict[str, list[str]] = defaultdict(list)
    for hit in index.search("heron", mode="lexical", top_k=50):
        found[hit.key] += [word for word in hit.text.split() if word.startswith("version")]
    return found


def store_of(index: rifflux.Index) -> OpenSearchStore:
    """Return the engine of an index."""
    store = index.admin.store
    assert isinstance(store, OpenSearchStore)
    return store


@pytest.fixture
def place(location: Callable[[], str]) -> str:
    return f"opensearch://{location()}"


@pytest.fixture
def index(place: str) -> Iterator[rifflux.Index]:
    with rifflux.open(place, model="hash:64") as index:
        yield index


def test_a_reader_who_never_stops_sees_documents_whole(index: rifflux.Index, place: str) -> None:
    """Between two looks of the reader, any number of versions may have been written."""
    keys = ("a", "b")
    index.add(*(version(0, key) for key in keys))
    enough = threading.Event()
    failed: list[BaseException] = []

    def replace() -> None:
        try:
            with rifflux.open(place, model="hash:64") as writer:
                number = 0
                while not enough.is_set():
                    number += 1
                    writer.add(*(version(number, key) for key in keys))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=replace)
    thread.start()
    versions: set[str] = set()
    try:
        while len(versions) < 4 and not failed:
            found = seen(index)
            assert {key: len(each) for key, each in found.items()} == dict.fromkeys(keys, PARTS)
            ((same,),) = {frozenset(each) for each in found.values()}
            versions.add(same)
    finally:
        enough.set()
        thread.join()
    assert not failed


KILLED = """
import os, signal, sys
import rifflux
from rifflux.store.opensearch import batches
from rifflux.store.opensearch.engine import ClusterIndex
from tests.cluster.test_batches import PARTS, version

batches.LEASE_SECONDS = 2.0
batches._ROWS = 1
call = ClusterIndex.call
written = 0

def killed(self, request, **arguments):
    global written
    answer = call(self, request, **arguments)
    written += request.__name__ == "bulk"
    if written == int(sys.argv[2]):
        self.client.indices.refresh(index=self.address.name)
        os.kill(os.getpid(), signal.SIGKILL)
    return answer

with rifflux.open(sys.argv[1], model="hash:64") as index:
    ClusterIndex.call = killed
    index.add(version(2))
"""


@pytest.mark.parametrize("requests", [2, PARTS + 3])
def test_what_a_killed_writer_left_is_seen_by_nobody(index: rifflux.Index, place: str, requests: int) -> None:
    index.add(version(1))
    command = [sys.executable, "-c", textwrap.dedent(KILLED), place, str(requests)]
    killed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with rifflux.open(place, model="hash:64") as other:
        for reader in (index, other):
            assert seen(reader) == {"a": ["version1"] * PARTS}
            document = reader.document("a")
            assert document
            assert document.text == version(1).text
            assert reader.status().chunks == PARTS
    # The next writer waits for the end of the lease.
    index.add(version(3, "b"))
    assert seen(index) == {"a": ["version1"] * PARTS, "b": ["version3"] * PARTS}
    index.add(version(2))
    assert seen(index) == {"a": ["version2"] * PARTS, "b": ["version3"] * PARTS}


def test_what_arrives_after_another_writer_went_on_counts_for_nobody(
    index: rifflux.Index, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster may carry out a delayed request of a writer that was given up."""
    index.add(version(1))
    store = store_of(index)
    (former,) = store.rows.scan("document", [terms("key", ["a"])])
    with monkeypatch.context() as patched:
        patched.setattr(batches, "LEASE_SECONDS", 0.0)
        late = ContentBatch.begin(store.rows)
    with rifflux.open(place, model="hash:64") as other:
        other.add(version(2, "b"))
        id = former.pop("_id")
        late.rows.write([late.replace(id), ("index", f"{id}.late", {**former, "batch": late.number})])
        with pytest.raises(Busy, match="try again"):
            late.publish()
        for reader in (index, other):
            assert seen(reader) == {"a": ["version1"] * PARTS, "b": ["version2"] * PARTS}
            assert reader.status().documents == 2


def test_what_fails_within_a_transaction_is_undone(index: rifflux.Index) -> None:
    index.add(version(1))
    store = store_of(index)
    with suppress(RuntimeError), store.transaction():
        index.add(version(2), version(2, "b"))
        assert seen(index) == {"a": ["version2"] * PARTS, "b": ["version2"] * PARTS}
        index.remove("a")
        raise RuntimeError
    assert seen(index) == {"a": ["version1"] * PARTS}


def test_a_passage_that_did_not_change_keeps_its_row(index: rifflux.Index) -> None:
    index.add(version(1))
    changed = version(1)
    index.add(rifflux.Document("a", changed.text.replace("version1 of part 0", "version2 of part 0"), kind="markdown"))
    assert sorted(seen(index)["a"]) == ["version1"] * (PARTS - 1) + ["version2"]
    rows = rows_of(index)
    assert sum("replaced" in row for row in rows) == 2
    assert len(rows) == PARTS + 1 + 2
    assert all(row["embedded"] for row in rows if row["type"] == "chunk")


def rows_of(index: rifflux.Index) -> list[dict[str, Any]]:
    """Return all rows of nobody's documents and chunks, visible or not."""
    store = store_of(index)
    store.engine.refresh()
    query = {"bool": {"filter": [terms("owner", [""]), terms("type", ["chunk", "document"])]}}
    found = store.engine.read("search", index=store.engine.address.name, body={"size": 1000, "query": query})
    return [each["_source"] for each in found["hits"]["hits"]]


def test_rows_that_nobody_can_see_are_deleted_by_later_batches(
    index: rifflux.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "KEPT_SECONDS", 0.0)
    store = store_of(index)
    index.add(version(1), version(1, "b"))
    with suppress(RuntimeError), store.transaction():
        index.add(version(9), version(9, "c"))
        raise RuntimeError
    index.remove("b")
    for number in (2, 3):
        index.add(version(number, "d"))
    rows = rows_of(index)
    assert len(rows) == 2 * (PARTS + 1) + PARTS + 1  # the former version of d is deleted by the next
    assert not any("version9" in row.get("body", "") for row in rows)
    assert seen(index) == {"a": ["version1"] * PARTS, "d": ["version3"] * PARTS}


def test_rows_of_any_number_of_owners_are_told_apart_by_one_condition(
    index: rifflux.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(index)
    for owner in ("ann", "ben"):
        mine = store.of(owner)
        for text in ("heron one", "heron two"):
            mine.catalog.write(Placed("c", change(owner, text)))
    with suppress(RuntimeError), mine.transaction():
        mine.catalog.write(Placed("c", change("ben", "heron nine")), Placed("c", change("b", "heron")))
        raise RuntimeError
    for most in (100, 0):
        monkeypatch.setattr(batches, "_MOST_ALIKE", most)
        both = store.of("ann", "ben", "nobody")
        assert both.totals().documents == 2
        found = both.catalog.hydrate(by_words(both, Query("", clauses=(("heron",),)), 9, DEFAULT))
        assert [each.text for each in found] == ["heron two", "heron two"]
        store.engine.caches.clear()


def test_more_owners_than_a_query_has_conditions_are_read_together(index: rifflux.Index) -> None:
    store = store_of(index)
    names = [f"user{number}" for number in range(300)]
    for name in names:
        store.of(name).catalog.write(Placed("c", change(name, "The heron.")))
    every = store.of(*names)
    assert every.totals().documents == len(names)
    assert len(by_words(every, Query("", clauses=(("heron",),)), 10, DEFAULT).ids) == 10
    assert index.admin.store.of(*names[:2]).totals().documents == 2


def test_what_a_transaction_has_read_nobody_changes_before_its_end(index: rifflux.Index, place: str) -> None:
    """Two servers that change different fields of a memory at once keep both changes."""
    saved = index.memories.add("The ferry leaves at nine", importance=9).memory
    begin = threading.Barrier(2)

    def change_all(name: str, values: list[Any]) -> None:
        with rifflux.open(place, model="hash:64") as other:
            begin.wait()
            for value in values:
                other.memories.edit(saved.id, **{name: value})

    texts = [f"The ferry leaves at {hour}" for hour in range(5)]
    weights = [1, 2, 3, 4, 5]
    with ThreadPoolExecutor(2) as servers:
        running = [servers.submit(change_all, "text", texts), servers.submit(change_all, "importance", weights)]
        for each in running:
            each.result()
    with rifflux.open(place, model="hash:64") as reader:
        found = reader.memories.get(saved.id)
    assert (found.text, found.importance, found.version) == (texts[-1], weights[-1], 11)


def test_a_vector_is_put_on_no_row_that_was_replaced_meanwhile(place: str, index: rifflux.Index) -> None:
    """Another process replaces chunks that wait for vectors: one keeps its text, one is of a batch that fails."""
    store = store_of(index)
    store.semantic.use_model(MODEL)
    former = [change(key, f"text of {key}", first_id=number) for number, key in enumerate("abc", start=1)]
    store.catalog.write(*(Placed("c", each) for each in former))
    ((*waiting,),) = store.semantic.pending(10)
    rows = store.rows.engine.chunk_rows.copy()
    with rifflux.open(place, model="hash:64") as other:
        catalog = store_of(other).catalog
        catalog.write(Placed("c", change("a", "text of a", first_id=1, metadata={"year": 3})))
        catalog.write(Placed("c", change("b", "another text", first_id=2)))
        with suppress(RuntimeError), store_of(other).transaction():
            catalog.write(Placed("c", change("c", "text of c", first_id=3, metadata={"year": 3})))
            raise RuntimeError
    vectors = np.array([(1, 0), (0, 1), (0.6, 0.8)], np.float32)
    ids = [each.id for each in waiting]
    assert store.semantic.put_vectors(ids, [each.hash for each in waiting], vectors) == 2
    assert list(store.semantic.vectors_of(np.array(ids, np.int64))) == [1, 3]
    assert [chunk.id for some in store.semantic.pending(10) for chunk in some] == [2]
    found = store.rows.get([rows["", id] for id in ids])
    assert [bool(found[rows["", id]]["embedded"]) for id in ids] == [False, False, True]
