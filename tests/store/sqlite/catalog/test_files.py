"""Files of a root are read in pages."""

from __future__ import annotations

import pytest

from rifflux.store import FileState, FileUpdate
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.catalog import catalog as module


def test_files_come_in_pages_without_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    store = SqliteStore.open(":memory:")
    paths = ["a", "a/b", "a/c", "a0", "b"]
    for owner in ("ann", "bob"):
        states = [FileState(path, 1, 2, owner) for path in reversed(paths)]
        store.of(owner).catalog.write(*(FileUpdate("/root", state, None) for state in states))
    ann = store.of("ann").catalog
    assert [file.path for file in ann.files("/root")] == paths
    assert [file.path for file in ann.files("/root", below="a")] == ["a", "a/b", "a/c"]
    assert [*ann.files("/other")] == []
    both = [(file.path, file.hash) for file in store.of("ann", "bob").catalog.files("/root")]
    assert sorted(both) == sorted((path, owner) for path in paths for owner in ("ann", "bob"))
    store.close()
