"""Two workers, and a model that hangs, fails or costs: answered by words, within the budget, and every call counted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rifflux.models.guarded import PAUSE_S
from tests.support.embedding_server import SECRET, EmbeddingServer, embedding_server
from tests.support.server import serving

#: They start processes.
pytestmark = pytest.mark.slow

WORKERS = 2


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def run(server: EmbeddingServer, tmp_path: Any, command_line: Any) -> Any:
    """The command line in a folder with a note that is indexed by the endpoint."""
    server.mode = "well"
    (tmp_path / "cache.md").write_text("# Caching\n\nCache entries live for ten minutes.\n")
    settings = {
        "RIFFLUX_EMBED_TIMEOUT": "60",
        "RIFFLUX_MODEL": server.spec,
        "RIFFLUX_PRICES": "text-embed=1000000",
        "RIFFLUX_DB": "index.db",
    }
    run = command_line(tmp_path, settings)
    assert run.json("index", "cache.md")["embedded_chunks"] == 1
    return run


def with_settings(run: Any, **settings: str) -> Any:
    return run.__class__(run.folder, run.settings | settings)


def untold(text: str) -> None:
    assert SECRET not in text
    assert "127.0.0.1" not in text


def test_requests_are_answered_by_words_and_writes_are_kept(run: Any, server: EmbeddingServer) -> None:
    with (
        serving(with_settings(run, RIFFLUX_EMBED_TIMEOUT="1"), "--open", "--workers", WORKERS) as service,
        service.client() as client,
    ):
        start = time.monotonic()
        server.mode, asked = "hangs", server.asked
        answers = [client.post("/search", json={"query": "cache entries"}) for _ in range(10)]
        server.mode = "fails"
        kept = client.post("/memories", json={"text": "Ann drinks tea without milk"})
        recalled = client.post("/memories/search", json={"query": "tea", "deadline_ms": 5_000})
        made = client.post("/retrieve", json={"query": "cache entries", "deadline_ms": 5_000})
    for answer in answers:
        assert answer.status_code == 200
        assert answer.json()["diagnostics"]["effective_mode"] == "lexical"
        assert len(answer.json()["results"]) == 1
    assert kept.json()["outcome"] == "saved"
    assert "no vectors for now" in kept.json()["degraded"][0]["text"]
    assert len(recalled.json()["memories"]) == 1
    assert made.status_code == 200
    for answer in (*answers, kept, recalled, made):
        untold(answer.text)
    # Three failures open the breaker of a worker, which lets a call through now and then.
    assert server.asked - asked <= WORKERS * (3 + 6 + (time.monotonic() - start) // PAUSE_S)
    told = {line["sort"]: line["cause"] for line in service.lines if line["event"] == "model"}
    assert "given up" in told["late"]


def test_what_was_said_is_kept_and_changed_while_the_model_fails(run: Any, server: EmbeddingServer) -> None:
    run.json("config", "set", "hybrid_search", "on")
    token = run.json("tokens", "create", "--user", "ann")["token"]
    server.mode = "fails"
    with serving(run, "--workers", WORKERS) as service, service.client(token) as client:
        talk = client.post("/conversations", json={"title": "birds"}).json()["id"]
        messages = f"/conversations/{talk}/messages"
        said = client.post(messages, json={"text": "I saw a bittern"})
        mended = client.patch(f"{messages}/{said.json()['id']}", json={"text": "I saw a crane"})
        found = client.post("/conversations/search", json={"query": "crane", "deadline_ms": 5_000})
        gone = client.delete(f"{messages}/{said.json()['id']}")
    assert (said.status_code, mended.status_code, gone.status_code) == (201, 200, 204)
    for answer in (said, mended):
        assert "no vectors for now" in answer.json()["degraded"][0]["text"]
    assert [hit["message"]["text"] for hit in found.json()["results"]] == ["I saw a crane"]
    for answer in (said, mended, found):
        untold(answer.text)


def test_the_budget_holds_over_all_workers_and_every_call_is_counted(run: Any, server: EmbeddingServer) -> None:
    (before,) = run.json("usage", "--by", "user")
    spent = before["cost"]
    asked, budget = server.asked, spent + 20
    with (
        serving(with_settings(run, RIFFLUX_BUDGET=str(budget)), "--open", "--workers", WORKERS) as service,
        service.client() as client,
        ThreadPoolExecutor(8) as pool,
    ):

        def ask(number: int) -> Any:
            return client.post("/search", json={"query": f"cache entries {number}"}).json()["diagnostics"]

        told = [*pool.map(ask, range(40))]
        refused = client.post("/memories", json={"text": "Ann drinks her tea without milk or sugar"}).json()
    hybrid = [each for each in told if each["effective_mode"] == "hybrid"]
    assert 1 <= len(hybrid) == server.asked - asked
    assert all("budget" in each["degraded"][0]["text"] for each in told if each not in hybrid)
    assert refused["outcome"] == "saved"
    assert "this month's budget is spent" in refused["degraded"][0]["text"]
    (row,) = run.json("usage", "--by", "user")
    assert row["cost"] <= budget
    assert row["calls"] - before["calls"] == len(hybrid)
    # The client of endpoints would log each request with its address.
    assert server.url not in service.log.read_text()


def test_the_command_line_counts_its_calls_and_tells_no_cause(run: Any, server: EmbeddingServer) -> None:
    run.json("memories", "add", "Ann drinks tea without milk", "--user", "ann")
    run.json("memories", "search", "tea", "--user", "ann")
    features = {(row["user"], row["feature"]): row["calls"] for row in run.json("usage", "--by", "user,feature")}
    # A model behind an endpoint is asked once a process for its probe, before the first vector is stored.
    assert features["", "store"] == 2
    assert features["ann", "store"] == 2
    assert features["ann", "search"] == 1
    server.mode = "fails"
    done = run("search", "entries of the cache", "--json")
    assert json.loads(done.stdout)["results"]
    untold(done.stdout)
    assert SECRET in done.stderr
    (run.folder / "fruit.md").write_text("# Fruit\n\nApples ripen in autumn.\n")
    report = run.json("index", "fruit.md", status=1)
    assert report["indexed_files"] == 1
    assert "text is kept" in report["degraded"][0]["text"]
    untold(json.dumps(report))
    assert run.json("search", "apples", "--mode", "lexical")["results"]
