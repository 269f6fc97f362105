"""Guard every call of a model: bound its time, bill it, and pause while the model fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from rifflux.errors import ModelError, RiffluxError
from rifflux.models.breaker import FAILURES, PAUSE_S, Breakers
from rifflux.models.checked import checked_passages, checked_question, foreign
from rifflux.models.embedder import Embedder
from rifflux.models.joined import JoinedEmbedder
from rifflux.models.workers import Late, Workers, patience
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
    """The account that calls are billed to."""

    def bill(self, model: str, feature: str, tokens: Callable[[], int], *, here: bool) -> Bill:
        """Return the bill of a call of about `tokens()` tokens. Raises `BudgetExhausted`.

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

    def bill(self, model: str, feature: str, tokens: Callable[[], int], *, here: bool) -> Bill:
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


@dataclass(frozen=True, slots=True)
class Guard:
    """The limits of calls of models, shared by all who share the models. Every call ends in a value or a `ModelError`.

    A question may take `question_s` seconds, a batch of passages `batch_s`. A model that failed three times in a row
    is called once in ten seconds until it answers; one that keeps three calls waiting gets no other meanwhile.
    `payer` pays, and `stopped` receives every call that came to nothing. What is late runs on unobserved, within the
    bounds of `workers`.
    """

    question_s: float = QUESTION_S
    batch_s: float = BATCH_S
    payer: Payer = FREE
    stopped: Callable[[ModelCallFailed], None] = logged
    workers: Workers = field(default_factory=partial(Workers, MOST_HANGING), compare=False, repr=False)
    breakers: Breakers = field(default_factory=Breakers, compare=False, repr=False)

    def __call__(
        self,
        model: str,
        work: Callable[[], T],
        *,
        seconds: float | None = None,
        deadline: float | None = None,
        retries: bool = False,
        proves: bool = True,
    ) -> T:
        """Return the value of `work()` if it is there within `seconds` (default: `question_s`) and before `deadline`.

        Raises `ModelError` with a message that may be shown to anybody. A model that had not half of its seconds,
        because the caller's deadline was near, has not failed. Success `proves` that it
        answers, unless what it was asked may have been known.
        """
        breaker = self.breakers(model)
        if not breaker.lets_through():
            raise self._failure(
                "open", model, f"{model} failed or hung {FAILURES} times: it is tried again within {PAUSE_S:g} s"
            )
        if seconds is None:
            seconds = self.question_s
        begun = time.perf_counter()
        if deadline is None:
            until = begun + seconds
        else:
            until = min(begun + seconds, deadline)
        try:
            with breaker.under_way(seconds):
                value = self.workers(patience(until, retries=retries)(work), until, f"model {model}")
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

    def paid(
        self, model: str, feature: str, tokens: Callable[[], int], work: Callable[[Bill], T], *, here: bool = False
    ) -> T:
        """Bill a call, make it, and settle the bill; return the value of `work(bill)`. Raises `BudgetExhausted`."""
        bill = self.payer.bill(model, feature, tokens, here=here)
        try:
            found = work(bill)
        except BaseException:
            bill.cancel()
            raise
        bill.settle()
        return found

    def _failure(self, sort: str, model: str, message: str) -> ModelError:
        self.stopped(ModelCallFailed(sort, model, message))
        return ModelError(message)


class GuardedEmbedder:
    """The embedder `inner`, each call of which passes a guard, and whose vectors can be compared.

    In a `hurry` the caller waits for passages as for a question: requests are not repeated and end about as soon.
    """

    def __init__(self, inner: Embedder, guard: Guard, *, hurry: bool = False) -> None:
        self.inner = inner
        self.guard = guard
        self.hurry = hurry
        self._here = runs_here(inner)

    def __getattr__(self, name: str) -> Any:
        """Return an optional attribute of the embedder, such as `canonical`."""
        return getattr(self.__dict__["inner"], name)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def backend(self) -> str:
        return self.inner.backend

    @property
    def dimension(self) -> int:
        if self._here:
            return self.inner.dimension
        return self.guard(
            self.name, lambda: self.inner.dimension, seconds=self._seconds(1), retries=not self.hurry, proves=False
        )

    @property
    def fingerprint(self) -> str:
        return self.inner.fingerprint

    @property
    def max_tokens(self) -> int:
        return self.inner.max_tokens

    @property
    def spec(self) -> str:
        return getattr(self.inner, "spec", self.inner.name)

    @property
    def count_tokens(self) -> Callable[[str], int]:
        """Return the function that counts tokens: other processes that read files get it, and no guard goes along."""
        return self.inner.count_tokens

    @property
    def hurried(self) -> GuardedEmbedder:
        """Return this embedder with the time limits of passages that a caller waits for."""
        return GuardedEmbedder(self.inner, self.guard, hurry=True)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self.question_vector(text)

    def question_vector(self, text: str, dimension: int | None = None, deadline: float | None = None) -> Vectors:
        """Return the vector of a question that vectors of this dimension are compared with. Raises `ModelError`."""
        given = partial(self.inner.embed_query, text)
        work = partial(
            self._paid,
            SEARCH,
            [text],
            given,
            lambda found: checked_question(self.name, found, dimension or self.inner.dimension),
        )
        # The first question loads a model that runs here.
        loading = self._here and not self.guard.breakers(self.name).answered
        vector = self.guard(
            self.name, work, seconds=self.guard.batch_s if loading else self.guard.question_s, deadline=deadline
        )
        if not vector.any():
            # Nothing against the model: there are texts without a word that it knows.
            self.guard.stopped(ModelCallFailed("error", self.name, "it gave a vector of zeros for a question"))
            raise Wordless(f"{self.name} finds nothing in the question to compare by meaning: say it in other words")
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of passages."""
        return self.passage_vectors(texts)

    def passage_vectors(self, texts: Sequence[str], dimension: int | None = None) -> Vectors:
        """Return the vectors of passages, (texts, dimension). Raises `ModelError`."""
        given = partial(self.inner.embed_documents, texts)
        work = partial(
            self._paid,
            STORE,
            texts,
            given,
            lambda found: checked_passages(self.name, found, texts, dimension or self.inner.dimension),
        )
        return self.guard(self.name, work, seconds=self._seconds(len(texts)), retries=not self.hurry)

    def _paid(
        self, feature: str, texts: Sequence[str], work: Callable[[], Any], check: Callable[[Any], Vectors]
    ) -> Vectors:
        """Bill a call, make it and check its vectors; vectors that fail the check are billed too."""

        def tokens() -> int:
            return sum(self.inner.count_tokens(text) for text in texts)

        return check(self.guard.paid(self.name, feature, tokens, lambda _: work(), here=self._here))

    def _seconds(self, passages: int) -> float:
        loading = self._here and not self.guard.breakers(self.name).answered
        if not self.hurry or loading:
            return self.guard.batch_s
        return self.guard.question_s * (1 + passages / PASSAGES)


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
