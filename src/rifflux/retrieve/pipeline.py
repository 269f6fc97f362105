"""The question's journey: gather candidates, fuse, lift anchors, read passages once, refine, explain the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from rifflux.errors import RiffluxError
from rifflux.retrieve.fuse.base import NO_EVIDENCE, Evidence, Fuse
from rifflux.retrieve.table import LEXICAL, SCORE, SEMANTIC, Candidates, alone, joined, page, pool_of, stacked
from rifflux.store import FieldWeights, Store
from rifflux.types import Notice, Query, Ranking, Results, Trace

#: Ranks chunk ids for a query, and fetches nothing.
Channel = Callable[[Query], Ranking]
#: Changes a candidate table: more columns, another order, fewer rows.
Step = Callable[[Query, Candidates], Candidates]
#: The name of the step that reranks.
RERANK = "rerank"
#: The kind of source code, and among how many of the best of each channel it is looked for.
CODE = "code"
LOOKED_AT = 10
#: Stands for a reranker's name where nothing is reranked.
NO_RERANKER = "none"
#: How many times more candidates are read where a page stays short, and from how many on no more are.
WIDER = 5
WIDEST = 10_000


class NotApplied(Exception):
    """Raised by a step that could not do its work; the table stays as it was, and the trace says why."""

    def __init__(self, text: str, code: str = "step.left_out", *, because: RiffluxError | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.cure = because.cure if because else None
        self.data = because.data if because else {}


def left_out_notices(left_out: Mapping[str, Notice]) -> list[Notice]:
    """Return the notices of the steps that were left out; the text of each names its step."""
    return [replace(notice, text=f"{name}: {notice.text}") for name, notice in left_out.items()]


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Milliseconds by the name of the work that was timed, in the order of happening."""

    milliseconds: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, start: float) -> None:
        """Add the time since `start`, a moment of `time.perf_counter()`, to that of a name."""
        elapsed = (perf_counter() - start) * 1000
        self.milliseconds[name] = round(self.milliseconds.get(name, 0.0) + elapsed, 3)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Channels, a fusion and steps put together. `fuse` is None for a search in a single channel.

    `anchors` orders candidates by their ids alone, `code` moves those that are source code, `keep` those that may not
    fall behind. Then the passages of `pool` candidates are read for the steps, or of as many as the `top` of each that
    has one; without steps, only of those that are returned. `rate` gives the candidates of the page their relevance.
    """

    channels: Mapping[str, Channel]
    fuse: Fuse | None
    store: Store
    pool: int
    evidence: Evidence = NO_EVIDENCE
    anchors: Step | None = None
    steps: Sequence[tuple[str, Step]] = ()
    rate: Step | None = None
    code: Step | None = None
    keep: Step | None = None

    def found(self, query: Query, top_k: int, trace: Trace, clock: Stopwatch) -> tuple[Candidates, Trace]:
        """Return the best `top_k` candidates, their passages read, and the trace completed."""
        table = self.ordered(query, gather(query, self.channels, clock), clock)
        counts = counted(table)
        start = perf_counter()
        table = self.read(table.head(self.depth(top_k)))
        clock.add("fetch", start)
        table, left_out, dropped = self.refined(query, table, clock)
        table = table.head(top_k)
        if self.rate:
            start = perf_counter()
            table = self.rate(query, table)
            clock.add("relevance", start)
        return table, replace(
            trace,
            reranker=None if RERANK in left_out else trace.reranker,
            milliseconds=clock.milliseconds,
            counts={**trace.counts, **counts},
            dropped={**trace.dropped, **dropped},
            degraded=(*trace.degraded, *left_out_notices(left_out)),
        )

    def depth(self, top_k: int) -> int:
        """Return how many passages are read, for the page and for the steps to see."""
        depth = top_k
        for _, step in self.steps:
            depth = max(depth, getattr(step, "top", self.pool))
        return depth

    def candidates(self, query: Query, clock: Stopwatch) -> Candidates:
        """Ask the channels, and put the candidates in order."""
        return self.ordered(query, gather(query, self.channels, clock), clock)

    def ordered(self, query: Query, rankings: Mapping[str, Ranking], clock: Stopwatch) -> Candidates:
        """Fuse the rankings of the channels, and lift anchors."""
        start = perf_counter()
        if self.fuse:
            table = self.fuse(joined(rankings, self.pool), self.evidence)
        else:
            table = alone(*next(iter(rankings.items())))
        clock.add("fuse", start)
        if self.anchors:
            start = perf_counter()
            table = self.anchors(query, table)
            clock.add("anchors", start)
        if self.code and CODE in self.evidence.kinds(pool_of(rankings, LOOKED_AT)):
            start = perf_counter()
            table = self.code(query, table)
            clock.add("code", start)
        if self.keep:
            return self.keep(query, table)
        return table

    def read(self, table: Candidates) -> Candidates:
        """Read the passages of all rows; those that were removed meanwhile are left out."""
        passages = tuple(self.store.catalog.hydrate(Ranking(table.ids, table[SCORE])))
        if len(passages) < len(table):
            known = [int(hit.id, 16) for hit in passages]
            table = table.take(np.flatnonzero(np.isin(table.ids, known)))
        return replace(table, passages=passages)

    def refined(
        self, query: Query, table: Candidates, clock: Stopwatch
    ) -> tuple[Candidates, dict[str, Notice], dict[str, int]]:
        """Return the rows after all steps, the steps that were left out and why, and how many rows each dropped."""
        left_out: dict[str, Notice] = {}
        dropped: dict[str, int] = {}
        for name, step in self.steps:
            before = len(table)
            start = perf_counter()
            try:
                table = step(query, table)
            except NotApplied as error:
                left_out[name] = Notice(error.code, str(error), error.cure, {**error.data, "step": name})
            clock.add(name, start)
            if len(table) < before:
                dropped[name] = before - len(table)
        return table, left_out, dropped


def channels(store: Store, weights: FieldWeights) -> Mapping[str, Channel]:
    """Return the channels of a store by name: by words (BM25) and by meaning (cosine)."""
    return {
        LEXICAL: lambda query: store.lexical.match(query, query.limit, weights),
        SEMANTIC: lambda query: store.semantic.nearest(query, query.limit),
    }


def gather(query: Query, channels: Mapping[str, Channel], clock: Stopwatch) -> Mapping[str, Ranking]:
    """Ask each channel for its ranking."""
    found = {}
    for name, channel in channels.items():
        start = perf_counter()
        found[name] = channel(query)
        clock.add(name, start)
    return found


def counted(table: Candidates) -> dict[str, int]:
    """Return how many chunks each channel ranked, and how many candidates they made."""
    counts = {}
    for name, ranking in table.rankings.items():
        counts[name] = len(ranking.ids)
    return {**counts, "fused": len(table.ids)}


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
        """Return at most `top_k` hits, each with its explanation."""
        table, trace = self.found(top_k)
        return Results(self.query.text, tuple(page(table)), trace)

    def found(self, top_k: int) -> tuple[Candidates, Trace]:
        """Return the candidates of a page; where steps drop so much that it stays short, more of them are read."""
        table, trace = self.pipeline.found(self.query, top_k, self.trace, self.clock)
        read = self.pipeline.depth(top_k)
        if len(table.ids) >= top_k or not trace.dropped or read >= WIDEST or not self._more(trace, read):
            return table, trace
        return replace(self.wider(WIDER * read), clock=self.clock).found(top_k)

    def page(self, top_k: int, offset: int) -> tuple[Candidates, Trace]:
        """Return the candidates from a place on, as if the first page had been longer.

        A page of a given length continues the one before: candidates that only a wider search finds follow those of
        the search that made the first page, whatever their score.
        """
        if not offset:
            return self.found(top_k)
        plan = replace(self, pipeline=replace(self.pipeline, rate=None))
        rate = self.pipeline.rate
        table, trace = plan._down_to(top_k, offset + top_k)
        table = table.take(range(min(offset, len(table)), min(offset + top_k, len(table))))
        return rate(self.query, table) if rate else table, trace

    def _down_to(self, top_k: int, last: int) -> tuple[Candidates, Trace]:
        """Return the candidates down to the place `last` of the search for pages of `top_k`."""
        table, trace, read = self._listed(top_k, last)
        short = len(table) < top_k and bool(trace.dropped)
        if len(table) >= last or read >= WIDEST or not self._more(trace, read):
            return table, trace
        wider = replace(self.wider(WIDER * self.pipeline.pool), clock=self.clock)
        if short:  # the first page was made by a wider search, too
            return wider._down_to(top_k, last)
        further, trace = wider._down_to(top_k, last)
        new = np.flatnonzero(~np.isin(further.ids, table.ids))
        return replace(stacked(table, further.take(new)), rankings=further.rankings), trace

    def _listed(self, top_k: int, last: int) -> tuple[Candidates, Trace, int]:
        """Return the candidates that this plan lists down to a place, and how many passages were read for them.

        Steps that see all candidates are shown as many as for the first page: they would order more of them anew.
        """
        bounded = all(hasattr(step, "top") for _, step in self.pipeline.steps)
        read = self.pipeline.depth(last if bounded else top_k)
        table, trace = self.pipeline.found(self.query, read, self.trace, self.clock)
        return table.head(last), trace, read

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


def wide_pool(top_k: int) -> int:
    """Candidates per channel: enough that what one channel ranks low can be lifted by the other."""
    return max(100, 2 * top_k)


def reading(reranker: Step | None, further: Sequence[tuple[str, Step]]) -> Sequence[tuple[str, Step]]:
    """Return the steps that read passages, by name and in their order: the reranker, then those of diversity."""
    if reranker:
        return [(RERANK, reranker), *further]
    return further
