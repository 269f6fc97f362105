"""How many statements a search costs."""

from __future__ import annotations

from pathlib import Path

import pytest

import rifflux
from rifflux.store.sqlite import SqliteStore
from rifflux.types import Document

#: A hybrid search over files that have changed nothing since the last one.
MOST = 12


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
def test_a_search_asks_the_database_a_few_times(tmp_path: Path, mode: str) -> None:
    with rifflux.open(tmp_path / "index.db") as index:
        index.add(*(Document(f"d{number}", f"The heron number {number} stands in the river.") for number in range(30)))
        index.search("heron river", mode=mode)
        asked: list[str] = []
        assert isinstance(index._view.store, SqliteStore)
        index._view.store.view.engine.connection.exec_trace = lambda _cursor, sql, _bound: not asked.append(sql)
        index.search("river heron", mode=mode)
        assert 0 < len(asked) <= MOST
