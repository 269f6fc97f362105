"""`/documents`: put documents and files into collections, list, read and remove them."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Annotated

from fastapi import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as Incoming

from rifflux import Document, NotFound
from rifflux.requests import (
    DocumentRequest,
    DocumentsRequest,
    FileRequest,
    OpenDocumentRequest,
    Param,
    declaration,
    declared,
)
from rifflux.session.intake import Intake
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.cures import advised
from rifflux.surfaces.http.importing import ACCEPTED, PATIENT, do_as_job
from rifflux.surfaces.http.paging import Next
from rifflux.surfaces.http.repeats import REPEATABLE
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.service import Caller, Service
from rifflux.surfaces.http.shapes import FailureOut
from rifflux.surfaces.http.uploads import bodies, body_of
from rifflux.surfaces.shared.nouns import JsonObject, document_at_json, document_json
from rifflux.surfaces.shared.shapes import ChunkShape, NoticeShape, Shape
from rifflux.types.nouns import noun_json

router = make_router(prefix="/documents", tags=["documents"])

KEY = declaration("document", Annotated[str, Param(help="Its key", most=1_000, examples=("caching",))], "")
#: The attributes of a document that a request states.
_STATED = {each.name for each in fields(Document)} & {each.name for each in declared(DocumentRequest)} - {"key"}


class StoredOut(Shape):
    """The result of storing. `degraded` says what is still missing, such as vectors."""

    document: str = Field(description="Its key, which covers all documents of a file")
    collection: str
    created: bool = Field(description="The key is new")
    documents: int = Field(description="1, or the number in a mailbox or a file of records")
    chunks: int = Field(description="Passages that were stored; 0 where nothing changed")
    embedded_chunks: int = Field(description="Those that can already be found by meaning")
    failed: list[FailureOut] = Field(description="Parts of the file that could not be read")
    degraded: list[NoticeShape]


class DocumentRow(Shape):
    """A document in a list. Its title is untrusted data."""

    document: str = Field(description="Its key, unique within its namespace")
    namespace: str = Field(description="An indexed folder, a list of works, or documents for what was stored here")
    collection: str
    path: str
    title: str
    kind: str
    created_at: str | None
    updated_at: str | None
    license: str | None
    withheld: bool = Field(description="No license is recorded that permits it, so no text is shown")
    chunks: int


class DocumentList(Shape):
    """A page of a list."""

    documents: list[DocumentRow]
    next: Next = None


class DocumentOut(Shape):
    """A document with its whole text, which is untrusted data.

    The text of a work is withheld unless its license permits it.
    """

    document: str
    title: str
    identifiers: list[str]
    kind: str
    created_at: str | None
    updated_at: str | None
    license: str | None
    metadata: JsonObject
    text: str


class HeadingOut(Shape):
    """A heading of a document. It is untrusted data."""

    title: str
    depth: int = Field(description="From 1")
    chunk_id: str = Field(description="The first passage below it")
    start: int = Field(description="Where that starts in the whole text")


class AroundOut(Shape):
    """The passage at which a document is opened, and its outline. Positions refer to the whole text."""

    passage: ChunkShape
    span: list[int] = Field(description="Of the passage: first character, and one past the last")
    highlights: list[list[int]] = Field(description="Words of the passage that share a term with `query`")
    text_span: list[int] = Field(description="The part of the whole text that is in `text`")
    length: int = Field(description="Characters of the whole text")
    outline: list[HeadingOut]


class DocumentAtOut(DocumentOut):
    """A document, opened at a passage if requested; of a long document, only the text around it."""

    around: AroundOut | None = None


class RemovedDocuments(Shape):
    """The number of documents removed, including all of a mailbox or a file of records."""

    documents: int


@router.get("", summary="List documents")
def list_(request: DocumentsRequest, service: ServiceDependency, caller: User) -> DocumentList:
    """List what the caller has and may read, by collection and key. Documents that come or go shift no page."""
    page = service.of(caller).documents.list(**vars(request))
    return DocumentList(documents=[DocumentRow.of(noun_json(each)) for each in page.documents], next=page.next)


@router.post(
    "",
    status_code=201,
    dependencies=[*REPEATABLE, *PATIENT],
    summary="Add a document or a file",
    response_model=StoredOut,
    responses=ACCEPTED,
    openapi_extra=bodies(FileRequest, DocumentRequest, KEY),
)
async def add(incoming: Incoming, service: ServiceDependency, caller: User) -> Response:
    """Add a document to a collection that the caller may write, as JSON with its text, or as a file in a form.

    PDF, Office, HTML, notebooks, code, mail, JSON Lines and all other formats that indexing reads. After a 201 it is
    stored and can be found. For a file that takes longer, the answer is 202 with a job.
    """
    return await _stored(incoming, service, caller)


@router.put(
    "/{document:path}",
    summary="Add or replace a document or a file",
    dependencies=PATIENT,
    response_model=StoredOut,
    responses={201: {"model": StoredOut, "description": "It is new"}, **ACCEPTED},
    openapi_extra=bodies(FileRequest, DocumentRequest),
)
async def put(document: str, incoming: Incoming, service: ServiceDependency, caller: User) -> Response:
    """Store a document under a key, replacing what was there. Repeating the request changes nothing."""
    return await _stored(incoming, service, caller, document)


async def _stored(incoming: Incoming, service: Service, caller: Caller, key: str | None = None) -> Response:
    new = key is None
    file, request, more = await body_of(incoming, FileRequest, DocumentRequest, *((KEY,) if new else ()))
    key = more["document"] if key is None else key
    documents = service.of(caller).documents

    def status(stored: StoredOut) -> int:
        if new or stored.created:
            return 201
        return 200

    if file is None:
        document = Document(key=key, **{name: getattr(request, name) for name in _STATED})
        intake = service.intake(caller)
        put = partial(documents.put, document, collection=request.collection, new=new, intake=intake)
        stored = StoredOut.of(noun_json(advised(await run_in_threadpool(put))))
        return Response(stored.model_dump_json(), status(stored), media_type="application/json")
    about = vars(request) | {"key": key, "new": new}

    def work(intake: Intake) -> StoredOut:
        stored = documents.upload(file.name, file.data, **about | {"intake": intake})
        return StoredOut.of(noun_json(advised(stored)))

    return await do_as_job(
        incoming,
        service,
        caller,
        kind="documents",
        name=file.name,
        work=work,
        answer_type=StoredOut,
        status=status,
    )


@router.get("/{document:path}", summary="Read a whole document", response_model_exclude_unset=True)
def document(document: str, request: OpenDocumentRequest, service: ServiceDependency, caller: User) -> DocumentAtOut:
    """Read a document by its key, its path, or an identifier such as doi:10.1000/182.

    With `around`, the answer has the passage's place, the outline, and at most 200,000 characters around the passage.
    """
    index = service.of(caller)
    if request.around is None:
        return DocumentAtOut.of(document_json(index.document(document)))
    found = index.documents.at(request.around or document)
    if request.around and found.hit.key != document:
        raise NotFound(f"that passage is not of {document!r}: take both from one result of a search")
    return DocumentAtOut.of(document_at_json(found, request.query, index.profile.analyzer))


@router.delete("/{document:path}", summary="Remove a document")
def remove(
    document: str,
    service: ServiceDependency,
    caller: User,
    collection: Annotated[str, Param(help="Only in this one", most=400)] = "",
) -> RemovedDocuments:
    """Remove a document, or all of a file, from a collection that the caller may write, by its exact key."""
    return RemovedDocuments(documents=service.of(caller).documents.remove(document, collection=collection))
