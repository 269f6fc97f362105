"""Authentication: a token names a user and a role. Nothing in a path, query or body can.

Programs send it in a header, the page in a cookie. Browsers attach cookies by themselves, so a request with a cookie
must come from a page of this service.
"""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from rifflux import TokenExpired
from rifflux.service.accounts import ADMIN
from rifflux.surfaces.http.cures import CURES
from rifflux.surfaces.http.origins import is_own_origin
from rifflux.surfaces.http.problems import Refused
from rifflux.surfaces.http.service import Caller, Service
from rifflux.surfaces.shared.bearer import EXPIRED
from rifflux.surfaces.shared.cures import with_cure

#: Methods that change nothing.
_SAFE = frozenset({"GET", "HEAD"})
_COOKIE = "cookie"
#: The error code for a token that has expired.
EXPIRED_CODE = "token_expired"

bearer = HTTPBearer(auto_error=False, description="A token, made by an administrator")


def service_of(request: Request) -> Service:
    """Return the service that the application runs."""
    service: Service = request.app.state.service
    return service


ServiceDependency = Annotated[Service, Depends(service_of)]


def cookie_name(request: Request) -> str:
    """Return the name of the token's cookie, with the port: browsers share cookies between ports of a host."""
    return f"rifflux-{request.url.port or request.url.scheme}"


def token_of(text: str, scheme: str = "bearer") -> HTTPAuthorizationCredentials:
    """Return a token as it is sent."""
    return HTTPAuthorizationCredentials(scheme=scheme, credentials=text)


async def credentials_of(request: Request) -> HTTPAuthorizationCredentials | None:
    """Return the token from the header of a request, else from its cookie. Raises `Refused` for another site's page."""
    if given := await bearer(request):
        return given
    text = request.cookies.get(cookie_name(request), "")
    if not text:
        return None
    if not _is_own_page(request):
        raise Refused(403, "wrong_origin", "another web page asked this: open this service itself")
    return token_of(text, _COOKIE)


def _is_own_page(request: Request) -> bool:
    """Return True if a page of this service sent a request; other sites must send a token in a header."""
    origin = request.headers.get("origin", "")
    site = request.headers.get("sec-fetch-site", "same-origin")
    if origin or request.method not in _SAFE:
        return is_own_origin(origin, request.url.scheme, request.headers.get("host", ""))
    return site in ("same-origin", "none") or request.headers.get("sec-fetch-mode") == "navigate"


def address_of(request: Request) -> str:
    """Return the name under which limits count the address of a request."""
    return f"address:{request.client.host if request.client else ''}"


def admit(request: Request, credentials: HTTPAuthorizationCredentials | None) -> Caller:
    """Return the caller if they are within their rate. Raises `Refused`."""
    service = service_of(request)
    expired = ""
    try:
        found = _caller(service, credentials)
    except TokenExpired as error:
        found = None
        expired = with_cure(error, CURES)
    # Users create tokens for themselves, so all tokens of a user share a bucket. Invalid tokens count by address.
    wait = service.buckets.take(f"user:{found.user}" if found else address_of(request))
    if wait:
        seconds = str(math.ceil(wait))
        raise Refused(429, "too_many_requests", f"too many requests: wait {seconds} s", {"Retry-After": seconds})
    if expired:
        raise Refused(401, EXPIRED_CODE, expired, {"WWW-Authenticate": EXPIRED})
    if found is None:
        raise Refused(
            401,
            "no_token",
            "send a valid token, as 'Authorization: Bearer rfx_...': an administrator makes them",
            {"WWW-Authenticate": "Bearer"},
        )
    return found


async def caller(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None
) -> Caller:
    """Return the admitted caller. The credentials are declared for OpenAPI; they were read before the body."""
    found: Caller = request.state.caller
    return found


def _caller(service: Service, credentials: HTTPAuthorizationCredentials | None) -> Caller | None:
    if service.settings.open:
        nobody = Caller("", ADMIN)
    else:
        nobody = None
    if credentials is None:
        return nobody
    if service.visit and (visitor := service.visit.caller(credentials.credentials)):
        return visitor
    token = service.accounts.check(credentials.credentials)
    if token is None:
        # An outdated cookie does not identify anybody.
        if credentials.scheme == _COOKIE:
            return nobody
        return None
    return Caller(token.user, token.role, token.id, token.expires_at)


User = Annotated[Caller, Depends(caller)]


async def administrator(caller: User) -> Caller:
    """Return the caller, if they are an administrator."""
    if not caller.is_admin:
        raise Refused(403, "admin_only", "this needs a token of an administrator")
    return caller


Admin = Annotated[Caller, Depends(administrator)]
