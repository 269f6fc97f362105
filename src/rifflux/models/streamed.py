"""Streaming of chat answers behind the guard: billed, bounded in time, and ended when no one reads on."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from rifflux.errors import ModelError
from rifflux.models.chat import ChatModel, stream
from rifflux.models.endpoint import Stop
from rifflux.models.guarded import (
    FAILURES,
    PAUSE_S,
    Bill,
    Breaker,
    BudgetExhausted,
    Guard,
    ModelCallFailed,
    foreign,
)

#: The maximum seconds until the first piece, and between pieces.
FIRST_S = 20.0
NEXT_S = 10.0
#: The seconds of silence after which a stream checks whether anyone waits for it.
LOOK_S = 0.05
#: The maximum number of unread pieces.
MOST_WAITING = 256

Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Streaming:
    """Streams answers of a chat model; every call passes the guard and is billed for `feature`.

    A model is given up if it is silent for `first_s` seconds at the beginning or `next_s` later. A stream that no one
    reads is ended.
    """

    chat: ChatModel
    guard: Guard
    feature: str = "chat"
    first_s: float = FIRST_S
    next_s: float = NEXT_S

    def __call__(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        deadline: float | None = None,
        gone: Callable[[], bool] = lambda: False,
        spent: Callable[[int], None] = lambda _: None,
    ) -> Generator[str]:
        """Yield the pieces of an answer before `deadline`, a moment of `time.perf_counter()`. Raises `ModelError`.

        The model is stopped once `gone` returns True or the iterator is closed. `spent` receives the tokens used.
        """
        model = self.chat.model
        guard = self.guard
        breaker = guard.breakers.setdefault(model, Breaker())
        if not breaker.lets_through():
            cause = f"{model} failed or hung {FAILURES} times: it will be retried within {PAUSE_S:g} s"
            raise self._failure("open", cause)
        characters = sum(len(each["content"]) for each in messages)
        try:
            bill = guard.payer.bill(guard.user, model, self.feature, lambda: characters // 4 + max_tokens, here=False)
        except BudgetExhausted as refused:
            guard.stopped(ModelCallFailed("refused", model, refused.cause))
            raise
        call = _Call(self.chat, messages, max_tokens, _Bill(bill, spent))
        try:
            with ExitStack() as waiting:
                waiting.enter_context(breaker.under_way(self.first_s))
                for piece in self._pieces(call, deadline, gone):
                    waiting.close()
                    yield piece
        except ModelError as error:
            breaker.failed()
            guard.stopped(ModelCallFailed("error", model, error.cause, error.__cause__))
            raise
        except _Silent as silent:
            if not silent.is_callers:
                breaker.failed()
            raise self._failure("late", f"{model} was given up: {silent}") from None
        except Exception as error:  # any error of a client
            breaker.failed()
            ours = foreign(model, error)
            guard.stopped(ModelCallFailed("error", model, ours.cause, error))
            raise ours from error
        finally:
            call.end()
        if not gone():
            breaker.succeeded()

    def _pieces(self, call: _Call, deadline: float | None, gone: Callable[[], bool]) -> Iterator[str]:
        """Yield the pieces as they arrive. Raises the error of the call, and `_Silent`."""
        call.begin()
        started_at = time.perf_counter()
        news = started_at + self.first_s
        until = started_at + self.chat.timeout
        callers = deadline is not None and deadline < until
        if deadline is not None:
            until = min(until, deadline)
        while not gone():
            try:
                piece = call.pieces.get(timeout=LOOK_S)
            except queue.Empty:
                now = time.perf_counter()
                if now > min(news, until):
                    raise _Silent("it was silent for too long", is_callers=callers and now < news) from None
                continue
            if piece is None:
                return
            if isinstance(piece, BaseException):
                raise piece
            yield piece
            if time.perf_counter() > until:
                raise _Silent("its answer was not complete in time", is_callers=callers)
            news = time.perf_counter() + self.next_s

    def _failure(self, sort: str, message: str) -> ModelError:
        self.guard.stopped(ModelCallFailed(sort, self.chat.model, message))
        return ModelError(message)


class _Silent(Exception):
    """A model was silent for too long; `is_callers` means that only the caller's deadline had passed."""

    def __init__(self, message: str, *, is_callers: bool) -> None:
        super().__init__(message)
        self.is_callers = is_callers


@dataclass
class _Bill:
    """The bill of a call, settled by its thread; a call without tokens is cancelled."""

    bill: Bill
    spent: Callable[[int], None]

    def settle(self, tokens: int) -> None:
        """Record the tokens of the call."""
        self.spent(tokens)
        self.bill.settle(tokens)

    def cancel(self) -> None:
        """Cancel the bill, unless it is settled."""
        self.bill.cancel()


@dataclass
class _Call:
    """A request in its own thread, which queues the pieces, then None at the end or the error."""

    chat: ChatModel
    messages: Messages
    max_tokens: int
    bill: _Bill
    stop: Stop = field(default_factory=Stop)
    pieces: queue.Queue[str | BaseException | None] = field(default_factory=lambda: queue.Queue(MOST_WAITING))
    thread: threading.Thread | None = None

    def begin(self) -> None:
        """Send the request."""
        self.thread = threading.Thread(target=self._run, name=f"model {self.chat.model}", daemon=True)
        self.thread.start()

    def end(self) -> None:
        """End the request if it is still under way; its thread then ends by itself."""
        self.stop.set()
        if self.thread is None:
            self.bill.cancel()

    def _run(self) -> None:
        last: BaseException | None = None
        try:
            for piece in stream(
                self.chat, self.messages, self.stop, max_tokens=self.max_tokens, spent=self.bill.settle
            ):
                if not self._put(piece):
                    break
        except BaseException as error:  # the reader's to handle
            last = error
        finally:
            self.bill.cancel()
            self._put(last)

    def _put(self, piece: str | BaseException | None) -> bool:
        """Queue a piece for the reader; return False if the stream was ended."""
        while not self.stop.is_set:
            try:
                self.pieces.put(piece, timeout=LOOK_S)
            except queue.Full:
                continue
            return True
        return False
