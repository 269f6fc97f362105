"""`/`: the page, with a plain list of results without JavaScript, and its files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

from rifflux import Filter, RiffluxError
from rifflux.surfaces.http.auth import EXPIRED_CODE, ServiceDependency, admit, cookie_name, credentials_of
from rifflux.surfaces.http.cures import CURES
from rifflux.surfaces.http.problems import Refused
from rifflux.surfaces.http.route import refuse_repeated
from rifflux.surfaces.http.service import Caller, Service
from rifflux.surfaces.shared.cures import with_cure
from rifflux.surfaces.shared.nouns import JsonObject, document_at_json, found_json

router = APIRouter()

ASSETS = files("rifflux.surfaces.web").joinpath("assets")
_MEDIA = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
#: Only scripts of this service run, and text never becomes markup: scripts cannot parse any.
POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"),
        *("form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"),
        *("require-trusted-types-for 'script'", "trusted-types 'none'"),
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    # Without a referrer, a form would send no origin.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
}
#: Results per page without JavaScript, and the last one available.
PAGE = 10
LAST = 1_000
#: Query parameters that may be repeated.
LISTS = ("collection", "kind", "folder", "path")
#: Query parameters that start a search.
_QUERY_KEYS = frozenset({"q", "doc", "chunk"})
#: The query parameter that says that a token was refused.
_REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class View:
    """A view of the page: its name in addresses, its title, and its form."""

    name: str
    title: str
    label: str = ""
    placeholder: str = ""
    button: str = "Search"
    for_admins: bool = False


VIEWS = (
    View("", "Search", "Search", "What are you looking for?"),
    View("chat", "Ask", "Question", "Ask what you own", "Ask"),
    View("works", "Works", "Search works", "What are works to be about?", "Find"),
    View("talks", "Conversations", "Search messages", "What was said?"),
    View("memories", "Memories", "Recall memories", "What is remembered?", "Recall"),
    View("library", "Library"),
    View("status", "Status"),
    View("settings", "Settings"),
    View("dashboard", "Dashboard", for_admins=True),
)


@cache
def _template() -> Any:
    loader = PackageLoader("rifflux.surfaces.web")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.get_template("page.html")


@router.get("/", include_in_schema=False)
async def page(request: Request, service: ServiceDependency) -> Response:
    """Return the page; if its address has a query, with the results as plain HTML."""
    given = request.query_params
    status = 200
    caller = None
    values: JsonObject = {}
    headers: dict[str, str] = {}
    try:
        refuse_repeated(request, LISTS)
        caller = await run_in_threadpool(admit, request, await credentials_of(request))
        values = await run_in_threadpool(_answer, service, caller, given)
    except (Refused, RiffluxError) as error:
        if isinstance(error, Refused):
            refusal = error
        else:
            refusal = service.failed(error)
        # Visitors who are not signed in and search nothing get the sign-in page.
        if refusal.status != 401 or not _QUERY_KEYS.isdisjoint(given):
            status = refusal.status
        headers = refusal.headers
        values = {"problem": _refusal(service, request, refusal)}
    if _REFUSED in given:
        values = {"problem": "That token is not valid, or not any more."}
    html = _template().render(
        root=f"{request.scope.get('root_path', '').rstrip('/')}/",
        signed=caller is not None,
        visit=service.visit is not None,
        views=VIEWS,
        view=_view_of(given, caller),
        chat=given.get("chat", ""),
        back=urlencode([each for each in given.multi_items() if each[0] != _REFUSED]),
        modules=sorted(each.name for each in ASSETS.iterdir() if each.name.endswith(".js")),
        **{"query": given.get("q", ""), "results": None, "document": None, "more": "", "notes": [], "problem": ""}
        | values,
    )
    return HTMLResponse(html, status, {**headers, **HEADERS})


def _refusal(service: Service, request: Request, error: Refused) -> str:
    """Return why somebody is no longer signed in; empty if they never were."""
    if error.status != 401:
        return error.message
    if service.visit or cookie_name(request) not in request.cookies:
        return ""
    if error.code == EXPIRED_CODE:
        what = "has expired"
    else:
        what = "was revoked or is not known any more"
    return f"You are signed out: your token {what}. Sign in with another one to go on where you were."


def _view_of(given: Any, caller: Caller | None) -> View | None:
    """Return the view of an address, the first for an unknown one; None for a document."""
    if given.get("doc") or given.get("chunk"):
        return None
    found = next((each for each in VIEWS if each.name == given.get("view", "")), VIEWS[0])
    if found.for_admins and not (caller and caller.is_admin):
        return VIEWS[0]
    return found


@router.get("/dashboard", include_in_schema=False)
def dashboard(request: Request) -> Response:
    """Redirect to the dashboard of the page."""
    return RedirectResponse(f"{request.scope.get('root_path', '').rstrip('/')}/?view=dashboard", 307)


@router.get("/assets/{name}", include_in_schema=False)
def asset(name: str, request: Request) -> Response:
    """Return a file that the page loads, or 304 to a browser that has it already."""
    found = _assets().get(name)
    if found is None:
        return Response(status_code=404)
    content, tag = found
    headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_MEDIA[name.rpartition(".")[2]], headers=headers)


@cache
def _assets() -> Mapping[str, tuple[bytes, str]]:
    """Return the files by name, each with an entity tag."""
    read = {each.name: each.read_bytes() for each in ASSETS.iterdir() if each.name.rpartition(".")[2] in _MEDIA}
    return {name: (content, f'"{hashlib.sha256(content).hexdigest()[:20]}"') for name, content in read.items()}


def _answer(service: Service, caller: Caller, given: Any) -> JsonObject:
    """Return the part of the page for the passage, or the question, in its address."""
    if given.get("view"):
        return {}
    if given.get("chunk") or given.get("doc"):
        return _document(service, caller, given)
    if given.get("q", "").strip():
        return _results(service, caller, given)
    return {}


def _document(service: Service, caller: Caller, given: Any) -> JsonObject:
    index = service.of(caller)
    record = document_at_json(
        index.documents.at(given.get("chunk") or given["doc"]), given.get("q", ""), index.profile.analyzer
    )
    around = record["around"]
    text = record["text"]
    start, end = (place - around["text_span"][0] for place in around["span"])
    marks = [[start, end]] if end > start else []
    return {"document": {**record, "parts": [*parts(text, marks, (0, len(text)))]}}


def _results(service: Service, caller: Caller, given: Any) -> JsonObject:
    query = given["q"]
    index = service.of(caller)
    values = {name: tuple(filter(None, given.getlist(name))) for name in LISTS}
    limits = Filter(
        paths=values["path"],
        kinds=values["kind"],
        since=given.get("since") or None,
        until=given.get("until") or None,
        collections=values["collection"],
        folders=values["folder"],
    )
    if given.get("offset", "0").isdecimal():
        offset = int(given.get("offset", "0"))
    else:
        offset = 0
    found = index.search(query, top_k=PAGE, offset=min(offset, LAST - PAGE), filter=limits)
    service.searched(caller, query, found.trace)
    parameters = [(name, value) for name, value in given.multi_items() if name != "offset"]
    return {
        "results": [_result(each, query) for each in found_json(found, index.profile.analyzer)],
        "more": urlencode([*parameters, ("offset", offset + PAGE)]) if len(found) == PAGE else "",
        "notes": [with_cure(each, CURES) for each in (*found.trace.notes, *found.trace.degraded)],
    }


def _result(found: JsonObject, query: str) -> JsonObject:
    words = parts(found["text"], found["highlights"], found["snippet_span"])
    return {
        **found,
        "parts": [*words],
        "address": urlencode({"doc": found["document"], "chunk": found["id"], "q": query}),
    }


def parts(text: str, marks: Sequence[Sequence[int]], span: Sequence[int]) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a span of a text, each with whether it is marked."""
    place, end = span
    for first, last in ((max(place, first), min(end, last)) for first, last in marks):
        if first < last:
            yield from ((text[place:first], False), (text[first:last], True))
            place = last
    yield text[place:end], False
