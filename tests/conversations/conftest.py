"""An index with the conversations of one user."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rifflux
from rifflux import Scope
from rifflux.conversations import Conversations


@pytest.fixture
def index() -> Iterator[rifflux.Index]:
    with rifflux.open(":memory:", model="hash:32") as index:
        yield index


@pytest.fixture
def conversations(index: rifflux.Index) -> Conversations:
    return index.scoped(Scope("ann")).conversations
