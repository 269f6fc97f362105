"""A model that hangs holds up the calls that wait for it, and no others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import rifflux
from rifflux import Document
from rifflux.models.guarded import PAUSE_S
from tests.support.agents import over_stdio, write_files
from tests.support.commands import PATIENCE
from tests.support.embedding_server import SECRET, EmbeddingServer, embedding_server

#: They start processes.
pytestmark = pytest.mark.slow

CALLS = 45


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def files(server: EmbeddingServer, tmp_path: Path) -> Path:
    """The folder of a server, beside an index with vectors of the endpoint."""
    write_files(tmp_path / "files")
    with rifflux.open(tmp_path / "index.db", model=server.spec) as index:
        index.add(Document("heron", "A heron stands in the river."))
    return tmp_path / "files"


def configured(files: Path, settings: str) -> None:
    (files / ".rifflux").mkdir()
    (files / ".rifflux" / "config.toml").write_text(settings)


def test_tools_are_listed_and_words_answer_while_hybrid_searches_hang(server: EmbeddingServer, files: Path) -> None:
    configured(files, "embed_timeout = 100\n")
    server.mode = "hangs"
    with over_stdio(files, files.parent / "index.db", "--model", server.spec) as agent:
        ask = partial(agent.client.call_tool, "search", {"query": "heron", "mode": "hybrid"})
        hanging = [agent.portal.start_task_soon(ask) for _ in range(CALLS)]
        server.await_hanging(CALLS)
        assert "search" in agent.tools()
        assert agent.ask("search", query="heron", mode="lexical")["results"]
        assert not any(each.done() for each in hanging)
        server.let_go.set()
        for each in hanging:
            assert not each.result(PATIENCE).is_error


@pytest.mark.parametrize("mode", ["hangs", "fails"])
def test_what_hangs_or_fails_is_given_up_and_says_nothing_of_the_endpoint(
    server: EmbeddingServer, files: Path, mode: str
) -> None:
    configured(files, "embed_timeout = 1\n")
    server.mode, asked = mode, server.asked
    start = time.monotonic()
    with over_stdio(files, files.parent / "index.db", "--model", server.spec) as agent:
        texts = [agent.read("search", query="heron", mode="hybrid") for _ in range(5)]
        texts.append(agent.read("remember", text="The user watches herons"))
        texts.append(agent.read("recall", query="herons"))
    assert all("A heron stands" in text for text in texts[:5])
    assert "herons" in texts[-1]
    for text in texts:
        assert SECRET not in text
        assert "127.0.0.1" not in text
    # Three failures open the breaker, which lets a call through now and then; storing tries each a few times.
    assert 3 <= server.asked - asked <= 3 + 6 * ((time.monotonic() - start) // PAUSE_S)


def test_what_an_agent_causes_is_recorded(server: EmbeddingServer, files: Path) -> None:
    configured(files, "prices = ['text-embed=10']\n")
    with over_stdio(files, files.parent / "index.db", "--model", server.spec) as agent:
        agent.ask("search", query="heron", mode="hybrid")
        agent.ask("remember", text="The user watches herons")
    with rifflux.open(files.parent / "index.db") as index:
        rows = index.registry.spent()
    assert {row.feature for row in rows if row.cost} == {"search", "store"}
