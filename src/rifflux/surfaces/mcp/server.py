"""The MCP surface: an agent searches the index, reads what it found, and brings the index up to date.

`server` makes the tools over a workspace, `serve` runs them over stdio or streamable HTTP. The error result of a failed
call has the message of the error as its text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from mcp.server import MCPServer
from mcp.server.auth.settings import AuthSettings
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import AnyHttpUrl

from rifflux import InvalidArgument, __version__
from rifflux.surfaces.mcp.callers import Callers
from rifflux.surfaces.mcp.conversations import search_conversations
from rifflux.surfaces.mcp.desk import Desk
from rifflux.surfaces.mcp.everything import everything
from rifflux.surfaces.mcp.following import follow
from rifflux.surfaces.mcp.get_document import get_chunk, get_document
from rifflux.surfaces.mcp.index_status import index_status
from rifflux.surfaces.mcp.memories import edit_memory, forget, get_memory, recall, remember
from rifflux.surfaces.mcp.reindex import reindex
from rifflux.surfaces.mcp.reindex_job import reindex_job
from rifflux.surfaces.mcp.reply import UNTRUSTED
from rifflux.surfaces.mcp.retrieve import retrieve, verify
from rifflux.surfaces.mcp.search import search
from rifflux.surfaces.mcp.search_rifflux import classify_query, search_rifflux
from rifflux.surfaces.mcp.tool import tool
from rifflux.surfaces.mcp.transports import Server, serve_http, serve_stdio
from rifflux.surfaces.mcp.why import why
from rifflux.surfaces.mcp.workspace import Workspace
from rifflux.surfaces.shared.beside import beside
from rifflux.surfaces.shared.network import is_loopback
from rifflux.surfaces.shared.places import implied_roots

if TYPE_CHECKING:
    from rifflux import Finder
    from rifflux.surfaces.shared.config import Opening

#: The SDK requires the address of an authorization server, although `rifflux tokens create` makes the tokens.
ISSUER = "http://localhost"

INSTRUCTIONS = """\
Rifflux searches the user's own files by words and by meaning. Start with search: a query is enough, and filters, \
dates and further pages are there if needed; what it says of an argument holds for every tool. search_rifflux is for \
programs that need its fixed keys: it ranks by reciprocal ranks alone. everything searches notes, tasks and \
conversations too; search_conversations finds messages by role and date. \
Read around a result with get_document, or again with get_chunk. \
{indexing} For papers, \
theorems and what they cite, use retrieve: its passages can be cited and checked.
{untrusted}"""
#: Instructions on indexing, without tokens and with them.
INDEXING = (
    "After files changed, or where nothing is indexed yet, call reindex.",
    "Only administrators have files indexed, with reindex: ask one where files changed or something is missing.",
)

READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
DELETES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
#: The tools with their titles, in the order that clients see.
TOOLS: Sequence[tuple[Callable[..., CallToolResult], str, ToolAnnotations]] = (
    (search, "Search the indexed files", READS),
    (search_rifflux, "Search by reciprocal rank fusion, with fixed keys", READS),
    (everything, "Search all sources at once", READS),
    (search_conversations, "Search conversations", READS),
    (reindex, "Update the index", WRITES),
    (reindex_job, "Update the index in the background", WRITES),
    (get_chunk, "Read a chunk", READS),
    (get_document, "Read a document", READS),
    (why, "Tell why a document ranks where it does", READS),
    (classify_query, "Tell what sort of question it is", READS),
    (index_status, "Tell the state of the index", READS),
    (retrieve, "Find research works, with evidence to cite", READS),
    (verify, "Check evidence", READS),
    (remember, "Remember something about the user", WRITES),
    (recall, "Recall what is remembered", READS),
    (get_memory, "Read a memory", READS),
    (edit_memory, "Change a memory", WRITES),
    (forget, "Forget memories", DELETES),
)


def server(workspace: Workspace, *, user: str = "", callers: Callers | None = None) -> Server:
    """Make an MCP server with the tools of Rifflux over `workspace`, which stays the caller's to close.

    The agent has the files and memories of `user`, and what is shared with them. With `callers` every request needs a
    token and is made as its user.
    """
    desk = Desk(workspace, user, callers)
    return MCPServer(
        "rifflux",
        title="Rifflux",
        version=__version__,
        instructions=INSTRUCTIONS.format(indexing=INDEXING[callers is not None], untrusted=UNTRUSTED),
        log_level="WARNING",
        tools=[tool(desk, *each) for each in TOOLS],
        token_verifier=callers,
        auth=AuthSettings(issuer_url=AnyHttpUrl(ISSUER), resource_server_url=None) if callers else None,
    )


def serve(
    db: Path | str,
    *,
    roots: Sequence[Path] | None = None,
    http: tuple[str, int] | None = None,
    tokens: bool = False,
    finder: Finder | None = None,
    user: str = "",
    watch: bool = False,
    rrf_k: float = 60.0,
    **options: Unpack[Opening],
) -> None:
    """Serve the index at `db` until the client leaves or the process is interrupted.

    Over stdio, or with `http` as (host, port) over streamable HTTP at `/mcp`; port 0 takes a free one, and
    the address is printed on stderr. With `tokens`, and on every address that other machines can reach, each request
    needs a token of a user and sees what is theirs.
    `roots` are the folders that may be indexed: without it, the working directory, unless that is all of a disk or of a
    home, or there are tokens. `options` are those of `rifflux.open`. The agent sees the index as `user` does; `rrf_k`
    is the k of search_rifflux. With `watch`, the files that the index holds are followed meanwhile: that user's, and
    where there are tokens everybody's.
    """
    tokens = tokens or bool(http and not is_loopback(http[0]))
    if tokens and not http:
        raise InvalidArgument("tokens are for a server over HTTP: add --http HOST:PORT")
    if tokens and user:
        raise InvalidArgument("where tokens are asked for they name the user: leave out --user")
    folders = roots or ([] if tokens else implied_roots())
    with Workspace(db, roots=folders, finder=finder, rrf_k=rrf_k, **options) as workspace, ExitStack() as stack:
        if watch:
            stack.enter_context(beside(partial(follow, workspace, user, tokens), "follow"))
        made = server(workspace, user=user, callers=Callers(workspace) if tokens else None)
        if http:
            serve_http(made, *http, tokens=tokens)
        else:
            serve_stdio(made)
