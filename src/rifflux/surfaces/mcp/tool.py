"""How a function becomes a tool: its errors in one sentence, its arguments checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any, TypeAlias, cast

from anyio import to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import ValidationError

from rifflux import RiffluxError
from rifflux.surfaces.mcp.desk import Desk
from rifflux.surfaces.shared.nouns import JsonObject

#: Tools whose answers are described key by key.
CONTRACT = frozenset({"search_rifflux", "reindex"})
#: Calls that are worked on at the same time.
MOST_CALLS = 256
ToolContext: TypeAlias = Context[Any, Any]


class _Tool(Tool):
    """A tool whose errors reach the model as one clear sentence, and the log where they are ours to mend."""

    async def run(self, arguments: JsonObject, context: ToolContext, convert_result: bool = False) -> Any:
        """Run the tool. Raises `ToolError` with the message for the model."""
        known = self.parameters["properties"]
        if unknown := sorted(set(arguments) - set(known)):
            raise ToolError(f"{self.name} takes no argument {unknown[0]!r}; choose from {', '.join(known)}")
        # Those that wait for a model must not keep others from being answered.
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
    """Make a tool of a function at a desk; it runs in a worker thread, so that the server stays responsive.

    An agent reads the docstring of the function.
    """
    about = inspect.getdoc(function)
    made = _Tool.from_function(MethodType(function, desk), title=title, description=about, annotations=annotations)
    made.parameters = _without(made.parameters, "title") | {"additionalProperties": False}
    told = ("title",) if made.name in CONTRACT else ("title", "description")
    made.fn_metadata.output_schema = _without(made.fn_metadata.output_schema, *told)
    # "3", true and 2.0 are no whole numbers.
    made.fn_metadata.arg_model.model_config["strict"] = True
    made.fn_metadata.arg_model.model_rebuild(force=True)
    return made


def _without(schema: Any, *names: str) -> Any:
    """Return a schema without these annotations. Clients may hand all of it to a model, and names speak for themselves.

    What is called so is a text; a property of that name is an object, and stays.
    """
    if isinstance(schema, dict):
        return {
            key: _without(value, *names)
            for key, value in schema.items()
            if not (key in names and isinstance(value, str))
        }
    if isinstance(schema, list):
        return [_without(each, *names) for each in schema]
    return schema


def _in_words(error: ValidationError) -> str:
    """Return what is wrong with the arguments, without the validator's own trimmings."""
    parts = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
    return "; ".join(parts)
