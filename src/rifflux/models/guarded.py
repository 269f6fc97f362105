"""Guard every call of a model: bound its time, bill it, check its vectors, and pause while the model fails."""

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

#: What a model is called for.
SEARCH = "search"
STORE = "store"
#: Seconds for a question, and for a batch of passages that nobody waits for.
QUESTION_S = 2.0
BATCH_S = 600.0
#: So many passages are allowed as long as a question.
PASSAGES = 16
#: Calls of one model that may hang at a time before none is begun.
MOST_HANGING = 32
#: After so many failures in a row a model is left alone, and tried once in so many seconds.
FAILURES = 3
PAUSE_S = 10.0
#: Backends whose models run in this process and cost nothing by themselves.
HERE = frozenset({"onnx", "hash"})
_log = logging.getLogger(__name__)


class BudgetExhausted(ModelError):
    """A model may not be called, because the budget does not cover the call."""


class Wordless(ModelError):
    """A model gives a vector of zeros for a text that has no word it knows; the model has not failed."""


class Bill(Protocol):
    """The cost of one call, noted before it is made."""

    def settle(self, tokens: int | None = None) -> None:
        """Record that the call was answered, with the `tokens` it took if the model reports them."""

    def cancel(self) -> None:
        """Record that the call was not answered and cost nothing; no effect once it is settled."""


class Payer(Protocol):
    """The accounts that calls are billed to."""

    def bill(self, user: str, model: str, feature: str, tokens: Callable[[], int], *, here: bool) -> Bill:
        """Return the bill of a user for a call of about `tokens()` tokens. Raises `BudgetExhausted`.

        `feature` is what the call is for: `search`, `store`, `rerank` or `chat`; `here` says that the model runs in
        this process.
        """


@dataclass(frozen=True, slots=True)
class _NoBill:
    """Notes nothing."""

    def settle(self, tokens: int | None = None) -> None:
        """Note nothing."""

    def cancel(self) -> None:
        """Note nothing."""


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

    `sort` is `late`, `error`, `open` (not made, for the model keeps failing) or `refused` (not made, for it is not
    paid for). `cause` is for the log: it may hold URLs and what a server said.
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
    """Says of one model if it may be called. Safe to share between threads.

    It opens after `FAILURES` failures in a row, then lets one call through in `PAUSE_S` seconds, and closes with the
    first that succeeds. While as many calls have waited for half of their time, no other is let through: it would most
    likely wait as long for nothing. `answered` is True once one did. `now` is a clock, in seconds.
    """

    now: Callable[[], float] = time.monotonic
    answered: bool = False
    _failures: int = 0
    _again_at: float = 0.0
    _slow_at: list[float] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def lets_through(self) -> bool:
        """Return True if a call may be made now; the one of its kind while the breaker is open."""
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
        """Note that a call of so many seconds is under way, until the block ends."""
        with self._lock:
            self._slow_at.append(slow_at := self.now() + seconds / 2)
        try:
            yield
        finally:
            with self._lock:
                self._slow_at.remove(slow_at)

    def undecided(self) -> None:
        """Note that the call that was let through says nothing of the model: another may be made at once."""
        with self._lock:
            self._again_at = min(self._again_at, self.now())

    def failed(self) -> None:
        """Note that a call failed."""
        with self._lock:
            self._failures += 1
            self._again_at = self.now() + PAUSE_S

    def succeeded(self) -> None:
        """Note that a call succeeded."""
        with self._lock:
            self._failures = 0
            self.answered = True


@dataclass(frozen=True, slots=True)
class Guard:
    """The limits of calls of models, shared by all who share the models. Every call ends in a value or a `ModelError`.

    A question may take `question_s` seconds, a batch of passages `batch_s`. A model that failed three times in a row
    is called once in ten seconds until it answers; one that keeps three calls waiting gets no other meanwhile.
    `payer` bills the `user`, and `stopped` receives every call that came to nothing. What is late runs on unobserved,
    within the bounds of `workers`.
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
        """Return the value of `work()` if it is there within `seconds` (default: `question_s`) and before `deadline`.

        Raises `ModelError` with a message that may be shown to anybody. A model that had not half of its seconds,
        because the caller's deadline was near, has not failed. Success `proves` that it answers, unless what it was
        asked may have been known. The first call of a model that `loads` in this process may take `batch_s`.
        """
        breaker = self.breakers.setdefault(model, Breaker())
        if not breaker.lets_through():
            raise self._failure(
                "open", model, f"{model} failed or hung {FAILURES} times: it is tried again within {PAUSE_S:g} s"
            )
        if loads and not breaker.answered:
            seconds = self.batch_s
        elif seconds is None:
            seconds = self.question_s
        begun = time.perf_counter()
        if deadline is None:
            until = begun + seconds
        else:
            until = min(begun + seconds, deadline)
        try:
            with breaker.under_way(seconds):
                value = self.workers(work, until, f"model {model}", retries=retries)
        except Late as late:
            if until - begun >= seconds / 2:
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
        except Exception as error:  # models of a program's own raise any
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
        """Bill the call that the block makes; an error cancels the bill. Raises `BudgetExhausted`."""
        bill = self.payer.bill(self.user, model, feature, tokens, here=here)
        try:
            yield bill
        except BaseException:
            bill.cancel()
            raise
        bill.settle()

    def _failure(self, sort: str, model: str, message: str) -> ModelError:
        self.stopped(ModelCallFailed(sort, model, message))
        return ModelError(message)


class GuardedEmbedder:
    """The embedder `inner`, each call of which passes a guard, and whose vectors can be compared.

    In a `hurry` the caller waits for passages as for a question: requests are not repeated and end about as soon.
    Whatever calls no model, such as `count_tokens` and an optional `canonical`, is the embedder's own.
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
        """Return an attribute of the embedder."""
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
        """Return this embedder with the time limits of passages that a caller waits for."""
        return GuardedEmbedder(self.inner, self.guard, hurry=True)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self.question_vector(text)

    def question_vector(self, text: str, dimension: int | None = None, deadline: float | None = None) -> Vectors:
        """Return the vector of a question that vectors of this dimension are compared with. Raises `ModelError`."""

        def work() -> Vectors:
            with self.guard.billed(self.name, SEARCH, lambda: self.inner.count_tokens(text), here=self._here):
                found = self.inner.embed_query(text)
            return checked_vectors(self.name, found, (dimension or self.inner.dimension,))

        vector = self.guard(self.name, work, deadline=deadline, loads=self._here)
        if not vector.any():
            # Nothing against the model: there are texts without a word that it knows.
            self.guard.stopped(ModelCallFailed("error", self.name, "it gave a vector of zeros for a question"))
            raise Wordless(f"{self.name} finds nothing in the question to compare by meaning: say it in other words")
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of passages."""
        return self.passage_vectors(texts)

    def passage_vectors(self, texts: Sequence[str], dimension: int | None = None) -> Vectors:
        """Return the vectors of passages, (texts, dimension). Raises `ModelError`, also if all are zeros.

        A single one may be zero: some texts have no word that a model knows.
        """

        def tokens() -> int:
            return sum(self.inner.count_tokens(text) for text in texts)

        def work() -> Vectors:
            with self.guard.billed(self.name, STORE, tokens, here=self._here):
                found = self.inner.embed_documents(texts)
            vectors = checked_vectors(self.name, found, (len(texts), dimension or self.inner.dimension))
            if len(texts) > 1 and not vectors.any() and all(any(each.isalnum() for each in text) for text in texts):
                raise ModelError(f"{self.name} gave nothing but zeros for {len(texts)} texts: mend it")
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
    """A guarded embedder for the parts of one request, which remembers the vector of each question.

    Once it failed it is not called again, also not for another text: the caller has waited long enough.
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


# A vector that cannot be compared is an error, never a result


def called(name: str, embed: Callable[[Any], Any], given: object) -> object:
    """Call an embedder; turn errors of other kinds, which custom models may raise, into `ModelError`."""
    try:
        return embed(given)
    except RiffluxError:
        raise
    except Exception as error:
        raise foreign(name, error) from error


def foreign(name: str, error: Exception) -> ModelError:
    """Wrap an error of another kind in a `ModelError`. Its message may contain anything and goes to the log only."""
    kind = type(error).__name__
    cure = "mend it, or open the index with another model"
    return ModelError(f"{name} failed ({kind}; the log says more): {cure}", cause=f"{kind}: {error}")


def checked_vectors(name: str, given: object, shape: tuple[int, ...]) -> Vectors:
    """Return the vectors that a model gave, as float32 of this shape, each number finite. Raises `ModelError`."""
    try:
        vectors = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        raise ModelError(f"{name} gave no vectors but {type(given).__name__}: mend it") from None
    if vectors.shape != shape:
        raise ModelError(f"{name} gave vectors of shape {vectors.shape}, not {shape}: mend it, or index again with it")
    if not np.isfinite(vectors).all():
        raise ModelError(f"{name} gave vectors with numbers that are not finite: mend it")
    return vectors
