"""The question's journey: gather candidates, fuse, lift anchors, read passages once, refine, explain the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rifflux.retrieve.channels import Channel
from rifflux.retrieve.explain.trail import page
from rifflux.retrieve.fuse.base import NO_EVIDENCE, Evidence, Fuse
from rifflux.retrieve.table import SCORE, Candidates, alone, joined
from rifflux.store import Store
from rifflux.types import Query, Ranking, Results, Trace

__all__ = ["RERANK", "NotApplied", "Pipeline", "Plan", "Step", "Stopwatch", "counted", "gather", "reaching"]

#: Changes a candidate table: more columns, another order, fewer rows.
Step = Callable[[Query, Candidates], Candidates]
#: The name of the step that reranks.
RERANK = "rerank"
#: How many times more candidates are read where a page stays short, and from how many on no more are.
WIDER, WIDEST = 5, 10_000


class NotApplied(Exception):
    """Raised by a step that could not do its work; the table stays as it was, and the trace says why."""


class Stopwatch:
    """Milliseconds by the name of what was timed, in the order of happening."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    def __call__(self, name: str) -> Lap:
        """Time a block under `name`."""
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
class Pipeline:
    """Channels, a fusion and steps put together. `fuse` is None for a search in a single channel.

    `anchors` orders candidates by their ids alone. Then the passages of `pool` candidates are read for the steps, or of
    as many as the `top` of each that has one; without steps, only of those that are returned. `rate` gives the
    candidates of the page their relevance.
    """

    channels: Mapping[str, Channel]
    fuse: Fuse | None
    store: Store
    pool: int
    evidence: Evidence = NO_EVIDENCE
    anchors: Step | None = None
    steps: Sequence[tuple[str, Step]] = ()
    rate: Step | None = None

    def __call__(self, query: Query, top_k: int, trace: Trace, clock: Stopwatch) -> Results:
        """Answer a query with at most `top_k` hits, each with its explanation, and complete the trace."""
        table, trace = self.found(query, top_k, trace, clock)
        return Results(query.text, tuple(page(table)), trace)

    def found(self, query: Query, top_k: int, trace: Trace, clock: Stopwatch) -> tuple[Candidates, Trace]:
        """Return the best `top_k` candidates, their passages read, and the trace completed."""
        table = self.candidates(query, clock)
        counts = counted(table)
        with clock("fetch"):
            table = self.read(table.head(self.depth(top_k)))
        table, left_out, dropped = self.refined(query, table, clock)
        table = table.head(top_k)
        if self.rate:
            with clock("relevance"):
                table = self.rate(query, table)
        return table, replace(
            trace,
            reranker=None if RERANK in left_out else trace.reranker,
            milliseconds=clock.milliseconds,
            counts={**trace.counts, **counts},
            dropped={**trace.dropped, **dropped},
            degraded=(*trace.degraded, *map(": ".join, left_out.items())),
        )

    def depth(self, top_k: int) -> int:
        """Return how many passages are read, for the page and for the steps to see."""
        return max([top_k, *(getattr(step, "top", self.pool) for _, step in self.steps)])

    def candidates(self, query: Query, clock: Stopwatch) -> Candidates:
        """Ask the channels, and put the candidates in order."""
        return self.ordered(query, gather(query, self.channels, clock), clock)

    def ordered(self, query: Query, rankings: Mapping[str, Ranking], clock: Stopwatch) -> Candidates:
        """Fuse the rankings of the channels, and lift anchors."""
        with clock("fuse"):
            if self.fuse:
                table = self.fuse(joined(rankings, self.pool), self.evidence)
            else:
                table = alone(*next(iter(rankings.items())))
        if self.anchors:
            with clock("anchors"):
                table = self.anchors(query, table)
        return table

    def read(self, table: Candidates) -> Candidates:
        """Read the passages of all rows; those that were removed meanwhile are left out."""
        passages = tuple(self.store.catalog.hydrate(Ranking(table.ids, table[SCORE])))
        if len(passages) < len(table):
            known = [int(hit.chunk_id, 16) for hit in passages]
            table = table.take(np.flatnonzero(np.isin(table.ids, known)))
        return replace(table, passages=passages)

    def refined(
        self, query: Query, table: Candidates, clock: Stopwatch
    ) -> tuple[Candidates, dict[str, str], dict[str, int]]:
        """Return the rows after all steps, the steps that were left out and why, and how many rows each dropped."""
        left_out, dropped = {}, {}
        for name, step in self.steps:
            before = len(table)
            try:
                with clock(name):
                    table = step(query, table)
            except NotApplied as error:
                left_out[name] = str(error)
            if len(table) < before:
                dropped[name] = before - len(table)
        return table, left_out, dropped


def gather(query: Query, channels: Mapping[str, Channel], clock: Stopwatch) -> Mapping[str, Ranking]:
    """Ask each channel for its ranking."""
    found = {}
    for name, channel in channels.items():
        with clock(name):
            found[name] = channel(query)
    return found


def counted(table: Candidates) -> dict[str, int]:
    """Return how many chunks each channel ranked, and how many candidates they made."""
    return {name: len(ranking) for name, ranking in table.rankings.items()} | {"fused": len(table)}


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
        """Run it. Where steps drop so much that the page stays short, more candidates are looked at."""
        results = self.pipeline(self.query, top_k, self.trace, self.clock)
        read = self.pipeline.depth(top_k)
        if len(results) >= top_k or not results.trace.dropped or read >= WIDEST or not self._more(results.trace, read):
            return results
        return replace(self.wider(WIDER * read), clock=self.clock)(top_k)

    def gather(self, top_k: int) -> tuple[Candidates, Trace]:
        """Return the best `top_k` candidates, their passages read, and the trace."""
        return self.pipeline.found(self.query, top_k, self.trace, self.clock)

    def _more(self, trace: Trace, read: int) -> bool:
        """Return True if there are candidates that were not read: fused, or further down in a channel."""
        channels = (trace.counts[name] for name in self.pipeline.channels)
        reach = self.query.sufficient(self.query.limit)
        return trace.counts["fused"] > read or any(count >= reach for count in channels)

    def wider(self, top_k: int) -> Plan:
        """Return the plan for a longer page, with its pool and the depth of its channels."""
        pool = self.pool_of(top_k)
        pipeline = replace(self.pipeline, pool=pool)
        return replace(self, pipeline=pipeline, query=reaching(self.query, pipeline.fuse, pool), clock=Stopwatch())


def reaching(query: Query, fuse: Fuse | None, pool: int) -> Query:
    """Return the question with the depth of its channels for a pool of candidates."""
    if fuse is None:
        return replace(query, limit=pool, enough=pool)
    return replace(query, limit=fuse.depth(pool), enough=fuse.enough(pool))
