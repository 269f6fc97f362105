"""Requests with a file in a form, or the same as JSON: their schema and parsing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import Request as Incoming

from rifflux.requests import Declared, Request
from rifflux.surfaces.http.bodies import model_of, request_of
from rifflux.surfaces.http.problems import Refused
from rifflux.surfaces.http.shapes import Body
from rifflux.surfaces.shared.nouns import JsonObject

FORM = "multipart/form-data"
JSON = "application/json"
#: Fields of a form besides the file, and bytes of each.
MOST_FIELDS = 20
LONGEST_FIELD = 100_000

RequestType = TypeVar("RequestType", bound=Request)


@dataclass(frozen=True, slots=True)
class Sent:
    """An uploaded file: its name, which only says its kind, and its bytes."""

    name: str
    data: bytes


def bodies(form: type, plain: type | None = None, *more: Declared) -> JsonObject:
    """Return the OpenAPI description of a body: a form with a file and settings, or JSON if accepted."""
    schema = model_of(form, *more, form=True).model_json_schema()
    file = {"type": "string", "format": "binary", "description": "The file; its name tells its kind"}
    schema["properties"] = {"file": file, **schema["properties"]}
    schema["required"] = ["file", *schema.get("required", ())]
    if plain:
        content = {JSON: {"schema": model_of(plain, *more).model_json_schema()}}
    else:
        content = {}
    return {"requestBody": {"required": True, "content": {**content, FORM: {"schema": schema}}}}


async def body_of(incoming: Incoming, form: type, plain: type, *more: Declared) -> tuple[Sent | None, Any, JsonObject]:
    """Return a file with its settings, or the settings in JSON without a file; then the values of `more`."""
    kind = _kind(incoming)
    if kind == FORM:
        return await _form(incoming, form, *more)
    if kind not in (JSON, ""):
        raise _unsupported(f"{JSON} or {FORM}", kind)
    try:
        given = json.loads(await incoming.body())
    except (ValueError, RecursionError) as error:
        raise RequestValidationError([{"loc": ("body",), "msg": f"not JSON: {error}", "type": "json"}]) from None
    sent = _checked(model_of(plain, *more), given)
    return None, request_of(plain, sent), {each.name: getattr(sent, each.name) for each in more}


async def file_of(incoming: Incoming, form: type[RequestType]) -> tuple[Sent, RequestType]:
    """Return the file of a request that must have one, and its settings."""
    if (kind := _kind(incoming)) != FORM:
        raise _unsupported(FORM, kind)
    file, request, _ = await _form(incoming, form)
    return file, request


def _kind(request: Incoming) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _unsupported(accepted: str, kind: str) -> Refused:
    return Refused(415, "unsupported", f"send {accepted}, not {kind or 'a body without a Content-Type'}")


async def _form(incoming: Incoming, kind: type, *more: Declared) -> tuple[Sent, Any, JsonObject]:
    async with incoming.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=LONGEST_FIELD) as form:
        given: JsonObject = {}
        for name, value in form.multi_items():
            if name in given:
                raise _wrong(name, "it is given twice")
            given[name] = value
        file = given.pop("file", None)
        if not isinstance(file, UploadFile):
            raise _wrong("file", "send a file under this name, as in curl -F file=@report.pdf")
        if any(isinstance(value, UploadFile) for value in given.values()):
            raise _wrong("file", "one file at a time, under this name")
        sent = _checked(model_of(kind, *more, form=True), given)
        values = {each.name: getattr(sent, each.name) for each in more}
        return Sent(file.filename or "", await file.read()), request_of(kind, sent), values


def _checked(fields: type[Body], given: object) -> Body:
    try:
        return fields.model_validate(given)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in problems]) from None


def _wrong(name: str, what: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("body", name), "msg": what, "type": "form"}])
