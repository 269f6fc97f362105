"""`rifflux memories`: memories of a user."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.requests import MemoriesRequest, MemoryChanges, MemoryRequest, RecallRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, group
from rifflux.surfaces.shared.nouns import nouns_json
from rifflux.types.nouns import noun_json

memories = group("memories", "Remember things about a user; recall, read, edit and forget them.")

User = Annotated[str, typer.Option(help="Whose memories.  [default: those of nobody in particular]")]
Id = Annotated[str, typer.Argument(help="The memory's id, as in 'rifflux memories list'.")]
_COLUMNS = ("id", "category", "importance", "confidence", "version", "uses", "created_at", "expires_at", "text")


@memories.command(epilog="Example: rifflux memories add 'Ann takes her tea without milk' --user ann")
def add(request: MemoryRequest, here: CommonOptions, user: User = "") -> None:
    """Save a memory. Exit status 1 if it was refused."""
    with here.opened(user, create=True) as index:
        saved = index.memories.add(**vars(request))
    summary = f"{saved.outcome}: {saved.reason or (saved.memory and saved.memory.id)}"
    show.outcome(summary, noun_json(saved), as_json=here.json)
    if not here.json:
        show.degraded(saved.degraded)
    if saved.memory is None:
        raise typer.Exit(1)


@memories.command(epilog="Example: rifflux memories search 'how does she take her tea' --user ann")
def search(request: RecallRequest, here: CommonOptions, user: User = "") -> None:
    """Recall the memories that answer a question best."""
    with here.opened(user) as index:
        recalled = index.memories.search(**vars(request))
    rows = [noun_json(memory, score=hit.score) for memory, hit in recalled.memories]
    if not here.json:
        show.degraded(recalled.trace.degraded)
    show.table(rows, ("score", "id", "category", "text"), nothing="nothing is remembered of that", as_json=here.json)


@memories.command("list", epilog="Example: rifflux memories list --user ann --min-importance 9")
def list_(request: MemoriesRequest, here: CommonOptions, user: User = "") -> None:
    """List the memories in force, the newest first."""
    with here.opened(user) as index:
        found = index.memories.all(**vars(request))
    show.table(nouns_json(found), _COLUMNS, nothing="nothing is remembered yet", as_json=here.json)


@memories.command("show", epilog="Example: rifflux memories show m3f9c0d1a2b44a5b6 --user ann")
def show_(
    here: CommonOptions,
    id: Id,
    history: Annotated[bool, typer.Option("--history", help="Also those that it took the place of.")] = False,
    user: User = "",
) -> None:
    """Print a memory, in force or not, or its history, the newest first."""
    with here.opened(user) as index:
        if history:
            found = index.memories.history(id)
        else:
            found = [index.memories.get(id)]
    rows = nouns_json(found)
    if here.json:
        show.print_json(rows if history else rows[0])
        return
    for row in rows:
        show.pairs((name, str(value)) for name, value in row.items() if value is not None)


@memories.command(epilog="Example: rifflux memories edit m3f9c0d1a2b44a5b6 --importance 9 --expires never --user ann")
def edit(request: MemoryChanges, here: CommonOptions, id: Id, user: User = "") -> None:
    """Change the given fields of a memory; the others stay."""
    with here.opened(user) as index:
        edited = index.memories.edit(id, **vars(request))
    show.outcome(f"version {edited.version}: {edited.text}", noun_json(edited), as_json=here.json)


@memories.command(epilog="Example: rifflux memories forget m3f9c0d1a2b44a5b6 --user ann")
def forget(
    here: CommonOptions,
    ids: Annotated[list[str], typer.Argument(help="Ids of memories, as in 'rifflux memories list'.")],
    user: User = "",
) -> None:
    """Delete memories for good. One that they superseded is in force again, unless it is deleted too."""
    with here.opened(user) as index:
        count = index.memories.forget(*ids)
    show.outcome(f"{count} forgotten", {"forgotten": count}, as_json=here.json)
