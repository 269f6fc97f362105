"""Finishing of a page: cutting it where relevance falls off, and sorting it by date.

A page ends after its last hit with at least a given share of the best relevance. Relevance is a probability, so shares
of it are comparable; a query's scores have no such zero point. `bench/results/tried.md` compares this rule with two
others, the largest fall and the best expected F1, which are no better and lack an explainable parameter. A page of
doubtful hits is not cut: that is what `min_score` is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from rifflux.errors import InvalidArgument
from rifflux.text.dates import timestamp
from rifflux.types import Hit, Notice, Results

#: The share used for `cutoff=True`: on judged pages it preserves .985 of the DCG and drops .25 of the text.
SHARE = 0.5


def finishing(cutoff: bool | float, *, newest: bool) -> Callable[[Results], Results]:
    """Return a function that cuts a page and sorts it newest first, as chosen. Raises `InvalidArgument`."""
    share = _share(cutoff)

    def finished(results: Results) -> Results:
        if share is not None:
            results = cut(results, share)
        if newest:
            return newest_first(results)
        return results

    return finished


def _share(cutoff: bool | float) -> float | None:
    if isinstance(cutoff, bool):
        if cutoff:
            return SHARE
        return None
    if not isinstance(cutoff, int | float) or not 0 <= cutoff <= 1:
        raise InvalidArgument(f"cutoff must be True, or a share of the best relevance from 0 to 1, not {cutoff!r}")
    return float(cutoff)


def cut(results: Results, share: float) -> Results:
    """Return the results up to the last hit with the given share of the best relevance."""
    relevances = [hit.relevance for hit in results if hit.relevance is not None]
    trace = results.trace
    if len(relevances) < len(results):
        note = Notice("cutoff.left_out", "the cutoff was skipped: these results have no relevance")
        return replace(results, trace=replace(trace, notes=(*trace.notes, note)))
    least = share * max(relevances, default=0.0)
    end = max((place for place, value in enumerate(relevances, 1) if value >= least), default=0)
    dropped = {**trace.dropped, "cutoff": len(results) - end} if end < len(results) else trace.dropped
    return replace(results, hits=results.hits[:end], trace=replace(trace, dropped=dropped))


def newest_first(results: Results) -> Results:
    """Return the hits by document date, `created_at` or else `updated_at`, newest first; undated hits come last."""
    return replace(results, hits=tuple(sorted(results.hits, key=_age)))


def _age(hit: Hit) -> float:
    made = timestamp(hit.created_at or hit.updated_at)
    if made is None:
        return math.inf
    return -made
