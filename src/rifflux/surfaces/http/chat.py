"""`POST /chat`: answer a question from what the caller has, as server-sent events or as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Request as Incoming
from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from starlette.concurrency import run_in_threadpool

from rifflux import AnswerEvent, Done, Failed, InvalidArgument, Sources
from rifflux.surfaces.http.auth import Asked, User, address_of
from rifflux.surfaces.http.problems import Refused
from rifflux.surfaces.http.route import make_router
from rifflux.surfaces.http.service import Caller, Service
from rifflux.surfaces.http.shapes import MAX_QUERY, FilterIn, Request, Text
from rifflux.surfaces.http.streaming import CHAT_S, GIVEN_UP_S, Events, EventStream
from rifflux.surfaces.http.wording import worded
from rifflux.surfaces.shared.answers import answer_json
from rifflux.surfaces.shared.nouns import JsonObject
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
    """A part of a message; what is no text is left out."""

    model_config = ConfigDict(extra="ignore")

    type: Annotated[str, StringConstraints(max_length=50)] = "text"
    text: Content = ""


class MessageIn(BaseModel):
    """A message as clients of chat models send it; what else they send with it is left out."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    content: Content | Annotated[list[PartIn], Field(max_length=MOST_MESSAGES)] | None = None

    @property
    def text(self) -> str:
        """Return the text of the message."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.type == "text")


class ChatIn(Request):
    """A question: as `question`, as `message`, or as the last of `messages`, which are the conversation so far."""

    question: Text | None = Field(default=None, examples=["how long do cache entries live"])
    message: Text | None = Field(default=None, description="Another name of the question")
    messages: list[MessageIn] = Field(
        default=[],
        max_length=MOST_MESSAGES,
        description="What was said before; without a question, the last message is it. Only users and assistants count",
    )
    filter: FilterIn | None = None
    top_k: int = Field(default=8, ge=1, le=10, description="Documents that evidence is taken from, at most")
    max_tokens: int = Field(default=3_000, ge=100, le=20_000, description="Most tokens of evidence")
    deadline_ms: float | None = Field(
        default=None, gt=0, le=CHAT_S * 1000, description="Leave out what models have not done in so many milliseconds"
    )
    extract: bool = Field(default=False, description="Quote sentences, even where a model could write")
    stream: bool | None = Field(
        default=None,
        description="As server-sent events, or else as JSON; null: as the Accept header prefers, else as events",
    )

    @model_validator(mode="after")
    def _asks(self) -> ChatIn:
        if self.question and self.message:
            raise ValueError("question and message are the same: send one of them")
        if not (self.question or self.message or self.messages):
            raise ValueError("ask something: send a question, a message, or messages")
        return self

    def asked(self) -> tuple[str, list[dict[str, str]]]:
        """Return the question and the messages before it. Raises `InvalidArgument`."""
        said = [{"role": each.role, "content": each.text} for each in self.messages]
        question = self.question or self.message
        if question is None:
            if self.messages[-1].role != "user":
                raise InvalidArgument("the last of the messages is the question: it must be a user's")
            question = said.pop()["content"]
            if not question.strip() or len(question) > MAX_QUERY:
                raise InvalidArgument(f"the last message is the question: it has 1 to {MAX_QUERY:,} characters")
        return question, said

    def arguments(self) -> JsonObject:
        """Return the arguments for the index, without the question and the history."""
        return {
            "filter": self.filter.filter() if self.filter else None,
            "top_k": self.top_k,
            "max_tokens": self.max_tokens,
            "deadline_ms": self.deadline_ms or CHAT_S * 1000,
            "extract": self.extract,
        }


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
async def chat(asked: ChatIn, service: Asked, caller: User, request: Incoming) -> Response:
    """Answer from what the caller has, each sentence with its citations: quoted, or in the words of a chat model.

    A model's sentences are kept as far as they stand in a source. Where little speaks for any passage, the answer is
    refused, with the nearest ones. A user may have two answers under way at a time, over all workers of the service.
    """
    question, history = asked.asked()
    index = service.of(caller)
    lease = await run_in_threadpool(_lease, service, caller, request)

    def begin(gone: Callable[[], bool]) -> Iterator[AnswerEvent]:
        for event in index.answering(question, history, gone=gone, **asked.arguments()):
            service.counters.answered(event)
            yield told_to_clients(event)

    events = Events(begin, lambda: service.streams.give_back(lease))
    events.start()
    begun = False
    try:
        first = await _first(events)
        service.asked(caller, question)
        if asked.stream is not None:
            begun = asked.stream
        else:
            begun = not _prefers_json(request.headers.get("accept", ""))
        if begun:
            return EventStream(first, events, service.failed)
        return await _whole(first, events, service, request)
    finally:
        if not begun:
            events.stop()


def _prefers_json(accept: str) -> bool:
    """Return True if an `Accept` header prefers JSON to events (RFC 9110, 12.5.1); of equal weights, what it names."""
    return _preference(accept, "application/json") > _preference(accept, "text/event-stream")


def _preference(accept: str, media: str) -> tuple[float, int]:
    """Return the weight of a media type in an `Accept` header, and how closely the header names it: 0 to 3."""
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


def told_to_clients(event: AnswerEvent) -> AnswerEvent:
    """Return an event without the commands that its notes name."""
    if isinstance(event, Done):
        return replace(event, answer=worded(event.answer))
    if isinstance(event, Sources):
        return worded(event)
    return event


def _lease(service: Service, caller: Caller, request: Incoming) -> str:
    """Return the right to one more answer under way. Raises `Refused` where there are too many."""
    if caller.user:
        name = f"user:{caller.user}"
    else:
        name = address_of(request)
    lease = service.streams.take(name, GIVEN_UP_S)
    if lease is None:
        told = f"{service.streams.most} answers are under way for this user: wait until one of them is done"
        raise Refused(429, "too_many_streams", told, {"Retry-After": "5"})
    return lease


async def _first(events: Events) -> AnswerEvent:
    """Return the first event. Raises what came instead of an answer: there is still a status to tell it by."""
    first = await events.next(GIVEN_UP_S)
    assert first is not None
    if isinstance(first, Failed):
        raise first.error
    return first


async def _whole(first: AnswerEvent, events: Events, service: Service, request: Incoming) -> Response:
    """Return the answer once it is whole, or at once if the client has left."""
    left = asyncio.ensure_future(_left(request, events))
    try:
        event: AnswerEvent | None = first
        while event is not None:
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Done):
                told = AnswerShape.model_validate(answer_json(event.answer))
                return Response(told.model_dump_json(), media_type="application/json")
            event = await events.next(GIVEN_UP_S)
    finally:
        left.cancel()
    raise AssertionError("the last event is an answer or an error")


async def _left(request: Incoming, events: Events) -> None:
    """Wait until the client has left, and return True then."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    events.stop()
