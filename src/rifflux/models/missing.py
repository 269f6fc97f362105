"""A stand-in for the embedder of an index whose model cannot be loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rifflux.errors import ModelError
from rifflux.models.onnx import bundled_embedder
from rifflux.types import Vectors


@dataclass(frozen=True)
class MissingEmbedder:
    """Has the attributes that the index recorded of a model; each call raises the `error` of loading it.

    An index without its model thus behaves like one whose model fails: words answer, and vectors follow later.
    """

    name: str
    backend: str
    dimension: int
    fingerprint: str
    spec: str
    error: ModelError = field(repr=False)
    max_tokens: int = 256

    @property
    def count_tokens(self) -> Callable[[str], int]:
        """Return the bundled model's function to count tokens."""
        return bundled_embedder().count_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Raise the error."""
        raise self._another()

    def embed_query(self, text: str) -> Vectors:
        """Raise the error."""
        raise self._another()

    def _another(self) -> ModelError:
        # An exception raised repeatedly would accumulate the tracebacks of all threads.
        return ModelError(str(self.error), cause=self.error.cause, cure=self.error.cure, **self.error.data)
