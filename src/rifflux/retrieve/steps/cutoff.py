"""What is done to a finished page: it ends where relevance falls off, or is shown with the newest first.

A page ends behind its last hit that has at least a share of the relevance of its best hit. Relevance is a probability,
so shares of it mean the same everywhere; scores of one question have no such zero. `bench/results/tried.md` compares
this rule with two others, the largest fall and the best expected F1, which are no better and have no knob that can be
explained. A page whose hits are all doubtful is not cut: that is what `min_score` is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from rifflux.errors import InvalidArgument
from rifflux.text.dates import timestamp
from rifflux.types import Hit, Notice, Results

#: The share that `cutoff=True` asks for: on judged pages it keeps .985 of the DCG and leaves out .25 of the text.
SHARE = 0.5


def finishing(cutoff: bool | float, *, newest: bool) -> Callable[[Results], Results]:
    """Return what cuts a page and puts the newest first. Raises `InvalidArgument` for a cutoff that cannot be meant."""
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
    """Return the results without those behind the last that has this share of the best relevance."""
    relevances = [hit.relevance for hit in results if hit.relevance is not None]
    trace = results.trace
    if len(relevances) < len(results):
        note = Notice("cutoff.left_out", "the cutoff was left out: what was found here has no relevance")
        return replace(results, trace=replace(trace, notes=(*trace.notes, note)))
    least = share * max(relevances, default=0.0)
    end = max((place for place, value in enumerate(relevances, 1) if value >= least), default=0)
    dropped = {**trace.dropped, "cutoff": len(results) - end} if end < len(results) else trace.dropped
    return replace(results, hits=results.hits[:end], trace=replace(trace, dropped=dropped))


def newest_first(results: Results) -> Results:
    """Return the hits with the newest document first, by `created_at` or else `updated_at`; those without come last."""
    return replace(results, hits=tuple(sorted(results.hits, key=_age)))


def _age(hit: Hit) -> float:
    made = timestamp(hit.created_at or hit.updated_at)
    if made is None:
        return math.inf
    return -made
