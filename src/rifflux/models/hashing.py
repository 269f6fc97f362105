"""An embedder without a model: vectors from words and letters only, for tests and demonstrations."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rifflux.errors import ModelError
from rifflux.models.embedder import fingerprint_of, well_formed
from rifflux.models.onnx import unit
from rifflux.types import Vectors

WORD_WEIGHT = 1.0
TRIGRAM_WEIGHT = 0.25
_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class HashEmbedder:
    """Feature hashing (Weinberger et al. 2009) of words and their character trigrams.

    Texts that share words, or most letters of words, have similar vectors. It knows nothing about meaning. Vectors are
    the same in every process; a text without words has the zero vector.
    """

    dimension: int = 64
    max_tokens: int = 256
    name: str = field(default="hash", init=False)
    backend: str = field(default="hash", init=False)

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise ModelError(
                f"a hash embedder cannot have {self.dimension} dimensions: give at least 1, such as `hash:64`"
            )

    @property
    def spec(self) -> str:
        return f"hash:{self.dimension}"

    @property
    def fingerprint(self) -> str:
        return fingerprint_of("hash", WORD_WEIGHT, TRIGRAM_WEIGHT, self.dimension)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for feature, weight in _features(text):
                code = zlib.crc32(feature.encode())
                vector[code % self.dimension] += weight if code & 1 << 31 else -weight
        return unit(vectors)

    def embed_query(self, text: str) -> Vectors:
        return np.asarray(self.embed_documents([text])[0])

    def count_tokens(self, text: str) -> int:
        return len(_TOKEN.findall(text))


def _features(text: str) -> Iterator[tuple[str, float]]:
    """Yield the words of a text and their trigrams, with the ends of words marked, and their weights."""
    for word in _WORD.findall(well_formed(text).casefold()):
        yield word, WORD_WEIGHT
        marked = f"<{word}>"
        for start in range(len(marked) - 2):
            yield marked[start : start + 3], TRIGRAM_WEIGHT


def from_spec(spec: str, **_: object) -> HashEmbedder:
    """Return the embedder for `hash` or `hash:DIMENSION`. Raises `ModelError`."""
    _name, _colon, dimension = spec.partition(":")
    if not dimension:
        return HashEmbedder()
    if not dimension.isdecimal():
        raise ModelError(f"{spec!r} should be `hash` or `hash:` and a number of dimensions, such as `hash:128`")
    return HashEmbedder(int(dimension))
