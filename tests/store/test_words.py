"""The word index beside the database: FTS5's answers after every change, and whatever happens to its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rifflux.store.base import FieldWeights
from rifflux.store.sqlite import SqliteStore
from rifflux.testing import StoreContract
from rifflux.types import Ids, Query, Ranking

WEIGHTS = FieldWeights()


class _Following(SqliteStore):
    """Brings its word index up to date before it answers, so that it answers alone."""

    def match(self, query: Query, limit: int, weights: FieldWeights) -> Ranking:
        if not self._engine.connection.in_transaction:
            self.accelerate()
        return super().match(query, limit, weights)

    def match_place(self, query: Query, ids: Ids, weights: FieldWeights) -> tuple[int, int, float] | None:
        self.accelerate()
        return super().match_place(query, ids, weights)


class TestUpToDate(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SqliteStore]:
        store = _Following.open(str(tmp_path / "index.db"))
        yield store
        store.close()


class TestBehind(StoreContract):
    """Nothing that the store is given is in the word index: it was built when there was nothing."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
        monkeypatch.setattr("rifflux.store.sqlite.keeper.PAUSE", 60.0)
        store = SqliteStore.open(str(tmp_path / "index.db"))
        store.accelerate()
        yield store
        store.close()
