"""`rifflux users`: users with data in the index."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from rifflux.service.accounts import Accounts
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, group

#: Singular nouns of what is counted for a user; other documents are counted by kind.
_NOUNS = {
    "conversation": "conversation",
    "message": "message",
    "memory": "memory",
    "files": "file",
    "events": "event",
    "settings": "setting",
    "tokens": "token",
    "calls": "call",
    "questions": "question",
    "collections": "collection",
    "log": "log entry",
}

users = group("users", "Users of whom something is kept.")


@users.command(epilog="Example: rifflux users delete ann --yes")
def delete(
    here: CommonOptions,
    user: Annotated[str, typer.Argument(help="The user's name, as tokens and --user have it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
) -> None:
    """Delete everything of a user: conversations, memories, documents, tokens, feedback, usage.

    It cannot be undone.
    """
    with here.registry() as registry:
        if not yes:
            typer.confirm(f"Delete all that is kept of {user!r}?", abort=True, err=True)
        erased = asdict(Accounts(registry).delete(user))
    counts = erased.pop("documents") | {name: count for name, count in erased.items() if count}
    deleted = ", ".join(show.counted(count, _NOUNS.get(name, f"{name} document")) for name, count in counts.items())
    show.outcome(f"deleted of {user}: {deleted}", {"user": user, **counts}, as_json=here.json)
