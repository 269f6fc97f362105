"""Turn a function into a tool with checked arguments and errors of one sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, reduce
from operator import or_
from types import MethodType, NoneType
from typing import Annotated, Any, TypeAlias, cast, get_args, get_origin

from anyio import to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field, ValidationError

from rifflux import RiffluxError
from rifflux.requests import Declared, ReindexRequest, SearchRequest, alternatives
from rifflux.surfaces.mcp.desk import Desk
from rifflux.surfaces.mcp.reply import DB_PATH, MAX_TOKENS
from rifflux.surfaces.shared.declared import flattened, leaves
from rifflux.surfaces.shared.nouns import JsonObject

#: Tools whose answers are described key by key.
CONTRACT = frozenset({"search_rifflux", "reindex"})
#: Concurrent calls.
MOST_CALLS = 256
ToolContext: TypeAlias = Context[Any, Any]


class _Tool(Tool):
    """A tool whose errors reach the model as one clear sentence; faults of Rifflux are logged."""

    async def run(self, arguments: JsonObject, context: ToolContext, convert_result: bool = False) -> Any:
        """Run the tool. Raises `ToolError` with the message for the model."""
        known = self.parameters["properties"]
        if unknown := sorted(set(arguments) - set(known)):
            raise ToolError(f"{self.name} takes no argument {unknown[0]!r}; choose from {', '.join(known)}")
        # Calls that wait for a model must not block others.
        to_thread.current_default_thread_limiter().total_tokens = MOST_CALLS
        try:
            return await super().run(arguments, context, convert_result)
        except UnexpectedToolError as error:
            if isinstance(error.__cause__, RiffluxError):
                raise ToolError(self._text_of(error.__cause__)) from error.__cause__
            message = f"{self.name} failed by a fault of its own ({type(error.__cause__).__name__})"
            raise UnexpectedToolError(f"{message}: the server's log says more") from error.__cause__
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_in_words(error.__cause__)) from error.__cause__
            raise

    def _text_of(self, error: RiffluxError) -> str:
        """Return the message of an error as the caller can follow it."""
        desk = cast(Desk, cast(MethodType, self.fn).__self__)
        return desk.sentence(error)


def tool(desk: Desk, function: Callable[..., CallToolResult], title: str, annotations: ToolAnnotations) -> Tool:
    """Create a tool from a function and a desk; it runs in a worker thread, so that the server stays responsive.

    Its description is the docstring of the function.
    """
    about = inspect.getdoc(function)
    method = MethodType(flattened(function, partial(parameter, function.__name__)), desk)
    made = _Tool.from_function(method, title=title, description=about, annotations=annotations)
    made.parameters = _compact(_without(made.parameters, "title")) | {"additionalProperties": False}
    # What an answer leaves out needs no default.
    dropped = ("title", "default") if made.name in CONTRACT else ("title", "default", "description")
    made.fn_metadata.output_schema = _without(made.fn_metadata.output_schema, *dropped)
    # "3", true and 2.0 are not integers.
    made.fn_metadata.arg_model.model_config["strict"] = True
    made.fn_metadata.arg_model.model_rebuild(force=True)
    return made


#: The tools that describe settings shared with other tools, each with its request.
DESCRIBES: Mapping[str, type] = {"reindex": ReindexRequest, "search": SearchRequest}


@cache
def _described() -> Mapping[tuple[str, str], str]:
    """Return the tool that describes a setting, by its name and its help."""
    known = {(each.name, each.param.help): name for name, kind in DESCRIBES.items() for each in leaves(kind)}
    return known | {("db_path", DB_PATH.help): "search", ("max_tokens", MAX_TOKENS.help): "search"}


def parameter(tool: str, setting: Declared) -> inspect.Parameter:
    """Return a setting as an argument of a tool; its bounds are published here and checked by the request.

    A model reads all tools at once, so no description of a setting of `search` or `reindex` is repeated.
    """
    param = setting.param
    describes = _described().get((setting.name, param.help), tool)
    extra: dict[str, Any] = {"minimum": param.ge, "maximum": param.le}
    extra = {name: value for name, value in extra.items() if value is not None}
    if param.choices:
        extra["enum"] = [*param.choices, *(None for each in setting.types if each is NoneType)]
    about = Field(description=param.help if describes == tool else f"See {describes}", json_schema_extra=extra)
    lists = not setting.required and any(get_origin(each) in (Sequence, Mapping) for each in setting.types)
    kind = reduce(or_, (_published(each) for each in setting.types))
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind | None if lists else kind, about],
        default=_default(setting, lists),
    )


def _default(setting: Declared, lists: bool) -> Any:
    if setting.required:
        return inspect.Parameter.empty
    if lists:
        return None
    return setting.default


def _published(kind: Any) -> Any:
    """Return a type as JSON has it, plain enough for a model to read."""
    if get_origin(kind) is Sequence:
        return list[str]
    if get_origin(kind) is Mapping:
        values = alternatives(get_args(kind)[1])
        return dict[str, values[0] if len(values) == 1 else Any]  # type: ignore[misc]
    return kind


def _compact(schema: Any) -> Any:
    """Return a schema of arguments with nullable types as lists of types, without the default null."""
    if isinstance(schema, list):
        return [_compact(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    short = {key: _compact(value) for key, value in schema.items() if (key, value) != ("default", None)}
    either = short.get("anyOf", ())
    if len(either) > 1 and either[-1] == {"type": "null"} and all(_is_plain(each) for each in either):
        del short["anyOf"]
        for each in either:
            short |= {key: value for key, value in each.items() if key != "type"}
        return {"type": [each["type"] for each in either], **short}
    return short


def _is_plain(schema: Mapping[str, Any]) -> bool:
    return isinstance(schema.get("type"), str)


def _without(schema: Any, *names: str) -> Any:
    """Return a schema without these annotations: clients may pass all of it to a model, and names speak for themselves.

    A property of such a name is an object, and stays.
    """
    if isinstance(schema, dict):
        return {
            key: _without(value, *names)
            for key, value in schema.items()
            if not (key in names and not isinstance(value, dict))
        }
    if isinstance(schema, list):
        return [_without(each, *names) for each in schema]
    return schema


def _in_words(error: ValidationError) -> str:
    """Return what is wrong with the arguments, without the validator's formatting."""
    parts = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
    return "; ".join(parts)
