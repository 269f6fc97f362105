"""The embedder that an index is asked with: the chosen one, or the one whose vectors the index holds at the moment."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rifflux.store import Store

if TYPE_CHECKING:
    from rifflux.models import Embedder

__all__ = ["DEFAULT_MODEL", "CurrentEmbedder"]

DEFAULT_MODEL = "all-MiniLM-L6-v2"


class CurrentEmbedder:
    """Gives the embedder, loaded when first needed. Safe to share between threads.

    Without a choice it follows the store: when another process switches the index to another model, that one is
    loaded. One that was chosen stays, and does not fit then.
    """

    def __init__(self, store: Store, choice: str | Embedder | None = None, threads: int | None = None) -> None:
        self._store = store
        self._choice = choice
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: Embedder | None = None
        self._loaded_for: str | None = None

    def __call__(self) -> Embedder:
        """The embedder. Raises `ModelError` where it cannot be loaded."""
        known = None if self._choice else self._store.semantic.model()
        wanted = known.fingerprint if known else None
        with self._lock:
            # Before the first vectors are stored there is nothing to follow, and what was loaded is what makes them.
            if self._loaded is None or (wanted and self._loaded_for != wanted != self._loaded.fingerprint):
                self._loaded = self._load(known.spec if known else None)
                self._loaded_for = wanted
            return self._loaded

    def _load(self, spec: str | None) -> Embedder:
        from rifflux.models import load_embedder

        return load_embedder(self._choice or spec or DEFAULT_MODEL, threads=self._threads)
