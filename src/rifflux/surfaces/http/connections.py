"""Limits on connections: how many there are at once, and how long the head of a request may take to arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from rifflux.surfaces.http.problems import Refused, problem

#: The response to a request that is interrupted because the server stops.
STOPPING = Refused(503, "stopping", "the service is being stopped: try again in a moment", {"Retry-After": "5"})
#: The share of its time to stop that a server gives requests under way; in the rest they are answered with an error.
SHARE = 0.9
#: The key in a request's scope for how it learns that the server stops.
_ENDING = "ending"
#: Connections per worker, and the seconds within which the head of a request must arrive.
MOST_CONNECTIONS = 500
HEAD_S = 10.0


class Ending:
    """Notifies the request under way on a connection that the server is about to close it."""

    def __init__(self) -> None:
        self._is_now = False
        self._then: Callable[[], object] | None = None

    @contextmanager
    def calling(self, then: Callable[[], object]) -> Iterator[None]:
        """Call a function on that notification while the block runs; of nested blocks, the inner one's."""
        outer = self._then
        self._then = then
        if self._is_now:
            then()
        try:
            yield
        finally:
            self._then = outer

    def begin(self) -> None:
        """Notify the current request, and any that follows."""
        self._is_now = True
        if self._then:
            self._then()


def ending_of(scope: MutableMapping[str, Any]) -> Ending:
    """Return the notification of a request that the server stops."""
    found = scope.get("state", {}).get(_ENDING)
    if isinstance(found, Ending):
        return found
    return Ending()


class Connection(H11Protocol):
    """A connection that is refused if there are too many, and closed if it stays silent.

    uvicorn limits how long a connection may idle between requests only.
    """

    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.ending = Ending()
        # The scope of each request has a copy of this.
        self.app_state = {**self.app_state, _ENDING: self.ending}

    def shutdown(self) -> None:
        """Give the request under way some time to finish."""
        super().shutdown()
        self.loop.call_later(SHARE * (self.config.timeout_graceful_shutdown or 0), self.ending.begin)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or answer that there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.write(_answer(503, "busy", "too many connections: try again", {"Retry-After": "1"}))
            transport.close()
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        """Read on; the next head has its own deadline."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._head_is_there()
        elif self._deadline is None and (before is None or before.response_complete):
            self._await_head()

    def send_400_response(self, msg: str) -> None:
        """Answer malformed requests in the format of all errors."""
        self.transport.write(_answer(400, "no_request", msg))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        self._head_is_there()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_S, self.transport.close)

    def _head_is_there(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _answer(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> bytes:
    answer = problem(status, code, message, {"Connection": "close", "Cache-Control": "no-store", **(headers or {})})
    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
    return b"\r\n".join([first, *(b": ".join(each) for each in answer.raw_headers), b"", bytes(answer.body)])
