"""The small collection in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.collection import write_collection


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the small collection."""
    return write_collection(tmp_path / "small")
