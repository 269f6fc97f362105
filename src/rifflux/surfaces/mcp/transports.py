"""Transports: the pipes of the program that started the server, or streamable HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Any, TypeAlias

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rifflux import TokenExpired
from rifflux.surfaces.mcp.cures import CURES
from rifflux.surfaces.shared.bearer import EXPIRED
from rifflux.surfaces.shared.cures import with_cure
from rifflux.surfaces.shared.ending import ENDING, ended_by
from rifflux.surfaces.shared.network import TWO_LENGTHS, bound, has_two_lengths

#: Nothing that follows is read as a request.
_CLOSE = {"Connection": "close"}
Server: TypeAlias = MCPServer[Any]


def serve_stdio(made: Server) -> None:
    """Serve on standard input and output until the client leaves."""
    for name in ("SIGINT", *ENDING):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            with suppress(ValueError):  # only the main thread may say so
                signal.signal(number, _end_at_once)
    anyio.run(_stdio, made)


def _end_at_once(number: int, _: object) -> None:
    """End the process.

    A thread waits for the client's next line and cannot be woken, so a clean end would wait for one more line. The
    index loses nothing: only what was committed counts.
    """
    os.write(sys.stderr.fileno(), f"{ended_by(number)}\n".encode())
    os._exit(128 + number)


async def _stdio(made: Server) -> None:
    """Run on the pipes, and answer malformed lines, which the SDK would drop."""
    served = made._lowlevel_server  # what the SDK's own `run_stdio_async` runs
    good, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with stdio_server() as (lines, answers), anyio.create_task_group() as tasks:

        async def sort() -> None:
            async with good:
                async for line in lines:
                    if isinstance(line, Exception):
                        await answers.send(SessionMessage(_refused(line)))
                    else:
                        await good.send(line)

        tasks.start_soon(sort)
        await served.run(messages, answers, served.create_initialization_options())
        tasks.cancel_scope.cancel()


def _refused(error: Exception) -> JSONRPCError:
    """Return the answer to a line that is not a JSON-RPC message, with its id if it has one."""
    if isinstance(error, ValidationError):
        errors = error.errors()
    else:
        errors = []
    given = next(
        (each["input"] for each in errors if isinstance(each["input"], dict) and "jsonrpc" in each["input"]), None
    )
    code = INVALID_REQUEST
    message = "no request of JSON-RPC 2.0: send one object with jsonrpc, id, method and params"
    if errors and errors[0]["type"] == "json_invalid":
        code = PARSE_ERROR
        message = f"the line is not valid JSON ({errors[0]['ctx']['error']}): send one object on a line"
        with suppress(ValueError, RecursionError):
            given = json.loads(errors[0]["input"])
    if isinstance(given, dict):
        id = given.get("id")
    else:
        id = None
    return JSONRPCError(jsonrpc="2.0", id=id if _names(id) else None, error=ErrorData(code=code, message=message))


def _names(id: object) -> bool:
    """Return True for what can be the id of a request, and can be sent back."""
    if isinstance(id, str):
        return id == id.encode("utf-8", "replace").decode()
    return isinstance(id, int) and not isinstance(id, bool)


def serve_http(made: Server, host: str, port: int, *, tokens: bool = False) -> None:
    """Serve streamable HTTP at `/mcp` until the process is interrupted. Port 0 takes a free one.

    With `tokens` any host name is allowed: another site's page has no token to send.
    """
    import uvicorn

    from rifflux.surfaces.shared.serving import LocalServer

    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    with bound(host, port) as listeners:
        port = listeners[0].getsockname()[1]
        if not tokens:
            security = _only_for(host, port)
        app = made.streamable_http_app(host=host, transport_security=security)
        app.add_middleware(_Refusals)
        for each in listeners:
            # The server accepts calls before its address is printed.
            each.listen()
        sys.stderr.write(f"serving MCP on http://{_bracketed(host)}:{port}/mcp\n")
        sys.stderr.flush()
        # uvicorn's access log goes to stdout, which is for data only.
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=3)
        LocalServer(config).run(sockets=[*listeners])


class _Refusals:
    """Answers requests with two lengths, and those with an expired token, for which the SDK gives no reason."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and has_two_lengths(scope["headers"]):
            refusal = JSONResponse({"error": "invalid_request", "error_description": TWO_LENGTHS}, 400, _CLOSE)
            await refusal(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        except TokenExpired as error:
            body = {"error": "invalid_token", "code": "token_expired", "error_description": with_cure(error, CURES)}
            await JSONResponse(body, 401, {"WWW-Authenticate": EXPIRED})(scope, receive, send)


def _only_for(host: str, port: int) -> TransportSecuritySettings:
    """Refuse requests that another site's page made through the user's browser (DNS rebinding).

    The Host and the Origin of a request must name this server: by `host`, as loopback, or as this machine.
    """
    names = {_bracketed(host), "127.0.0.1", "localhost", "[::1]", socket.gethostname()}
    hosts = sorted({f"{name}:{port}" for name in names} | (names if port == 80 else set()))
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{name}" for name in hosts])


def _bracketed(host: str) -> str:
    if ":" in host:
        return f"[{host}]"
    return host
