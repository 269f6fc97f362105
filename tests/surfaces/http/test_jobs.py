"""Imports go on after their requests, can be asked about, and are nobody else's; no user keeps others from theirs."""

from __future__ import annotations

import io
import json
import os
import signal
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from rifflux.service.registry import Registry
from rifflux.store import open_store
from tests.support.commands import PATIENCE
from tests.support.server import Running, serving

#: They start processes.
pytestmark = pytest.mark.slow

#: Conversations that are not stored at once.
LARGE = 600
NOW = {"Prefer": "respond-async"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, command_line: Any, failing: dict[str, str]) -> Any:
    """The command line in an empty folder, with a model that fails."""
    return command_line(tmp_path_factory.mktemp("jobs"), failing)


@pytest.fixture(scope="module")
def service(run: Any, tokens: dict[str, str]) -> Iterator[Running]:
    """Two processes that share an index, where a request may take as long as a busy machine takes."""
    limits = ("--timeout", PATIENCE, "--document-chunks", 50, "--request-chunks", 5_000)
    options = ("--rate", 100_000, "--workers", 2, *limits)
    with serving(run, "--db", "index.db", *options) as service:
        yield service


@pytest.fixture
def ann(service: Running, tokens: dict[str, str]) -> Iterator[httpx.Client]:
    with service.client(tokens["ann"]) as ann:
        yield ann


@pytest.fixture
def bob(service: Running, tokens: dict[str, str]) -> Iterator[httpx.Client]:
    with service.client(tokens["bob"]) as bob:
        yield bob


@pytest.fixture
def root(service: Running, tokens: dict[str, str]) -> Iterator[httpx.Client]:
    with service.client(tokens["root"]) as root:
        yield root


def export(name: str, count: int) -> dict[str, Any]:
    """A zip with so many conversations, as a form has it; the same bytes each time."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(count):
            said = [{"role": "user", "content": f"{name} heron {number}"}]
            archive.writestr(zipfile.ZipInfo(f"{name}-{number}.json"), json.dumps(said))
    return {"file": (f"{name}.zip", packed.getvalue())}


def send(client: httpx.Client, name: str, count: int, **headers: str) -> httpx.Response:
    return client.post("/conversations/import", files=export(name, count), headers=headers)


def ended(client: httpx.Client, id: str) -> dict[str, Any]:
    """A job once it has ended; its progress never goes back while it does one thing."""
    seen: dict[str, int] = {}
    while True:
        told: dict[str, Any] = client.get(f"/jobs/{id}").json()
        if told["state"] != "running":
            return told
        assert told["done"] >= seen.get(told["stage"], 0)
        seen[told["stage"]] = told["done"]
        time.sleep(0.05)


def conversations(client: httpx.Client, name: str) -> int:
    """How many conversations of an export there are."""
    found = client.get("/conversations", params={"limit": 1000}).json()["conversations"]
    return sum(each["id"].startswith(f"{name}-") or f"{name}-" in each["title"] for each in found)


def test_a_small_import_is_answered_with_its_report(ann: httpx.Client) -> None:
    reply = send(ann, "small", 2)
    assert (reply.status_code, reply.json()["conversations"]) == (200, 2)
    (job,) = (each for each in ann.get("/jobs").json()["jobs"] if each["name"] == "small.zip")
    assert (job["kind"], job["state"], job["done"], job["total"]) == ("conversations", "done", 2, 2)
    assert job["report"] == reply.json()


def test_what_takes_longer_than_a_request_is_accepted_and_goes_on(ann: httpx.Client) -> None:
    reply = send(ann, "large", LARGE, Prefer="wait=0")
    assert reply.status_code == 202
    assert reply.headers["Location"] == f"/jobs/{reply.json()['id']}"
    assert reply.json()["state"] == "running"
    told = ended(ann, reply.json()["id"])
    assert (told["state"], told["done"], told["total"], told["error"]) == ("done", LARGE, LARGE, None)
    assert told["report"]["conversations"] == LARGE


@pytest.mark.parametrize(
    ("method", "path", "file", "status"),
    [
        ("POST", "/documents", ("a.md", b"# A\n\nherons"), None),
        ("PUT", "/documents/a.md", ("a.md", b"# A\n\nherons"), None),
        ("POST", "/works/import", ("a.bib", b"@article{a, title={Herons}}"), "added"),
        ("POST", "/conversations/import", ("a.json", b'[{"role": "user", "content": "x"}]'), "conversations"),
    ],
)
def test_every_import_can_be_asked_about_instead(
    ann: httpx.Client, bob: httpx.Client, root: httpx.Client, method: str, path: str, file: Any, status: str | None
) -> None:
    reply = ann.request(method, path, files={"file": file}, headers=NOW)
    assert reply.status_code == 202
    id = reply.json()["id"]
    told = ended(ann, id)
    assert (told["state"], told["name"]) == ("done", file[0])
    assert told["report"][status or "documents"] == 1
    for other in (bob.get(f"/jobs/{id}"), bob.delete(f"/jobs/{id}")):
        assert other.status_code == 404
        assert other.json() == json.loads(bob.get("/jobs/0").text.replace("'0'", f"'{id}'"))
    assert id not in bob.get("/jobs").text
    assert bob.get("/jobs", params={"user": "ann"}).status_code == 403
    assert root.get(f"/jobs/{id}").json() == told
    assert id in root.get("/jobs", params={"user": "ann"}).text
    assert id not in root.get("/jobs").text


def test_one_that_fails_says_why(ann: httpx.Client) -> None:
    files = {"file": ("a.pdf", b"no PDF")}
    refused = ann.post("/documents", files=files)
    told = ended(ann, ann.post("/documents", files=files, headers=NOW).json()["id"])
    assert refused.status_code == 422
    assert (told["state"], told["error"], told["report"]) == ("failed", refused.json(), None)


def test_a_repeated_request_is_told_about_the_same_job(ann: httpx.Client, service: Running, tokens: Any) -> None:
    first = send(ann, "keyed", 1500, **NOW, **{"Idempotency-Key": "k"})
    replies = []
    for _ in range(4):
        with service.client(tokens["ann"]) as client:
            replies.append(send(client, "keyed", 1500, **NOW, **{"Idempotency-Key": "k"}))
    assert {each.status_code for each in (first, *replies)} == {202}
    assert {each.json()["id"] for each in replies} == {first.json()["id"]}
    assert {each.headers["Location"] for each in replies} == {first.headers["Location"]}
    assert ended(ann, first.json()["id"])["report"]["conversations"] == 1500
    assert send(ann, "keyed", 1500, **{"Idempotency-Key": "k"}).json()["state"] == "done"


def test_a_running_job_is_cancelled_in_any_worker_and_may_be_repeated(ann: httpx.Client) -> None:
    id = send(ann, "stopped", 1000, **NOW).json()["id"]
    for _ in range(4):
        assert ann.delete(f"/jobs/{id}").status_code == 202
    told = ended(ann, id)
    assert told["state"] in ("cancelled", "done")
    if told["state"] == "cancelled":
        assert told["error"]["code"] == "cancelled"
    told = ended(ann, send(ann, "stopped", 1000, **NOW).json()["id"])
    assert (told["state"], told["report"]["added"] + told["report"]["unchanged"]) == ("done", 1000)


def test_so_many_imports_of_a_user_run_at_a_time(bob: httpx.Client) -> None:
    files = [export(f"many{number}", 1500) for number in range(12)]
    replies = [bob.post("/conversations/import", files=each, headers=NOW) for each in files]
    statuses = [each.status_code for each in replies]
    assert statuses[:8] == [202] * 8
    assert 429 in statuses[8:]
    refused = next(each for each in replies if each.status_code == 429)
    assert refused.json()["code"] == "too_many_jobs"
    for each in replies:
        if each.status_code == 202:
            bob.delete(f"/jobs/{each.json()['id']}")
    for each in replies:
        if each.status_code == 202:
            ended(bob, each.json()["id"])


def test_one_user_does_not_keep_another_from_storing(ann: httpx.Client, bob: httpx.Client) -> None:
    started = [send(ann, f"busy{number}", 1500, **NOW).json()["id"] for number in range(6)]
    try:
        for number in range(3):
            reply = bob.post("/documents", files={"file": ("note.md", f"# Note {number}\n\nheron".encode())})
            assert reply.status_code in (201, 202)
            if reply.status_code == 202:
                assert ended(bob, reply.json()["id"])["state"] == "done"
        assert any(ann.get(f"/jobs/{id}").json()["state"] == "running" for id in started)
    finally:
        for id in started:
            ann.delete(f"/jobs/{id}")
        for id in started:
            ended(ann, id)


def last_seen_long_ago(path: Path, id: str) -> None:
    """Date back the last word of a job whose worker is gone, so that nobody has to wait until it counts as lost."""
    with closing(open_store(path)) as store:
        registry = Registry(store)
        job = registry.job(id)
        assert job
        registry.put_jobs([replace(job, seen_at=1e9)])


def test_an_import_whose_worker_ends_says_so_and_may_be_repeated(run: Any, tokens: dict[str, str]) -> None:
    with serving(run, "--db", "index.db", "--rate", 100_000, "--workers", 2) as service:
        with service.client(tokens["ann"]) as ann:
            id = send(ann, "killed", 2000, **NOW).json()["id"]
            while ann.get(f"/jobs/{id}").json()["done"] < 100:
                time.sleep(0.05)
            for worker in service.workers:
                os.kill(worker, signal.SIGKILL)
        last_seen_long_ago(run.folder / "index.db", id)
        told = None
        while told is None:
            with suppress(httpx.TransportError), service.client(tokens["ann"]) as ann:
                told = ended(ann, id)
        assert (told["state"], told["error"]["code"]) == ("interrupted", "interrupted")
        assert 100 <= told["done"] < 2000
        with service.client(tokens["ann"]) as ann:
            stored = ann.get("/stats").json()
            assert stored["messages"] >= told["done"]
            again = ended(ann, send(ann, "killed", 2000, **NOW).json()["id"])
            assert again["state"] == "done"
            assert again["report"]["unchanged"] >= told["done"]
            assert again["report"]["unchanged"] + again["report"]["added"] == 2000


def test_a_deleted_user_gets_nothing_back_from_what_was_running(run: Any, root: httpx.Client, service: Running) -> None:
    made = root.post("/tokens", json={"user": "eve"}).json()["token"]
    with service.client(made) as eve:
        ids = [send(eve, f"gone{number}", 1500, **NOW).json()["id"] for number in range(3)]
        assert root.delete("/admin/users/eve").status_code == 200
    assert [root.get(f"/jobs/{id}").status_code for id in ids] == [404] * 3
    assert root.delete("/admin/users/eve").status_code == 404


class TestBounds:
    @pytest.mark.parametrize("way", ["json", "file", "put"])
    def test_a_document_of_too_many_chunks_is_refused(self, bob: httpx.Client, way: str) -> None:
        # Within the limit of a JSON body.
        text = "," * 100_000
        before = bob.get("/stats").json()["chunks"]
        match way:
            case "json":
                reply = bob.post("/documents", json={"text": text})
            case "file":
                reply = bob.post("/documents", files={"file": ("a.csv", text.encode())})
            case _:
                reply = bob.put("/documents/a", files={"file": ("a.md", b"[" * 100_000)})
        assert reply.status_code == 422
        assert "the limit of a document here is 50: split it" in reply.json()["detail"]
        assert bob.get("/stats").json()["chunks"] == before

    def test_an_import_of_too_many_chunks_is_refused(self, bob: httpx.Client) -> None:
        before = bob.get("/stats").json()["messages"]
        told = ended(bob, send(bob, "toomany", 5001, **NOW).json()["id"])
        assert (told["state"], told["error"]["code"]) == ("failed", "invalid")
        assert "5,000 chunks" in told["error"]["detail"]
        assert bob.get("/stats").json()["messages"] == before
