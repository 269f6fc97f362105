"""Two models joined into one: `FIRST+SECOND`, each the name or folder of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rifflux.models.embedder import Embedder, Verifiable, fingerprint_of
from rifflux.models.onnx import unit
from rifflux.models.scale import measured_scale, stored_scale
from rifflux.types import Vectors


@dataclass(frozen=True)
class JoinedEmbedder:
    """Embeds with both models and concatenates the vectors.

    The unit vectors are weighted by the square roots of w and 1 - w, so that a cosine is w times the first plus 1 - w
    times the second. The share w equalizes the spread of both cosines among texts of any kind, so that small
    differences in one model count as much as large ones in the other.
    """

    first: Embedder
    second: Embedder
    backend: str = "joined"

    @cached_property
    def name(self) -> str:
        """Return both names."""
        return f"{self.first.name}+{self.second.name}"

    @cached_property
    def spec(self) -> str:
        """Return the name from which `load_embedder` recreates this model."""
        return "+".join(getattr(each, "spec", each.name) for each in (self.first, self.second))

    @cached_property
    def dimension(self) -> int:
        """Return the sum of both dimensions."""
        return self.first.dimension + self.second.dimension

    @cached_property
    def fingerprint(self) -> str:
        """Return hexadecimal digits of both models; the weights follow from them."""
        return fingerprint_of("joined", self.first.fingerprint, self.second.fingerprint)

    @cached_property
    def max_tokens(self) -> int:
        """Return the maximum tokens of a text that both models read."""
        return min(self.first.max_tokens, self.second.max_tokens)

    @cached_property
    def share(self) -> float:
        """Return the share of the first model, to two digits; embeds a few short texts if it is not stored."""
        first, second = ((stored_scale(each) or measured_scale(each)).spread for each in (self.first, self.second))
        if first + second:
            return round(second / (first + second), 2)
        return 0.5

    def verify(self) -> None:
        """Raise `ModelError` unless the files of both models match their recorded digests."""
        for each in (self.first, self.second):
            if isinstance(each, Verifiable):
                each.verify()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of texts to index, (texts, dimension)."""
        return self._joined(self.first.embed_documents(texts), self.second.embed_documents(texts))

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, (dimension,)."""
        return self._joined(self.first.embed_query(text), self.second.embed_query(text))

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text as the first model does."""
        return self.first.count_tokens(text)

    def _joined(self, first: Vectors, second: Vectors) -> Vectors:
        weighed = (np.sqrt(self.share) * first, np.sqrt(1 - self.share) * second)
        return unit(np.concatenate(weighed, axis=-1, dtype=np.float32))
