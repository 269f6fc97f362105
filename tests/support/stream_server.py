"""A chat server on this machine that streams as it is told, well or badly."""

from __future__ import annotations

import json
import select
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["DONE", "HANG", "StreamServer", "frame", "frames", "stream_server"]

#: The frame that ends a stream.
DONE = b"data: [DONE]\n\n"
#: Stands for waiting until the client leaves.
HANG = b"\0hang"


def frame(text: str, **more: Any) -> bytes:
    """A frame that adds a piece of text."""
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}, **more}]}).encode() + b"\n\n"


def frames(text: str, size: int = 7, *, end: bool = True) -> list[bytes]:
    """A text in frames of so many characters, with an end."""
    pieces = [frame(text[start : start + size]) for start in range(0, len(text), size)]
    return [*pieces, frame("", finish_reason="stop"), DONE] if end else pieces


class StreamServer(ThreadingHTTPServer):
    """Sends what `says` gives for a request, with `status`; remembers requests in `asked`, and `left` once one left."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        self.status = 200
        self.says: Callable[[dict[str, Any]], Iterable[bytes]] = lambda body: frames("Nothing.")
        self.left = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_: object) -> None:
        """Clients leave: that is what is tested."""


class _Handler(BaseHTTPRequestHandler):
    server: StreamServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        with suppress(ConnectionError):
            self.send_response(self.server.status)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for piece in self.server.says(body):
                if piece == HANG:
                    self._wait()
                    return
                self.wfile.write(piece)
                self.wfile.flush()

    def _wait(self) -> None:
        """Wait until the client closes the connection."""
        with suppress(OSError):
            while select.select([self.connection], [], [], 30)[0] and self.connection.recv(1024):
                pass
        self.server.left.set()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def stream_server() -> Iterator[StreamServer]:
    """A running server."""
    server = StreamServer()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
