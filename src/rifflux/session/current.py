"""The embedder of the moment: that which was chosen, or that which made the vectors of the index."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rifflux.errors import Cure, ModelError
from rifflux.store import ModelInfo, Store

if TYPE_CHECKING:
    from rifflux.models import Embedder

DEFAULT_MODEL = "all-MiniLM-L6-v2"


@dataclass
class CurrentEmbedder:
    """Gives the embedder, loaded when first needed. Safe to share between threads.

    Without a choice it follows the store: when another process switches the index to another model, that one is
    loaded. One that was chosen stays, and does not fit then.

    `base_url` and `api_key` are the address and the key of the endpoint that models named `openai:NAME` are behind. The
    key is sent nowhere else: an index may come from somebody else, and names the address of its model itself.
    `query_prefix` and `document_prefix` are those of a chosen model behind an endpoint. Without them, a model that made
    the vectors of the index keeps the prefixes that it made them with.
    """

    store: Store
    choice: str | Embedder | None = None
    threads: int | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    query_prefix: str = ""
    document_prefix: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _loaded: Embedder | None = field(default=None, init=False, repr=False)
    _loaded_for: str | None = field(default=None, init=False, repr=False)

    def __call__(self) -> Embedder:
        """Return the embedder. Raises `ModelError` where it cannot be loaded."""
        if self.choice is None:
            known = self.store.semantic.model()
        else:
            known = None
        wanted = known.fingerprint if known else None
        with self._lock:
            # Before the first vectors are stored there is nothing to follow, and what was loaded is what makes them.
            if self._loaded is None or (wanted and self._loaded_for != wanted != self._loaded.fingerprint):
                self._loaded = self._load(known)
                self._loaded_for = wanted
            return self._loaded

    def _load(self, known: ModelInfo | None) -> Embedder:
        from rifflux.models.custom import CUSTOM
        from rifflux.models.loading import load_embedder

        if known and known.backend == CUSTOM:
            raise ModelError(
                f"the vectors are by {known.name}, a model that a program passed as model=", cure=Cure.SWITCH_MODEL
            )
        if known is None and self.choice is None and (self.base_url or self.api_key):
            raise ModelError("base_url and api_key are set, but no model: set it too, such as openai:NAME")
        key = self.api_key
        if known and not self._is_of_endpoint(known.spec):
            key = None
        choice = known.spec if known else self.choice
        found = load_embedder(
            DEFAULT_MODEL if choice is None else choice,
            threads=self.threads,
            base_url=self.base_url,
            api_key=key,
            # A recorded model has its own.
            query_prefix="" if known else self.query_prefix,
            document_prefix="" if known else self.document_prefix,
        )
        if known:
            return found
        return self._with_prefixes(found)

    def _is_of_endpoint(self, spec: str) -> bool:
        """Return True if a model, or each part of a joined one, that names an address names that of the endpoint."""
        from rifflux.models.loading import parts_of

        addresses = {part.partition("#")[0].rstrip("/") for part in parts_of(spec) if "://" in part}
        return addresses <= {(self.base_url or "").rstrip("/")}

    def _with_prefixes(self, chosen: Embedder) -> Embedder:
        """Return a model behind an endpoint with the prefixes that the vectors of the index were made with."""
        if chosen.backend != "http":
            return chosen
        from rifflux.models.http import HttpEmbedder

        recorded = self.store.semantic.model()
        if recorded is None or recorded.backend != "http" or not isinstance(chosen, HttpEmbedder):
            return chosen
        return chosen.as_recorded(recorded.spec)


def info_of(model: Embedder, dimension: int | None = None) -> ModelInfo:
    """Return the facts of an embedder that an index keeps; a server is asked for a dimension that is not given."""
    spec = getattr(model, "spec", model.name)
    return ModelInfo(model.name, model.backend, dimension or model.dimension, model.fingerprint, spec)
