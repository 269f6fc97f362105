"""An index of the pages of a test module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rifflux
from rifflux import Index


@pytest.fixture(scope="module")
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Yield an index of the Markdown files that the module's `PAGES` names."""
    folder = tmp_path_factory.mktemp("pages")
    for name, text in request.module.PAGES.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    with rifflux.open(":memory:") as index:
        index.add(folder)
        yield index
