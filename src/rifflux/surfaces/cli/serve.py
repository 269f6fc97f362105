"""The commands of the HTTP service: running it, its tokens, what it cost."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux.errors import MissingExtra
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.commands import Db, Json, Model, Threads, app
from rifflux.surfaces.shared.config import Settings, load

if TYPE_CHECKING:
    from rifflux.store import Store

__all__: list[str] = []

tokens = typer.Typer(help="Tokens that let users and programs ask over HTTP.", no_args_is_help=True)
app.add_typer(tokens, name="tokens")
users = typer.Typer(help="Users of whom something is kept.", no_args_is_help=True)
app.add_typer(users, name="users")

Since = Annotated[str | None, typer.Option(help="Not older than this date.", metavar="DATE")]


@app.command(
    epilog="""Examples:  rifflux tokens create --user ann && rifflux serve

rifflux serve --open   (this machine only, no tokens)"""
)
def serve(
    db: Db = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8642,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    open: Annotated[bool, typer.Option("--open", help="No tokens: whoever is on this machine may ask.")] = False,
    allow_host: Annotated[list[str] | None, typer.Option(help="A name that this server goes by.")] = None,
    allow_origin: Annotated[list[str] | None, typer.Option(help="A web page's origin that may call.")] = None,
    rate: Annotated[float, typer.Option(help="Requests a minute for each token.", min=0.001)] = 600.0,
    max_body_kb: Annotated[int, typer.Option(help="Largest request.", min=1)] = 1000,
    timeout: Annotated[float, typer.Option(help="Seconds that a request may take.", min=0.001)] = 30.0,
    model: Model = None,
    threads: Threads = None,
) -> None:
    """Serve the index over HTTP: search, conversations, memories, and what it takes to run it.

    Every request needs a token, and sees what belongs to its user. OpenAPI is at /openapi.json, a page to try it at
    /docs.
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtra("the service needs more packages: pip install 'rifflux[serve]'")
    from rifflux.surfaces.http.serve import serve as run
    from rifflux.surfaces.http.service import ServiceSettings

    given = {"db": db, "model": model, "threads": threads}
    run(
        ServiceSettings(
            host=host,
            port=port,
            open=open,
            hosts=tuple(allow_host or ()),
            origins=tuple(allow_origin or ()),
            rate=rate,
            max_body_bytes=max_body_kb * 1000,
            timeout_s=timeout,
            workers=workers,
            options={name: value for name, value in given.items() if value is not None},
        )
    )


@tokens.command(epilog="Example: rifflux tokens create --user ann --label laptop")
def create(
    user: Annotated[str, typer.Option(help="Whose content the token reads and writes.")],
    role: Annotated[str, typer.Option(help="user or admin.")] = "user",
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Make a token and print it: it can never be shown again."""
    from rifflux.service.accounts import Accounts

    with closing(_store(load(db=db), create=True)) as store:
        token, text = Accounts(store.registry).create(user, role, label)
    show.secret(text, asdict(token), as_json=json)


@tokens.command("list")
def list_(db: Db = None, json: Json = False) -> None:
    """List the tokens, without their secrets."""
    with closing(_store(load(db=db))) as store:
        found = [asdict(token) for token in store.registry.tokens()]
    show.table(
        found,
        ("id", "user", "role", "label", "created_at", "used_at", "revoked_at"),
        nothing="no tokens yet: 'rifflux tokens create --user NAME' makes one",
        as_json=json,
    )


@tokens.command(epilog="Example: rifflux tokens revoke 3f9c0d1a2b44")
def revoke(
    id: Annotated[str, typer.Argument(help="The token's id, as in 'rifflux tokens list'.")], db: Db = None
) -> None:
    """Make a token useless at once and for ever."""
    from rifflux.service.accounts import Accounts

    with closing(_store(load(db=db))) as store:
        Accounts(store.registry).revoke(id)


@users.command(epilog="Example: rifflux users delete ann --yes")
def delete(
    user: Annotated[str, typer.Argument(help="The user's name, as tokens and --user have it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Delete all that is kept of a user: conversations, memories, documents, tokens, feedback, usage.

    It cannot be undone.
    """
    from rifflux.service.accounts import Accounts

    with closing(_store(load(db=db))) as store:
        if not yes:
            typer.confirm(f"Delete all that is kept of {user!r}?", abort=True, err=True)
        erased = asdict(Accounts(store.registry).delete(user))
    counts = erased.pop("documents") | {name: count for name, count in erased.items() if count}
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    show.outcome(f"deleted of {user}: {told}", {"user": user, **counts}, as_json=json)


@app.command(epilog="Example: rifflux usage --by user,model --since 2026-01-01")
def usage(
    user: Annotated[str | None, typer.Option(help="Only of this user.  [default: all]")] = None,
    by: Annotated[str, typer.Option(help="What to sum by: day, user, feature, model.")] = "day,user,model",
    since: Since = None,
    until: Annotated[str | None, typer.Option(help="Not newer than this date.", metavar="DATE")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show what calls of models cost."""
    from rifflux.service.usage import summed
    from rifflux.text.dates import parse_time, whole_day_end

    with closing(_store(load(db=db))) as store:
        start = parse_time(since).timestamp() if since else 0.0
        sums = store.registry.spent(user, start, whole_day_end(until) if until else None)
    names = [name.strip() for name in by.split(",") if name.strip()]
    show.table(
        summed(sums, names), (*names, "calls", "tokens", "cost"), nothing="no model was called yet", as_json=json
    )


@app.command(epilog="Example: rifflux online --since 2026-01-01")
def online(
    since: Since = None,
    until: Annotated[str | None, typer.Option(help="Not newer than this date.", metavar="DATE")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show what became of the questions that were asked over HTTP, by day: shares with clicks, with saves, asked again
    in other words within five minutes, called not relevant.
    """
    from rifflux.service.analytics import Diary
    from rifflux.text.dates import parse_time, whole_day_end

    with closing(_store(load(db=db))) as store:
        start = parse_time(since).timestamp() if since else 0.0
        rows = [day.row() for day in Diary(store.registry).days(start, whole_day_end(until) if until else None)]
    columns = ("day", "questions", "click_through", "saved", "reformulated", "not_relevant", "unmatched")
    show.table(rows, columns, nothing="nothing was asked over HTTP yet", as_json=json)


def _store(settings: Settings, *, create: bool = False) -> Store:
    from rifflux.store import open_store

    return open_store(settings.index_path(create=create), create=create)
