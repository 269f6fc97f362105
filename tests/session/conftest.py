"""A folder of notes and an index to put them in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux import Index

NOTES = {
    "cache.md": "# Cache\n\nEntries of the cache live ten minutes.\n\n## Eviction\n\nThe oldest entry goes first.\n",
    "birds/heron.txt": "The heron stands in the river.",
    "birds/falcon.txt": "The falcon circles over the cliff.",
}

Write = Callable[[str, str], Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `NOTES`."""
    folder = tmp_path / "notes"
    for name, text in NOTES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An empty index."""
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        yield index
