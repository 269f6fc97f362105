"""Requests repeated with the same `Idempotency-Key`: done once, with the same answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from python_multipart.multipart import parse_options_header
from starlette.concurrency import run_in_threadpool

from rifflux.surfaces.http.auth import service_of
from rifflux.surfaces.http.importing import accepted

_ACCEPTED = 202

Key = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="Your name for this request: repeated within a day, it is not done twice and gets the same answer",
    ),
]


async def repeatable(idempotency_key: Key = None) -> None:
    """Declare the key of a request; it was handled before the body was read."""


#: Dependencies of routes whose requests may be repeated.
REPEATABLE = [Depends(repeatable)]


async def _content(request: Request) -> bytes:
    """Return the body of a request, without the boundary of a form, which clients generate anew."""
    body = await request.body()
    _, boundary = parse_options_header(request.headers.get("content-type", ""))
    return body.replace(boundary.get(b"boundary") or b"\0", b"")


async def once(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    """Answer a request, or repeat its earlier answer. Raises `Conflict` while the first is still being answered."""
    key = request.headers.get("idempotency-key")
    if not key:
        return await answer(request)
    repeats = service_of(request).repeats
    user = request.state.caller.user
    content = f"{request.method} {request.url.path}?{request.url.query}\n".encode() + await _content(request)
    known = await run_in_threadpool(repeats.begin, user, key, content)
    if known is not None and known.status == _ACCEPTED:
        job = service_of(request).jobs.get(json.loads(known.body)["id"])
        if job is not None:
            replayed = accepted(request, job)
            replayed.headers["Idempotent-Replayed"] = "true"
            return replayed
    if known is not None:
        media = "application/json" if known.body else None
        return Response(known.body, known.status, {"Idempotent-Replayed": "true"}, media)

    async def started(accepted: Response) -> None:
        # If this process dies, a repeated request is answered with the job.
        await run_in_threadpool(repeats.end, user, key, accepted.status_code, bytes(accepted.body))

    request.state.on_job = started

    async def stored() -> Response:
        status = 500
        body = b""
        try:
            response = await answer(request)
            status = response.status_code
            body = bytes(response.body)
        finally:
            await run_in_threadpool(repeats.end, user, key, status, body)
        return response

    # A client that hangs up or times out must get the answer when it repeats the request.
    return await asyncio.shield(stored())
