"""Runs of indexing in the background: told while they run, ended when asked to, one at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rifflux.surfaces.mcp import Workspace, server
from tests.support.agents import Agent, Chosen, agent_of, at, eventually
from tests.support.commands import PATIENCE

#: They start servers.
pytestmark = pytest.mark.slow


@dataclass
class Slow(Chosen):
    """An embedder that waits to be let go."""

    reached: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    def embed_documents(self, texts: Any) -> Any:
        self.reached.set()
        assert self.go_on.wait(PATIENCE)
        return super().embed_documents(texts)


@pytest.fixture
def slow() -> Slow:
    return Slow({"The": at(1.0)})


@pytest.fixture
def agent(files: Path, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    monkeypatch.setattr(import_module("rifflux.surfaces.mcp.jobs"), "PATIENCE", 0.0)
    with (
        Workspace(files.parent / "index.db", roots=[files], model=slow) as workspace,
        agent_of(server(workspace), files) as agent,
    ):
        yield agent
        slow.go_on.set()


def test_a_job_goes_on_until_it_is_done(agent: Agent, slow: Slow) -> None:
    job = agent.ask("reindex_job", action="start", path=str(agent.files))
    assert job["state"] == "running"
    assert slow.reached.wait(PATIENCE)
    assert agent.ask("search_rifflux", query="heron", mode="lexical")["count"] == 1
    slow.go_on.set()
    eventually(lambda: agent.ask("reindex_job", action="status", job=job["job"])["state"] == "done")
    told = agent.ask("reindex_job", action="status", job=job["job"])
    assert (told["report"]["indexed_files"], told["error"]) == (6, "")
    assert agent.ask("index_status")["embedded_chunks"] > 40


def test_a_second_run_is_told_of_the_first(agent: Agent, slow: Slow) -> None:
    job = agent.ask("reindex_job", action="start", path=str(agent.files))["job"]
    assert slow.reached.wait(PATIENCE)
    for tool, more in (("reindex", {}), ("reindex_job", {"action": "start"})):
        refusal = agent.refusal(tool, path=str(agent.files), **more)
        assert f"files are being indexed already (job {job}: " in refusal
    slow.go_on.set()
    eventually(lambda: agent.ask("reindex_job", action="status", job=job)["state"] == "done")
    assert agent.ask("reindex", path=str(agent.files))["indexed_files"] == 0


def test_a_job_that_is_cancelled_keeps_what_it_did(agent: Agent, slow: Slow) -> None:
    job = agent.ask("reindex_job", action="start", path=str(agent.files))["job"]
    assert slow.reached.wait(PATIENCE)
    agent.ask("reindex_job", action="cancel", job=job)
    slow.go_on.set()
    eventually(lambda: agent.ask("reindex_job", action="status", job=job)["state"] == "cancelled")
    assert agent.ask("index_status")["documents"] == 6


def test_what_cannot_be_meant(agent: Agent) -> None:
    assert "no job 'x'" in agent.refusal("reindex_job", action="status", job="x")
    assert "leave job out" in agent.refusal("reindex_job", action="start", job="x")
    assert "outside the allowed folders" in agent.refusal("reindex_job", action="start", path="/etc")
    assert "action" in agent.refusal("reindex_job", action="pause")
