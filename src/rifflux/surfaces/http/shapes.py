"""Shapes shared by several routes, as published by OpenAPI."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rifflux.requests import Param
from rifflux.surfaces.http.cures import NoticeOut
from rifflux.surfaces.shared.nouns import JsonObject
from rifflux.surfaces.shared.shapes import FailureShape, Shape

MAX_QUERY = 2_000

Explain = Annotated[bool, Param(help="Explain each result by stage")]


class Body(BaseModel):
    """A request body: an unknown field is an error, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_sorts(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        for name, field in cls.model_fields.items():
            _check_sort(name, given.get(name), set(_sorts(field.annotation)))
        return given


def _sorts(annotation: object) -> Iterator[object]:
    """Yield the types that a value may have."""
    if get_origin(annotation) in (Annotated, Union, UnionType):
        for each in get_args(annotation):
            yield from _sorts(each)
    else:
        yield annotation


def _check_sort(name: str, value: object, sorts: set[object]) -> None:
    """Refuse values that pydantic coerces and the schema does not allow: 0 as false, true as 1, "7" as 7."""
    if sorts & {int, float} and bool not in sorts and isinstance(value, bool | str) and str not in sorts:
        raise ValueError(f"{name} is a number, not {value!r}")
    if sorts <= {bool, NoneType} and bool in sorts and not isinstance(value, bool | None):
        raise ValueError(f"{name} is true or false, not {value!r}")


class ProblemOut(Shape):
    """An error of the service: the problem details of RFC 9457."""

    title: str = Field(description="What the status means")
    status: int
    detail: str = Field(description="What went wrong and what to do about it; the wording may change")
    code: str = Field(description="Stable, such as not_found")
    cure: str | None = Field(description="The cure, such as list or share")
    data: JsonObject = Field(description="Values in the detail")


ERRORS: dict[int | str, JsonObject] = {
    status: {"model": ProblemOut, "description": what}
    for status, what in (
        (400, "Not a request that can be read"),
        (401, "No valid token"),
        (403, "Not allowed to this token, host or page"),
        (404, "No such thing"),
        (409, "It is there already, or is being made"),
        (405, "Not with this method"),
        (413, "Too large"),
        (414, "An address that is too long"),
        (415, "A body of another form than is taken"),
        (421, "Addressed to another host"),
        (422, "A value that cannot be used"),
        (429, "Too many requests"),
        (503, "Not now: try again"),
    )
}


class FailureOut(FailureShape):
    """A file, or a part of one, that could not be read, as a notice with its path."""

    code: str
    cure: str | None = Field(description="The cure")
    data: JsonObject


class Diagnostics(Shape):
    """How a search was done."""

    effective_mode: str
    fusion: str | None
    reranker: str | None
    milliseconds: dict[str, float]
    counts: dict[str, int]
    degraded: list[NoticeOut] = Field(description="What was missing, and the cure")
    notes: list[NoticeOut]
