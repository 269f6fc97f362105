"""Turn functions of requests into functions of single settings, for commands and tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Annotated, Any, get_args, get_origin

from rifflux.requests import Declared, FilterSettings, Param, Request, declaration, declared


def flattened(
    function: Callable[..., Any],
    parameter: Callable[[Declared], inspect.Parameter],
    value: Callable[[Declared, Any], Any] = lambda setting, given: given,
) -> Callable[..., Any]:
    """Return the function with the settings of each request in place of the request.

    `parameter` declares a setting for a surface, and `value` converts what the surface passes; None stands for the
    default.
    """
    signature = inspect.signature(function, eval_str=True)
    parameters = [*signature.parameters.values()]
    requests = {each.name: each.annotation for each in parameters if is_request(each.annotation)}
    settings = {each.name: declaration_of(each) for each in parameters if has_param(each.annotation)}
    if not requests and not settings:
        return function

    @wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        for name, setting in settings.items():
            given = value(setting, options[name])
            options[name] = setting.default if given is None else given
        for name, kind in requests.items():
            options[name] = built(kind, {each.name: value(each, options.pop(each.name)) for each in leaves(kind)})
        return function(*arguments, **options)

    def flat() -> Iterator[inspect.Parameter]:
        for each in parameters:
            if each.name in requests:
                yield from (parameter(setting) for setting in leaves(requests[each.name]))
            elif each.name in settings:
                yield parameter(settings[each.name])
            elif each is parameters[0]:
                yield each
            else:
                yield each.replace(kind=inspect.Parameter.KEYWORD_ONLY)

    run.__signature__ = signature.replace(parameters=[*flat()])  # type: ignore[attr-defined]
    return run


def is_request(annotation: Any) -> bool:
    """Return True for the class of a request."""
    return isinstance(annotation, type) and issubclass(annotation, Request)


def leaves(request: type) -> Iterator[Declared]:
    """Yield the settings of a request, those of its parts in place of each part."""
    for each in declared(request):
        if each.param.body_only or each.param.python_only:
            continue
        if each.param.parts:
            yield from leaves(each.param.parts)
        else:
            yield each


def built(request: type, values: Mapping[str, Any]) -> Any:
    """Return the request of the values of its leaves; None stands for the default."""
    arguments = {}
    for each in declared(request):
        if each.param.body_only or each.param.python_only:
            continue
        if each.param.parts:
            arguments[each.name] = settled(built(each.param.parts, values))
        elif values[each.name] is not None:
            arguments[each.name] = values[each.name]
    return request(**arguments)


def settled(part: Any) -> Any:
    """Return the filter of filter settings, and any other part unchanged."""
    if isinstance(part, FilterSettings):
        return part.filter()
    return part


def has_param(annotation: Any) -> bool:
    """Return True for the annotation of a single setting."""
    return get_origin(annotation) is Annotated and any(isinstance(note, Param) for note in get_args(annotation)[1:])


def declaration_of(parameter: inspect.Parameter) -> Declared:
    """Return the declaration of a single setting."""
    if parameter.default is inspect.Parameter.empty:
        return declaration(parameter.name, parameter.annotation)
    return declaration(parameter.name, parameter.annotation, parameter.default)
