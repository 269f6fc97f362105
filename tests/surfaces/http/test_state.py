"""A service of an index that it cannot write: with a state file it keeps what users do, without one it says so."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux.service.nouns import EVERYONE
from tests.support.agents import eventually
from tests.support.places import read_only_view
from tests.support.server import Running, serving

#: They start processes.
pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path: Path, command_line: Any) -> Iterator[Any]:
    """The command line where `view/index.db` is an index that everybody reads and nobody can write."""
    (tmp_path / "own").mkdir()
    with rifflux.open(tmp_path / "own" / "index.db", model="hash") as index:
        index.add(rifflux.Document("heron", "Herons stand in shallow water."))
        index.collections.share("library", EVERYONE)
    with read_only_view(tmp_path / "own", tmp_path / "view"):
        yield command_line(tmp_path, {"RIFFLUX_DB": "view/index.db"})


def is_clicked(service: Running, token: str) -> bool:
    """Whether the click is told: a worker writes what waits in it when it is asked, and another may be first."""
    with service.client(token) as admin:
        rows = admin.get("/online").json()["rows"]
    return bool(rows) and rows[0]["click_through"] == 1


def test_what_users_do_is_kept_in_the_state_file_whoever_of_the_workers_is_asked(run: Any) -> None:
    run.settings["RIFFLUX_STATE"] = "state.db"
    token = run.json("tokens", "create", "--user", "ann")["token"]
    root = run.json("tokens", "create", "--user", "root", "--role", "admin")["token"]
    told = {"kind": "click", "query": "herons", "document": "heron"}
    with serving(run, "--workers", 2, "--rate", 100_000) as service:
        with service.client(token) as ann, service.client(root) as admin:
            for _ in range(8):
                found = ann.post("/search", json={"query": "herons"}).json()
                assert [hit["document"] for hit in found["results"]] == ["heron"]
                assert ann.post("/feedback", json=told).status_code == 204
            made = admin.post("/tokens", json={"user": "carl"}).json()["token"]
            eventually(lambda: is_clicked(service, root))
            refused = ann.put("/documents/new", json={"text": "Late."})
            assert (refused.status_code, refused.json()["code"]) == (403, "read_only"), refused.text
        os.kill(service.workers[0], signal.SIGKILL)
        service.awaited(lambda line: "died" in line.get("event", "") or "Child" in line.get("event", ""))
        with service.client(made) as carl:
            assert carl.get("/stats").json()["documents"] == 1
        assert not [line for line in service.lines if line["event"] in ("record", "read_only")]
    assert len(run.json("log")) == 3


def test_without_a_state_file_it_says_once_that_nothing_is_kept(run: Any) -> None:
    with serving(run, "--open") as service:
        with service.client() as client:
            for _ in range(3):
                assert client.post("/search", json={"query": "herons"}).json()["results"]
        assert [line["event"] for line in service.lines if line["level"] in ("warning", "error")] == ["read_only"]
