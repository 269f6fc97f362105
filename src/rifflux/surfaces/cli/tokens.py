"""`rifflux tokens`: access tokens for HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from rifflux.requests import TokenRequest
from rifflux.service.accounts import Accounts
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, IndexOptions, group
from rifflux.surfaces.shared.nouns import nouns_json
from rifflux.types.nouns import noun_json

tokens = group("tokens", "Tokens that let users and programs ask over HTTP.")


@tokens.command(epilog="Example: rifflux tokens create --user ann --label laptop --expires 90d")
def create(
    request: TokenRequest,
    here: CommonOptions,
    user: Annotated[str, typer.Option(help="Whose content the token reads and writes.")],
) -> None:
    """Create a token and print it: it cannot be printed again."""
    with here.registry(create=True) as registry:
        accounts = Accounts(registry, most_tokens=here.settings().user_tokens)
        token, secret = accounts.create(user, request.role, request.label, request.expires_at or "")
    if here.json:
        show.print_json(noun_json(token, token=secret))
        return
    print(secret)  # noqa: T201
    show.console(error=True).print("keep it safe: it cannot be shown again", style="yellow")


@tokens.command("list")
def list_(
    here: CommonOptions,
    user: Annotated[str | None, typer.Option(help="Only this user's.  [default: all users']")] = None,
) -> None:
    """List the tokens, without their secrets."""
    with here.registry() as registry:
        found = nouns_json(registry.tokens(user))
    show.table(
        found,
        ("id", "user", "role", "label", "created_at", "used_at", "expires_at", "revoked_at"),
        nothing="no tokens yet: 'rifflux tokens create --user NAME' makes one",
        as_json=here.json,
    )


@tokens.command(epilog="Example: rifflux tokens revoke 3f9c0d1a2b44")
def revoke(
    here: IndexOptions, id: Annotated[str, typer.Argument(help="The token's id, as in 'rifflux tokens list'.")]
) -> None:
    """Revoke a token for good."""
    with here.registry() as registry:
        Accounts(registry).revoke(id)
