"""Requests that send a file, or the same as JSON: how they are described and read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import Request

from rifflux.surfaces.http.problems import Refused
from rifflux.surfaces.shared.nouns import JsonObject

FORM = "multipart/form-data"
JSON = "application/json"
#: Fields of a form besides the file, and bytes of each.
MOST_FIELDS = 20
LONGEST_FIELD = 100_000

Fields = TypeVar("Fields", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that was sent: its name, which says nothing but its kind, and its bytes."""

    name: str
    data: bytes


def bodies(form: type[BaseModel], plain: type[BaseModel] | None = None) -> JsonObject:
    """Return what OpenAPI publishes of a body: a form with a file, or JSON where there is such."""
    schema = form.model_json_schema()
    file = {"type": "string", "format": "binary", "description": "The file; its name tells its kind"}
    schema["properties"] = {"file": file, **schema["properties"]}
    schema["required"] = ["file", *schema.get("required", ())]
    if plain:
        content = {JSON: {"schema": plain.model_json_schema()}}
    else:
        content = {}
    return {"requestBody": {"required": True, "content": {**content, FORM: {"schema": schema}}}}


async def body_of(request: Request, form: type[BaseModel], plain: type[BaseModel]) -> tuple[Sent | None, Any]:
    """Return the file of a request and its other fields, or the fields of JSON without a file."""
    kind = _kind(request)
    if kind == FORM:
        return await _form(request, form)
    if kind not in (JSON, ""):
        raise _unsupported(f"{JSON} or {FORM}", kind)
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise RequestValidationError([{"loc": ("body",), "msg": f"not JSON: {error}", "type": "json"}]) from None
    return None, _checked(plain, given)


async def file_of(request: Request, form: type[Fields]) -> tuple[Sent, Fields]:
    """Return the file of a request that must have one, and its other fields."""
    if (kind := _kind(request)) != FORM:
        raise _unsupported(FORM, kind)
    return await _form(request, form)


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _unsupported(taken: str, kind: str) -> Refused:
    return Refused(415, "unsupported", f"send {taken}, not {kind or 'a body without a Content-Type'}")


async def _form(request: Request, fields: type[Fields]) -> tuple[Sent, Fields]:
    async with request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=LONGEST_FIELD) as form:
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
        checked = _checked(fields, given)
        return Sent(file.filename or "", await file.read()), checked


def _checked(fields: type[Fields], given: object) -> Fields:
    try:
        return fields.model_validate(given)
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in told]) from None


def _wrong(name: str, what: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("body", name), "msg": what, "type": "form"}])
