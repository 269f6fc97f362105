"""The protocol of embedders, and their shared helpers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from rifflux.types import Vectors


@runtime_checkable
class Verifiable(Protocol):
    """A model whose files can be compared with their recorded digest."""

    def verify(self) -> None:
        """Read the files, and raise `ModelError` if they differ from the record."""


@runtime_checkable
class Embedder(Protocol):
    """A model that turns texts into vectors whose dot product is their similarity.

    Every vector is float32 and has unit length, or is all zeros if there is nothing to embed. The same text gives the
    same vector, independent of what is embedded with it. Failures are `ModelError`s, whose message users see and whose
    `cause` is logged; of other errors users see only the type. Safe to share between threads.

    An embedder may also have a `spec`, from which `load_embedder` recreates it and which an index records with its
    vectors, instead of the name. It may have a method `canonical(text)` that returns a text with the same vector, equal
    for texts that the model cannot distinguish, so that only one of them is embedded.
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
        """Return the maximum tokens of a text that the model reads, including special ones."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts to index, (texts, dimension), in the order given."""

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, (dimension,)."""

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, without truncation and special tokens."""


def fingerprint_of(*parts: object) -> str:
    """Return 32 hexadecimal digits that depend on every part; parts must be JSON serializable."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def well_formed(text: str) -> str:
    """Return the text as valid Unicode: surrogate pairs joined, lone surrogates replaced by U+FFFD.

    Tokenizers and JSON encoders reject lone surrogates, which occur in badly decoded input.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
