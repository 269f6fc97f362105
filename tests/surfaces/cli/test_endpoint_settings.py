"""An address and a key of an endpoint in the environment serve the model of an index, and harm none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.embedding_server import EmbeddingServer, embedding_server

pytestmark = pytest.mark.slow

KEY = "sk-mine"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "heron.md").write_text("The heron stands in the river.")
    return folder


def environment(server: EmbeddingServer, **more: str) -> dict[str, str]:
    return {"RIFFLUX_MODEL": "", "RIFFLUX_BASE_URL": server.url, "RIFFLUX_API_KEY": KEY, **more}


def test_an_index_that_knows_its_model_needs_no_other_setting(run: Any, notes: Path, server: EmbeddingServer) -> None:
    run.json("index", notes, "--model", "openai:toy", **environment(server))
    found = run.json("search", "where does the heron stand", **environment(server))
    assert (found["effective_mode"], found["count"]) == ("hybrid", 1)
    assert server.keys == {f"Bearer {KEY}"}
    assert run.json("doctor", **environment(server))["sound"]


def test_an_index_of_the_bundled_model_is_searched_by_it(run: Any, notes: Path, server: EmbeddingServer) -> None:
    run.json("index", notes, RIFFLUX_MODEL="")
    found = run.json("search", "where does the heron stand", **environment(server))
    assert found["effective_mode"] == "hybrid"
    assert server.asked == 0


def test_a_key_goes_to_its_own_address_alone(run: Any, notes: Path, server: EmbeddingServer) -> None:
    """An index may come from somebody else, and says itself where its model is."""
    run.json("index", notes, RIFFLUX_MODEL=server.spec)
    with embedding_server() as own:
        found = run.json("search", "where does the heron stand", **environment(own))
        assert found["effective_mode"] == "hybrid"
        run.json("doctor", **environment(own))
        assert own.asked == 0
    assert server.keys == {None}


def test_a_new_index_still_asks_which_model_is_meant(run: Any, notes: Path, server: EmbeddingServer) -> None:
    assert "openai:NAME" in run.refusal("index", notes, **environment(server))
    assert server.asked == 0


@pytest.mark.parametrize("command", [("search",), ("ask", "--extract"), ("retrieve",)])
def test_a_failed_call_is_reported_once(
    run: Any, notes: Path, server: EmbeddingServer, command: tuple[str, ...]
) -> None:
    run.json("index", notes, "--model", "openai:toy", **environment(server))
    server.mode = "fails"
    printed = run(*command, "where does the heron stand", **environment(server)).stderr
    # An answer lacks two things for it: the vector of its question, and those of its sentences.
    reports = [line.partition(": ") for line in printed.splitlines() if "status 500" in line]
    assert {start for start, _, _ in reports} == {"note"}
    assert len({report for _, _, report in reports}) == len(reports) == (2 if command[0] == "ask" else 1)


def test_a_failed_call_that_no_note_reports_is_logged(run: Any, notes: Path, server: EmbeddingServer) -> None:
    run.json("index", notes, "--model", "openai:toy", **environment(server))
    server.mode = "fails"
    found = run("search", "where does the heron stand", "--json", **environment(server))
    assert "/embeddings answered with status 500" in found.stderr
