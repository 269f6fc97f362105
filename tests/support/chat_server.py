"""A chat server on this machine that answers as it is told, well or badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: A status and a body: text to say, or bytes to send as they are.
Answer = tuple[int, str | bytes]


class ChatServer(ThreadingHTTPServer):
    """Answers with `answer(body)` and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, Any]] = []
        self.answer: Callable[[dict[str, Any]], Answer] = lambda body: (200, "[1]")
        self.drip: float | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_: object) -> None:
        """Clients give up: that is what is tested."""


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, **body})
        self.server.headers.append(dict(self.headers))
        status, content = self.server.answer(body)
        if isinstance(content, bytes):
            payload = content
        else:
            payload = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
        with suppress(ConnectionError):
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self._send(payload)

    def _send(self, payload: bytes) -> None:
        if self.server.drip is None:
            self.wfile.write(payload)
            return
        for byte in payload:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            threading.Event().wait(self.server.drip)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """A running server."""
    server = ChatServer()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
