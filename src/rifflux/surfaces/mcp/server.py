"""The MCP surface: an agent searches the index, reads what it found, and brings the index up to date.

`server` makes the tools over a workspace, `serve` runs them over stdio or streamable HTTP. A tool that is
asked for something impossible answers with an error result whose text is the message of the error.
"""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, ToolAnnotations

from rifflux import InvalidArgument, NotFound, RiffluxError, __version__
from rifflux.surfaces.mcp.get_document import get_chunk, get_document
from rifflux.surfaces.mcp.index_status import index_status
from rifflux.surfaces.mcp.memories import forget, recall, remember
from rifflux.surfaces.mcp.reindex import reindex
from rifflux.surfaces.mcp.reply import UNTRUSTED
from rifflux.surfaces.mcp.retrieve import retrieve, verify
from rifflux.surfaces.mcp.search import search
from rifflux.surfaces.mcp.search_rifflux import classify_query, search_rifflux
from rifflux.surfaces.mcp.tool import Desk, tool
from rifflux.surfaces.mcp.why import why
from rifflux.surfaces.mcp.workspace import Workspace

if TYPE_CHECKING:
    from rifflux import Finder
    from rifflux.surfaces.shared.config import Opening

__all__ = ["Workspace", "serve", "server"]

Server: TypeAlias = MCPServer[Any]
_log = logging.getLogger(__name__)
#: Seconds until the index is looked for again, and until a run that failed is repeated.
LOOK, RETRY = 0.5, 30.0

INSTRUCTIONS = f"""\
Rifflux searches the user's own files by words and by meaning. Start with search_rifflux; the tool search has \
filters, further pages and other ways to rank. Read around a result with get_document, or again with get_chunk. \
After files changed, or where nothing is indexed yet, call reindex. For papers, \
theorems and what they cite, use retrieve: its passages can be cited and checked.
{UNTRUSTED}"""

READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
DELETES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
#: The tools, with their titles, in the order that clients see.
TOOLS: Sequence[tuple[Callable[..., CallToolResult], str, ToolAnnotations]] = (
    (search_rifflux, "Search the indexed files", READS),
    (search, "Search with every choice there is", READS),
    (reindex, "Update the index", WRITES),
    (get_chunk, "Read a chunk", READS),
    (get_document, "Read a document", READS),
    (why, "Tell why a document ranks where it does", READS),
    (classify_query, "Tell what sort of question it is", READS),
    (index_status, "Tell the state of the index", READS),
    (retrieve, "Find research works, with evidence to cite", READS),
    (verify, "Check evidence", READS),
    (remember, "Remember something about the user", WRITES),
    (recall, "Recall what is remembered", READS),
    (forget, "Forget memories", DELETES),
)


def server(workspace: Workspace, *, user: str = "") -> Server:
    """Make an MCP server with the tools of Rifflux over `workspace`, which stays the caller's to close.

    `user` is whose memories the agent keeps.
    """
    desk = Desk(workspace, user)
    return MCPServer(
        "rifflux",
        title="Rifflux",
        version=__version__,
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        tools=[tool(desk, *each) for each in TOOLS],
    )


def serve(
    db: Path,
    *,
    roots: Sequence[Path] | None = None,
    http: tuple[str, int] | None = None,
    finder: Finder | None = None,
    user: str = "",
    watch: bool = False,
    rrf_k: float = 60.0,
    **options: Unpack[Opening],
) -> None:
    """Serve the index at `db` until the client leaves or the process is interrupted.

    Over stdio, or with `http` as (host, port) over streamable HTTP at `/mcp`; port 0 takes a free one, and
    the address is printed on stderr. `roots` are the folders that may be indexed: without it, the working
    directory. `options` are those of `rifflux.open`. `user` is whose memories the
    agent keeps, `rrf_k` the k of search_rifflux. With `watch`, the files that the index holds are followed meanwhile.
    """
    made = Workspace(db, roots=roots or [Path.cwd()], finder=finder, rrf_k=rrf_k, **options)
    with made as workspace, suppress(KeyboardInterrupt), watched(workspace) if watch else nullcontext():
        if http:
            _serve_http(server(workspace, user=user), *http)
        else:
            _serve_stdio(server(workspace, user=user))


@contextmanager
def watched(workspace: Workspace) -> Iterator[None]:
    """Keep the configured index up to date with its files, in a thread, until the block ends."""
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(workspace, stop), name="follow", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _follow(workspace: Workspace, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            _follow_one(workspace, stop)
        except NotFound:
            stop.wait(LOOK)
        except RiffluxError as error:
            _log.warning("the files are not followed for the next %.0f s: %s", RETRY, error)
            stop.wait(RETRY)


def _follow_one(workspace: Workspace, stop: threading.Event) -> None:
    """Follow an index until it is stopped, or another file is in its place."""
    opened = workspace.open()
    for report in opened.index.watch(finder=workspace.followed, stop=stop):
        for failure in report.failed:
            _log.warning("%s: %s", failure.path, failure.reason)
        if workspace.open() is not opened:
            return


def _serve_stdio(made: Server) -> None:
    # A thread waits for the client's next line and cannot be woken, so a tidy interrupt would wait for one
    # more line. The index loses nothing when the process just ends: what is not committed never happened.
    with suppress(ValueError):  # only the main thread may say so
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    made.run("stdio")


def _serve_http(made: Server, host: str, port: int) -> None:
    import uvicorn

    listener = _listen(host, port)
    port = listener.getsockname()[1]
    app = made.streamable_http_app(host=host, transport_security=_only_for(host, port))
    sys.stderr.write(f"serving MCP on http://{_bracketed(host)}:{port}/mcp\n")
    sys.stderr.flush()
    # Its own access log goes to stdout, which is for data alone.
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=3)
    with listener:
        uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InvalidArgument(f"cannot serve on {host}:{port} ({error}): choose another host or port") from error


def _only_for(host: str, port: int) -> TransportSecuritySettings:
    """Refuse requests that a foreign web page made through the user's browser (DNS rebinding).

    The Host and the Origin of a request must name this server: by `host`, as loopback, or as this machine.
    """
    if host not in ("127.0.0.1", "localhost", "::1"):
        _log.warning("whoever can reach %s can read this index: no login is asked for", host)
    names = {_bracketed(host), "127.0.0.1", "localhost", "[::1]", socket.gethostname()}
    hosts = sorted({f"{name}:{port}" for name in names} | (names if port == 80 else set()))
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{name}" for name in hosts])


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
