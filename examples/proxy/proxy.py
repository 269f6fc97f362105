"""A reverse proxy before `rifflux serve`: python proxy.py PORT TARGET."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

#: Headers that concern one connection, not the message.
HOP_BY_HOP = {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def passed_on(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the headers of a message that the other side should see; `Host` and `Authorization` among them."""
    return {name: value for name, value in headers if name.lower() not in HOP_BY_HOP}


def proxy(target: str) -> Starlette:
    """Return an application that forwards every request to `target`, and streams the answer back."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with httpx2.AsyncClient(base_url=target, timeout=60) as app.state.client:
            yield

    async def forward(request: Request) -> Response:
        client: httpx2.AsyncClient = request.app.state.client
        url = httpx2.URL(path=request.url.path, query=request.url.query.encode())
        headers = passed_on(request.headers.items()) | {
            "x-forwarded-for": request.client.host if request.client else "",
            "x-forwarded-proto": request.url.scheme,
        }
        sent = client.build_request(request.method, url, headers=headers, content=await request.body())
        try:
            answer = await client.send(sent, stream=True)
        except httpx2.TransportError:
            return PlainTextResponse("the search is not running", 502)
        return StreamingResponse(
            answer.aiter_raw(),
            answer.status_code,
            passed_on(answer.headers.items()),
            background=BackgroundTask(answer.aclose),
        )

    return Starlette(routes=[Route("/{path:path}", forward, methods=METHODS)], lifespan=lifespan)


if __name__ == "__main__":
    uvicorn.run(proxy(sys.argv[2]), port=int(sys.argv[1]), log_level="warning")
