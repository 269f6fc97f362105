"""What the tests of a service share: its users' tokens, and a model that fails whatever it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.embedding_server import embedding_server
from tests.support.server import tokens_of


@pytest.fixture(scope="session")
def failing() -> Iterator[dict[str, str]]:
    """Settings with a model that fails: what a service does without vectors must not depend on it."""
    with embedding_server() as endpoint:
        endpoint.mode = "fails"
        yield {"RIFFLUX_MODEL": endpoint.spec}


@pytest.fixture(scope="module")
def tokens(run: Any) -> dict[str, str]:
    """A token of two users and of an administrator, for a service on `index.db`."""
    return tokens_of(run, ann="user", bob="user", root="admin")
