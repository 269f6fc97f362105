"""Answers as server-sent events, within limits of time and number."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import structlog
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from rifflux import AnswerEvent, Done, Failed, RiffluxError
from rifflux.surfaces.http.connections import STOPPING, ending_of
from rifflux.surfaces.http.cures import all_noticed
from rifflux.surfaces.http.problems import Refused, problem_json
from rifflux.surfaces.shared.answers import event_json
from rifflux.surfaces.shared.nouns import JsonObject

#: Seconds that an answer may take, and after which it is abandoned.
CHAT_S = 90.0
GIVEN_UP_S = 100.0
#: Seconds without an event after which a comment keeps the connection alive.
PING_S = 10.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}

log = structlog.get_logger("rifflux.http")


@dataclass
class Events:
    """The events of an answer, produced by a separate thread; `ended` is called when it is done.

    `begin` receives a function that returns True once nobody waits, and yields the events. The last event is delivered
    only after `ended`: a client that has read it may ask again at once.
    """

    begin: Callable[[Callable[[], bool]], Iterator[AnswerEvent]]
    ended: Callable[[], None]
    _stop_requested: threading.Event = field(default_factory=threading.Event)
    _waiting: asyncio.Queue[AnswerEvent | BaseException | None] = field(default_factory=asyncio.Queue)

    def start(self) -> None:
        """Start, from the loop in which the events are awaited."""
        put = asyncio.get_running_loop().call_soon_threadsafe
        threading.Thread(target=self._run, args=(put,), name="answer", daemon=True).start()

    def stop(self) -> None:
        """Stop the answer: nobody waits for it."""
        self._stop_requested.set()

    def interrupt(self, refusal: Refused) -> None:
        """Make `next` raise a refusal after the pending events; called in the loop that awaits them."""
        self._waiting.put_nowait(refusal)

    async def next(self, seconds: float) -> AnswerEvent | None:
        """Return the next event, None after the last one. Raises `TimeoutError`, or the exception of the thread."""
        async with asyncio.timeout(seconds):
            found = await self._waiting.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def _run(self, put: Callable[..., object]) -> None:
        last: list[AnswerEvent | BaseException | None] = []
        try:
            for event in self.begin(self._stop_requested.is_set):
                if isinstance(event, Done | Failed):
                    last.append(event)
                else:
                    put(self._waiting.put_nowait, event)
            last.append(None)
        except Exception as error:  # unexpected errors are raised in the request
            last.append(error)
        finally:
            self.ended()
            with suppress(RuntimeError):  # the service is being stopped
                for event_or_end in last:
                    put(self._waiting.put_nowait, event_or_end)


class EventStream(StreamingResponse):
    """Sends events as they come, starting with `first`. The last one is `done` or `error`, also when the service stops.

    `failed` returns the problem for an error.
    """

    media_type = "text/event-stream"

    def __init__(self, first: AnswerEvent, events: Events, failed: Callable[[RiffluxError], Refused]) -> None:
        super().__init__(self._frames(first), headers=_HEADERS)
        self.events = events
        self.failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the end, or until the client leaves, which stops the model."""
        try:
            with ending_of(scope).calling(lambda: self.events.interrupt(STOPPING)):
                await super().__call__(scope, receive, send)
        finally:
            self.events.stop()

    async def _frames(self, first: AnswerEvent) -> AsyncIterator[str]:
        yield frame(first.name, all_noticed(event_json(first)))
        loop = asyncio.get_running_loop()
        last_at = loop.time() + GIVEN_UP_S
        while True:
            try:
                event = await self.events.next(PING_S)
            except TimeoutError:
                if loop.time() > last_at:
                    yield _error(Refused(503, "timeout", "the answer was given up: ask for less, or again later"))
                    return
                yield ": still at it\n\n"
                continue
            except Refused as refusal:
                yield _error(refusal)
                return
            except Exception:
                log.exception("answer")
                yield _error(Refused(500, "error", "this should not have happened: tell an administrator"))
                return
            if event is None:
                return
            if isinstance(event, Failed):
                yield _error(self.failed(event.error))
            else:
                yield frame(event.name, all_noticed(event_json(event)))


def frame(name: str, data: JsonObject) -> str:
    """Return an event in the format of server-sent events."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _error(refusal: Refused) -> str:
    """Return the event of an error, as routes answer it."""
    return frame("error", problem_json(refusal))
