"""The question's journey: ask the sources, fuse, read the survivors' rows once, explain, refine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from rifflux.retrieve.candidates import Source
from rifflux.retrieve.fuse.base import NO_EVIDENCE, Evidence, Fuse, ranks_of, scores_of
from rifflux.types import Hit, Ids, Query, Ranking, Results, Trace, Why

__all__ = ["NotApplied", "Pipeline", "Stage", "Stopwatch"]

Stage = Callable[[Query, Sequence[Hit]], Sequence[Hit]]
Hydrate = Callable[[Ranking], list[Hit]]
#: Multiplies scores on the ids alone, and tells the factors by id.
Factors = Mapping[int, Mapping[str, float]]
Lift = Callable[[Query, Ranking], tuple[Ranking, Factors]]
_NO_FACTORS: Factors = {}


class NotApplied(Exception):
    """Raised by a stage that could not do its work; the hits stay as they were, and the trace says why."""


class Stopwatch:
    """Milliseconds by the name of what was timed, in the order of happening."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time the block under `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = (time.perf_counter() - start) * 1000
            self.milliseconds[name] = round(self.milliseconds.get(name, 0.0) + elapsed, 3)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Sources, a fusion and stages put together. `fuse` is None for a search in a single channel.

    `pool` candidates are read for the stages; without stages, only those that are returned.
    """

    sources: Mapping[str, Source]
    fuse: Fuse | None
    hydrate: Hydrate
    pool: int
    evidence: Evidence = NO_EVIDENCE
    lift: Lift | None = None
    stages: Sequence[tuple[str, Stage]] = field(default=())

    def __call__(self, query: Query, top_k: int, trace: Trace, clock: Stopwatch) -> Results:
        """Answer a query with at most `top_k` hits, each with its trail, and complete the trace."""
        found = {}
        for name, source in self.sources.items():
            with clock(name):
                found[name] = source(query)
        with clock("fuse"):
            fused = self.fuse(found, self.evidence, self.pool) if self.fuse else next(iter(found.values()))
        lifted, factors = fused, _NO_FACTORS
        if self.lift:
            with clock("anchors"):
                lifted, factors = self.lift(query, fused)
        with clock("fetch"):
            survivors = lifted.head(max(self.pool, top_k) if self.stages else top_k)
            hits: Sequence[Hit] = self._explained(self.hydrate(survivors), found, fused, factors)
        degraded = list(trace.degraded)
        for name, stage in self.stages:
            try:
                with clock(name):
                    hits = stage(query, hits)
            except NotApplied as error:
                degraded.append(f"{name}: {error}")
        counts = {name: len(ranking) for name, ranking in found.items()} | {"fused": len(fused)}
        trace = replace(
            trace,
            milliseconds=clock.milliseconds,
            counts={**trace.counts, **counts},
            degraded=tuple(degraded),
        )
        return Results(query.text, tuple(hits[:top_k]), trace)

    def _explained(
        self, hits: Sequence[Hit], found: Mapping[str, Ranking], fused: Ranking, factors: Factors
    ) -> list[Hit]:
        """Give each hit its rank and score in every channel, what the fusion made of them, and what lifted it."""
        ids = np.fromiter((int(hit.chunk_id, 16) for hit in hits), np.int64, len(hits))
        trails = [_seen(name, ranking, ids) for name, ranking in found.items()]
        if self.fuse:
            shares = self.fuse.contributions(found, ids, self.evidence)
            details = [{name: float(share[place]) for name, share in shares.items()} for place in range(len(hits))]
            trails.append(_seen(self.fuse.name, fused, ids, details))
        explained = []
        for place, (hit, id) in enumerate(zip(hits, ids.tolist(), strict=True)):
            why = tuple(trail[place] for trail in trails)
            if id in factors:
                why += (Why("anchors", place + 1, hit.score, factors[id]),)
            explained.append(replace(hit, why=why))
        return explained


def _seen(stage: str, ranking: Ranking, ids: Ids, details: Sequence[Mapping[str, float]] | None = None) -> list[Why]:
    """What a ranking says of each id."""
    ranks, scores = ranks_of(ranking, ids), scores_of(ranking, ids)
    return [
        Why(stage, int(rank), float(score), details[place] if details else {})
        if np.isfinite(rank)
        else Why(stage, None, None)
        for place, (rank, score) in enumerate(zip(ranks, scores, strict=True))
    ]
