"""An embedding endpoint for measurements, which hangs when asked to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench.service.meaning import Meaning

#: The model that the endpoint answers as.
MODEL = "sentences"


@dataclass
class HangingEndpoint:
    """An OpenAI-compatible endpoint of vectors; while it hangs, no call is answered.

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
def embedding_endpoint(meaning: Meaning) -> Iterator[HangingEndpoint]:
    """Yield an endpoint of this machine, until the block ends, which answers what `meaning` gives."""
    endpoint = HangingEndpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.wait()
            vectors = meaning(asked["input"]).tolist()
            data = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
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
