"""Reranking of the best fused hits within a deadline; on failure they keep their order.

features        a weighted sum of components that anyone can verify; no model, about 3 ms for 20 hits
maxsim          the same, with late interaction on the token vectors of the index's own embedder
cross-encoder   a local ONNX model that reads query and passage together
llm             a chat model behind an OpenAI-compatible endpoint
"""

from rifflux.retrieve.steps.rerank.stage import (
    DEADLINES_MS,
    DEFAULT_RERANKER,
    RERANKERS,
    Rerank,
    RerankSettings,
    Resources,
    Scored,
    Scorer,
    reranker_of,
)

__all__ = [
    "DEADLINES_MS",
    "DEFAULT_RERANKER",
    "RERANKERS",
    "Rerank",
    "RerankSettings",
    "Resources",
    "Scored",
    "Scorer",
    "reranker_of",
]
