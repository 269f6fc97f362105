"""The programs of examples/: each runs as its README says, and does what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

import rifflux
from tests.docs.pages import ROOT
from tests.support.commands import PATIENCE
from tests.support.ports import free_port
from tests.support.server import serving

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
PROGRAMS = ("search_notes", "agent", "proxy", "app")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """This process's environment without settings of Rifflux, and with a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RIFFLUX_")}
    source = str(Path(rifflux.__file__).parents[1])
    return kept | {"HOME": str(folder), "PYTHONPATH": source} | more


def program(folder: Path, name: str, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, arguments)],
        cwd=folder,
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@contextmanager
def running(folder: Path, *command: object, port: int, **more: str) -> Iterator[httpx.Client]:
    """Run a program that listens, and give what asks it, once it answers."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *map(str, command)], cwd=folder, env=environment(folder, **more), stdout=log, stderr=log
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
            _await(client, process, folder / "server.log")
            yield client
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _await(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        try:
            client.get("/")
            return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(log.read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_has_a_readme_that_names_its_files(name: str) -> None:
    readme = (EXAMPLES / name / "README.md").read_text()
    assert f"({name})" in (EXAMPLES / "README.md").read_text()
    for path in (EXAMPLES / name).iterdir():
        assert path.name in readme or path.stem in readme or path.name in ("README.md", "__pycache__")


class TestSearchNotes:
    def test_it_indexes_and_searches(self, tmp_path: Path) -> None:
        asked = (EXAMPLES / "notes", "how long do cache entries live")
        first, again = (program(tmp_path, "search_notes/search_notes.py", *asked) for _ in range(2))
        head, _, found, *text = first.stdout.splitlines()
        assert head == "5 files read, 0 unchanged"
        assert found.startswith("caching.md:")
        assert "Entries in the cache live for ten minutes." in text[0]
        assert again.stdout.splitlines()[0] == "0 files read, 5 unchanged"
        assert (first.returncode, again.returncode, first.stderr) == (0, 0, "")

    def test_an_error_is_its_message(self, tmp_path: Path) -> None:
        done = program(tmp_path, "search_notes/search_notes.py", "nowhere", "cache")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("nothing at nowhere")


class TestAgent:
    def test_it_looks_up_what_it_is_asked(self, tmp_path: Path) -> None:
        shutil.copytree(EXAMPLES / "code", tmp_path / "code")
        done = program(tmp_path, "agent/agent.py", "code", "retry a payment with back-off", RIFFLUX_MODEL="hash")
        assert done.returncode == 0, done.stderr
        tools, indexed, best, *_ = done.stdout.splitlines()
        assert {"reindex", "search", "get_document"} <= {*tools.removeprefix("tools: ").split(", ")}
        assert indexed == "indexed: 4"
        assert best.startswith("- shop/checkout.js")
        assert "export async function payWithRetry" in done.stdout.partition("from chunk")[2]


class TestProxy:
    @pytest.fixture
    def team(self, run: Any) -> Iterator[dict[str, Any]]:
        """A service for ann and ben behind the proxy: what asks it, and the token of each."""
        run.settings["RIFFLUX_DB"] = str(run.folder / "team.db")
        (run.folder / "secret").mkdir()
        (run.folder / "secret" / "heron.md").write_text("The heron is called Fridolin.")
        shared = {"RIFFLUX_DB": run.settings["RIFFLUX_DB"], "RIFFLUX_MODEL": "hash"}
        filled = program(run.folder, "proxy/fill.py", EXAMPLES / "notes", "ann", "ben", **shared)
        assert filled.stdout == "ann: 5 files\nben: 5 files\n", filled.stderr
        program(run.folder, "proxy/fill.py", run.folder / "secret", "ben", **shared)
        tokens = {user: run("tokens", "create", "--user", user).stdout.strip() for user in ("ann", "ben")}
        with serving(run, "--allow-host", "search.localhost") as service:
            command = (EXAMPLES / "proxy" / "proxy.py", port := free_port(), service.url)
            with running(run.folder, *command, port=port) as client:
                yield {"client": client, **tokens}

    @staticmethod
    def ask(team: dict[str, Any], query: str, token: str = "", host: str = "search.localhost") -> httpx.Response:
        headers = {"host": host} | ({"authorization": f"Bearer {token}"} if token else {})
        client: httpx.Client = team["client"]
        return client.post("/search", json={"query": query}, headers=headers)

    def test_each_user_finds_what_is_theirs_through_it(self, team: dict[str, Any]) -> None:
        for user, heron in (("ann", []), ("ben", ["heron.md"])):
            assert self.ask(team, "who moves the cache", team[user]).json()["results"][0]["path"] == "meeting.md"
            answer = self.ask(team, '"Fridolin"', team[user])
            assert [hit["path"] for hit in answer.json()["results"]] == heron
        assert self.ask(team, "cache").status_code == 401
        assert self.ask(team, "cache", team["ann"], host="elsewhere.example").status_code == 421

    def test_it_says_so_where_nothing_runs_behind_it(self, tmp_path: Path) -> None:
        port, nothing = free_port(), free_port()
        command = (EXAMPLES / "proxy" / "proxy.py", port, f"http://127.0.0.1:{nothing}")
        with running(tmp_path, *command, port=port) as client:
            assert client.get("/health").status_code == 502


class TestApp:
    @pytest.fixture
    def diary(self, tmp_path: Path) -> Iterator[httpx.Client]:
        port = free_port()
        command = ("-m", "uvicorn", "app:application", "--factory", "--port", port, "--app-dir", EXAMPLES / "app")
        with running(tmp_path, *command, port=port, RIFFLUX_MODEL="hash", PYTHONDONTWRITEBYTECODE="1") as client:
            yield client

    def test_two_users_have_a_diary_each(self, diary: httpx.Client) -> None:
        def ask(user: str, question: str) -> Any:
            return diary.get("/ask", params={"question": question}, headers={"x-user": user}).json()

        ann = {"x-user": "ann", "content-type": "text/plain"}
        train, hotel = "The train to Graz leaves at 9:58.", "Which hotel did we take in Graz?"
        assert diary.put("/notes/trip", content=train, headers=ann).json() == {"written": 1}
        for text in (hotel, "The one by the river in Graz."):
            assert "message" in diary.post("/conversations/graz", content=text, headers=ann).json()
        remembered = diary.post("/memories", content="Ann wants a seat at the window to Graz", headers=ann).json()
        assert remembered["outcome"] == "saved"

        found = ask("ann", "Graz")
        assert {("note", train), ("message", hotel)} <= {(each["kind"], each["text"]) for each in found["found"]}
        assert found["remembered"] == ["Ann wants a seat at the window to Graz"]
        assert ask("ben", "Graz") == {"found": [], "remembered": []}

        assert diary.delete("/notes/trip", headers={"x-user": "ben"}).status_code == 404
        assert diary.delete("/notes/trip", headers=ann).json() == {"removed": 1}
        assert train not in {each["text"] for each in ask("ann", "Graz")["found"]}

    def test_an_error_says_what_to_do(self, diary: httpx.Client) -> None:
        answer = diary.get("/ask", params={"question": " "}, headers={"x-user": "ann"})
        assert (answer.status_code, answer.json()) == (400, {"error": "the query is empty: say what to look for"})
        assert diary.get("/ask", params={"question": "cache"}).status_code == 422
