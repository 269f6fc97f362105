"""`POST /retrieve` and `/verify`: find research works, with evidence to cite, and check it."""

from __future__ import annotations

import json
from typing import Literal, Self

from fastapi import Response
from pydantic import Field, model_validator

from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.shapes import Date, Deadline, Name, Request, Text, Year
from rifflux.surfaces.shared.nouns import JsonObject
from rifflux.surfaces.shared.packs import checked_json, retrieval_json
from rifflux.surfaces.shared.shapes import RetrievalShape, VerifiedShape

router = make_router(tags=["works"])


class DateRange(Request):
    """The first and the last date, both inclusive."""

    start: Date = None
    end: Date = None


class RetrieveFilters(Request):
    """What works must satisfy. Both dates are inclusive."""

    since: Date = None
    until: Date = None
    date_range: DateRange | None = Field(default=None, description="since and until in one object")
    subjects: list[Name] = Field(default=[], max_length=50, description="Tags, such as math.AG or msc:14F05")
    sources: list[Name] = Field(default=[], max_length=50, description="Names of lists that were imported")
    authors: list[Name] = Field(
        default=[], max_length=50, description="Names in any spelling, or ORCID iDs", examples=[["Dijkstra, E. W."]]
    )
    venues: list[Name] = Field(default=[], max_length=50, description="Journals and the like: CACM, Acta Math.")
    year: Year = None
    collections: list[Name] = Field(default=[], max_length=100, description="Only in these, as /collections names them")

    @model_validator(mode="after")
    def _check_dates(self) -> Self:
        if self.date_range and (self.since or self.until):
            raise ValueError("date_range is since and until: send it, or those")
        return self

    def arguments(self) -> JsonObject:
        """Return the arguments of `Retriever` for these filters."""
        arguments = self.model_dump(exclude={"date_range"})
        if self.date_range:
            arguments["since"] = self.date_range.start
            arguments["until"] = self.date_range.end
        return arguments


class RetrieveIn(Request):
    """A question about works."""

    query: Text = Field(examples=["foundational papers on parsing of context free languages"])
    filters: RetrieveFilters = Field(default_factory=RetrieveFilters)
    mode: Literal["lookup", "survey", "compare", "prereq", "related", "generic", "keywords"] | None = None
    top_k: int = Field(default=10, ge=1, le=100)
    max_tokens: int = Field(default=4_000, ge=1, le=100_000, description="Most tokens of evidence")
    deadline_ms: Deadline = None
    cite: Literal["bibtex", "csl"] | None = Field(default=None, description="Add the cited works, in this format")
    offset: int = Field(default=0, ge=0, le=10_000, description="Leave out so many works: the next page of as many")
    min_relevance: float | None = Field(
        default=None, ge=0, le=1, description="Least relevance of a work that is packed; null: as its intent has it"
    )
    works_only: bool = Field(default=False, description="Leave out documents that are no works: files, notes, uploads")


@router.post("/retrieve", summary="Find works, and evidence to cite", response_model=RetrievalShape)
def retrieve(asked: RetrieveIn, service: Asked, caller: User) -> Response:
    """Search by words, meaning and citations; the intent of the question, or `mode`, decides their weights."""
    found = service.of(caller).retrieve(
        asked.query,
        mode=asked.mode,
        top_k=asked.top_k,
        max_tokens=asked.max_tokens,
        cite=asked.cite or "",
        offset=asked.offset,
        min_relevance=asked.min_relevance,
        works_only=asked.works_only,
        deadline_ms=asked.deadline_ms,
        **asked.filters.arguments(),
    )
    service.asked(caller, asked.query)
    service.counters.retrieved(found)
    # Written here and not by the framework, which would do it where all requests wait for it.
    return Response(
        RetrievalShape.model_validate(retrieval_json(found)).model_dump_json(), media_type="application/json"
    )


class VerifyIn(Request):
    """An evidence pack to check."""

    pack: JsonObject = Field(description="As /retrieve gives it: the evidence_pack, or the whole answer")
    replay: bool = Field(default=False, description="Ask its question again, and compare all that is claimed")


@router.post("/verify", summary="Check the passages of an evidence pack")
def verify(given: VerifyIn, service: Asked, caller: User) -> VerifiedShape:
    """Check every passage against its hash and its work as it is indexed now, and the facts of the work."""
    return VerifiedShape.of(checked_json(service.of(caller), json.dumps(given.pack), replay=given.replay))
