"""Custom embedders: checked before use, and completed with defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import getattr_static
from os import PathLike
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.models.embedder import Embedder, fingerprint_of
from rifflux.models.guarded import called, checked_vectors
from rifflux.models.onnx import bundled_embedder, unit
from rifflux.types import Vectors

#: The backend of embedders created by a program, which have no loadable name.
CUSTOM = "custom"
CURE = (
    "give the name or folder of a model, an object with name, dimension and embed(texts), or "
    "rifflux.CustomEmbedder(embed, name='mine', dimension=384)"
)
_COMPLETE = (
    *("name", "backend", "dimension", "fingerprint", "max_tokens"),
    *("embed_documents", "embed_query", "count_tokens"),
)
_NOT_THERE = object()


class SimpleEmbedder(Protocol):
    """The minimum interface of a custom model; defaults supply the rest of an `Embedder`.

    It may also have `embed_query(text)`, `max_tokens`, `count_tokens(text)` and `fingerprint`, which become the
    `embed_question`, `max_tokens`, `counter` and `version` of a `CustomEmbedder`.
    """

    @property
    def name(self) -> str:
        """Return the name of the model."""

    @property
    def dimension(self) -> int:
        """Return the length of its vectors."""

    def embed(self, texts: list[str], /) -> Any:
        """Return a vector for each text, in the order given: an array, or lists of numbers."""


@dataclass(frozen=True)
class CustomEmbedder:
    """An embedder made from a function `embed`, which returns a vector for each text of a list, in order.

    Vectors are arrays or lists of numbers, and are scaled to unit length. Errors of `embed`, vectors of another shape
    and numbers that are not finite become `ModelError`s, upon which searches use words alone. Searches in several
    threads call it concurrently.

    `embed_question` embeds a question, if that differs. `version` is a text that changes whenever the vectors would: an
    index refuses vectors of another name, dimension or version. Passages have at most `max_tokens`, counted by
    `counter` or else by the bundled model's tokenizer.
    """

    embed: Callable[[list[str]], Any]
    name: str
    dimension: int
    embed_question: Callable[[str], Any] | None = None
    version: str = ""
    max_tokens: int = 512
    counter: Callable[[str], int] | None = None

    def __post_init__(self) -> None:
        for field, function in (("embed_question", self.embed_question), ("counter", self.counter)):
            if function is not None and not callable(function):
                raise InvalidArgument(f"{field} must be a function of a text, not {function!r}")
        if not callable(self.embed):
            raise InvalidArgument(f"embed must be a function of a list of texts, not {self.embed!r}")
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidArgument(f"the name of an embedder must be a text, not {self.name!r}")
        for field, number in (("dimension", self.dimension), ("max_tokens", self.max_tokens)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise InvalidArgument(f"the {field} of {self.name} must be a whole number above 0, not {number!r}")

    @property
    def backend(self) -> str:
        return CUSTOM

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(CUSTOM, self.name, self.dimension, str(self.version))

    @property
    def count_tokens(self) -> Callable[[str], int]:
        """Return the function that counts the tokens of a text."""
        # Not a bound method, so that processes that read files receive the function without the model.
        return self.counter or bundled_embedder().count_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        given = called(self.name, self.embed, list(texts))
        return unit(checked_vectors(self.name, given, (len(texts), self.dimension)))

    def embed_query(self, text: str) -> Vectors:
        if self.embed_question is None:
            return np.asarray(self.embed_documents([text])[0])
        return unit(checked_vectors(self.name, called(self.name, self.embed_question, text), (self.dimension,)))


#: A model, or the name or folder of one.
Model: TypeAlias = str | PathLike[str] | Embedder | SimpleEmbedder


def embedder_of(model: Model) -> Embedder:
    """Complete a program's object to an embedder. Raises `InvalidArgument` if it cannot be one."""
    if isinstance(model, type):
        raise InvalidArgument(f"the model {model.__name__} is a class: give an object of it, {model.__name__}(...)")
    # Checked without evaluation, since a property may load the model.
    if all(getattr_static(model, each, _NOT_THERE) is not _NOT_THERE for each in _COMPLETE):
        return cast(Embedder, model)
    missing = [each for each in ("name", "dimension") if not hasattr(model, each)]
    embed = getattr(model, "embed", None) or getattr(model, "embed_documents", None)
    if missing or not callable(embed):
        lacks = ", ".join([*missing, *([] if callable(embed) else ["embed"])])
        raise InvalidArgument(f"the model {_described(model)} is not an embedder: it lacks {lacks}; {CURE}")
    return CustomEmbedder(
        embed,
        model.name,  # type: ignore[union-attr]
        model.dimension,  # type: ignore[union-attr]
        embed_question=getattr(model, "embed_query", None),
        version=getattr(model, "fingerprint", ""),
        max_tokens=getattr(model, "max_tokens", CustomEmbedder.max_tokens),
        counter=getattr(model, "count_tokens", None),
    )


def _described(model: object) -> str:
    return f"{getattr(model, '__name__', '')} ({type(model).__name__})".lstrip()
