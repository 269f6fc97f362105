"""The JSON of a search and of its hits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rifflux.surfaces.shared.nouns import JsonObject, hit_json, trace_json

if TYPE_CHECKING:
    from rifflux import Results

__all__ = ["search_json"]


def search_json(results: Results) -> JsonObject:
    """Return everything that a search found: what `rifflux search --json` prints."""
    from rifflux import score_breakdown

    trace = results.trace
    diagnostics = trace_json(trace)
    head = {name: diagnostics.pop(name) for name in ("effective_mode", "fusion", "reranker")}
    return {
        "query": results.query,
        "mode": trace.mode,
        **head,
        "count": len(results),
        "results": [{**hit_json(hit), "score_breakdown": score_breakdown(hit, trace.mode)} for hit in results],
        "diagnostics": diagnostics,
    }
