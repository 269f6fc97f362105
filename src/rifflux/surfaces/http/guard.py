"""Middleware: checks of host, origin, size and time, then logging and counting."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from typing import Any

import structlog
from starlette.responses import Response

from rifflux.surfaces.http.connections import STOPPING, ending_of
from rifflux.surfaces.http.origins import is_own_origin
from rifflux.surfaces.http.problems import problem, problem_of
from rifflux.surfaces.http.service import SEND_S, Service, ServiceSettings
from rifflux.surfaces.http.streaming import GIVEN_UP_S
from rifflux.surfaces.shared.network import TWO_LENGTHS, has_two_lengths

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_TOO_LARGE = 413
#: Seconds for which the rest of a refused body is read, and within which the next piece must arrive.
DRAIN_S = 10.0
PIECE_S = 1.0
#: The routes that accept files.
_UPLOADS = re.compile(r"/documents(/.+)?|/(conversations|works)/import")
_FORM = b"multipart/form-data"
_BODY = "http.response.body"
#: Answers are private unless they say otherwise: unlike an Authorization header, a cookie does not keep a shared cache
#: from storing them.
PRIVATE = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
#: The rest of a body that nobody reads is not awaited.
_CLOSE = {"Connection": "close"}

log = structlog.get_logger("rifflux.http")


class _TooLarge(Exception):
    """The body exceeds its limit."""


class _Middleware:
    """A layer around the application."""

    def __init__(self, app: App, service: Service) -> None:
        self.app = app
        self.service = service


class RequestGuard(_Middleware):
    """Refuses requests for other hosts, from other sites' pages, and those that are too large or take too long.

    The check of Host keeps a web page from reaching a local service under a name of its own (DNS rebinding).
    """

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal:
            await _refuse(problem(*refusal, _CLOSE), scope, receive, send)
            return
        await self._within_limits(scope, receive, send)

    def _refusal(self, scope: Message) -> tuple[int, str, str] | None:
        settings = self.service.settings
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if _name(host) not in settings.called:
            return 421, "wrong_host", "this server does not go by that name: ask an administrator to allow it"
        if has_two_lengths(scope["headers"]):
            return 400, "no_request", TWO_LENGTHS
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and origin not in settings.origins and not is_own_origin(origin, scope["scheme"], host):
            return 403, "wrong_origin", "this web page may not call the service: ask an administrator to allow it"
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > settings.max_target_bytes:
            return 414, "too_large", f"the address is longer than {settings.max_target_bytes} bytes"
        length = headers.get(b"content-length", b"0")
        most = _most_bytes(scope, settings)
        if not length.isdigit() or int(length) > most:
            return _TOO_LARGE, "too_large", f"the body is larger than {most} bytes: send less at a time"
        return None

    async def _within_limits(self, scope: Message, receive: Receive, send: Send) -> None:
        settings = self.service.settings
        read = 0
        started = False
        refusal = None
        most = _most_bytes(scope, settings)
        seconds = settings.timeout_s
        if _is_upload(scope):
            seconds += SEND_S
        elif scope["path"] == "/chat":
            seconds += GIVEN_UP_S

        async def counted() -> Message:
            nonlocal read, refusal
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                detail = f"the body is larger than {most} bytes: send less at a time"
                refusal = problem(_TOO_LARGE, "too_large", detail, _CLOSE)
                raise _TooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            if refusal is None or started:  # otherwise the application's response to half a body
                started = True
                await send(message)

        state = scope.setdefault("state", {})
        state["until"] = time.monotonic() + seconds

        def stop() -> None:
            nonlocal refusal
            if refusal is None and not started:  # a stream ends by itself
                refusal = state.get("accepted") or problem_of(STOPPING)
                limit.reschedule(asyncio.get_running_loop().time())

        try:
            async with asyncio.timeout(seconds) as limit:
                with ending_of(scope).calling(stop):
                    await self.app(scope, counted, noted)
        except (TimeoutError, _TooLarge):
            # The job goes on: the answer says where to follow it.
            refusal = refusal or state.get("accepted")
            reason = f"no answer within {seconds:g} s: ask for less, or again later"
            refusal = refusal or problem(503, "timeout", reason, {"Retry-After": "1", **_CLOSE})
        if refusal and not started:
            await _refuse(refusal, scope, receive, send)


class Observe(_Middleware):
    """Counts and logs every request by its route, never its question or its ids.

    An unexpected error is logged with its traceback, and answered with the number to find it by.
    """

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, and record its outcome."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 0
        request_id = uuid.uuid4().hex[:16]

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*_protected(message.get("headers", ())), (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception:
            log.exception("failed", id=request_id)
            if status:  # half the answer is sent: only an abnormal end can signal the error
                raise
            detail = f"this should not have happened: tell an administrator to look for {request_id} in the log"
            await problem(500, "error", detail)(scope, receive, noted)
        finally:
            self._note(scope, status, time.perf_counter() - start, request_id)

    def _note(self, scope: Message, status: int, seconds: float, request_id: str) -> None:
        route = getattr(scope.get("route"), "path", "(none)")
        counters = self.service.counters
        counters.requests.labels(scope["method"], route, str(status)).inc()
        counters.seconds.labels(route).observe(seconds)
        caller = scope.get("state", {}).get("caller")
        log.info(
            "request",
            id=request_id,
            method=scope["method"],
            route=route,
            status=status,
            ms=round(seconds * 1000, 2),
            token=caller.token if caller else None,
        )


def _protected(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers that forbid storing an answer or guessing its type, unless the answer has its own."""
    given = list(headers)
    names = {name.lower() for name, _ in given}
    return given + [each for each in PRIVATE if each[0] not in names]


async def _refuse(refusal: Response, scope: Message, receive: Receive, send: Send) -> None:
    """Answer, and read the rest of the body for a while: a client that is cut off while sending never sees the answer.

    A client that waits for `100 Continue` has sent nothing, and does not get it.
    """
    if dict(scope["headers"]).get(b"expect", b"").lower() == b"100-continue":
        await refusal(scope, receive, send)
        return

    async def unfinished(message: Message) -> None:
        await send({**message, "more_body": True} if message["type"] == _BODY else message)

    await refusal(scope, receive, unfinished)
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            while (await asyncio.wait_for(receive(), PIECE_S)).get("more_body"):
                pass
    await send({"type": _BODY, "body": b"", "more_body": False})


def _is_upload(scope: Message) -> bool:
    """Return True for a request that uploads a file."""
    kind = dict(scope["headers"]).get(b"content-type", b"").lower()
    return bool(kind.startswith(_FORM) and _UPLOADS.fullmatch(scope["path"]))


def _most_bytes(scope: Message, settings: ServiceSettings) -> int:
    """Return the largest allowed body of a request, in bytes."""
    if _is_upload(scope):
        return settings.max_upload_bytes
    return settings.max_body_bytes


def _name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
