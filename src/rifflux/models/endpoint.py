"""Requests to OpenAI-compatible endpoints, bounded in time and size; errors include the server's message."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rifflux.errors import ModelError
from rifflux.models.workers import current_patience

if TYPE_CHECKING:
    import httpx2

#: Statuses worth a retry: the server is busy, or it failed.
RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
LONGEST_PAUSE = 30.0  # seconds
CURES = {
    400: "a text may be too long for the model",
    401: "check the API key",
    403: "check the API key and what it may use",
    404: "check the base URL (it usually ends in /v1) and the model's name",
    413: "send less at once",
    429: "the service limits the rate: wait, or send less at once",
}
#: The client's events that report an open connection.
_CONNECTED = frozenset({"connection.connect_tcp.complete", "connection.start_tls.complete"})
_log = logging.getLogger(__name__)


class Stop:
    """A handle to end a request immediately from another thread, even while it waits for the server."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    @property
    def is_set(self) -> bool:
        """Return True once the request was ended."""
        return self._event.is_set()

    def set(self) -> None:
        """End the request."""
        with self._lock:
            self._event.set()
            self._cut()

    def watch(self, event: str, details: Mapping[str, Any]) -> None:
        """Record the connection that the client opens, from its trace events."""
        if event in _CONNECTED:
            with self._lock:
                self._socket = details["return_value"].get_extra_info("socket")
                if self.is_set:
                    self._cut()

    def _cut(self) -> None:
        if self._socket:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class Endpoint:
    """A URL that accepts JSON and answers with a body of at most `most_bytes`; messages call it `model`.

    The message of a `ModelError` is our own; its cause contains the URL and the server's answer, with the key redacted.
    """

    model: str
    url: str
    api_key: str | None = field(default=None, repr=False)
    most_bytes: int = 1 << 28
    cures: Mapping[int, str] = field(default_factory=dict)

    def post(self, body: Mapping[str, object], timeout: float, *, retries: int = 0, backoff: float = 0.5) -> bytes:
        """Send a request and return the body of the answer. Raises `ModelError`.

        A request may take `timeout` seconds, headers and body together. It is retried up to `retries` times where that
        may help, after pauses that double, but not after two timeouts; all within the `patience` of the thread.
        """
        bounds = current_patience()
        retries = retries if bounds.retries else 0
        last = min(time.perf_counter() + 2 * timeout, bounds.until)
        for attempt in range(retries + 1):
            try:
                return self._sent(body, min(time.perf_counter() + timeout, bounds.until))
            except _Failed as failed:
                pause = max(min(backoff * 2**attempt, LONGEST_PAUSE), failed.retry_after)
                late = time.perf_counter() + pause >= last
                if attempt == retries or late or not failed.passing:
                    raise failed.error from None
                _log.warning("%s; retrying in %.1f s", failed.error.cause, pause)
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def lines(self, body: Mapping[str, object], timeout: float, stop: Stop) -> Iterator[str]:
        """Yield the lines of an answer as they arrive, within `timeout` seconds. Raises `ModelError`.

        Another thread may end the request, and with it the lines, through `stop`.
        """
        until = time.perf_counter() + timeout
        try:
            with self._answered(body, until, stop) as response:
                if not response.is_success:
                    raise self._refused(response, self._read(response, until))
                yield from self._lines(response, until, stop)
        except _Failed as failed:
            if not stop.is_set:
                raise failed.error from None

    def _lines(self, response: httpx2.Response, until: float, stop: Stop) -> Iterator[str]:
        rest = b""
        read = 0
        for block in response.iter_bytes():
            read += len(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                yield line.decode("utf-8", "replace").rstrip("\r")
            if stop.is_set:
                return
            if read > self.most_bytes:
                raise self._endless()
            if time.perf_counter() > until:
                raise self._late("the body arrives too slowly")
        if rest:
            yield rest.decode("utf-8", "replace").rstrip("\r")

    def _sent(self, body: Mapping[str, object], until: float) -> bytes:
        """Return the answer to one request. Raises `_Failed`."""
        with self._answered(body, until) as response:
            answer = self._read(response, until)
        if response.is_success:
            return answer
        raise self._refused(response, answer)

    @contextmanager
    def _answered(
        self, body: Mapping[str, object], until: float, stop: Stop | None = None
    ) -> Iterator[httpx2.Response]:
        """Send a request and yield its open response. Raises `_Failed`, also for failures while reading."""
        import httpx2

        left = max(until - time.perf_counter(), 0.001)
        # A request that may be ended from elsewhere gets a connection of its own.
        traced: dict[str, Any] = {"trace": stop.watch} if stop else {}
        try:
            with (
                nullcontext(self._client) if stop is None else self._new_client() as client,
                client.stream("POST", self.url, json=body, timeout=left, extensions=traced) as response,
            ):
                yield response
        except httpx2.TimeoutException as error:
            raise self._late(type(error).__name__) from None
        except httpx2.HTTPError as error:
            why = f"{type(error).__name__}: {error}"
            message = "could not be reached: check that the server runs and the URL is right"
            raise self._failed(message, why, passing=True) from None

    def _refused(self, response: httpx2.Response, answer: bytes) -> _Failed:
        """Return the error of an unsuccessful response."""
        status = response.status_code
        cure = {**CURES, **self.cures}.get(status, "check the server's log, or try again later")
        answer_text = " ".join(answer[:1000].decode("utf-8", "replace").split())[:200]
        return self._failed(
            f"answered with status {status}: {cure}",
            answer_text,
            passing=status in RETRIED,
            retry_after=_retry_after(response),
        )

    def _read(self, response: httpx2.Response, until: float) -> bytes:
        """Read the whole body, checking the total time: the client's timeout applies to single steps only."""
        body = bytearray()
        for block in response.iter_bytes():
            body += block
            if len(body) > self.most_bytes:
                raise self._endless()
            if time.perf_counter() > until:
                raise self._late("the body arrives too slowly")
        return bytes(body)

    def _endless(self) -> _Failed:
        return self._failed("sent an endless answer: check that it is such an endpoint", "")

    def _late(self, how: str) -> _Failed:
        return self._failed("did not answer in time: check that its server runs, or allow more time", how, passing=True)

    def _failed(self, message: str, answer_text: str, *, passing: bool = False, retry_after: float = 0.0) -> _Failed:
        if self.api_key:
            answer_text = answer_text.replace(self.api_key, "***")
        cause = f"{self.url} {message}"
        if answer_text:
            cause += f" [{answer_text}]"
        error = ModelError(f"{self.model} {message}", cause=cause)
        return _Failed(error, passing, retry_after)

    @cached_property
    def _client(self) -> httpx2.Client:
        return self._new_client()

    def _new_client(self) -> httpx2.Client:
        import httpx2

        if self.api_key:
            headers = {"Authorization": f"Bearer {self.api_key}"}
        else:
            headers = {}
        return httpx2.Client(headers=headers)


@dataclass
class _Failed(Exception):
    """A failed request: the error to raise, whether a retry may succeed, and the seconds to wait before it."""

    error: ModelError
    passing: bool
    retry_after: float


def _retry_after(response: httpx2.Response) -> float:
    """Return the seconds of a Retry-After header, up to `LONGEST_PAUSE`; zero if it is missing or a date."""
    try:
        return min(float(response.headers.get("retry-after", 0)), LONGEST_PAUSE)
    except ValueError:
        return 0.0
