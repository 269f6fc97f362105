"""A folder of files, and agents of a real server over each transport."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agents import Agent, over_http, over_stdio, write_files


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with `FILES`."""
    folder = tmp_path / "files"
    write_files(folder)
    return folder


@pytest.fixture(scope="module", params=[over_stdio, over_http], ids=["stdio", "http"])
def agent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent of a real server over each transport; its files are indexed."""
    files = tmp_path_factory.mktemp("served") / "files"
    write_files(files)
    with request.param(files, files / ".rifflux" / "index.db") as agent:
        agent.ask("reindex")
        yield agent
