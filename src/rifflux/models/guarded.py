"""Guards on model calls: time limits, billing, checks of vectors, and a circuit breaker for failing models."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from rifflux.errors import ModelError, RiffluxError
from rifflux.models.embedder import Embedder
from rifflux.models.joined import JoinedEmbedder
from rifflux.models.workers import Late, Workers
from rifflux.types import Vectors

T = TypeVar("T")

#: The purposes of calls.
SEARCH = "search"
STORE = "store"
#: The seconds for a question, and for a batch of passages that no one waits for.
QUESTION_S = 2.0
BATCH_S = 600.0
#: The number of passages that are allowed as long as a question.
PASSAGES = 16
#: The maximum number of hanging calls of one model, after which none is started.
MOST_HANGING = 32
#: The consecutive failures that open a model's breaker, and the seconds between attempts while it is open.
FAILURES = 3
PAUSE_S = 10.0
#: Backends whose models run in this process at no cost.
HERE = frozenset({"onnx", "hash"})
_log = logging.getLogger(__name__)


class BudgetExhausted(ModelError):
    """A model may not be called, because the budget does not cover the call."""


class Wordless(ModelError):
    """A model returned a zero vector, because it knows no word of the text; the model has not failed."""


class Bill(Protocol):
    """The cost of one call, recorded before it is made."""

    def settle(self, tokens: int | None = None) -> None:
        """Record that the call was answered, with the `tokens` it used if the model reports them."""

    def cancel(self) -> None:
        """Record that the call was not answered and cost nothing; no effect once it is settled."""


class Payer(Protocol):
    """The accounts to which calls are billed."""

    def bill(self, user: str, model: str, feature: str, tokens: Callable[[], int], *, here: bool) -> Bill:
        """Return the bill of a user for a call of about `tokens()` tokens. Raises `BudgetExhausted`.

        `feature` is the purpose of the call: `search`, `store`, `rerank` or `chat`; `here` means that the model runs in
        this process.
        """


@dataclass(frozen=True, slots=True)
class _NoBill:
    """A bill that records nothing."""

    def settle(self, tokens: int | None = None) -> None:
        """Record nothing."""

    def cancel(self) -> None:
        """Record nothing."""


NO_BILL: Bill = _NoBill()


@dataclass(frozen=True, slots=True)
class _Free:
    """A payer that bills nothing."""

    def bill(self, user: str, model: str, feature: str, tokens: Callable[[], int], *, here: bool) -> Bill:
        return NO_BILL


FREE: Payer = _Free()


@dataclass(frozen=True, slots=True)
class ModelCallFailed:
    """A call that was not answered.

    `sort` is `late`, `error`, `open` (not made because the model keeps failing) or `refused` (not made because the
    budget is exhausted). `cause` is for the log and may contain URLs and server messages.
    """

    sort: str
    model: str
    cause: str
    error: BaseException | None = None


def logged(stopped: ModelCallFailed) -> None:
    """Log a call that was made and failed; the caller already knows of one that was not made."""
    if stopped.sort in ("late", "error"):
        _log.warning("%s: %s", stopped.model, stopped.cause, exc_info=stopped.error)


@dataclass
class Breaker:
    """A circuit breaker for calls of one model. Safe to share between threads.

    It opens after `FAILURES` consecutive failures, then allows one call per `PAUSE_S` seconds, and closes on the first
    success. While that many calls have waited for half their time, no other is allowed, since it would most likely wait
    in vain. `answered` is True after the first success. `now` is a clock, in seconds.
    """

    now: Callable[[], float] = time.monotonic
    answered: bool = False
    _failures: int = 0
    _again_at: float = 0.0
    _slow_at: list[float] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def lets_through(self) -> bool:
        """Return True if a call may be made now; while the breaker is open, this allows a single attempt."""
        with self._lock:
            now = self.now()
            if sum(moment <= now for moment in self._slow_at) >= FAILURES:
                return False
            if self._failures < FAILURES:
                return True
            if now < self._again_at:
                return False
            self._again_at = now + PAUSE_S
            return True

    @contextmanager
    def under_way(self, seconds: float) -> Iterator[None]:
        """Record that a call with a limit of `seconds` is under way, until the block ends."""
        with self._lock:
            self._slow_at.append(slow_at := self.now() + seconds / 2)
        try:
            yield
        finally:
            with self._lock:
                self._slow_at.remove(slow_at)

    def undecided(self) -> None:
        """Record that an allowed call was inconclusive, so that another may be made at once."""
        with self._lock:
            self._again_at = min(self._again_at, self.now())

    def failed(self) -> None:
        """Record that a call failed."""
        with self._lock:
            self._failures += 1
            self._again_at = self.now() + PAUSE_S

    def succeeded(self) -> None:
        """Record that a call succeeded."""
        with self._lock:
            self._failures = 0
            self.answered = True


@dataclass(frozen=True, slots=True)
class Guard:
    """The limits on model calls, shared by all users of the models. Every call ends in a value or a `ModelError`.

    A question may take `question_s` seconds, a batch of passages `batch_s`. A model that failed three times in a row is
    called once in ten seconds until it answers; one that keeps three calls waiting gets no other meanwhile. `payer`
    bills the `user`, and `stopped` receives every failed call. Late calls run on unobserved, within the bounds of
    `workers`.
    """

    question_s: float = QUESTION_S
    batch_s: float = BATCH_S
    payer: Payer = FREE
    user: str = ""
    stopped: Callable[[ModelCallFailed], None] = logged
    workers: Workers = field(default_factory=partial(Workers, MOST_HANGING), compare=False, repr=False)
    breakers: dict[str, Breaker] = field(default_factory=dict, compare=False, repr=False)

    def __call__(
        self,
        model: str,
        work: Callable[[], T],
        *,
        seconds: float | None = None,
        deadline: float | None = None,
        retries: bool = False,
        proves: bool = True,
        loads: bool = False,
    ) -> T:
        """Return the value of `work()`, within `seconds` (default: `question_s`) and before `deadline`.

        Raises `ModelError` with a message that is safe for all users. A model that had less than half its seconds,
        because the caller's deadline was near, has not failed. Success `proves` that the model answers, unless the
        result may have been cached. The first call of a model that `loads` in this process may take `batch_s`.
        """
        breaker = self.breakers.setdefault(model, Breaker())
        if not breaker.lets_through():
            raise self._failure(
                "open", model, f"{model} failed or hung {FAILURES} times: it will be retried within {PAUSE_S:g} s"
            )
        if loads and not breaker.answered:
            seconds = self.batch_s
        elif seconds is None:
            seconds = self.question_s
        started_at = time.perf_counter()
        if deadline is None:
            until = started_at + seconds
        else:
            until = min(started_at + seconds, deadline)
        try:
            with breaker.under_way(seconds):
                value = self.workers(work, until, f"model {model}", retries=retries)
        except Late as late:
            if until - started_at >= seconds / 2:
                breaker.failed()
            raise self._failure("late", model, f"{model} was given up: {late}") from None
        except BudgetExhausted as refused:
            self.stopped(ModelCallFailed("refused", model, refused.cause))
            raise
        except ModelError as error:
            breaker.failed()
            self.stopped(ModelCallFailed("error", model, error.cause, error.__cause__))
            raise
        except RiffluxError:
            raise
        except Exception as error:  # custom models raise any exception
            breaker.failed()
            ours = foreign(model, error)
            self.stopped(ModelCallFailed("error", model, ours.cause, error))
            raise ours from error
        if proves:
            breaker.succeeded()
        else:
            breaker.undecided()
        return value

    @contextmanager
    def billed(self, model: str, feature: str, tokens: Callable[[], int], *, here: bool = False) -> Iterator[Bill]:
        """Bill the call made in the block; an error cancels the bill. Raises `BudgetExhausted`."""
        bill = self.payer.bill(self.user, model, feature, tokens, here=here)
        try:
            yield bill
        except BaseException:
            bill.cancel()
            raise
        if bill is not NO_BILL:
            bill.settle()

    def _failure(self, sort: str, model: str, message: str) -> ModelError:
        self.stopped(ModelCallFailed(sort, model, message))
        return ModelError(message)


class GuardedEmbedder:
    """An embedder whose calls to `inner` pass a guard, and whose vectors are checked.

    In a `hurry`, the caller waits for passages as for a question: requests are not retried and the time limit is
    similar. Attributes that call no model, such as `count_tokens` and an optional `canonical`, are the embedder's own.
    """

    name: str
    backend: str
    max_tokens: int
    count_tokens: Callable[[str], int]

    def __init__(self, inner: Embedder, guard: Guard, *, hurry: bool = False) -> None:
        self.inner = inner
        self.guard = guard
        self.hurry = hurry
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self._here = inner.backend in HERE or runs_here(inner)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the inner embedder."""
        return getattr(self.__dict__["inner"], name)

    @property
    def dimension(self) -> int:
        if self._here:
            return self.inner.dimension
        return self.guard(
            self.name, lambda: self.inner.dimension, seconds=self._seconds(1), retries=not self.hurry, proves=False
        )

    @property
    def hurried(self) -> GuardedEmbedder:
        """Return this embedder with the time limits of passages for which a caller waits."""
        return GuardedEmbedder(self.inner, self.guard, hurry=True)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self.question_vector(text)

    def question_vector(self, text: str, dimension: int | None = None, deadline: float | None = None) -> Vectors:
        """Return the vector of a question, of the given dimension. Raises `ModelError`."""

        def work() -> Vectors:
            with self.guard.billed(self.name, SEARCH, lambda: self.inner.count_tokens(text), here=self._here):
                found = self.inner.embed_query(text)
            return checked_vectors(self.name, found, (dimension or self.inner.dimension,))

        vector = self.guard(self.name, work, deadline=deadline, loads=self._here)
        if not vector.any():
            # This is not a failure of the model: some texts contain no word that it knows.
            self.guard.stopped(ModelCallFailed("error", self.name, "it returned a zero vector for a question"))
            raise Wordless(
                f"{self.name} knows no word of the question, so nothing was compared by meaning: rephrase it"
            )
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of passages."""
        return self.passage_vectors(texts)

    def passage_vectors(self, texts: Sequence[str], dimension: int | None = None) -> Vectors:
        """Return the vectors of passages, (texts, dimension). Raises `ModelError`, also if all are zeros.

        A single one may be zero: some texts contain no word that a model knows.
        """

        def tokens() -> int:
            return sum(self.inner.count_tokens(text) for text in texts)

        def work() -> Vectors:
            with self.guard.billed(self.name, STORE, tokens, here=self._here):
                found = self.inner.embed_documents(texts)
            vectors = checked_vectors(self.name, found, (len(texts), dimension or self.inner.dimension))
            if len(texts) > 1 and not vectors.any() and all(any(each.isalnum() for each in text) for text in texts):
                raise ModelError(f"{self.name} returned only zero vectors for {len(texts)} texts: fix it")
            return vectors

        seconds = self._seconds(len(texts))
        return self.guard(self.name, work, seconds=seconds, retries=not self.hurry, loads=self._here)

    def _seconds(self, passages: int) -> float:
        if self.hurry:
            return self.guard.question_s * (1 + passages / PASSAGES)
        return self.guard.batch_s


def runs_here(embedder: Embedder) -> bool:
    """Return True for a model that runs in this process, whose calls cost nothing."""
    if isinstance(embedder, JoinedEmbedder):
        return runs_here(embedder.first) and runs_here(embedder.second)
    return embedder.backend in HERE


class CachingEmbedder(GuardedEmbedder):
    """A guarded embedder for one request, which caches the vector of each question.

    After a failure it is not called again, even for another text: the caller has waited long enough.
    """

    def __init__(self, guarded: GuardedEmbedder) -> None:
        super().__init__(guarded.inner, guarded.guard, hurry=True)
        self._known: dict[str, Vectors] = {}
        self._failed: ModelError | None = None

    def question_vector(self, text: str, dimension: int | None = None, deadline: float | None = None) -> Vectors:
        """Return the vector of a question, or raise the error of an earlier call."""
        if text not in self._known:
            self._known[text] = self._unless_failed(partial(super().question_vector, text, dimension, deadline))
        return self._known[text]

    def fail(self, error: ModelError) -> None:
        """Raise `error` for all further calls."""
        self._failed = error

    def passage_vectors(self, texts: Sequence[str], dimension: int | None = None) -> Vectors:
        """Return the vectors of passages, or raise the error of an earlier call."""
        return self._unless_failed(partial(super().passage_vectors, texts, dimension))

    @property
    def hurried(self) -> GuardedEmbedder:
        return self

    def _unless_failed(self, ask: Callable[[], Vectors]) -> Vectors:
        if self._failed:
            raise self._failed
        try:
            return ask()
        except Wordless:
            raise
        except ModelError as error:
            self._failed = error
            raise


# Vectors that cannot be compared are errors, never results


def called(name: str, embed: Callable[[Any], Any], given: object) -> object:
    """Call an embedder; turn errors of other types, which custom models may raise, into `ModelError`."""
    try:
        return embed(given)
    except RiffluxError:
        raise
    except Exception as error:
        raise foreign(name, error) from error


def foreign(name: str, error: Exception) -> ModelError:
    """Wrap an error of another type in a `ModelError`. Its message is only logged, since it may contain anything."""
    kind = type(error).__name__
    cure = "fix it, or open the index with another model"
    return ModelError(f"{name} failed ({kind}; the log says more): {cure}", cause=f"{kind}: {error}")


def checked_vectors(name: str, given: object, shape: tuple[int, ...]) -> Vectors:
    """Return a model's vectors as finite float32 of this shape. Raises `ModelError`."""
    try:
        vectors = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        raise ModelError(f"{name} returned {type(given).__name__} instead of vectors: fix it") from None
    if vectors.shape != shape:
        raise ModelError(f"{name} returned vectors of shape {vectors.shape}, not {shape}: fix it, or reindex with it")
    if not np.isfinite(vectors).all():
        raise ModelError(f"{name} returned vectors with numbers that are not finite: fix it")
    return vectors
