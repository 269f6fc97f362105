"""The commands of conversations: importing, searching, listing and showing those of a user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux.surfaces.cli import show, show_messages
from rifflux.surfaces.cli.commands import Db, Json, Model, Threads, app
from rifflux.surfaces.cli.progress import progress_bar
from rifflux.surfaces.shared.config import load
from rifflux.surfaces.shared.opening import open_configured
from rifflux.types import Scope

if TYPE_CHECKING:
    from rifflux.conversations import Conversations
    from rifflux.index import Index

__all__: list[str] = []

conversations = typer.Typer(help="A user's conversations: import, search, list, show.", no_args_is_help=True)
app.add_typer(conversations, name="conversations")

User = Annotated[str, typer.Option(help="Whose conversations.", envvar="RIFFLUX_USER", show_envvar=False)]
Project = Annotated[str | None, typer.Option(help="Only of this project.")]
Archived = Annotated[bool | None, typer.Option("--archived/--current", help="Only archived ones, or none of them.")]


@conversations.command(
    "import",
    epilog="""Examples:  rifflux conversations import conversations.json --user ann

rifflux conversations import ./slack-export chats.jsonl --user ann --project work""",
)
def import_(
    paths: Annotated[list[Path], typer.Argument(help="Files, or folders of exports.")],
    user: User,
    format: Annotated[
        str | None, typer.Option(help="jsonl, openai, slack or messages.  [default: told by looking]")
    ] = None,
    project: Annotated[str | None, typer.Option(help="The project that all of them belong to.")] = None,
    embed: Annotated[
        bool | None, typer.Option("--embed/--no-embed", help="Make vectors now.  [default: as hybrid_search is set]")
    ] = None,
    db: Db = None,
    model: Model = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Import conversations: JSON Lines, an OpenAI or Slack export, or arrays of messages with role and content.

    Importing again brings up to date what changed. Exit status 1 if something could not be read.
    """
    settings = load(db=db, model=model, threads=threads)
    with open_configured(settings, create=True) as index, progress_bar() as progress:
        report = _of(index, user).import_files(*paths, format=format, project=project, embed=embed, progress=progress)
    show_messages.report(report, as_json=json)
    if report.failed:
        raise typer.Exit(1)


@conversations.command(epilog='Example: rifflux conversations search "which train" --user ann --role assistant')
def search(
    query: Annotated[str, typer.Argument(help='Words, a "phrase", -without, prefix*, field:value.')],
    user: User,
    limit: Annotated[int, typer.Option("-k", "--limit", help="How many messages, 1 to 100.")] = 20,
    conversation: Annotated[str | None, typer.Option(help="Only in this conversation.", metavar="ID")] = None,
    date_from: Annotated[
        str | None, typer.Option("--from", "--since", help="Not older than this date.", metavar="DATE")
    ] = None,
    date_to: Annotated[
        str | None, typer.Option("--to", "--until", help="Not newer than this date.", metavar="DATE")
    ] = None,
    role: Annotated[str | None, typer.Option(help="Only what this role says, such as assistant.")] = None,
    project: Project = None,
    archived: Archived = None,
    neighbours: Annotated[int, typer.Option(help="Turns to show before and after each message.")] = 1,
    grouped: Annotated[bool, typer.Option("--grouped", help="Put the messages of a conversation together.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Tell why each result ranked where it did.")] = False,
    db: Db = None,
    model: Model = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Find messages by their words, those of the turns around them, and, where an administrator says so, by meaning."""
    with open_configured(load(db=db, model=model, threads=threads)) as index:
        found = _of(index, user).search(
            query,
            limit=limit,
            conversation_id=conversation,
            date_from=date_from,
            date_to=date_to,
            role=role,
            project=project,
            archived=archived,
            neighbours=neighbours,
        )
    show_messages.results(found, grouped=grouped, explain=explain, as_json=json)


@conversations.command("list", epilog="Example: rifflux conversations list --user ann --current")
def list_(user: User, project: Project = None, archived: Archived = None, db: Db = None, json: Json = False) -> None:
    """List the conversations, the oldest first."""
    from dataclasses import asdict

    with open_configured(load(db=db)) as index:
        found = [asdict(each) for each in _of(index, user).list(project=project, archived=archived)]
    show.table(
        found,
        ("id", "title", "project", "archived", "created_at", "messages"),
        nothing="no conversations: 'rifflux conversations import' brings some",
        as_json=json,
    )


@conversations.command("show", epilog="Example: rifflux conversations show 6f1c --user ann")
def show_(
    id: Annotated[str, typer.Argument(help="The conversation's id, as in 'rifflux conversations list'.")],
    user: User,
    db: Db = None,
    json: Json = False,
) -> None:
    """Print a conversation."""
    with open_configured(load(db=db)) as index:
        mine = _of(index, user)
        show_messages.conversation(mine.get(id), mine.messages(id), as_json=json)


def _of(index: Index, user: str) -> Conversations:
    return index.scoped(Scope(user)).conversations
