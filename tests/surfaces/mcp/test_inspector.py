"""The official Inspector lists every tool of a server with tokens, and calls each as two users.

It comes with `scripts/inspector.sh`; where that was not run, this is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Scope
from rifflux.service.accounts import ADMIN, Accounts
from rifflux.surfaces.mcp.server import TOOLS
from tests.support.agents import served_http, write_files
from tests.support.commands import PATIENCE

INSPECTOR = Path(__file__).parents[3] / ".inspector" / "node_modules" / ".bin" / "mcp-inspector"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed"),
    pytest.mark.skipif(not INSPECTOR.exists(), reason="the Inspector is not there: run scripts/inspector.sh"),
]

TEXTS = {"ann": "The heron stands in the river.", "bob": "The otter swims in the river."}
#: Its exit status where a tool answers with an error.
TOOL_ERROR = 5
#: Arguments for every tool but those that need what another one gave.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "search_rifflux": {"query": "river", "mode": "lexical"},
    "search": {"query": "river", "top_k": 3},
    "everything": {"query": "river", "kinds": ["text"]},
    "reindex": {"path": "alpha"},
    "reindex_job": {"action": "start", "path": "beta"},
    "get_document": {"document": "own.md"},
    "why": {"query": "river", "document": "own.md"},
    "classify_query": {"query": "what does E404 mean"},
    "index_status": {},
    "retrieve": {"query": "rivers"},
    "remember": {"text": "The user takes tea without milk", "importance": 8},
    "recall": {"query": "tea"},
}


@dataclass
class Inspector:
    """The Inspector's command line on one server, as one user."""

    url: str
    token: str
    home: Path

    def __call__(self, method: str, *more: str) -> dict[str, Any]:
        """What it prints of one request."""
        header = f"Authorization: Bearer {self.token}"
        done = subprocess.run(
            [INSPECTOR, "--cli", self.url, "--transport", "http", "--header", header, "--method", method, *more],
            env=os.environ | {"HOME": str(self.home)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode in (0, TOOL_ERROR), done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        pairs = [
            f"{name}={json.dumps(value) if not isinstance(value, str) else value}" for name, value in arguments.items()
        ]
        return self("tools/call", "--tool-name", tool, *(["--tool-arg", *pairs] if pairs else []))


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Inspector]]:
    place = tmp_path_factory.mktemp("inspected")
    write_files(place / "files")
    with rifflux.open(place / "index.db", model="hash") as index:
        accounts = Accounts(index.registry)
        tokens = {"ann": accounts.create("ann", ADMIN)[1], "bob": accounts.create("bob")[1]}
        for user, text in TEXTS.items():
            index.scoped(Scope(user)).add(Document("own.md", text, kind="text"))
    with served_http(place / "files", place / "index.db", "--tokens") as url:
        yield {user: Inspector(url, token, place) for user, token in tokens.items()}


def test_every_tool_is_listed_and_called_as_two_users(users: dict[str, Inspector]) -> None:
    for user, inspector in users.items():
        names = [tool["name"] for tool in inspector("tools/list")["tools"]]
        assert names == [function.__name__ for function, *_ in TOOLS]
        found = inspector.call("search_rifflux", **ARGUMENTS["search_rifflux"])["structuredContent"]
        assert [result["content"] for result in found["results"]] == [TEXTS[user]]
        given: dict[str, dict[str, Any]] = {
            "get_chunk": {"chunk_id": found["results"][0]["chunk_id"]},
            "verify": {
                "evidence_pack": inspector.call("retrieve", query="rivers")["structuredContent"]["evidence_pack"]
            },
            "get_memory": {"id": "none"},
            "edit_memory": {"id": "none"},
            "forget": {"ids": ["none"]},
        }
        refused = {name for name in names if inspector.call(name, **(ARGUMENTS | given)[name]).get("isError")}
        assert refused == {"get_memory", "edit_memory", "forget"} | (
            {"reindex", "reindex_job"} if user == "bob" else set()
        )


def test_nobody_gets_in_without_a_token(users: dict[str, Inspector]) -> None:
    stranger = Inspector(users["ann"].url, "rfx_no_such", users["ann"].home)
    with pytest.raises(AssertionError, match="auth_required"):
        stranger("tools/list")
