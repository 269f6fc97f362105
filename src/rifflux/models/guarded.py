"""An embedder whose questions are counted, may be refused, and must be answered in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rifflux.errors import ModelError
from rifflux.models.embedder import Embedder
from rifflux.models.workers import Late, Workers
from rifflux.types import Vectors

__all__ = ["AskedOnce", "Guard", "GuardedEmbedder"]

#: What an embedder is called for.
SEARCH, STORE = "search", "store"


def _nothing(*_: object) -> None:
    """Note nothing, refuse nothing."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The checks and notices around each call of a model.

    `refusal` gives the reason why no model may be called now, or None; `spent` receives the model, the tokens it
    read, and for embedders the purpose, `search` or `store`; `failed` receives the sort of a failure
    (`refused`, `late`, `error`) and its message. A question that is not embedded within `seconds` (None: however long
    it takes) is given up; `workers` are shared by those who share a model, so that a model that hangs does not gather
    threads.
    """

    refusal: Callable[[], str | None] = _nothing
    spent: Callable[..., None] = _nothing
    failed: Callable[[str, str], None] = _nothing
    seconds: float | None = None
    workers: Workers = field(default_factory=Workers, compare=False, repr=False)


class GuardedEmbedder:
    """The embedder `inner`, and every call of it passes a guard."""

    def __init__(self, inner: Embedder, guard: Guard) -> None:
        self.inner = inner
        self.guard = guard
        self.name, self.backend = inner.name, inner.backend
        self.dimension, self.max_tokens = inner.dimension, inner.max_tokens
        self.fingerprint = inner.fingerprint
        self.spec = getattr(inner, "spec", inner.name)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts; counted, never refused: what is stored shall be findable."""
        vectors = self.inner.embed_documents(texts)
        self.guard.spent(self.name, sum(map(self.inner.count_tokens, texts)), STORE)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question. Raises `ModelError` where it is refused, late or fails."""
        guard = self.guard
        if reason := guard.refusal():
            guard.failed("refused", reason)
            raise ModelError(reason)
        deadline = None if guard.seconds is None else time.perf_counter() + guard.seconds
        try:
            vector = guard.workers(lambda: self.inner.embed_query(text), deadline, "embed")
        except Late as late:
            guard.failed("late", str(late))
            raise ModelError(f"{self.name} was given up: {late}") from None
        except ModelError as error:
            guard.failed("error", str(error))
            raise
        guard.spent(self.name, self.inner.count_tokens(text), SEARCH)
        return vector

    def count_tokens(self, text: str) -> int:
        return self.inner.count_tokens(text)

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        inner = getattr(self.inner, "token_vectors", None)
        if inner is None:
            raise ModelError(f"{self.name} gives vectors of texts only, not of their tokens")
        vectors: list[Vectors] = inner(texts)
        return vectors


class AskedOnce(GuardedEmbedder):
    """The embedder `inner`, and a question that is asked again has the vector it had: for several searches of one."""

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner, Guard())
        self._known: dict[str, Vectors | ModelError] = {}

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, or the error that there was instead."""
        if text not in self._known:
            try:
                self._known[text] = self.inner.embed_query(text)
            except ModelError as error:
                self._known[text] = error
        found = self._known[text]
        if isinstance(found, ModelError):
            raise found
        return found
