"""The embedder of an index whose model cannot be loaded now: it is what it was, but for its vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rifflux.errors import ModelError
from rifflux.models.onnx import bundled_embedder
from rifflux.types import Vectors


@dataclass(frozen=True)
class MissingEmbedder:
    """Stands for a model by what the index recorded of it; each call raises the `error` of loading it.

    So an index whose model is gone goes on like one whose model fails: words answer, and vectors come later.
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
        """Return the function that counts tokens, as the bundled model does."""
        return bundled_embedder().count_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Raise the error."""
        raise self._another()

    def embed_query(self, text: str) -> Vectors:
        """Raise the error."""
        raise self._another()

    def _another(self) -> ModelError:
        # One that is raised twice would collect the traces of all threads.
        return ModelError(str(self.error), cause=self.error.cause, cure=self.error.cure, **self.error.data)
