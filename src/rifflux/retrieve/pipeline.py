"""The question's journey: ask the sources, fuse, read the survivors' rows once, explain, refine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

from rifflux.retrieve.channels import Source
from rifflux.retrieve.fuse.base import NO_EVIDENCE, Evidence, Fuse, Fused, ranks_of
from rifflux.types import Hit, Ids, Query, Ranking, Results, Scores, Trace, Why

__all__ = ["RERANK", "Candidates", "NotApplied", "Pipeline", "Plan", "Stage", "Stopwatch", "reaching"]

Stage = Callable[[Query, Sequence[Hit]], Sequence[Hit]]
#: Reads the rows of a ranking and gives each hit its trail.
Hydrate = Callable[[Ranking, Sequence[tuple[Why, ...]]], list[Hit]]
#: Multiplies scores on the ids alone, and tells the factors by id.
Factors = Mapping[int, Mapping[str, float]]
Lift = Callable[[Query, Ranking], tuple[Ranking, Factors]]
_NO_FACTORS: Factors = {}
#: The name of the stage that reranks.
RERANK = "rerank"
#: How many times more candidates are read where a page stays short, and from how many on no more are.
WIDER, WIDEST = 5, 10_000


class NotApplied(Exception):
    """Raised by a stage that could not do its work; the hits stay as they were, and the trace says why."""


class Stopwatch:
    """Milliseconds by the name of what was timed, in the order of happening."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    def __call__(self, name: str) -> Lap:
        """A block to be timed under `name`."""
        return Lap(self.milliseconds, name)


class Lap:
    """Adds the time from entering to leaving a block to what its name has already."""

    __slots__ = ("_milliseconds", "_name", "_start")

    def __init__(self, milliseconds: dict[str, float], name: str) -> None:
        self._milliseconds, self._name, self._start = milliseconds, name, 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        elapsed = (time.perf_counter() - self._start) * 1000
        self._milliseconds[self._name] = round(self._milliseconds.get(self._name, 0.0) + elapsed, 3)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the sources found, what the fusion made of it, and the order that anchors left; `factors` are theirs."""

    found: Mapping[str, Ranking]
    fused: Ranking
    lifted: Ranking
    factors: Factors


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Sources, a fusion and stages put together. `fuse` is None for a search in a single channel.

    `pool` candidates are read for the stages, or as many as the `top` of each that has one; without stages, only those
    that are returned. `rate` gives the hits of the page their relevance.
    """

    sources: Mapping[str, Source]
    fuse: Fuse | None
    hydrate: Hydrate
    pool: int
    evidence: Evidence = NO_EVIDENCE
    lift: Lift | None = None
    stages: Sequence[tuple[str, Stage]] = field(default=())
    rate: Stage | None = None

    def __call__(self, query: Query, top_k: int, trace: Trace, clock: Stopwatch) -> Results:
        """Answer a query with at most `top_k` hits, each with its trail, and complete the trace."""
        candidates = self.candidates(query, clock)
        with clock("fetch"):
            survivors = candidates.lifted.head(self.depth(top_k))
            hits = self.explained(candidates, survivors)
        hits, left_out, dropped = self.refined(query, hits, clock)
        hits = hits[:top_k]
        if self.rate:
            with clock("relevance"):
                hits = self.rate(query, hits)
        counts = {name: len(ranking) for name, ranking in candidates.found.items()} | {"fused": len(candidates.fused)}
        trace = replace(
            trace,
            reranker=None if RERANK in left_out else trace.reranker,
            milliseconds=clock.milliseconds,
            counts={**trace.counts, **counts},
            dropped={**trace.dropped, **dropped},
            degraded=(*trace.degraded, *map(": ".join, left_out.items())),
        )
        return Results(query.text, tuple(hits), trace)

    def depth(self, top_k: int) -> int:
        """How many hits are read, for the page and for the stages to see."""
        return max([top_k, *(getattr(stage, "top", self.pool) for _, stage in self.stages)])

    def candidates(self, query: Query, clock: Stopwatch) -> Candidates:
        """Ask the sources and put what they find in order."""
        found = {}
        for name, source in self.sources.items():
            with clock(name):
                found[name] = source(query)
        return self.ordered(query, found, clock)

    def ordered(self, query: Query, found: Mapping[str, Ranking], clock: Stopwatch) -> Candidates:
        """Fuse what the sources found, and let anchors lift."""
        with clock("fuse"):
            fused = self.fuse(found, self.evidence, self.pool) if self.fuse else next(iter(found.values()))
        lifted, factors = fused, _NO_FACTORS
        if self.lift:
            with clock("anchors"):
                lifted, factors = self.lift(query, fused)
        return Candidates(found, fused, lifted, factors)

    def refined(
        self, query: Query, hits: Sequence[Hit], clock: Stopwatch
    ) -> tuple[Sequence[Hit], dict[str, str], dict[str, int]]:
        """The hits after all stages, the stages that were left out and why, and how many hits each dropped."""
        left_out, dropped = {}, {}
        for name, stage in self.stages:
            before = len(hits)
            try:
                with clock(name):
                    hits = stage(query, hits)
            except NotApplied as error:
                left_out[name] = str(error)
            if len(hits) < before:
                dropped[name] = before - len(hits)
        return hits, left_out, dropped

    def explained(self, candidates: Candidates, survivors: Ranking) -> Sequence[Hit]:
        """Read hits, with their rank and score in every channel, what the fusion made of them, and what lifted them."""
        ids = survivors.ids
        trails: list[Sequence[Why | None]] = [_seen(name, found, ids) for name, found in candidates.found.items()]
        if self.fuse:
            shares = self._shares(candidates, ids)
            addends = zip(*(share.tolist() for share in shares.values()), strict=True)
            details = [dict(zip(shares, each, strict=True)) for each in addends]
            trails.append(_seen(self.fuse.name, candidates.fused, ids, details))
        if candidates.factors:
            trails.append(_anchored(candidates, ids))
        return self.hydrate(survivors, [tuple(filter(None, whys)) for whys in zip(*trails, strict=True)])

    def _shares(self, candidates: Candidates, ids: Ids) -> Mapping[str, Scores]:
        """The addends of fused scores by channel; for an id that was not fused they mean nothing."""
        fused = candidates.fused
        if isinstance(fused, Fused) and len(fused):
            return fused.addends(ids)
        return self.fuse.contributions(candidates.found, ids, self.evidence) if self.fuse else {}


def _seen(stage: str, ranking: Ranking, ids: Ids, details: Sequence[Mapping[str, float]] = ()) -> list[Why]:
    """What a ranking says of each id."""
    ranks = ranks_of(ranking, ids).tolist()
    return [
        Why(stage, int(rank), float(ranking.scores[int(rank) - 1]), detail) if isfinite(rank) else Why(stage)
        for rank, detail in zip(ranks, details or [{}] * len(ids), strict=True)
    ]


def _anchored(candidates: Candidates, ids: Ids) -> list[Why | None]:
    """What lifted each id; nothing for those that hold no anchor."""
    factors = [candidates.factors.get(id, {}) for id in ids.tolist()]
    seen = _seen("anchors", candidates.lifted, ids, factors)
    return [why if factor else None for why, factor in zip(seen, factors, strict=True)]


@dataclass(frozen=True, slots=True)
class Plan:
    """A search ready to run: the pipeline, the question with its vector, and what is known of both beforehand.

    `pool_of` tells how many candidates a page of so many hits takes from each channel.
    """

    pipeline: Pipeline
    query: Query
    trace: Trace
    clock: Stopwatch
    pool_of: Callable[[int], int]

    def __call__(self, top_k: int) -> Results:
        """Run it. Where stages drop so much that the page stays short, more candidates are looked at."""
        results = self.pipeline(self.query, top_k, self.trace, self.clock)
        read = self.pipeline.depth(top_k)
        if len(results) >= top_k or not results.trace.dropped or read >= WIDEST or not self._more(results.trace, read):
            return results
        return replace(self.wider(WIDER * read), clock=self.clock)(top_k)

    def _more(self, trace: Trace, read: int) -> bool:
        """Whether there are candidates that were not read: fused, or further down in a channel."""
        channels = (trace.counts[name] for name in self.pipeline.sources)
        reach = self.query.sufficient(self.query.limit)
        return trace.counts["fused"] > read or any(count >= reach for count in channels)

    def wider(self, top_k: int) -> Plan:
        """The plan for a longer page: its pool, and how far its channels are read."""
        pool = self.pool_of(top_k)
        pipeline = replace(self.pipeline, pool=pool)
        return replace(self, pipeline=pipeline, query=reaching(self.query, pipeline.fuse, pool), clock=Stopwatch())


def reaching(query: Query, fuse: Fuse | None, pool: int) -> Query:
    """The question with how far its channels are read for a pool of candidates."""
    if fuse is None:
        return replace(query, limit=pool, enough=pool)
    return replace(query, limit=fuse.depth(pool), enough=fuse.enough(pool))
