"""An embedding endpoint for measurements, which hangs when asked to."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

#: The model that the endpoint answers as, and the length of its vectors.
MODEL, DIMENSION = "drawn-by-chance", 384


@dataclass
class HangingEndpoint:
    """An OpenAI-compatible endpoint of vectors drawn by chance for each text; while it hangs, no call is answered.

    `calls` counts those that came while it hung.
    """

    url: str = ""
    calls: int = 0
    _answers: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def spec(self) -> str:
        """Return the name that Rifflux knows its model by."""
        return f"{self.url}#{MODEL}"

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Answer nothing until the block ends."""
        self._answers.clear()
        try:
            yield
        finally:
            self._answers.set()

    def wait(self) -> None:
        """Return when a call may be answered."""
        if not self._answers.is_set():
            with self._lock:
                self.calls += 1
        self._answers.wait()


@contextmanager
def embedding_endpoint() -> Iterator[HangingEndpoint]:
    """Yield an endpoint of this machine, until the block ends."""
    endpoint = HangingEndpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.wait()
            data = [{"index": place, "embedding": drawn(text)} for place, text in enumerate(asked["input"])]
            body = json.dumps({"data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                self.close_connection = True  # whoever asked has given up

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    endpoint._answers.set()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield endpoint
    finally:
        endpoint._answers.set()
        server.shutdown()
        server.server_close()


def drawn(text: str) -> list[float]:
    """Return a vector drawn by chance for a text, always the same."""
    vector = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMENSION, np.float32)
    return [round(float(each), 6) for each in vector]
