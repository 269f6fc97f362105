"""`POST /chat`: answer a question from what the caller has, as server-sent events or as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

from fastapi import Request as Incoming
from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from rifflux import AnswerEvent, Done, Failed, InvalidArgument
from rifflux.requests import AnswerRequest, Param
from rifflux.surfaces.http.auth import ServiceDependency, User, address_of
from rifflux.surfaces.http.cures import all_noticed
from rifflux.surfaces.http.problems import Refused
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.service import Caller, Service
from rifflux.surfaces.http.shapes import MAX_QUERY
from rifflux.surfaces.http.streaming import CHAT_S, GIVEN_UP_S, Events, EventStream
from rifflux.surfaces.shared.answers import answer_json
from rifflux.surfaces.shared.shapes import AnswerShape

router = make_router(tags=["answers"])

MOST_MESSAGES = 100
Content = Annotated[str, StringConstraints(max_length=100_000)]
_EVENTS = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "Of each event; its data is JSON",
            "properties": {
                "event": {"enum": ["sources", "delta", "cited", "withdrawn", "done", "error"]},
                "data": {"type": "string"},
            },
            "required": ["event", "data"],
        }
    }
}


class PartIn(BaseModel):
    """A part of a message; parts other than text are ignored."""

    model_config = ConfigDict(extra="ignore")

    type: Annotated[str, StringConstraints(max_length=50)] = "text"
    text: Content = ""


class ChatTurn(BaseModel):
    """A message as clients of chat models send it; other keys are ignored."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    content: Content | Annotated[list[PartIn], Field(max_length=MOST_MESSAGES)] | None = None

    @property
    def text(self) -> str:
        """Return the text of the message."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.type == "text")


Question = Annotated[
    Annotated[str, Param(least=1, most=MAX_QUERY)] | None,
    Param(help="What to answer", least=1, most=MAX_QUERY, examples=("how long do cache entries live",)),
]
Messages = Annotated[
    Sequence[ChatTurn],
    Param(
        help="The conversation so far; without a question, its last message is the question. Other roles are ignored",
        most=MOST_MESSAGES,
    ),
]
Stream = Annotated[
    bool | None,
    Param(help="As server-sent events, or else as JSON; null: as the Accept header prefers, else as events"),
]


def question_of(question: str | None, messages: Sequence[ChatTurn]) -> tuple[str, list[dict[str, str]]]:
    """Return the question and the turns before it. Raises `InvalidArgument`."""
    history = [{"role": each.role, "content": each.text} for each in messages]
    if question:
        return question, history
    if not messages:
        raise InvalidArgument("there is no question: send question or messages")
    if messages[-1].role != "user":
        raise InvalidArgument("the last of the messages is the question: it must be a user's")
    question = history.pop()["content"]
    if not question.strip() or len(question) > MAX_QUERY:
        raise InvalidArgument(f"the last message is the question: it has 1 to {MAX_QUERY:,} characters")
    return question, history


@router.post(
    "/chat",
    summary="Answer a question",
    response_model=AnswerShape,
    responses={
        200: {
            "description": "The answer; as events unless `stream` is false or the `Accept` header prefers JSON",
            "content": _EVENTS,
        }
    },
)
async def chat(
    request: AnswerRequest,
    service: ServiceDependency,
    caller: User,
    incoming: Incoming,
    question: Question = None,
    messages: Messages = (),
    stream: Stream = None,
) -> Response:
    """Answer from what the caller may read, each sentence with its citations: quoted, or written by a chat model.

    Sentences of a model that no source supports are withdrawn. If no passage is likely to answer, the answer is
    refused, with the nearest passages. A user may have two answers under way at a time, over all workers of the
    service.
    """
    query, history = question_of(question, messages)
    settings = vars(request) | {"deadline_ms": min(request.deadline_ms or CHAT_S * 1000, CHAT_S * 1000)}
    index = service.of(caller)
    lease = await run_in_threadpool(_lease, service, caller, incoming)

    def begin(is_stopped: Callable[[], bool]) -> Iterator[AnswerEvent]:
        for event in index.answering(query, history, gone=is_stopped, **settings):
            service.counters.answered(event)
            yield event

    events = Events(begin, lambda: service.streams.give_back(lease))
    events.start()
    streams = False
    try:
        first = await _first(events)
        service.note_question(caller, query)
        if stream is not None:
            streams = stream
        else:
            streams = not _prefers_json(incoming.headers.get("accept", ""))
        if streams:
            return EventStream(first, events, service.failed)
        return await _whole(first, events, service, incoming)
    finally:
        if not streams:
            events.stop()


def _prefers_json(accept: str) -> bool:
    """Return True if an `Accept` header prefers JSON to events (RFC 9110, 12.5.1)."""
    return _preference(accept, "application/json") > _preference(accept, "text/event-stream")


def _preference(accept: str, media: str) -> tuple[float, int]:
    """Return the weight of a media type in an `Accept` header, and how exactly the header matches it: 0 to 3."""
    ranges = ("", "*/*", f"{media.partition('/')[0]}/*", media)
    closest = 0
    weight = 0.0
    for each in accept.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        if name and name in ranges and ranges.index(name) >= closest:
            closest = ranges.index(name)
            weight = next((_weight(part) for part in parameters if part.startswith("q=")), 1.0)
    return weight, closest


def _weight(parameter: str) -> float:
    try:
        return float(parameter.removeprefix("q="))
    except ValueError:
        return 1.0


def _lease(service: Service, caller: Caller, request: Incoming) -> str:
    """Return a lease for one more answer. Raises `Refused` if too many are under way."""
    if caller.user:
        name = f"user:{caller.user}"
    else:
        name = address_of(request)
    lease = service.streams.take(name, GIVEN_UP_S)
    if lease is None:
        message = f"{service.streams.most} answers are under way for this user: wait until one of them is done"
        raise Refused(429, "too_many_streams", message, {"Retry-After": "5"})
    return lease


async def _first(events: Events) -> AnswerEvent:
    """Return the first event. Raises the error that came instead, while the status can still be set."""
    first = await events.next(GIVEN_UP_S)
    assert first is not None
    if isinstance(first, Failed):
        raise first.error
    return first


async def _whole(first: AnswerEvent, events: Events, service: Service, request: Incoming) -> Response:
    """Return the complete answer, or return at once if the client has left."""
    left = asyncio.ensure_future(_left(request, events))
    try:
        event: AnswerEvent | None = first
        while event is not None:
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Done):
                shape = AnswerShape.model_validate(all_noticed(answer_json(event.answer)))
                return Response(shape.model_dump_json(), media_type="application/json")
            event = await events.next(GIVEN_UP_S)
    finally:
        left.cancel()
    raise AssertionError("the last event is an answer or an error")


async def _left(request: Incoming, events: Events) -> None:
    """Wait until the client has left, and return True then."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    events.stop()
