"""The protocol of embedders, and helpers that all of them share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from rifflux.types import Vectors


@runtime_checkable
class Verifiable(Protocol):
    """A model whose files can be compared with what is recorded of them."""

    def verify(self) -> None:
        """Read the files, and raise `ModelError` unless they are those that are recorded."""


@runtime_checkable
class Embedder(Protocol):
    """A model that turns texts into vectors whose dot product is their similarity.

    Every vector is float32 and has unit length, or is all zeros where there is nothing to embed. The same
    text gives the same vector, whatever is embedded with it. Failures are `ModelError`s, whose message is shown to
    whoever asked, and whose `cause` goes to the log; of other errors only the kind is shown. Safe to share between
    threads.

    An embedder may also have a `spec`: what `load_embedder` makes it from again, remembered by an index that
    holds its vectors. Without one, its name is remembered. It may have a method `canonical(text)` that gives a text
    with the same vector, and the same one for texts that it cannot tell apart: then only one of them is embedded.
    """

    @property
    def name(self) -> str:
        """Return the name of the model, such as `all-MiniLM-L6-v2`."""

    @property
    def backend(self) -> str:
        """Return the kind of runtime: `onnx`, `http` or `hash`."""

    @property
    def dimension(self) -> int:
        """Return the length of its vectors."""

    @property
    def fingerprint(self) -> str:
        """Return hexadecimal digits that differ where vectors would: weights, pooling, prefixes, truncation."""

    @property
    def max_tokens(self) -> int:
        """Return how many tokens of a text the model reads, the special ones included."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts to be found, (texts, dimension), in the order given."""

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, (dimension,)."""

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, without truncation and without the special ones."""


def fingerprint_of(*parts: object) -> str:
    """Return 32 hexadecimal digits that depend on every part; the parts must have a JSON form."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def well_formed(text: str) -> str:
    """Return the text as valid Unicode: surrogate pairs joined, lone surrogates replaced by U+FFFD.

    Tokenizers and JSON encoders refuse lone surrogates, which badly decoded input brings along.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
