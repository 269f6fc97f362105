"""`/tokens`: the tokens of the caller, and for administrators those of all users."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response
from pydantic import Field

from rifflux.requests import After, Limit, Param, TokenRequest, UserInList
from rifflux.service.nouns import Token
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.paging import Next, page
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.shared.shapes import Shape
from rifflux.types.nouns import noun_json

router = make_router("/tokens", tags=["administration"])


Whose = Annotated[str | None, Param(help="Whose; null: the caller's. Administrators may name anybody", most=200)]


class TokenOut(Shape):
    """A token without its secret. Times are null for what has not happened and is not scheduled."""

    id: str
    user: str
    role: str
    label: str
    created_at: str
    used_at: str | None = Field(description="To the minute")
    revoked_at: str | None
    expires_at: str | None


class NewToken(TokenOut):
    """A token with its secret."""

    token: str = Field(description="Send it as 'Authorization: Bearer ...'. It cannot be retrieved again")


class TokenList(Shape):
    """A page of tokens, the oldest first."""

    tokens: list[TokenOut]
    next: Next


@router.get("", summary="List tokens")
def list_(
    service: ServiceDependency,
    caller: User,
    user: UserInList = None,
    limit: Limit = 100,
    after: After = "",
) -> TokenList:
    """List the caller's own tokens, also those that are revoked or expired; for administrators those of all users."""
    found, following = page(service.accounts_of(caller).list(user), lambda each: each.id, after, limit)
    return TokenList(tokens=[_out(token) for token in found], next=following)


@router.post("", status_code=201, summary="Make a token")
def create(
    request: TokenRequest, service: ServiceDependency, caller: User, response: Response, user: Whose = None
) -> NewToken:
    """Make a token of the caller's own, which may do no more than the requesting token, nor is valid for longer.

    An administrator makes them for anybody, with any role.
    """
    owner = caller.user if user is None else user
    token, secret = service.accounts_of(caller).create(owner, request.role, request.label, request.expires_at or "")
    response.headers["Cache-Control"] = "no-store"
    return NewToken(**_out(token).model_dump(), token=secret)


@router.delete("/{id}", status_code=204, summary="Revoke a token")
def revoke(id: str, service: ServiceDependency, caller: User) -> None:
    """Revoke a token of the caller's own for good; administrators may revoke anybody's."""
    service.accounts_of(caller).revoke(id)


def _out(token: Token) -> TokenOut:
    return TokenOut.of(noun_json(token))
