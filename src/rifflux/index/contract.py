"""The exact shapes that agents and scripts rely on. Their keys never change; additions get a new place.

A result is `chunk_id, path, heading_path, chunk_index, content, score_breakdown`. The breakdown depends on how the hit
was found: `{bm25}`, `{cosine}` or `{rrf, lexical_rank, semantic_rank}`, and never holds another key. `bm25` is
SQLite's value, where lower is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rifflux.retrieve.fuse import ReciprocalRank
from rifflux.session.arguments import named_mode

if TYPE_CHECKING:
    from rifflux import Hit, Index, Results, Verdict, Why


def _twice(top_k: int) -> int:
    return 2 * top_k


class SearchService:
    """The search interface of the contract: always reciprocal rank fusion, `2 * top_k` candidates per channel.

    A hybrid search for one code or quoted phrase that the index holds uses the lexical channel only: its hits have the
    reciprocal of their lexical rank and no semantic one, and the trace says so.
    """

    def __init__(self, index: Index, *, k: float = 60.0) -> None:
        profile = replace(
            index.profile,
            pool=_twice,
            fusion=ReciprocalRank(k=k),
            reranker="none",
            diversity=index.profile.diversity.but(one_per_document=False, diversify=0.0, collapse=False),
        ).without("anchors", "code", "prefix rank", "times", "relevance", "expansion")
        self._index = index.using(profile.scored_exactly())

    def search(self, query: str, *, top_k: int = 10, mode: str = "hybrid") -> list[dict[str, Any]]:
        """Return at most `top_k` results, best first. Semantic search without a query vector gives an empty list."""
        return contract_results(self.results(query, top_k=top_k, mode=mode))

    def results(self, query: str, *, top_k: int = 10, mode: str = "hybrid") -> Results:
        """Return the same search with its trace. Raises `InvalidArgument` for a mode that would rerank."""
        return self._index.search(query, top_k=top_k, mode=named_mode(mode, reranks=False))

    def why(self, query: str, document: str, *, top_k: int = 10, mode: str = "hybrid") -> Verdict:
        """Return why a document is among the results of this search, or is not. Raises `NotFound`."""
        return self._index.why(query, document, top_k=top_k, mode=named_mode(mode, reranks=False))


def contract_results(results: Results) -> list[dict[str, Any]]:
    """Return the hits as result objects of the contract."""
    return [
        {
            "chunk_id": hit.id,
            "path": hit.path,
            "heading_path": hit.heading_path,
            "chunk_index": hit.chunk_index,
            "content": hit.text,
            "score_breakdown": score_breakdown(hit, results.trace.mode),
        }
        for hit in results
    ]


def score_breakdown(hit: Hit, mode: str) -> dict[str, float | int | None]:
    """Return the ranking of a hit in the keys of the requested mode.

    If only words could answer a `hybrid` search, a hit has the score of its lexical rank.
    """
    lexical = hit.because("lexical")
    semantic = hit.because("semantic")
    if mode == "lexical":
        return {"bm25": -(_score(lexical) or 0.0)}
    if mode == "semantic":
        return {"cosine": _score(semantic)}
    return {
        "rrf": _reciprocal(hit, (lexical, semantic)),
        "lexical_rank": lexical.rank if lexical else None,
        "semantic_rank": semantic.rank if semantic else None,
    }


def _reciprocal(hit: Hit, channels: Sequence[Why | None]) -> float:
    """Return the fused score of a hit's ranks, also where another fusion than by ranks ordered the results."""
    fused = hit.because("rrf")
    if fused and fused.score is not None:
        return fused.score
    return sum(1 / (ReciprocalRank().k + why.rank) for why in channels if why and why.rank)


def _score(why: Why | None) -> float | None:
    if why:
        return why.score
    return None
