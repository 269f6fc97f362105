"""Requests that are sent again with the same `Idempotency-Key`: done once, and answered as they were."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from starlette.concurrency import run_in_threadpool

from rifflux import Conflict, InvalidArgument
from rifflux.store import KeptAnswer
from rifflux.surfaces.http.auth import service_of
from rifflux.surfaces.http.service import Caller, Service

__all__ = ["REPEATABLE", "once", "repeatable"]

#: Seconds for which an answer is kept.
KEPT_S = 86_400.0
#: Larger answers are not kept.
MOST_BYTES = 1_000_000

Key = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="Your name for this request: sent again within a day, it is answered as before and not done twice",
    ),
]


async def repeatable(idempotency_key: Key = None) -> None:
    """Take the key of a request; what it does was done before the body was read."""


#: What a route depends on whose requests may be sent again.
REPEATABLE = [Depends(repeatable)]


async def once(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    """Answer a request, or answer it again as before. Raises `Conflict` while the first is still being answered."""
    key = request.headers.get("idempotency-key")
    if not key:
        return await answer(request)
    service, caller = service_of(request), request.state.caller
    digest = hashlib.sha256(f"{request.method} {request.url.path}?{request.url.query}\n".encode())
    digest.update(await request.body())
    begun = KeptAnswer(caller.user, key, digest.digest(), time.time())
    known = await run_in_threadpool(service.registry.begin_answer, begun, begun.time - KEPT_S)
    if known is not None:
        return _repeated(known, begun)
    # Whoever hangs up, or waits too long, must find the answer when they ask again.
    return await asyncio.shield(_kept(request, answer, service, caller, key))


async def _kept(
    request: Request, answer: Callable[[Request], Awaitable[Response]], service: Service, caller: Caller, key: str
) -> Response:
    status, body = 0, b""
    try:
        response = await answer(request)
        if response.status_code < 400 and len(response.body) <= MOST_BYTES:
            status, body = response.status_code, bytes(response.body)
        return response
    finally:
        await run_in_threadpool(service.registry.end_answer, caller.user, key, status, body)


def _repeated(known: KeptAnswer, asked: KeptAnswer) -> Response:
    if known.request != asked.request:
        raise InvalidArgument("this Idempotency-Key belongs to another request: give each request a key of its own")
    if not known.status:
        raise Conflict(
            "the request with this Idempotency-Key is being answered: ask again later. If that stays so, the service "
            "was stopped meanwhile: look whether it was done, and send it with another key if not"
        )
    media = "application/json" if known.body else None
    return Response(known.body, known.status, {"Idempotent-Replayed": "true"}, media)
