"""The chat client, against a real server that also misbehaves."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rifflux.errors import InvalidArgument, ModelError
from rifflux.models.chat import ChatModel
from tests.support.chat_server import ChatServer, chat_server
from tests.support.commands import PATIENCE


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as server:
        yield server


def test_it_asks_and_answers(server: ChatServer) -> None:
    server.answer = lambda body: (200, "hello")
    assert ChatModel("test-model", server.url + "/", "the-key")("be kind", "hi \ud800") == "hello"
    (asked,) = server.asked
    assert (asked["path"], asked["model"], asked["temperature"]) == ("/v1/chat/completions", "test-model", 0)
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert asked["messages"][0]["content"] == "be kind"
    assert server.headers[0]["Authorization"] == "Bearer the-key"


def test_no_key_no_header(server: ChatServer) -> None:
    ChatModel("m", server.url)("s", "u")
    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((500, b"boom the-key"), "status 500: check"),
        ((401, b"{}"), "check the API key"),
        ((404, b"{}"), "ends in /v1"),
        ((200, b"not json"), "without a message"),
        ((200, b"{}"), "without a message"),
        ((200, b'{"choices": []}'), "without a message"),
        ((200, b'{"choices": [{"message": {"content": null}}]}'), "without a message"),
        ((200, b"\xff\xfe" * 10), "without a message"),
        ((200, b"x" * (2 << 20)), "endless"),
    ],
)
def test_answers_that_are_none(server: ChatServer, answer: tuple[int, Any], said: str) -> None:
    server.answer = lambda body: answer
    with pytest.raises(ModelError, match=said) as caught:
        ChatModel("m", server.url, "the-key")("s", "u")
    assert "the-key" not in f"{caught.value} {caught.value.cause}"
    assert "boom" not in str(caught.value)


def test_a_slow_server_is_given_up(server: ChatServer) -> None:
    release = threading.Event()
    server.answer = lambda body: (release.wait(PATIENCE), (200, "late"))[1]
    with pytest.raises(ModelError, match="not answer in time"):
        ChatModel("m", server.url)("s", "u", timeout=0.1)
    release.set()


def test_a_server_that_drips_is_given_up(server: ChatServer) -> None:
    server.drip = 0.05
    with pytest.raises(ModelError, match="not answer in time"):
        ChatModel("m", server.url, timeout=0.3)("s", "u")


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        with pytest.raises(ModelError, match="could not be reached") as caught:
            ChatModel("m", url)("s", "u")
        assert "Error" not in str(caught.value)  # why is for the log
        assert "Error" in str(caught.value.cause)


@pytest.mark.parametrize("url", ["", "localhost:11434", "ftp://host/v1", "http://", "http://user:key@host/v1"])
def test_urls_that_cannot_be_meant(url: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        ChatModel("m", url)
    assert "user:key" not in str(caught.value)


def test_a_model_is_needed() -> None:
    with pytest.raises(InvalidArgument, match="name the model"):
        ChatModel("", "http://localhost/v1")


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(ChatModel("m", "http://localhost/v1", "secret"))
