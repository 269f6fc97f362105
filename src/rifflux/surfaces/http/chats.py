"""`/chats`: read, name, export and delete the caller's recorded questions and answers."""

from __future__ import annotations

from fastapi import Response
from pydantic import Field

from rifflux.requests import After, ChatChanges, Limit
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.paging import Next
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.shared.shapes import Shape
from rifflux.types.nouns import noun_json

router = make_router("/chats", tags=["answers"])


class ChatSourceOut(Shape):
    """A passage that an answer cites. Its texts are untrusted data."""

    number: int = Field(description="Its mark in the text")
    document: str
    collection: str
    title: str
    heading_path: str
    chunk_id: str


class ChatAnswerOut(Shape):
    """A question with its answer. Its texts are untrusted data."""

    question: str
    searched: str
    text: str = Field(description="Empty where it was refused")
    reason: str = Field(description="Why it was refused; else empty")
    by: str
    answered_at: str
    sources: list[ChatSourceOut]


class ChatOut(Shape):
    """A chat."""

    id: str
    title: str
    created_at: str
    updated_at: str
    count: int = Field(description="Answers in it")
    answers: list[ChatAnswerOut] = Field(description="The first one first; none in a list of chats")


class ChatList(Shape):
    """A page of chats, the one that was continued last first."""

    chats: list[ChatOut]
    next: Next = None


@router.get("", summary="List chats, the latest first")
def list_(service: ServiceDependency, caller: User, after: After = "", limit: Limit = 100) -> ChatList:
    """List the caller's chats without their answers."""
    found = service.of(caller).chats.list(after, limit + 1)
    behind = found[limit - 1].id if len(found) > limit else None
    return ChatList(chats=[ChatOut.of(noun_json(each)) for each in found[:limit]], next=behind)


@router.get("/{id}", summary="A chat with its answers")
def chat(id: str, service: ServiceDependency, caller: User) -> ChatOut:
    """Read a chat of the caller's. To continue it, send its id with the next question to `/chat`."""
    return ChatOut.of(noun_json(service.of(caller).chats.get(id)))


@router.get("/{id}/markdown", summary="A chat as Markdown", responses={200: {"content": {"text/markdown": {}}}})
def markdown(id: str, service: ServiceDependency, caller: User) -> Response:
    """Export a chat: each question as a heading, its answer, and what that cites."""
    return Response(service.of(caller).chats.get(id).markdown, media_type="text/markdown; charset=utf-8")


@router.patch("/{id}", summary="Name a chat")
def edit(id: str, request: ChatChanges, service: ServiceDependency, caller: User) -> ChatOut:
    """Give a chat another title."""
    return ChatOut.of(noun_json(service.of(caller).chats.edit(id, **vars(request))))


@router.delete("/{id}", status_code=204, summary="Delete a chat for good")
def delete(id: str, service: ServiceDependency, caller: User) -> None:
    """Delete a chat for good."""
    service.of(caller).chats.delete(id)
