"""`/session`: signing in and out of the page, by a cookie that scripts cannot read."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from rifflux.surfaces.http.auth import admit, cookie_name, credentials_of, service_of, token_of
from rifflux.surfaces.http.problems import Refused
from rifflux.surfaces.http.service import Caller
from rifflux.surfaces.http.uploads import FORM, JSON
from rifflux.text.dates import parse_time

router = APIRouter()

#: Seconds that a browser stays signed in.
LONGEST_S = 30 * 86_400
#: Characters of the query that signing in returns to.
LONGEST_QUERY = 8_000
_PLAIN_FORM = "application/x-www-form-urlencoded"


@router.post("/session", include_in_schema=False)
async def enter(request: Request) -> Response:
    """Set the cookie for a token or the pass of a visit; a form is redirected to the page."""
    given = await _given(request)
    service = service_of(request)
    text = str(given.get("token") or "").strip()
    if service.visit and (key := service.visit.enter(str(given.get("pass") or ""))):
        text = key
    try:
        caller = await run_in_threadpool(admit, request, token_of(text))
    except Refused:
        if _kind(request) == _PLAIN_FORM:
            return RedirectResponse(_address(request, given, refused="1"), 303)
        raise
    response = _answer(request, _address(request, given))
    _give(request, response, text, caller)
    return response


@router.get("/session", include_in_schema=False)
async def signed_in(request: Request) -> JSONResponse:
    """Return whether the browser is signed in; a 401 would appear as an error in its console."""
    try:
        await run_in_threadpool(admit, request, await credentials_of(request))
    except Refused as error:
        if error.status != 401:
            raise
        return JSONResponse({"signed_in": False})
    return JSONResponse({"signed_in": True})


@router.post("/session/end", include_in_schema=False)
async def leave(request: Request) -> Response:
    """Delete the cookie."""
    response = _answer(request, _path(request))
    response.delete_cookie(cookie_name(request), path=_path(request))
    return response


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _given(request: Request) -> dict[str, Any]:
    if _kind(request) in (_PLAIN_FORM, FORM):
        return {**await request.form(max_files=0, max_fields=4)}
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise Refused(422, "invalid", f"send a token as {JSON} or as a form")
    return given


def _answer(request: Request, address: str) -> Response:
    """Return the response to a form, which is redirected to the page, or to a script."""
    if _kind(request) == _PLAIN_FORM:
        return RedirectResponse(address, 303)
    return Response(status_code=204)


def _address(request: Request, given: Mapping[str, Any], **more: str) -> str:
    """Return the address of the page with the form.

    The form only gives the query (`back`), which is encoded anew, so nothing in it can lead to another host or path.
    """
    query = urlencode([*parse_qsl(str(given.get("back") or "")[:LONGEST_QUERY]), *more.items()])
    if query:
        return f"{_path(request)}?{query}"
    return _path(request)


def _path(request: Request) -> str:
    return f"{request.scope.get('root_path', '').rstrip('/')}/"


def _give(request: Request, response: Response, text: str, caller: Caller) -> None:
    if caller.expires_at is None:
        left = LONGEST_S
    else:
        left = min(LONGEST_S, max(0, int(parse_time(caller.expires_at).timestamp() - time.time())))
    response.set_cookie(
        cookie_name(request),
        text,
        max_age=left if caller.token else None,
        path=_path(request),
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
