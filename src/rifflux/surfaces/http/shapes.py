"""The shapes that several routes share, as OpenAPI publishes them."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from rifflux import Filter
from rifflux.session.arguments import MODES, named_mode
from rifflux.surfaces.http.wording import Told
from rifflux.surfaces.shared.nouns import JsonObject
from rifflux.surfaces.shared.shapes import Shape

MAX_QUERY = 2_000
Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY)]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Scalar = Annotated[str, StringConstraints(max_length=1_000)] | int | float | bool
#: Values that a filter takes for one field.
MOST_VALUES = 1_000


Date = Annotated[str | None, Field(max_length=40, description="ISO 8601 date", examples=["2026-01-01"])]


#: Milliseconds after which what a model has not done is left out.
Deadline = Annotated[
    float | None, Field(gt=0, le=60_000, description="Leave out what models have not done in so many milliseconds")
]


class Request(BaseModel):
    """A request: an unknown field is an error, so that a misspelt one is noticed."""

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
    """Give the types of which a value may be one."""
    if get_origin(annotation) in (Annotated, Union, UnionType):
        for each in get_args(annotation):
            yield from _sorts(each)
    else:
        yield annotation


def _check_sort(name: str, value: object, sorts: set[object]) -> None:
    """Refuse what pydantic would take for another sort, and the schema does not: 0 as false, true as 1, "7" as 7."""
    if sorts & {int, float} and bool not in sorts and isinstance(value, bool | str) and str not in sorts:
        raise ValueError(f"{name} is a number, not {value!r}")
    if sorts <= {bool, NoneType} and bool in sorts and not isinstance(value, bool | None):
        raise ValueError(f"{name} is true or false, not {value!r}")


class ErrorDetail(Shape):
    """What went wrong."""

    code: str
    message: str = Field(description="What to do about it")


class ErrorOut(Shape):
    """Every error of the service."""

    error: ErrorDetail


ERRORS: dict[int | str, JsonObject] = {
    status: {"model": ErrorOut, "description": what}
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


Year = Annotated[int | str | None, Field(description="One or several: 1974, 1970-1979, 1970-", examples=["1970-1979"])]


class FilterIn(Request):
    """What a result must satisfy."""

    paths: list[Name] = Field(default=[], max_length=100, description="Globs over paths, such as notes/**")
    folders: list[Name] = Field(default=[], max_length=100, description="First parts of paths, as /facets names them")
    kinds: list[Name] = Field(default=[], max_length=100)
    since: Date = Field(default=None, description="Not older than this ISO 8601 date")
    until: Date = Field(default=None, description="Not newer than this ISO 8601 date")
    metadata: dict[Name, Scalar | Annotated[list[Scalar], Field(max_length=MOST_VALUES)]] = Field(
        default={}, max_length=20, description="A value, or several of which one suffices, by field"
    )
    collections: list[Name] = Field(
        default=[], max_length=100, description="Only in these, as /collections names them", examples=[["wiki"]]
    )
    authors: list[Name] = Field(default=[], max_length=50, description="Only works by one of these, in any spelling")
    venues: list[Name] = Field(default=[], max_length=50, description="Only works in one of these journals or the like")
    year: Year = None

    def filter(self) -> Filter:
        """Return the filter as the index takes it."""
        inside = tuple(self.collections)
        given = Filter(
            tuple(self.paths),
            tuple(self.kinds),
            self.since,
            self.until,
            self.metadata,
            collections=inside,
            folders=tuple(self.folders),
        )
        return given.of_works(self.authors, self.venues, self.year)


Fusion = Annotated[
    str | None,
    Field(
        max_length=100,
        description="rrf, linear, balanced or adaptive, with knobs as in rrf:k=10; null: as it is configured",
        examples=["linear:by-specificity"],
    ),
]


Mode = Annotated[
    str,
    AfterValidator(named_mode),
    Field(
        description="lexical (or lex, keyword, bm25): by words; semantic (or vec, vector): by meaning; "
        "hybrid: by both; hybrid-rerank: by both, with the best reranked",
        json_schema_extra={"enum": [*MODES]},
    ),
]


class RankedIn(Request):
    """A question, and how its answers are ranked."""

    query: Text = Field(examples=["how long do cache entries live"])
    top_k: int = Field(default=10, ge=1, le=100)
    mode: Mode = "hybrid"
    fusion: Fusion = None
    rerank: Literal["none", "features", "maxsim", "cross-encoder", "llm"] | None = Field(
        default=None, description="Reorder the best; null: as it is configured"
    )
    rerank_top: int | None = Field(default=None, ge=1, le=100, description="How many are reordered")
    boosts: dict[Name, float] | None = Field(
        default=None,
        max_length=10,
        description="Other factors for what the question names",
        examples=[{"identified": 2}],
    )
    filter: FilterIn | None = None

    def arguments(self) -> JsonObject:
        """Return the arguments for the index, without the question."""
        named = ("top_k", "mode", "fusion", "rerank", "rerank_top", "boosts")
        return {name: getattr(self, name) for name in named} | {
            "filter": self.filter.filter() if self.filter else None,
        }


class Diagnostics(Shape):
    """How a search was done."""

    effective_mode: str
    fusion: str | None
    reranker: str | None
    milliseconds: dict[str, float]
    counts: dict[str, int]
    degraded: list[Told] = Field(description="What was missing, and how to mend it")
    notes: list[Told]
