"""A request that is sent again with its key is done once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from tests.support.server import Running, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, command_line: Any, failing: dict[str, str]) -> Any:
    """The command line in an empty folder, with a model that fails."""
    return command_line(tmp_path_factory.mktemp("service"), failing)


@pytest.fixture(scope="module")
def service(run: Any, tokens: dict[str, str]) -> Iterator[Running]:
    """Two workers: the one that is asked again need not be the one that was asked."""
    with serving(run, "--db", "index.db", "--workers", 2) as service:
        with service.client(tokens["ann"]) as client:
            client.post("/conversations", json={"id": "talk"})
        yield service


def say(client: httpx.Client, key: str, text: str = "Herons fish.") -> httpx.Response:
    return client.post("/conversations/talk/messages", json={"text": text}, headers={"Idempotency-Key": key})


def test_it_is_answered_as_before(service: Running, tokens: dict[str, str]) -> None:
    said = []
    for _ in range(4):
        with service.client(tokens["ann"]) as client:
            said.append(say(client, "one"))
    assert [each.status_code for each in said] == [201] * 4
    assert len({each.content for each in said}) == 1
    assert ["idempotent-replayed" in each.headers for each in said] == [False, True, True, True]


def test_another_request_with_the_key_is_refused(service: Running, tokens: dict[str, str]) -> None:
    with service.client(tokens["ann"]) as client:
        say(client, "two")
        assert say(client, "two", "Quokkas read.").status_code == 422
        assert say(client, "three", "Quokkas read.").status_code == 201


def test_a_key_is_its_users(service: Running, tokens: dict[str, str]) -> None:
    with service.client(tokens["ann"]) as client:
        say(client, "mine")
    with service.client(tokens["bob"]) as client:
        assert say(client, "mine").status_code == 404


def test_what_failed_may_be_tried_again(service: Running, tokens: dict[str, str]) -> None:
    with service.client(tokens["bob"]) as client:
        assert say(client, "later").status_code == 404
        client.post("/conversations", json={"id": "talk"})
        assert say(client, "later").status_code == 201


def test_sent_at_once_it_is_done_once(service: Running, tokens: dict[str, str]) -> None:
    said: list[httpx.Response] = []

    def send() -> None:
        with service.client(tokens["ann"]) as client:
            said.append(say(client, "at once", "Penguins swim."))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.status_code for each in said} <= {201, 409}
    assert 201 in {each.status_code for each in said}
    with service.client(tokens["ann"]) as client:
        assert client.get("/conversations/talk/messages").text.count("Penguins swim.") == 1


def test_an_id_in_use_is_a_conflict(service: Running, tokens: dict[str, str]) -> None:
    with service.client(tokens["ann"]) as client:
        client.post("/conversations", json={"id": "talk"})
        reply = client.post("/conversations", json={"id": "talk"})
    assert reply.status_code == 409
    assert reply.json()["code"] == "conflict"


def test_a_file_is_sent_again_in_another_form(service: Running, tokens: dict[str, str]) -> None:
    def send(text: bytes) -> httpx.Response:
        with service.client(tokens["ann"]) as client:
            return client.post("/documents", files={"file": ("a.md", text)}, headers={"Idempotency-Key": "file"})

    first, second = send(b"Herons fish."), send(b"Herons fish.")
    assert first.status_code == second.status_code == 201
    assert first.content == second.content
    assert "idempotent-replayed" in second.headers
    assert send(b"Quokkas read.").status_code == 422
