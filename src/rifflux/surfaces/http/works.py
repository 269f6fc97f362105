"""`/works`: bring research works, look one up, cite them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field, StringConstraints
from starlette.requests import Request as Incoming

from rifflux import InvalidArgument, WorksReport
from rifflux.session.intake import Intake
from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.cures import advised
from rifflux.surfaces.http.importing import ACCEPTED, PATIENT, do_as_job
from rifflux.surfaces.http.repeats import REPEATABLE
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.shapes import Body, Name
from rifflux.surfaces.http.uploads import bodies, file_of
from rifflux.surfaces.shared.nouns import JsonObject, work_json
from rifflux.surfaces.shared.shapes import Shape
from rifflux.works.report import Doubt

router = make_router("/works", tags=["works"])

MOST_RECORDS = 1_000
MOST_CITED = 1_000
Format = Literal["jsonl", "arxiv", "openalex", "csl", "semanticscholar", "bibtex", "ris", "zotero-rdf", "latex"]
Source = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class WorksIn(Body):
    """Works as `records`, or as the `content` of a file in a `format`; the body's limit of size holds for either."""

    records: list[JsonObject] = Field(
        default=[],
        max_length=MOST_RECORDS,
        description="Each with the fields that JSON Lines have: _id, title, abstract, authors, year, doi, cites, ...",
        examples=[
            [{"_id": "serre55", "title": "Faisceaux algébriques cohérents", "year": 1955, "license": "CC-BY-4.0"}]
        ],
    )
    content: str = ""
    format: Format = Field(default="jsonl", description="Of the content")
    source: Source = Field(description="Name of the list: the key of a work becomes source:key", examples=["zotero"])
    license: Name | None = Field(
        default=None,
        description="For works that state none. Without a license that permits it, no text of a work is shown",
    )

    def text(self) -> str:
        """Return what to import. Raises `InvalidArgument` unless there are either records or content."""
        if bool(self.records) == bool(self.content):
            raise InvalidArgument("send the works either as records, or as content with its format")
        if self.records and self.format != "jsonl":
            raise InvalidArgument(f"records have the fields of jsonl: send a list in {self.format} as content")
        return self.content or "\n".join(json.dumps(each) for each in self.records)


class WorksFile(Body):
    """A file of works: .jsonl, .json, .bib, .tex or .pdf, the first two also as .gz."""

    source: Source | None = Field(default=None, description="As above; left out: after the name of the file")
    format: Format | Literal["pdf"] | None = Field(default=None, description="Left out: as it looks")
    license: Name | None = Field(default=None, description="For works that state none")


class LinkedOut(Shape):
    """A work that the requested work cites, or is cited by."""

    namespace: str
    collection: str
    document: str
    title: str


class WorkOut(Shape):
    """A work; its whole text is at `/documents/{identifier}`. Texts are untrusted data.

    No text is shown of a work without a license that permits it; `withheld` says so.
    """

    namespace: str
    collection: str
    document: str
    title: str
    identifiers: list[str]
    authors: list[str]
    year: int | None
    date: str | None
    venue: str
    subjects: list[str]
    license: str | None
    withheld: bool
    abstract: str
    cites: list[LinkedOut]
    cited_by: list[LinkedOut]


class ExportIn(Body):
    """Which works to cite, and how."""

    works: list[Name] = Field(min_length=1, max_length=MOST_CITED, description="Identifiers", examples=[["zotero:a"]])
    format: Literal["bibtex", "csl"] = "bibtex"


class ExportOut(Shape):
    """A bibliography: a text of BibTeX, or a list of CSL-JSON items."""

    format: str
    bibliography: str | list[JsonObject]


@router.post(
    "",
    dependencies=[*REPEATABLE, *PATIENT],
    summary="Import works",
    response_model=WorksReport,
    responses=ACCEPTED,
)
async def bring(given: WorksIn, incoming: Incoming, service: Asked, caller: User) -> Response:
    """Import works. Known ones are brought up to date, and duplicates merged; they are the caller's alone.

    What takes longer than a request may is answered 202 with a job, and goes on.
    """
    works = service.of(caller).works
    text = given.text()

    def work(intake: Intake) -> WorksReport:
        about = given.model_dump(include={"source", "format", "license"})
        return advised(works.import_text(text, intake=intake, **about))

    return await do_as_job(
        incoming, service, caller, kind="works", name=given.source, work=work, answer_type=WorksReport
    )


@router.post(
    "/import",
    dependencies=[*REPEATABLE, *PATIENT],
    summary="Import works of a file",
    response_model=WorksReport,
    responses=ACCEPTED,
    openapi_extra=bodies(WorksFile),
)
async def bring_file(incoming: Incoming, service: Asked, caller: User) -> Response:
    """Import the works of a file, as `rifflux works import` does; no other file is looked for."""
    file, given = await file_of(incoming, WorksFile)
    works = service.of(caller).works

    def work(intake: Intake) -> WorksReport:
        return advised(works.import_upload(file.name, file.data, intake=intake, **given.model_dump()))

    return await do_as_job(incoming, service, caller, kind="works", name=file.name, work=work, answer_type=WorksReport)


@router.post("/export", summary="Works as a bibliography")
def export(given: ExportIn, service: Asked, caller: User) -> ExportOut:
    """Write a bibliography in the given order."""
    written = service.of(caller).works.export(*given.works, format=given.format)
    return ExportOut(format=given.format, bibliography=json.loads(written) if given.format == "csl" else written)


class DoubtOut(Shape):
    """Two works that may be one, and what speaks for it and against it."""

    one: str
    other: str
    reason: str


class DoubtsOut(Shape):
    """The pairs of works that somebody should decide on."""

    doubts: list[DoubtOut]


class DecisionIn(Body):
    """What two works are to each other."""

    one: Name = Field(examples=["zotero:serre55"])
    other: Name = Field(examples=["arxiv:math/0102001"])
    same: bool = Field(
        description="true: one work, so they are merged; false: two works, which stay or come apart, and an identifier "
        "that both have stays with `one`"
    )


@router.get("/doubts", summary="Pairs of works that may be one")
def doubts(service: Asked, caller: User) -> DoubtsOut:
    """List the pairs that an import could not decide on."""
    return _doubts(service.of(caller).works.doubts())


@router.post("/doubts", summary="Decide on a pair of works")
def decide(given: DecisionIn, service: Asked, caller: User) -> DoubtsOut:
    """Merge two works of the caller's own, or keep them apart from now on; returns the pairs that are left."""
    works = service.of(caller).works
    works.decide(given.one, given.other, same=given.same)
    return _doubts(works.doubts())


def _doubts(found: Sequence[Doubt]) -> DoubtsOut:
    return DoubtsOut(doubts=[DoubtOut(one=each.one, other=each.other, reason=each.reason) for each in found])


@router.get("/{identifier:path}", summary="A work, what it cites and what cites it")
def work(identifier: str, service: Asked, caller: User) -> WorkOut:
    """Look up a work by a DOI, an arXiv or OpenAlex identifier, or source:key."""
    return WorkOut.of(work_json(service.of(caller).works.get(identifier)))


@router.delete("/{identifier:path}", status_code=204, summary="Remove a work")
def remove(identifier: str, service: Asked, caller: User) -> None:
    """Remove a work of the caller's own. A list that still holds it brings it again when it is imported."""
    service.of(caller).works.remove(identifier)
