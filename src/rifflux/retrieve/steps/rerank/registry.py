"""From the name of a reranker to the stage."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from rifflux.errors import InvalidArgument
from rifflux.retrieve.steps.rerank.resources import Resources
from rifflux.retrieve.steps.rerank.stage import Rerank

__all__ = ["DEFAULT_RERANKER", "RERANKERS", "reranker_of"]

#: What makes each reranker from `Resources`, by the name users choose it by; imported when chosen.
RERANKERS: Mapping[str, str] = {
    "features": "rifflux.retrieve.steps.rerank.features:reranker",
    "maxsim": "rifflux.retrieve.steps.rerank.maxsim:reranker",
    "cross-encoder": "rifflux.retrieve.steps.rerank.cross_encoder:reranker",
    "llm": "rifflux.retrieve.steps.rerank.llm:reranker",
}
DEFAULT_RERANKER = "features"


def reranker_of(choice: str | Rerank, resources: Resources) -> Rerank:
    """Return the reranker of a name with its defaults; a reranker is returned as it is.

    Raises `InvalidArgument` for an unknown name, and for one whose model or endpoint is not set.
    """
    if isinstance(choice, Rerank):
        return choice
    if choice not in RERANKERS:
        raise InvalidArgument(f"no reranker {choice!r}; choose one of {', '.join(RERANKERS)}")
    module, _, function = RERANKERS[choice].partition(":")
    return cast(Rerank, getattr(import_module(module), function)(resources))
