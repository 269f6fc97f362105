"""The client of `/embeddings`, against a real server that also misbehaves."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rifflux
from rifflux import Document
from rifflux.errors import ModelError, ModelMismatch
from rifflux.models.http import HttpEmbedder
from rifflux.models.loading import load_embedder
from rifflux.models.workers import Late, Workers
from tests.support.commands import PATIENCE

Answer = tuple[int, object]


def embeddings(body: dict[str, Any]) -> list[dict[str, Any]]:
    """One embedding for each text: its length and its first letter's code."""
    return [
        {"object": "embedding", "index": place, "embedding": [len(text), ord(text[0])]}
        for place, text in enumerate(body["input"])
    ]


class Server(ThreadingHTTPServer):
    """Answers with `answer(body)` and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, Any]] = []
        self.answer: Callable[[dict[str, Any]], Answer] = lambda body: (200, {"data": embeddings(body)})
        self.drip: float | None = None

    def embedder(self, **settings: Any) -> HttpEmbedder:
        settings = {"timeout": 5.0, "backoff": 0.001, **settings}
        return HttpEmbedder("test-model", f"http://127.0.0.1:{self.server_port}/v1", **settings)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, **body})
        self.server.headers.append(dict(self.headers))
        status, content = self.server.answer(body)
        payload = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        if self.server.drip is None:
            self.wfile.write(payload)
            return
        for byte in payload:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            threading.Event().wait(self.server.drip)

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that gave up waiting
            super().handle()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_vectors_are_unit_and_in_order(server: Server) -> None:
    found = server.embedder().embed_documents(["abc", "de"])
    expected = np.array([[3, ord("a")], [2, ord("d")]], np.float32)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)
    assert server.asked == [{"path": "/v1/embeddings", "model": "test-model", "input": ["abc", "de"]}]


def test_order_goes_by_index(server: Server) -> None:
    server.answer = lambda body: (200, {"data": embeddings(body)[::-1]})
    found = server.embedder().embed_documents(["a" * 900, "b"])
    assert found[0, 0] > found[1, 0]


def test_texts_go_in_batches(server: Server) -> None:
    assert server.embedder(batch_size=2).embed_documents(list("abcde")).shape == (5, 2)
    assert [body["input"] for body in server.asked] == [["a", "b"], ["c", "d"], ["e"]]


def test_blank_texts_are_zero_and_not_sent(server: Server) -> None:
    found = server.embedder().embed_documents(["a", "", " \n", "b"])
    assert found.any(axis=1).tolist() == [True, False, False, True]
    assert server.asked[0]["input"] == ["a", "b"]


def test_the_dimension_is_learnt_once_or_given(server: Server) -> None:
    embedder = server.embedder()
    embedder.embed_query("text")
    assert embedder.dimension == 2
    assert server.embedder().dimension == 2
    assert server.embedder(known_dimension=7).dimension == 7
    assert len(server.asked) == 2


def test_prefixes(server: Server) -> None:
    embedder = server.embedder(query_prefix="q: ", document_prefix="d: ")
    embedder.embed_query("x")
    embedder.embed_documents(["y"])
    assert [body["input"] for body in server.asked] == [["q: x"], ["d: y"]]


def test_lone_surrogates_do_not_break_the_request(server: Server) -> None:
    server.embedder().embed_query("broken \ud800 text")
    assert server.asked[0]["input"] == ["broken \ufffd text"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_it_tries_again(server: Server, status: int) -> None:
    answers = iter([(status, b"busy"), (status, b"busy")])
    server.answer = lambda body: next(answers, (200, {"data": embeddings(body)}))
    assert server.embedder().embed_documents(["a"]).shape == (1, 2)
    assert len(server.asked) == 3


def test_a_question_is_sent_once(server: Server) -> None:
    server.answer = lambda _: (500, b"busy")
    with pytest.raises(ModelError, match="status 500"):
        server.embedder().embed_query("a")
    assert len(server.asked) == 1


def test_it_gives_up(server: Server) -> None:
    server.answer = lambda _: (500, b"out of memory")
    with pytest.raises(ModelError, match=r"status 500.*server's log") as caught:
        server.embedder(retries=2).embed_documents(["a"])
    assert "out of memory" in caught.value.cause
    assert "out of memory" not in str(caught.value)
    assert len(server.asked) == 3


def test_it_does_not_outlive_the_patience_of_its_caller(server: Server) -> None:
    server.answer = lambda _: (503, b"busy")
    workers = Workers()
    with pytest.raises(ModelError):
        workers(lambda: server.embedder().embed_documents(["a"]), time.perf_counter() + 60.0, retries=False)
    assert len(server.asked) == 1
    with pytest.raises((ModelError, Late)):
        workers(lambda: server.embedder(backoff=2.0).embed_documents(["a"]), time.perf_counter() + 1.0)
    assert len(server.asked) == 2


def test_a_server_that_drips_is_given_up(server: Server) -> None:
    server.drip = 0.05
    with pytest.raises(ModelError, match="not answer in time"):
        server.embedder(timeout=0.3).embed_query("a")


def test_it_does_not_try_again_in_vain(server: Server) -> None:
    server.answer = lambda _: (404, {"error": "no such model"})
    with pytest.raises(ModelError, match=r"base URL.*name") as caught:
        server.embedder().embed_query("a")
    assert "no such model" in caught.value.cause
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"<html>welcome</html>",
        b"\xff\xfe",
        [],
        {"data": []},
        {"data": ["x"]},
        {"data": None},
        {"data": [{"index": 0}]},
        {"data": [{"index": 1, "embedding": [1, 2]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}] * 2},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": ["a"]}]},
        {"data": [{"index": 0, "embedding": [1, None]}]},
        {"data": [{"index": 0, "embedding": [1, float("nan")]}]},
        {"data": [{"index": 0, "embedding": [[1, 2]]}]},
    ],
)
def test_nonsense_is_an_error_that_names_the_cure(server: Server, content: object) -> None:
    server.answer = lambda _: (200, content)
    with pytest.raises(ModelError, match="OpenAI-compatible"):
        server.embedder().embed_query("a")


def test_a_changed_dimension_is_an_error(server: Server) -> None:
    with pytest.raises(ModelError, match="2 numbers, not 384"):
        server.embedder(known_dimension=384).embed_query("a")


def test_a_slow_server_is_an_error(server: Server) -> None:
    given_up = threading.Event()

    def dawdle(body: dict[str, Any]) -> Answer:
        given_up.wait(PATIENCE)
        return 200, {"data": embeddings(body)}

    server.answer = dawdle
    with pytest.raises(ModelError, match=r"in time.*server runs"):
        server.embedder(timeout=0.05).embed_query("a")
    given_up.set()


def test_no_server_is_an_error() -> None:
    with pytest.raises(ModelError, match="check that the server runs") as caught:
        HttpEmbedder("m", "http://127.0.0.1:9/v1", retries=0).embed_query("a")
    assert "127.0.0.1" not in str(caught.value)
    assert "http://127.0.0.1:9/v1/embeddings" in caught.value.cause


class TestKey:
    def test_it_is_sent(self, server: Server) -> None:
        server.embedder(api_key="s3cret").embed_query("a")
        assert server.headers[0]["Authorization"] == "Bearer s3cret"

    def test_it_shows_nowhere(self, server: Server) -> None:
        embedder = server.embedder(api_key="s3cret")
        server.answer = lambda _: (401, b"wrong key s3cret")
        with pytest.raises(ModelError, match="check the API key") as caught:
            embedder.embed_query("a")
        assert "wrong key ***" in caught.value.cause
        assert "s3cret" not in f"{caught.value} {caught.value.cause} {embedder!r} {embedder.fingerprint}"
        assert embedder.fingerprint == server.embedder(api_key="another").fingerprint

    def test_it_has_no_place_in_the_url(self) -> None:
        with pytest.raises(ModelError, match="API key") as caught:
            HttpEmbedder("m", "https://user:s3cret@host/v1")
        assert "s3cret" not in str(caught.value)


def test_the_fingerprint_follows_the_model_not_the_server(server: Server) -> None:
    here = server.embedder()
    assert here.fingerprint == HttpEmbedder("test-model", "http://elsewhere/v1").fingerprint
    assert here.fingerprint != HttpEmbedder("other-model", here.base_url).fingerprint


def test_tokens_are_counted_without_the_server(server: Server) -> None:
    assert server.embedder().count_tokens("two words") == 2
    assert not server.asked


class TestPrefixes:
    """What stands before questions and texts is recorded with the vectors, and so is the same for both."""

    def test_an_index_sends_the_prefixes_that_its_vectors_were_made_with(self, server: Server, tmp_path: Path) -> None:
        spec = f"http://127.0.0.1:{server.server_port}/v1#test-model"
        made = load_embedder(spec, query_prefix="query: ", document_prefix="passage: ")
        with rifflux.open(tmp_path / "i.db", model=made) as index:
            index.add(Document("a", "cache entries live for an hour"))
        for model in (None, spec):
            server.asked.clear()
            with rifflux.open(tmp_path / "i.db", model=model) as index:
                index.add(Document("b", f"another text for {model}"))
                index.search("how long do entries live", mode="semantic")
            sent = [text for asked in server.asked for text in asked["input"]]
            assert "query: how long do entries live" in sent
            assert any(text.startswith("passage: ") for text in sent)
            assert all(text.startswith(("query: ", "passage: ")) for text in sent)

    def test_other_prefixes_are_another_model(self, server: Server, tmp_path: Path) -> None:
        spec = f"http://127.0.0.1:{server.server_port}/v1#test-model"
        with rifflux.open(tmp_path / "i.db", model=load_embedder(spec, query_prefix="query: ")) as index:
            index.add(Document("a", "cache entries live for an hour"))
        with (
            rifflux.open(tmp_path / "i.db", model=load_embedder(spec, query_prefix="ask: ")) as index,
            pytest.raises(ModelMismatch),
        ):
            index.add(Document("b", "something else"))

    def test_a_name_may_carry_them(self) -> None:
        made = load_embedder("openai:e5?query_prefix=query%3A%20&document_prefix=passage%3A%20")
        assert isinstance(made, HttpEmbedder)
        assert (made.name, made.query_prefix, made.document_prefix) == ("e5", "query: ", "passage: ")
        assert load_embedder(made.spec).fingerprint == made.fingerprint

    def test_an_unknown_option_is_refused(self) -> None:
        with pytest.raises(ModelError, match="query_prefix"):
            load_embedder("openai:e5?prefix=x")
