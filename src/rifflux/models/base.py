"""What an embedder is, and the little that all of them share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from rifflux.types import Vectors

__all__ = ["Embedder", "fingerprint_of", "unit", "well_formed"]


@runtime_checkable
class Embedder(Protocol):
    """A model that turns texts into vectors whose dot product is their likeness.

    Every vector is float32 and has unit length, or is all zeros where there is nothing to embed. The same
    text gives the same vector, whatever is embedded beside it. Failures are `ModelError`s. Safe to share
    between threads.

    An embedder may also have a `spec`: what `load_embedder` makes it from again, remembered by an index that
    holds its vectors. Without one, its name is remembered. It may have a method `canonical(text)` that gives a text
    with the same vector, and the same one for texts that it cannot tell apart: then only one of them is embedded.
    """

    @property
    def name(self) -> str:
        """What people call the model, such as `all-MiniLM-L6-v2`."""

    @property
    def backend(self) -> str:
        """How it runs: `onnx`, `http` or `hash`."""

    @property
    def dimension(self) -> int:
        """The length of its vectors."""

    @property
    def fingerprint(self) -> str:
        """Hexadecimal digits that differ where vectors would: weights, pooling, prefixes, truncation."""

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text the model takes in, with the special ones; the rest has no influence."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts to be found, (texts, dimension), in the order given."""

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, (dimension,)."""

    def count_tokens(self, text: str) -> int:
        """How many tokens the text has, without truncation and without the special ones."""


def unit(vectors: Vectors) -> Vectors:
    """Scale vectors, along the last axis, to unit length; a zero vector stays zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled = np.zeros_like(vectors, dtype=np.float32)
    np.divide(vectors, norms, out=scaled, where=norms > 0)
    return scaled


def fingerprint_of(*parts: object) -> str:
    """32 hexadecimal digits that depend on every part; the parts must have a JSON form."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def well_formed(text: str) -> str:
    """The text as valid Unicode: surrogate pairs joined, lone surrogates replaced by U+FFFD.

    Tokenizers and JSON encoders refuse lone surrogates, which badly decoded input brings along.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
