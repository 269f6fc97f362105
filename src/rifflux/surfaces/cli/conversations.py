"""`rifflux conversations`: import, search, list and show the conversations of a user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux import Scope
from rifflux.requests import ConversationsFileRequest, ConversationsRequest, MessagesRequest, Neighbors
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, Explain, OpenOptions, group
from rifflux.surfaces.shared.nouns import found_messages_json
from rifflux.surfaces.shared.verdicts import explanation_lines

if TYPE_CHECKING:
    from rich.console import Console

    from rifflux import Conversations, ImportReport, Index, Message, MessageHit, MessageResults

conversations = group("conversations", "A user's conversations: import, search, list, show.")

User = Annotated[str, typer.Option(help="Whose conversations.", envvar="RIFFLUX_USER", show_envvar=False)]


@dataclass(frozen=True)
class TerminalMessages(MessagesRequest):
    """A search for messages on a terminal, with the turns around each."""

    _: KW_ONLY
    neighbors: Neighbors = 1


@conversations.command(
    "import",
    epilog="""Examples:  rifflux conversations import chatgpt-export.zip --user ann

rifflux conversations import 'WhatsApp Chat with Bob.txt' slack.zip chats.jsonl --user ann --project work""",
)
def import_(
    request: ConversationsFileRequest,
    here: OpenOptions,
    paths: Annotated[list[Path], typer.Argument(help="Exports: zips, files or folders.")],
    user: User,
    embed: Annotated[
        bool | None, typer.Option("--embed/--no-embed", help="Make vectors now.  [default: as hybrid_search is set]")
    ] = None,
) -> None:
    """Import what ChatGPT, Claude, Slack, WhatsApp, Telegram and Discord export, as it was downloaded.

    JSON Lines, and arrays of messages with role and content, are read too. Importing again adds new messages and
    updates changed ones. Exit status 1 if something could not be read, 2 if nothing was found.
    """
    with here.opened(create=True) as index, show.progress() as progress:
        report = _of(index, user).import_files(
            *paths, format=request.format, project=request.project, embed=embed, progress=progress
        )
    _print_report(report, as_json=here.json)
    if report.failed:
        raise typer.Exit(1)


@conversations.command(epilog="Example: rifflux conversations embed --user ann")
def embed(
    here: OpenOptions,
    user: Annotated[
        str,
        typer.Option(help="Whose messages.  [default: everybody's]", envvar="RIFFLUX_USER", show_envvar=False),
    ] = "",
) -> None:
    """Make vectors for messages that have none, once hybrid_search is on, at the cost of their users.

    Exit status 1 if some still have none.
    """
    with here.opened() as index, show.progress() as progress:
        if user:
            made = _of(index, user).embed(progress)
        else:
            made = index.admin.embed_messages(progress)
    show.outcome(
        f"{show.counted(made.embedded, 'chunk')} embedded, {made.waiting:,} still to come",
        asdict(made),
        as_json=here.json,
    )
    if not here.json:
        show.degraded(made.degraded)
    if made.waiting:
        raise typer.Exit(1)


@conversations.command(epilog='Example: rifflux conversations search "which train" --user ann --role assistant')
def search(
    request: TerminalMessages,
    here: OpenOptions,
    user: User,
    grouped: Annotated[bool, typer.Option("--grouped", help="Put the messages of a conversation together.")] = False,
    explain: Explain = False,
) -> None:
    """Find messages by their words, those of the turns around them, and by meaning if hybrid_search is on."""
    with here.opened() as index:
        found = _of(index, user).search(**vars(request))
    if here.json:
        show.print_json(found_messages_json(found, grouped=grouped, explain=explain))
    else:
        _print_results(found, grouped=grouped, explain=explain)


@conversations.command("list", epilog="Example: rifflux conversations list --user ann --current")
def list_(request: ConversationsRequest, here: CommonOptions, user: User) -> None:
    """List the conversations, the oldest first."""
    with here.opened() as index:
        found = [asdict(each) for each in _of(index, user).list(**vars(request))]
    show.table(
        found,
        ("id", "title", "project", "archived", "created_at", "messages"),
        nothing="no conversations: 'rifflux conversations import' brings some",
        as_json=here.json,
    )


@conversations.command("show", epilog="Example: rifflux conversations show 6f1c --user ann")
def show_(
    here: CommonOptions,
    id: Annotated[str, typer.Argument(help="The conversation's id, as in 'rifflux conversations list'.")],
    user: User,
) -> None:
    """Print a conversation."""
    with here.opened() as index:
        mine = _of(index, user)
        found = mine.get(id)
        messages = mine.messages(id)
    if here.json:
        show.print_json({**asdict(found), "messages": [asdict(message) for message in messages]})
        return
    console = show.console()
    told = [found.title or "untitled", found.project, "archived" * found.archived]
    console.print(show.one_line("  ".join(filter(None, told))), style="bold cyan")
    for message in messages:
        console.print(_turn("", message))


def _of(index: Index, user: str) -> Conversations:
    return index.scoped(Scope(user)).conversations


def _print_report(done: ImportReport, *, as_json: bool) -> None:
    counts = {name: getattr(done, name) for name in ("added", "changed", "unchanged", "removed")}
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "none"
    new = f"{done.conversations:,} new conversations; messages: {told}; {done.embedded:,} embedded"
    show.outcome(f"{new}, in {done.seconds:.1f} s", asdict(done), as_json=as_json)
    if not as_json:
        if done.skipped:
            show.note(f"left out: {', '.join(f'{count:,} {what}' for what, count in done.skipped.items())}")
        if done.undated:
            show.note(f"{done.undated:,} messages are kept without their dates, which could not be read")
        for note in done.notes:
            show.note(note.text)
        show.failures("failed", done.failed, "red")
        show.degraded(done.degraded)


def _print_results(found: MessageResults, *, grouped: bool, explain: bool) -> None:
    console = show.console()
    if grouped:
        hits = [hit for group in found.grouped() for hit in group.hits]
    else:
        hits = list(found)
    title = None
    for rank, hit in enumerate(hits, 1):
        if not grouped or hit.message.conversation_id != title:
            title = hit.message.conversation_id
            console.print(show.one_line(f"{hit.title or 'untitled'}  {title}"), style="bold cyan")
        _print_hit(console, rank, hit)
        for line in explanation_lines(hit.hit.why) if explain else ():
            console.print(f"     {show.safe(line)}", style="dim")
        console.print()
    show.notes(found.trace, nothing=not found)


def _print_hit(console: Console, rank: int, hit: MessageHit) -> None:
    def around(turns: Sequence[Message]) -> None:
        for turn in turns:
            console.print(_turn("    ", turn), style="dim")

    around(hit.before)
    console.print(_turn(f"{rank:>2}  ", hit.message))
    around(hit.after)


def _turn(margin: str, message: Message) -> str:
    text = message.text.strip().replace("\n", f"\n{' ' * len(margin)}")
    if message.created_at:
        date = f" ({message.created_at[:16]})"
    else:
        date = ""
    if message.branch:
        other = ", not shown last"
    else:
        other = ""
    return margin + show.safe(f"{message.label}{date}{other}: {text}")
