"""The facts of chunks are read once, and again when the content of the view changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rifflux.store import Placed, Removal
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.catalog import catalog
from rifflux.testing import change

IDS = np.array([1, 2], np.int64)


def test_facts_are_read_once_while_nothing_changes() -> None:
    store = SqliteStore.open(":memory:")
    store.catalog.write(Placed("c", change("a", "one", "two", title="First", first_id=1)))
    found = store.catalog.facts(IDS)
    again = store.catalog.facts(IDS[::-1])
    assert [*again] == [2, 1]
    assert again[1] is found[1]


@pytest.mark.parametrize("by_another", [False, True])
def test_facts_are_those_of_the_content_as_it_is_now(tmp_path: Path, by_another: bool) -> None:
    path = str(tmp_path / "index.db")
    store = SqliteStore.open(path)
    writer = SqliteStore.open(path) if by_another else store
    writer.catalog.write(Placed("c", change("a", "one", "two", title="First", first_id=1)))
    assert store.catalog.facts(IDS)[1].title == "First"
    writer.catalog.write(Placed("c", change("a", "one", "two", title="Second", first_id=1)))
    with store.memoized():
        assert store.catalog.facts(IDS)[1].title == "Second"
    writer.catalog.write(Removal("c", ["a"]))
    assert store.catalog.facts(IDS) == {}


def test_facts_beyond_what_is_cached_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "MOST_FACTS", 8)
    store = SqliteStore.open(":memory:")
    for number in range(30):
        store.catalog.write(Placed("c", change(f"d{number}", "one", title=f"Title {number}", first_id=number + 1)))
    ids = np.arange(1, 31)
    for some in (ids, ids[::3], ids[::-1], ids[5:9]):
        found = store.catalog.facts(some)
        assert [*found] == some.tolist()
        assert [each.title for each in found.values()] == [f"Title {id - 1}" for id in some.tolist()]


def test_facts_belong_to_their_owner() -> None:
    store = SqliteStore.open(":memory:")
    store.of("ann").catalog.write(Placed("c", change("a", "one", title="Hers", first_id=1)))
    assert store.of("ann").catalog.facts(IDS)[1].title == "Hers"
    assert store.catalog.facts(IDS) == {}
    assert store.of("bob").catalog.facts(IDS) == {}


def test_facts_within_a_transaction_are_those_it_wrote() -> None:
    store = SqliteStore.open(":memory:")
    store.catalog.write(Placed("c", change("a", "one", title="First", first_id=1)))

    def write_in_vain() -> None:
        with store.transaction():
            store.catalog.write(Placed("c", change("a", "one", title="Second", first_id=1)))
            assert store.catalog.facts(IDS)[1].title == "Second"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_in_vain()
    assert store.catalog.facts(IDS)[1].title == "First"
