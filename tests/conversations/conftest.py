"""An index with the conversations of one user."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rifflux
from rifflux import Scope
from rifflux.conversations import Conversations
from tests.support.reading import read_here

#: Tests of the process that reads exports, and of what it takes.
APART = "test_sent", "test_export"


@pytest.fixture(autouse=True)
def _read_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.path.stem not in APART:
        read_here(monkeypatch)


@pytest.fixture
def index() -> Iterator[rifflux.Index]:
    with rifflux.open(":memory:", model="hash:32") as index:
        yield index


@pytest.fixture
def conversations(index: rifflux.Index) -> Conversations:
    return index.scoped(Scope("ann")).conversations
