"""Request bodies and query parameters, derived from the settings of a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from functools import cache, reduce, wraps
from operator import or_
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from fastapi import Query
from pydantic import Field, Json, create_model

from rifflux.requests import Declared, Param, alternatives, declared
from rifflux.surfaces.http.shapes import Body
from rifflux.surfaces.shared.declared import declaration_of, flattened, has_param, is_request, settled


def with_body(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a route with one body in place of its request and its single settings."""
    given = inspect.signature(endpoint, eval_str=True).parameters.values()
    requests = {each.name: each.annotation for each in given if is_request(each.annotation)}
    single = [declaration_of(each) for each in given if has_param(each.annotation)]
    if not requests:
        return endpoint
    ((name, kind),) = requests.items()
    body: Any = model_of(kind, *single)
    default = inspect.signature(endpoint).parameters[name].default
    if default is not inspect.Parameter.empty:
        body |= None

    def arguments(options: dict[str, Any]) -> dict[str, Any]:
        sent = options.pop("body")
        if sent is None:
            return {**options, name: default}
        values = {each.name: getattr(sent, each.name) for each in single}
        return {**options, **values, name: request_of(kind, sent)}

    if inspect.iscoroutinefunction(endpoint):

        @wraps(endpoint)
        async def run(**options: Any) -> Any:
            return await endpoint(**arguments(options))

    else:

        @wraps(endpoint)
        def run(**options: Any) -> Any:
            return endpoint(**arguments(options))

    replaced = {name, *(each.name for each in single)}
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in given if each.name not in replaced]
    absent = default if default is inspect.Parameter.empty else None
    parameters.append(inspect.Parameter("body", inspect.Parameter.KEYWORD_ONLY, annotation=body, default=absent))
    returns = inspect.signature(endpoint, eval_str=True).return_annotation
    run.__signature__ = inspect.Signature(parameters, return_annotation=returns)  # type: ignore[attr-defined]
    return run


def with_query(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a route with the settings of its request as query parameters."""
    return flattened(endpoint, query_parameter)


def query_parameter(setting: Declared) -> inspect.Parameter:
    """Return a setting as a query parameter."""
    param = setting.param
    about = Query(description=param.help or None, examples=[*param.examples] or None, **_bounds(param))
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=_plain(setting.default),
        annotation=Annotated[_published(setting.type), about],
    )


@cache
def model_of(request: type, *more: Declared, form: bool = False) -> type[Body]:
    """Return the model of a body with the settings of a request and `more`; in a form, mappings are sent as JSON."""
    settings = {each.name: _field(each, form) for each in (*declared(request), *more) if not each.param.python_only}
    return create_model(request.__name__, __base__=Body, __doc__=request.__doc__, **settings)  # type: ignore[call-overload, no-any-return]


def request_of(request: type, sent: Body) -> Any:
    """Return the request of a body. Raises `InvalidArgument`."""
    values = {}
    for each in declared(request):
        if each.param.python_only:
            continue
        values[each.name] = getattr(sent, each.name)
        if each.param.parts and values[each.name] is not None:
            values[each.name] = settled(request_of(each.param.parts, values[each.name]))
    return request(**values)


def _field(setting: Declared, form: bool) -> tuple[Any, Any]:
    """Return the type and the published description of a setting."""
    param = setting.param
    if param.parts:
        kind = model_of(param.parts) | None
    else:
        kind = _published(setting.type)
    if form and get_origin(setting.type) is Mapping:
        bounded: Any = Annotated[kind, Field(**_bounds(param))]
        return Json[bounded], Field("{}", validate_default=True, description=param.help or None)  # type: ignore[misc]
    described: dict[str, Any] = {"description": param.help or None, "examples": [*param.examples] or None}
    if param.choices:
        nothing = [None] if NoneType in setting.types else []
        described["json_schema_extra"] = {"enum": [*param.choices, *param.aliases, *nothing]}
    default = ... if setting.default is MISSING else _plain(setting.default)
    return kind, Field(default, **described, **_bounds(param))


def _published(hint: Any) -> Any:
    """Return the type of a setting in a body: lists for sequences, with pydantic's bounds."""
    if get_origin(hint) is Annotated:
        bounds = next((each for each in get_args(hint)[1:] if isinstance(each, Param)), Param())
        return Annotated[_published(get_args(hint)[0]), Field(**_bounds(bounds))]
    if get_origin(hint) is Sequence:
        return list[_published(get_args(hint)[0])]  # type: ignore[misc]
    if get_origin(hint) is Mapping:
        key, value = get_args(hint)
        return dict[_published(key), _published(value)]  # type: ignore[misc]
    if len(alternatives(hint)) > 1:
        return reduce(or_, (_published(each) for each in get_args(hint)))
    return hint


def _bounds(param: Param) -> dict[str, Any]:
    bounds = {"ge": param.ge, "gt": param.gt, "le": param.le, "min_length": param.least, "max_length": param.most}
    return {name: value for name, value in bounds.items() if value is not None}


def _plain(default: Any) -> Any:
    if isinstance(default, tuple):
        return [*default]
    return default
