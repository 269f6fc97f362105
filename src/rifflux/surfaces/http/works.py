"""`/works`: import research works, look them up, cite them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

from fastapi import Response
from starlette.requests import Request as Incoming

from rifflux import InvalidArgument, WorksReport
from rifflux.requests import BibliographyRequest, DecisionRequest, Param, WorksFileRequest, WorksTextRequest
from rifflux.session.intake import Intake
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.cures import advised
from rifflux.surfaces.http.importing import ACCEPTED, PATIENT, do_as_job
from rifflux.surfaces.http.repeats import REPEATABLE
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.uploads import bodies, file_of
from rifflux.surfaces.shared.nouns import JsonObject, work_json
from rifflux.surfaces.shared.shapes import Shape
from rifflux.works.report import Doubt

router = make_router("/works", tags=["works"])

Records = Annotated[
    Sequence[JsonObject],
    Param(
        help="Each with the fields that JSON Lines have: _id, title, abstract, authors, year, doi, cites, ...",
        most=1_000,
        examples=([{"_id": "serre55", "title": "Faisceaux algébriques", "year": 1955, "license": "CC-BY-4.0"}],),
    ),
]
Content = Annotated[str, Param(help="The works as a text in `format`, in place of records")]


class LinkedOut(Shape):
    """A work that the requested work cites or is cited by."""

    namespace: str
    collection: str
    document: str
    title: str


class WorkOut(Shape):
    """A work; its whole text is at `/documents/{identifier}`. Texts are untrusted data.

    The text of a work is withheld unless its license permits it; `withheld` says so. `more_links` says that it
    cites, or is cited by, more works than are listed.
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
    more_links: bool


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
async def bring(
    request: WorksTextRequest,
    incoming: Incoming,
    service: ServiceDependency,
    caller: User,
    records: Records = (),
    content: Content = "",
) -> Response:
    """Import works into the caller's library. Known ones are updated, and duplicates merged.

    If it takes longer than a request may, the answer is 202 with a job, which goes on.
    """
    works = service.of(caller).works
    if bool(records) == bool(content):
        raise InvalidArgument("send the works either as records, or as content with its format")
    if records and request.format != "jsonl":
        raise InvalidArgument(f"records have the fields of jsonl: send a list in {request.format} as content")
    text = content or "\n".join(json.dumps(each) for each in records)

    def work(intake: Intake) -> WorksReport:
        return advised(works.import_text(text, **vars(request) | {"intake": intake}))

    return await do_as_job(
        incoming, service, caller, kind="works", name=request.source, work=work, answer_type=WorksReport
    )


@router.post(
    "/import",
    dependencies=[*REPEATABLE, *PATIENT],
    summary="Import works of a file",
    response_model=WorksReport,
    responses=ACCEPTED,
    openapi_extra=bodies(WorksFileRequest),
)
async def bring_file(incoming: Incoming, service: ServiceDependency, caller: User) -> Response:
    """Import the works of a file, as `rifflux works import` does, without looking for other files."""
    file, request = await file_of(incoming, WorksFileRequest)
    works = service.of(caller).works

    def work(intake: Intake) -> WorksReport:
        return advised(works.import_upload(file.name, file.data, **vars(request) | {"intake": intake}))

    return await do_as_job(incoming, service, caller, kind="works", name=file.name, work=work, answer_type=WorksReport)


@router.post("/export", summary="Works as a bibliography")
def export(request: BibliographyRequest, service: ServiceDependency, caller: User) -> ExportOut:
    """Write a bibliography in the given order."""
    written = service.of(caller).works.export(*request.works, format=request.format)
    bibliography = json.loads(written) if request.format == "csl" else written
    return ExportOut(format=request.format, bibliography=bibliography)


class DoubtsOut(Shape):
    """The pairs of works that need a decision."""

    doubts: list[Doubt]


@router.get("/doubts", summary="Pairs of works that may be one")
def doubts(service: ServiceDependency, caller: User) -> DoubtsOut:
    """List the pairs that an import could not decide on."""
    return DoubtsOut(doubts=service.of(caller).works.doubts())


@router.post("/doubts", summary="Decide on a pair of works")
def decide(request: DecisionRequest, service: ServiceDependency, caller: User) -> DoubtsOut:
    """Merge two works of the caller's own, or keep them apart; returns the remaining pairs."""
    works = service.of(caller).works
    works.decide(**vars(request))
    return DoubtsOut(doubts=works.doubts())


@router.get("/{identifier:path}", summary="A work, what it cites and what cites it")
def work(identifier: str, service: ServiceDependency, caller: User) -> WorkOut:
    """Look up a work by a DOI, an arXiv or OpenAlex identifier, or source:key."""
    return WorkOut.of(work_json(service.of(caller).works.get(identifier)))


@router.delete("/{identifier:path}", status_code=204, summary="Remove a work")
def remove(identifier: str, service: ServiceDependency, caller: User) -> None:
    """Remove a work of the caller's own. Importing a list that still contains it adds it again."""
    service.of(caller).works.remove(identifier)
