"""The question's journey: ask the sources, fuse, read the survivors' rows once, explain, refine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from rifflux.retrieve.candidates import Source
from rifflux.retrieve.fuse.base import NO_EVIDENCE, Evidence, Fuse, ranks_of
from rifflux.types import Hit, Query, Ranking, Results, Trace, Why

__all__ = ["NotApplied", "Pipeline", "Stage", "Stopwatch"]

Stage = Callable[[Query, Sequence[Hit]], Sequence[Hit]]
Hydrate = Callable[[Ranking], list[Hit]]


class NotApplied(Exception):  # noqa: N818 - says what the stage was
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
    stages: Sequence[tuple[str, Stage]] = field(default=())

    def __call__(self, query: Query, top_k: int, trace: Trace, clock: Stopwatch) -> Results:
        """Answer a query with at most `top_k` hits, each with its trail, and complete the trace."""
        found = {}
        for name, source in self.sources.items():
            with clock(name):
                found[name] = source(query)
        with clock("fuse"):
            fused = self.fuse(found, self.evidence, self.pool) if self.fuse else next(iter(found.values()))
        with clock("fetch"):
            survivors = fused.head(max(self.pool, top_k) if self.stages else top_k)
            hits: Sequence[Hit] = self._explained(self.hydrate(survivors), found)
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

    def _explained(self, hits: Sequence[Hit], found: Mapping[str, Ranking]) -> list[Hit]:
        """Give each hit its rank and score in every channel, and what the fusion made of them."""
        ids = np.fromiter((int(hit.chunk_id, 16) for hit in hits), np.int64, len(hits))
        trails: list[list[Why]] = [[] for _ in hits]
        for name, ranking in found.items():
            for trail, rank in zip(trails, ranks_of(ranking, ids).tolist(), strict=True):
                seen = rank != float("inf")
                place = int(rank) if seen else None
                trail.append(Why(name, place, float(ranking.scores[int(rank) - 1]) if seen else None))
        if self.fuse:
            shares = self.fuse.contributions(found, ids, self.evidence)
            for position, (hit, trail) in enumerate(zip(hits, trails, strict=True)):
                detail = {name: float(share[position]) for name, share in shares.items()}
                trail.append(Why(self.fuse.name, position + 1, hit.score, detail))
        return [replace(hit, why=tuple(trail)) for hit, trail in zip(hits, trails, strict=True)]
