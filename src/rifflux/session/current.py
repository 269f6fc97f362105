"""The embedder of the moment: that which was chosen, or that which made the vectors of the index."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rifflux.errors import ModelError
from rifflux.store import ModelInfo, Store

if TYPE_CHECKING:
    from rifflux.models import Embedder

__all__ = ["DEFAULT_MODEL", "CurrentEmbedder", "info_of"]

DEFAULT_MODEL = "all-MiniLM-L6-v2"


@dataclass
class CurrentEmbedder:
    """Gives the embedder, loaded when first needed. Safe to share between threads.

    Without a choice it follows the store: when another process switches the index to another model, that one is
    loaded. One that was chosen stays, and does not fit then.
    """

    store: Store
    choice: str | Embedder | None = None
    threads: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _loaded: Embedder | None = field(default=None, init=False, repr=False)
    _loaded_for: str | None = field(default=None, init=False, repr=False)

    def __call__(self) -> Embedder:
        """Return the embedder. Raises `ModelError` where it cannot be loaded."""
        known = self.store.semantic.model() if self.choice is None else None
        wanted = known.fingerprint if known else None
        with self._lock:
            # Before the first vectors are stored there is nothing to follow, and what was loaded is what makes them.
            if self._loaded is None or (wanted and self._loaded_for != wanted != self._loaded.fingerprint):
                self._loaded = self._load(known)
                self._loaded_for = wanted
            return self._loaded

    def _load(self, known: ModelInfo | None) -> Embedder:
        from rifflux.models.embedder import CUSTOM, load_embedder

        if known and known.backend == CUSTOM:
            raise ModelError(
                f"the vectors are by {known.name}, a model of a program's own: "
                "open the index with model=, or choose another one with 'rifflux models switch'"
            )
        choice = known.spec if known else self.choice
        return load_embedder(DEFAULT_MODEL if choice is None else choice, threads=self.threads)


def info_of(model: Embedder, dimension: int | None = None) -> ModelInfo:
    """Return the facts of an embedder that an index keeps; a server is asked for a dimension that is not given."""
    spec = getattr(model, "spec", model.name)
    return ModelInfo(model.name, model.backend, dimension or model.dimension, model.fingerprint, spec)
