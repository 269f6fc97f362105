"""An index of works without vectors, and files of works to import into it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Index
from tests.support.reading import read_here

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _read_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    # The process that reads files has tests of its own.
    if request.path.stem != "test_sent":
        read_here(monkeypatch)


@pytest.fixture
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash:64") as index:
        yield index


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of JSON Lines from records, or of text."""

    def write(name: str, *content: dict[str, Any] | str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in content]
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return path

    return write
