"""`rifflux mcp`: serve the index to agents, and configure their programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import EngineOptions, group
from rifflux.surfaces.shared.config import finder, opening

if TYPE_CHECKING:
    from rifflux.surfaces.shared.clients import Edit

servers = group(
    "mcp",
    """Serve the index to agents over the Model Context Protocol: they search it, and keep memories in it.

    Over HTTP, whoever comes from another machine needs a token of 'rifflux tokens create', and sees what is theirs.

    install and uninstall write the configuration of a client, such as Claude Code or Cursor.

    Example: rifflux mcp --http 127.0.0.1:8765""",
    callback_alone=True,
)

Root = Annotated[
    list[Path] | None,
    typer.Option(help="A folder that reindex may read.  [default: the working directory, if it is no home or disk]"),
]
Watch = Annotated[bool, typer.Option("--watch", help="Follow all files of the index as they change.")]
ClientName = Annotated[
    str,
    typer.Argument(
        help="claude-code, claude-desktop, codex, cursor, gemini, vscode, windsurf or zed.", metavar="CLIENT"
    ),
]
User = Annotated[
    str,
    typer.Option(help="Whose files and memories the agent has, and whose shares.  [default: nobody's in particular]"),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@servers.callback()
def mcp(
    context: typer.Context,
    here: EngineOptions,
    root: Root = None,
    http: Annotated[
        str | None, typer.Option(help="Serve streamable HTTP here.  [default: stdio]", metavar="HOST:PORT")
    ] = None,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Ask for tokens on this machine too, as on every other address.")
    ] = False,
    user: User = "",
    watch: Watch = False,
) -> None:
    """Serve the index, unless a command follows."""
    if context.invoked_subcommand is not None:
        return
    from rifflux.surfaces.mcp import serve

    settings = here.settings()
    serve(
        settings.location(create=True),
        roots=root,
        finder=finder(settings),
        http=_address(http) if http else None,
        tokens=tokens,
        user=user,
        watch=watch,
        rrf_k=settings.rrf_k,
        **opening(settings),
    )


@servers.command(epilog="Example: rifflux mcp install claude-code --root ~/notes")
def install(
    here: EngineOptions,
    client: ClientName,
    root: Root = None,
    user: User = "",
    watch: Watch = False,
    yes: Yes = False,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print what would be written, and write nothing.")
    ] = False,
) -> None:
    """Add this server to a client's configuration, after confirming the change.

    The rest of the file stays as it is. A file with comments is not changed: the entry is printed instead.
    """
    from rifflux.surfaces.shared.clients import client_of, server_command
    from rifflux.surfaces.shared.places import implied_roots

    chosen = client_of(client)
    if root:
        roots = [each.expanduser().resolve() for each in root]
    else:
        roots = implied_roots()
    command = server_command(
        *("mcp", "--db", str(here.settings().index_path(create=True).expanduser().resolve())),
        *(part for each in roots for part in ("--root", str(each))),
        *(("--model", here.model) if here.model else ()),
        *(("--user", user) if user else ()),
        *(("--watch",) if watch else ()),
    )
    typer.echo(chosen.entry_text(command), nl=False)
    if print_only:
        return
    _write(chosen.installed(command), f"{chosen.title} starts it from now on; restart it if it runs", yes=yes)


@servers.command(epilog="Example: rifflux mcp uninstall claude-code")
def uninstall(client: ClientName, yes: Yes = False) -> None:
    """Remove this server from a client's configuration; the rest of the file stays as it is."""
    from rifflux.surfaces.shared.clients import client_of

    chosen = client_of(client)
    _write(chosen.uninstalled(), f"{chosen.title} starts it no longer", yes=yes)


def _write(edit: Edit, done: str, *, yes: bool) -> None:
    """Write an edit after confirmation."""
    if edit.before == edit.after:
        show.note(f"{edit.path} says so already", "dim")
        return
    if not yes:
        typer.confirm(f"Write {edit.path}?", abort=True, err=True)
    edit.write()
    show.note(f"wrote {edit.path}: {done}", "green")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) <= 65535:
        raise typer.BadParameter(f"{text!r} is not HOST:PORT", param_hint="--http")
    return host.strip("[]") or "127.0.0.1", int(port)
