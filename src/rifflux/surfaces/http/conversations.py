"""`/conversations` and `/messages`: write, read and search the caller's messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Response
from starlette.requests import Request as Incoming

from rifflux import Conversation, Conversations, ImportReport, Message
from rifflux.conversations import VectorsMade, WrittenMessage
from rifflux.requests import (
    After,
    ConversationChanges,
    ConversationRequest,
    ConversationsFileRequest,
    ConversationsRequest,
    Limit,
    MessageChanges,
    MessageRequest,
    MessagesRequest,
    Param,
)
from rifflux.session.intake import Intake
from rifflux.surfaces.http.auth import ServiceDependency, User
from rifflux.surfaces.http.cures import advised
from rifflux.surfaces.http.importing import ACCEPTED, PATIENT, do_as_job
from rifflux.surfaces.http.paging import Next, page
from rifflux.surfaces.http.repeats import REPEATABLE
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.shapes import Diagnostics, Explain
from rifflux.surfaces.http.uploads import bodies, file_of
from rifflux.surfaces.shared.nouns import found_messages_json, trace_json
from rifflux.surfaces.shared.shapes import Shape, StepShape

router = make_router(tags=["conversations"])

Grouped = Annotated[bool, Param(help="By conversation")]
ConversationIn = Annotated[str, Param(help="The conversation that it belongs to", least=1, most=1_000)]


class ConversationList(Shape):
    """A page of conversations, by their date."""

    conversations: list[Conversation]
    next: Next = None


class MessageList(Shape):
    """A page of the messages of a conversation, in their order."""

    messages: list[Message]
    next: Next = None


class FoundOut(Shape):
    """A matching message, with the title of its conversation and the turns around it."""

    message: Message
    title: str
    score: float
    relevance: float | None
    chunk_id: str
    before: list[Message]
    after: list[Message]
    why: list[StepShape] | None = None


class MessageGroupOut(Shape):
    """The matching messages of one conversation."""

    conversation_id: str
    title: str
    results: list[FoundOut]


class SearchMessagesOut(Shape):
    """The best matching messages, or their groups if requested."""

    query: str
    results: list[FoundOut]
    groups: list[MessageGroupOut]
    diagnostics: Diagnostics


def conversations_of(service: ServiceDependency, caller: User) -> Conversations:
    """Return the caller's conversations."""
    return service.of(caller).conversations


Mine = Annotated[Conversations, Depends(conversations_of)]


@router.post("/conversations", status_code=201, dependencies=REPEATABLE, summary="Begin a conversation")
def begin(request: ConversationRequest, mine: Mine) -> Conversation:
    """Add a conversation. An id in use is refused."""
    return mine.add(**vars(request))


@router.get("/conversations", summary="List conversations by their date")
def list_(request: ConversationsRequest, mine: Mine, after: After = "", limit: Limit = 100) -> ConversationList:
    """List all conversations, those of a project, or those that are (not) archived."""
    found, behind = page(mine.list(**vars(request)), lambda each: each.id, after, limit)
    return ConversationList(conversations=[*found], next=behind)


@router.post("/conversations/search", summary="Search messages")
def search(
    request: MessagesRequest, service: ServiceDependency, mine: Mine, grouped: Grouped = False, explain: Explain = False
) -> SearchMessagesOut:
    """Search by words, and by meaning too if the administrator turned `hybrid_search` on."""
    found = mine.search(**vars(request))
    service.counters.searched(found.trace)
    given = found_messages_json(found, grouped=grouped, explain=explain)
    return SearchMessagesOut.model_validate(given | {"diagnostics": Diagnostics.of(trace_json(found.trace))})


@router.post(
    "/conversations/import",
    dependencies=[*REPEATABLE, *PATIENT],
    summary="Import conversations",
    response_model=ImportReport,
    responses=ACCEPTED,
    openapi_extra=bodies(ConversationsFileRequest),
)
async def bring(incoming: Incoming, service: ServiceDependency, caller: User, mine: Mine) -> Response:
    """Import the conversations of a file, as `rifflux conversations import` does; unchanged ones are left alone.

    If it takes longer than a request may, the answer is 202 with a job, which goes on.
    """
    file, request = await file_of(incoming, ConversationsFileRequest)

    def work(intake: Intake) -> ImportReport:
        return advised(mine.import_upload(file.name, file.data, **vars(request) | {"intake": intake}))

    return await do_as_job(
        incoming, service, caller, kind="conversations", name=file.name, work=work, answer_type=ImportReport
    )


@router.post(
    "/conversations/vectors",
    dependencies=PATIENT,
    summary="Make vectors for messages",
    response_model=VectorsMade,
    responses=ACCEPTED,
)
async def embed(incoming: Incoming, service: ServiceDependency, caller: User, mine: Mine) -> Response:
    """Make vectors for the caller's messages that have none, such as those stored while `hybrid_search` was off.

    Their cost is charged to the caller. If it takes longer than a request may, the answer is 202 with a job, which goes
    on.
    """

    def work(intake: Intake) -> VectorsMade:
        return advised(mine.embed(intake.progress))

    return await do_as_job(incoming, service, caller, kind="vectors", name="", work=work, answer_type=VectorsMade)


@router.get("/conversations/{id}", summary="A conversation")
def conversation(id: str, mine: Mine) -> Conversation:
    """Read a conversation with the number of its messages."""
    return mine.get(id)


@router.patch("/conversations/{id}", summary="Rename, move or archive a conversation")
def edit(id: str, request: ConversationChanges, mine: Mine) -> Conversation:
    """Change the given fields; the others stay."""
    return mine.edit(id, **vars(request))


@router.delete("/conversations/{id}", status_code=204, summary="Delete a conversation with all its messages")
def delete(id: str, mine: Mine) -> None:
    """Delete a conversation for good."""
    mine.delete(id)


@router.get("/conversations/{id}/messages", summary="The messages of a conversation in order")
def messages(id: str, mine: Mine, after: After = "", limit: Limit = 100) -> MessageList:
    """List the messages."""
    found, behind = page(mine.messages(id), lambda each: each.id, after, limit)
    return MessageList(messages=[*found], next=behind)


@router.post(
    "/conversations/{id}/messages", status_code=201, dependencies=REPEATABLE, summary="Add a message to a conversation"
)
def add(id: str, request: MessageRequest, mine: Mine) -> WrittenMessage:
    """Add a message. Once the service has answered, the message is stored durably.

    `degraded` says why it can only be found by words for now, if that is so.
    """
    return advised(mine.add_message(id, **vars(request)))


@router.post("/messages", status_code=201, dependencies=REPEATABLE, summary="Add a message")
def add_message(request: MessageRequest, mine: Mine, conversation_id: ConversationIn) -> WrittenMessage:
    """Add a message, as under its conversation."""
    return advised(mine.add_message(conversation_id, **vars(request)))


@router.get("/conversations/{id}/messages/{message}", summary="A message")
def message(id: str, message: str, mine: Mine) -> Message:
    """Read a message by its id in its conversation."""
    return mine.message(id, message)


@router.patch("/conversations/{id}/messages/{message}", summary="Change a message")
def edit_message(id: str, message: str, request: MessageChanges, mine: Mine) -> WrittenMessage:
    """Change the given fields; the others stay."""
    return advised(mine.edit_message(id, message, **vars(request)))


@router.delete("/conversations/{id}/messages/{message}", status_code=204, summary="Delete a message")
def delete_message(id: str, message: str, mine: Mine) -> None:
    """Delete a message for good."""
    mine.delete_message(id, message)
