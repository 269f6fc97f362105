"""Checks of a route before it reads the body of a request: token, rate and query parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterator
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from rifflux import InvalidArgument
from rifflux.surfaces.http.auth import admit, caller, credentials_of
from rifflux.surfaces.http.bodies import with_body, with_query
from rifflux.surfaces.http.repeats import once, repeatable


class Route(APIRoute):
    """A route that admits or refuses a request before its body is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        answer = super().get_route_handler()
        parts = [*_parts(self.dependant)]
        needs_token = any(each.call is caller for each in parts)
        may_repeat = any(each.call is repeatable for each in parts)
        parameters = {each.alias: each for part in parts for each in part.query_params}
        known = sorted(parameters)
        lists = {name for name, each in parameters.items() if _is_list(each.field_info.annotation)}

        async def admitted(request: Request) -> Response:
            if needs_token:
                credentials = await credentials_of(request)
                request.state.caller = await run_in_threadpool(admit, request, credentials)
            if unknown := next((each for each in request.query_params if each not in known), None):
                raise InvalidArgument(_unknown_parameter(unknown, known))
            refuse_repeated(request, lists)
            return await (once(request, answer) if may_repeat else answer(request))

        return admitted


class Router(APIRouter):
    """A router of functions that may take a request in place of a body."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **about: Any) -> None:
        """Add a function as a route; methods without a body take the settings as query parameters."""
        if about.get("methods") in (["GET"], ["DELETE"]):
            endpoint = with_query(endpoint)
        else:
            endpoint = with_body(endpoint)
        super().add_api_route(path, endpoint, **about)


def make_router(prefix: str = "", *, tags: list[str]) -> Router:
    """Return a router whose routes are of this class."""
    return Router(prefix=prefix, tags=[*tags], route_class=Route)


def _parts(dependant: Dependant) -> Iterator[Dependant]:
    """Yield a route and its dependencies."""
    yield dependant
    for each in dependant.dependencies:
        yield from _parts(each)


def refuse_repeated(request: Request, lists: Collection[str]) -> None:
    """Raise `InvalidArgument` for a repeated query parameter that is not one of the `lists`."""
    names = Counter(name for name, _ in request.query_params.multi_items())
    if repeated := next((name for name, count in names.items() if count > 1 and name not in lists), None):
        raise InvalidArgument(f"{repeated!r} is given {names[repeated]} times: give it once")


def _is_list(annotation: Any) -> bool:
    """Return True for the type of a parameter that may be repeated."""
    return get_origin(annotation) is list or any(_is_list(each) for each in get_args(annotation))


def _unknown_parameter(unknown: str, known: list[str]) -> str:
    if not known:
        return f"there is no parameter {unknown!r}: this takes none in its address"
    near = get_close_matches(unknown, known, 1)
    return f"there is no parameter {unknown!r}: " + (f"do you mean {near[0]}?" if near else f"use {', '.join(known)}")
