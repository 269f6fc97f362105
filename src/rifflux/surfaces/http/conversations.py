"""`/conversations` and `/messages`: write, read and search what the caller said and heard."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from rifflux import Conversations
from rifflux.surfaces.http.auth import Asked, User
from rifflux.surfaces.http.service import Caller, Service
from rifflux.surfaces.http.shapes import Date, Diagnostics, Name, Request, Text
from rifflux.surfaces.shared.nouns import found_messages_json, trace_json
from rifflux.surfaces.shared.shapes import Shape, StepShape

__all__ = ["router"]

router = APIRouter(tags=["conversations"])

Project = Annotated[str | None, Query(max_length=1_000)]
Words = Annotated[str, Field(max_length=500_000, description="What is said")]


class ConversationIn(Request):
    """A new conversation; it gets an id if none is given."""

    id: Name | None = None
    title: str = Field(default="", max_length=1_000, examples=["Caching"])
    project: str = Field(default="", max_length=1_000)
    archived: bool = False
    created_at: Date = None


class ConversationEdit(Request):
    """What shall be different; what is left out stays."""

    title: str | None = Field(default=None, max_length=1_000)
    project: str | None = Field(default=None, max_length=1_000)
    archived: bool | None = None


class ConversationOut(Shape):
    """A conversation, and how many messages it has."""

    id: str
    title: str
    project: str
    archived: bool
    created_at: str | None
    messages: int


class MessageIn(Request):
    """A new message; it gets an id, and the time, if none is given."""

    id: Name | None = None
    text: Words
    role: str = Field(default="user", min_length=1, max_length=100, examples=["user"])
    speaker: str = Field(default="", max_length=1_000)
    created_at: Date = None
    source: str = Field(default="", max_length=1_000)


class NewMessage(MessageIn):
    """A new message, and the conversation that it belongs to."""

    conversation_id: Name


class MessageEdit(Request):
    """What shall be different; what is left out stays."""

    text: Words | None = None
    role: str | None = Field(default=None, min_length=1, max_length=100)
    speaker: str | None = Field(default=None, max_length=1_000)
    created_at: Date = None
    source: str | None = Field(default=None, max_length=1_000)


class MessageOut(Shape):
    """A message. Its text is untrusted data."""

    id: str
    conversation_id: str
    text: str
    role: str
    speaker: str
    created_at: str | None
    source: str


class SearchMessagesIn(Request):
    """A question to one's conversations; either date may be left out."""

    query: Text = Field(examples=["what did we decide about caching"])
    limit: int = Field(default=20, ge=1, le=100)
    conversation_id: Name | None = None
    since: Date = None
    until: Date = None
    role: str | None = Field(default=None, min_length=1, max_length=100)
    project: str | None = Field(default=None, max_length=1_000)
    archived: bool | None = None
    neighbors: int = Field(default=0, ge=0, le=20, description="Turns to tell before and after each message")
    grouped: bool = Field(default=False, description="By conversation")
    explain: bool = False


class FoundOut(Shape):
    """A message that answers, with its conversation's title and the turns around it."""

    message: MessageOut
    title: str
    score: float
    relevance: float | None
    chunk_id: str
    before: list[MessageOut]
    after: list[MessageOut]
    why: list[StepShape] | None = None


class GroupOut(Shape):
    """The messages of one conversation that answer."""

    conversation_id: str
    title: str
    results: list[FoundOut]


class SearchMessagesOut(Shape):
    """The messages that answer best, or, where it was asked for, their groups."""

    query: str
    results: list[FoundOut]
    groups: list[GroupOut]
    diagnostics: Diagnostics


def _conversations(service: Service, caller: Caller) -> Conversations:
    return service.of(caller).conversations


@router.post("/conversations", status_code=201, summary="Begin a conversation")
def begin(told: ConversationIn, service: Asked, caller: User) -> ConversationOut:
    """An id in use is refused."""
    made = _conversations(service, caller).add(
        told.title, id=told.id, project=told.project, archived=told.archived, created_at=told.created_at
    )
    return ConversationOut.of(asdict(made))


@router.get("/conversations", summary="List conversations by their date")
def list_(service: Asked, caller: User, project: Project = None, archived: bool | None = None) -> list[ConversationOut]:
    """All, or those of a project, or those that are (not) archived."""
    found = _conversations(service, caller).list(project=project, archived=archived)
    return [ConversationOut.of(asdict(each)) for each in found]


@router.post("/conversations/search", summary="Search messages")
def search(asked: SearchMessagesIn, service: Asked, caller: User) -> SearchMessagesOut:
    """By words; by meaning too where the administrator turned `hybrid_search` on."""
    found = _conversations(service, caller).search(
        asked.query,
        limit=asked.limit,
        conversation_id=asked.conversation_id,
        date_from=asked.since,
        date_to=asked.until,
        role=asked.role,
        project=asked.project,
        archived=asked.archived,
        neighbours=asked.neighbors,
    )
    service.counters.searched(found.trace)
    told = found_messages_json(found, grouped=asked.grouped, explain=asked.explain)
    return SearchMessagesOut.model_validate(told | {"diagnostics": Diagnostics.of(trace_json(found.trace))})


@router.get("/conversations/{id}", summary="A conversation")
def conversation(id: str, service: Asked, caller: User) -> ConversationOut:
    """With the number of its messages."""
    return ConversationOut.of(asdict(_conversations(service, caller).get(id)))


@router.patch("/conversations/{id}", summary="Rename, move or archive a conversation")
def edit(id: str, told: ConversationEdit, service: Asked, caller: User) -> ConversationOut:
    """What is left out stays."""
    found = _conversations(service, caller).edit(id, title=told.title, project=told.project, archived=told.archived)
    return ConversationOut.of(asdict(found))


@router.delete("/conversations/{id}", status_code=204, summary="Delete a conversation with all its messages")
def delete(id: str, service: Asked, caller: User) -> None:
    """It cannot be brought back."""
    _conversations(service, caller).delete(id)


@router.get("/conversations/{id}/messages", summary="The messages of a conversation in their order")
def messages(id: str, service: Asked, caller: User) -> list[MessageOut]:
    """All of them."""
    return [MessageOut.of(asdict(each)) for each in _conversations(service, caller).messages(id)]


@router.post("/conversations/{id}/messages", status_code=201, summary="Add a message to a conversation")
def add(id: str, told: MessageIn, service: Asked, caller: User) -> MessageOut:
    """Once it is answered, the message is kept, whatever happens to the service."""
    return _added(service, caller, id, told)


@router.post("/messages", status_code=201, summary="Add a message")
def add_message(told: NewMessage, service: Asked, caller: User) -> MessageOut:
    """The same as below its conversation."""
    return _added(service, caller, told.conversation_id, told)


def _added(service: Service, caller: Caller, conversation_id: str, told: MessageIn) -> MessageOut:
    added = _conversations(service, caller).add_message(
        conversation_id,
        told.text,
        role=told.role,
        speaker=told.speaker,
        created_at=told.created_at,
        source=told.source,
        id=told.id,
    )
    return MessageOut.of(asdict(added))


@router.get("/conversations/{id}/messages/{message}", summary="A message")
def message(id: str, message: str, service: Asked, caller: User) -> MessageOut:
    """By its id in its conversation."""
    return MessageOut.of(asdict(_conversations(service, caller).message(id, message)))


@router.patch("/conversations/{id}/messages/{message}", summary="Change a message")
def edit_message(id: str, message: str, told: MessageEdit, service: Asked, caller: User) -> MessageOut:
    """What is left out stays."""
    found = _conversations(service, caller).edit_message(
        id,
        message,
        text=told.text,
        role=told.role,
        speaker=told.speaker,
        created_at=told.created_at,
        source=told.source,
    )
    return MessageOut.of(asdict(found))


@router.delete("/conversations/{id}/messages/{message}", status_code=204, summary="Delete a message")
def delete_message(id: str, message: str, service: Asked, caller: User) -> None:
    """It cannot be brought back."""
    _conversations(service, caller).delete_message(id, message)
