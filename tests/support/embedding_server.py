"""An endpoint for embeddings and chat on this machine that fails in every way there is, or answers well."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.commands import PATIENCE

#: What a failing server says, and nobody but the log shall repeat.
SECRET = "sk-SECRET"
DIMENSION = 32

#: Makes the vector of a text.
Embed = Callable[[str], list[float]]


def embed(text: str, dimension: int = DIMENSION) -> list[float]:
    """A vector of the words of a text."""
    vector = [0.0] * dimension
    for word in text.lower().split():
        vector[zlib.crc32(word.strip(".,?!").encode()) % dimension] += 1.0
    return vector if any(vector) else [1.0] + [0.0] * (dimension - 1)


class EmbeddingServer(ThreadingHTTPServer):
    """Does as `mode` says; see `_Handler`. `asked` counts requests, `keys` holds what authorized them.

    `let_go` ends those that hang.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mode = "well"
        self.asked = 0
        self.keys: set[str | None] = set()
        self.hanging = 0
        self.came = threading.Condition()
        self.let_go = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def spec(self) -> str:
        return f"{self.url}#text-embed"

    def await_hanging(self, count: int, seconds: float = PATIENCE) -> None:
        """Return once so many requests hang."""
        with self.came:
            assert self.came.wait_for(lambda: self.hanging >= count, seconds), self.hanging

    def handle_error(self, *_: object) -> None:
        """Clients give up: that is what is tested."""


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server, mode = self.server, self.server.mode
        with server.came:
            server.asked += 1
            server.keys.add(self.headers["Authorization"])
            server.hanging += mode == "hangs"
            server.came.notify_all()
        if mode == "hangs":
            server.let_go.wait(PATIENCE)
        with suppress(ConnectionError):
            if mode == "drips":
                self._drip()
            else:
                status, payload = self._answer(mode, body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.server.let_go.wait(0.05):
            self.wfile.write(b" ")
            self.wfile.flush()

    def _answer(self, mode: str, body: dict[str, Any]) -> tuple[int, bytes]:
        if mode == "fails":
            return 500, f"{SECRET}: no memory at {self.server.url}".encode()
        if mode == "garbage":
            return 200, f"<html>{SECRET}</html>".encode()
        if "messages" in body:
            content = {"choices": [{"message": {"content": "[1]"}}], "usage": {"total_tokens": 777}}
            return 200, json.dumps(content).encode()
        vectors = {
            "NaN": lambda text: [float("nan")] * DIMENSION,
            "zeros": lambda text: [0.0] * DIMENSION,
            "another dimension": lambda text: embed(text, DIMENSION + 1),
            "another model": lambda text: embed(text)[::-1],
        }
        make: Embed = vectors.get(mode, embed)
        data = [{"index": place, "embedding": make(text)} for place, text in enumerate(body["input"])]
        return 200, json.dumps({"data": data}).encode()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    """A running server."""
    server = EmbeddingServer()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.let_go.set()
        server.shutdown()
        server.server_close()
