"""`rifflux memories`: what an agent or application keeps about its user."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, group
from rifflux.surfaces.shared.nouns import nouns_json
from rifflux.types.nouns import noun_json

memories = group("memories", "Remember things about a user; recall, read, edit and forget them.")

User = Annotated[str, typer.Option(help="Whose memories.  [default: those of nobody in particular]")]
Category = Annotated[str | None, typer.Option(help="Only of this category.")]
MinImportance = Annotated[int | None, typer.Option(help="Only of this importance or more.", min=1, max=10)]
MinConfidence = Annotated[
    float | None, typer.Option(help="Only of this confidence or more.  [default: .7]", min=0, max=1)
]
Expires = Annotated[str | None, typer.Option(help="Forget it after this date, or never.", metavar="DATE|never")]
Id = Annotated[str, typer.Argument(help="The memory's id, as in 'rifflux memories list'.")]
_COLUMNS = ("id", "category", "importance", "confidence", "version", "uses", "created_at", "expires_at", "text")


@memories.command(epilog="Example: rifflux memories add 'Ann takes her tea without milk' --user ann")
def add(
    here: CommonOptions,
    text: Annotated[str, typer.Argument(help="What to remember.")],
    category: Annotated[str, typer.Option(help="fact, preference, context, task, event, ...")] = "fact",
    importance: Annotated[int, typer.Option(help="From 1 to 10; below 7 it is not kept.", min=1, max=10)] = 7,
    confidence: Annotated[float, typer.Option(help="From 0 to 1; below .7 it is not kept.", min=0, max=1)] = 1.0,
    expires: Expires = None,
    source: Annotated[str | None, typer.Option(help="Where it comes from, such as a message's id.")] = None,
    supersedes: Annotated[str | None, typer.Option(help="The memory that it takes the place of.", metavar="ID")] = None,
    user: User = "",
) -> None:
    """Remember something. Exit status 1 if it was not worth keeping."""
    with here.opened(user, create=True) as index:
        saved = index.memories.add(
            text,
            category=category,
            importance=importance,
            confidence=confidence,
            expires_at=expires,
            source=source,
            supersedes=supersedes,
        )
    told = f"{saved.outcome}: {saved.reason or (saved.memory and saved.memory.id)}"
    show.outcome(told, noun_json(saved), as_json=here.json)
    if not here.json:
        show.degraded(saved.degraded)
    if saved.memory is None:
        raise typer.Exit(1)


@memories.command(epilog="Example: rifflux memories search 'how does she take her tea' --user ann")
def search(
    here: CommonOptions,
    query: Annotated[str, typer.Argument(help="What to recall.")],
    top_k: Annotated[int, typer.Option("-k", "--top-k", help="Most memories.", min=1, max=100)] = 10,
    category: Category = None,
    min_importance: MinImportance = None,
    min_confidence: MinConfidence = None,
    fusion: Annotated[
        str | None, typer.Option(help="How words and meaning are fused: adaptive or rrf.  [default: adaptive]")
    ] = None,
    user: User = "",
) -> None:
    """Recall the memories that answer a question best."""
    with here.opened(user) as index:
        recalled = index.memories.search(
            query,
            top_k=top_k,
            category=category,
            min_importance=min_importance,
            min_confidence=min_confidence,
            fusion=fusion,
        )
    rows = [noun_json(memory, score=hit.score) for memory, hit in recalled.memories]
    if not here.json:
        show.degraded(recalled.trace.degraded)
    show.table(rows, ("score", "id", "category", "text"), nothing="nothing is remembered of that", as_json=here.json)


@memories.command("list", epilog="Example: rifflux memories list --user ann --min-importance 9")
def list_(
    here: CommonOptions,
    category: Category = None,
    min_importance: MinImportance = None,
    min_confidence: MinConfidence = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those expired or superseded.")] = False,
    user: User = "",
) -> None:
    """List the memories in force, the newest first."""
    with here.opened(user) as index:
        found = index.memories.all(
            category=category, min_importance=min_importance, min_confidence=min_confidence, everything=everything
        )
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
def edit(
    here: CommonOptions,
    id: Id,
    text: Annotated[str | None, typer.Option(help="What to remember.")] = None,
    category: Annotated[str | None, typer.Option(help="fact, preference, context, task, event, ...")] = None,
    importance: Annotated[int | None, typer.Option(help="From 1 to 10.", min=1, max=10)] = None,
    confidence: Annotated[float | None, typer.Option(help="From 0 to 1.", min=0, max=1)] = None,
    expires: Expires = None,
    source: Annotated[str | None, typer.Option(help="Where it comes from, such as a message's id.")] = None,
    user: User = "",
) -> None:
    """Change what is given of a memory; the rest stays."""
    with here.opened(user) as index:
        edited = index.memories.edit(
            id,
            text=text,
            category=category,
            importance=importance,
            confidence=confidence,
            expires_at=expires,
            source=source,
        )
    show.outcome(f"version {edited.version}: {edited.text}", noun_json(edited), as_json=here.json)


@memories.command(epilog="Example: rifflux memories forget m3f9c0d1a2b44a5b6 --user ann")
def forget(
    here: CommonOptions,
    ids: Annotated[list[str], typer.Argument(help="Ids of memories, as in 'rifflux memories list'.")],
    user: User = "",
) -> None:
    """Delete memories for good. One that they took the place of is in force again, unless it is deleted too."""
    with here.opened(user) as index:
        count = index.memories.forget(*ids)
    show.outcome(f"{count} forgotten", {"forgotten": count}, as_json=here.json)
