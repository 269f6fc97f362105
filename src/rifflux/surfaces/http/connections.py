"""The limits of a connection: how many there are at once, and how long a request's head may take to come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from rifflux.surfaces.http.problems import Refused, problem

#: What a request is told that the server stops before it is answered.
STOPPING = Refused(503, "stopping", "the service is being stopped: try again in a moment", {"Retry-After": "5"})
#: The share of its time to stop that a server leaves requests under way; in the rest they are told, and end.
SHARE = 0.9
#: Where a request's scope holds how it learns that the server stops.
_ENDING = "ending"
#: Connections that a worker holds at once, and seconds within which the head of a request must be there.
MOST_CONNECTIONS = 500
HEAD_S = 10.0


class Ending:
    """Tells the request under way on a connection that the server stops, shortly before it is cut off."""

    def __init__(self) -> None:
        self._is_now = False
        self._then: Callable[[], object] | None = None

    @contextmanager
    def calling(self, then: Callable[[], object]) -> Iterator[None]:
        """Have a function called when the time comes, while the block runs; of nested blocks, the inner one's."""
        outer = self._then
        self._then = then
        if self._is_now:
            then()
        try:
            yield
        finally:
            self._then = outer

    def begin(self) -> None:
        """Tell the request, and whatever request comes next."""
        self._is_now = True
        if self._then:
            self._then()


def ending_of(scope: MutableMapping[str, Any]) -> Ending:
    """Return how a request learns that the server stops."""
    found = scope.get("state", {}).get(_ENDING)
    if isinstance(found, Ending):
        return found
    return Ending()


class Connection(H11Protocol):
    """A connection that is refused where there are too many, and closed where it says nothing.

    uvicorn limits how long a connection may idle between requests only.
    """

    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.ending = Ending()
        # Each request's scope has a copy of this.
        self.app_state = {**self.app_state, _ENDING: self.ending}

    def shutdown(self) -> None:
        """Let the request under way be answered for a while."""
        super().shutdown()
        self.loop.call_later(SHARE * (self.config.timeout_graceful_shutdown or 0), self.ending.begin)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or say that there are too many."""
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
        """Answer what is no request, in the form of every error."""
        self.transport.write(_answer(400, "no_request", msg))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
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
