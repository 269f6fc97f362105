"""The search pipeline: a plan gathers candidates, runs its stages over their table in order, and cuts the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from rifflux.errors import RiffluxError
from rifflux.retrieve.fuse.base import NO_FACTS, Fuse, IndexFacts
from rifflux.retrieve.table import SCORE, Candidates, alone, page, placed, pool_of, stacked
from rifflux.store import DEFAULT, CandidateRequest, CandidateResponse, FieldWeights
from rifflux.types import Execution, Notice, Query, Ranking, Results, Trace

if TYPE_CHECKING:
    from rifflux.retrieve.query.expand import Variant

#: Returns the candidates of a query, as `Store.search` does.
CandidateSearch = Callable[[CandidateRequest], CandidateResponse]
#: The name of the reranking stage.
RERANK = "rerank"
#: The name that stands for no reranking.
NO_RERANKER = "none"
#: The factor by which a short page's search is repeated with more candidates, up to `WIDEST`.
WIDER = 5
WIDEST = 10_000


class StepSkipped(Exception):
    """Raised by a step that could not do its work; the table remains unchanged and the trace gives the reason."""

    def __init__(self, text: str, code: str = "step.left_out", *, because: RiffluxError | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.cure = because.cure if because else None
        self.data = because.data if because else {}


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Elapsed milliseconds by the name of the work, in order of the first run."""

    milliseconds: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, start: float) -> None:
        """Add the time since `start`, a value of `time.perf_counter()`, to a name's total."""
        elapsed = (perf_counter() - start) * 1000
        self.milliseconds[name] = round(self.milliseconds.get(name, 0.0) + elapsed, 3)


class Phase(IntEnum):
    """The rows that a stage works on: all candidates by id, those whose passages are fetched, or the page."""

    CANDIDATES = 0
    FETCH = 1
    PASSAGES = 2
    PAGE = 3


#: The trace of a plan that is not ready to run.
UNTRACED = Trace("", "")
#: Returns a changed candidate table: more columns, another order, or fewer rows.
Step = Callable[["Plan", Candidates], Candidates]


@dataclass(frozen=True, slots=True)
class Stage:
    """A step with the name that traces and explanations use.

    `top` is the number of candidates that it orders; None for a step that looks at all of them and whose order depends
    on their number. The position in the list of stages decides the `phase`. If `applies` returns False the step is
    neither run nor timed; steps that take almost no time are not `timed`.
    """

    name: str
    step: Step
    top: int | None = None
    phase: Phase = Phase.PASSAGES
    applies: Callable[[Plan, Candidates], bool] | None = None
    timed: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """The report of one run's stages: rows counted and dropped, skipped stages, and notes for the caller."""

    counts: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, Notice] = field(default_factory=dict)
    notes: list[Notice] = field(default_factory=list)

    @property
    def notices(self) -> list[Notice]:
        """Return the notices of the skipped stages, each prefixed with its stage."""
        return [replace(notice, text=f"{name}: {notice.text}") for name, notice in self.skipped.items()]


def wide_pool(top_k: int) -> int:
    """Return the pool size per channel: a candidate ranked low by one channel can be lifted by the other."""
    return max(100, 2 * top_k)


@dataclass(frozen=True, slots=True)
class Plan:
    """A search ready to run: the query, its execution, the channels, and the ordered stages.

    `search` gathers the candidates; `weights` are the field weights of BM25. `fuse` is None for a search in a single
    channel; `evidence` are the facts about the candidates. `trace` is the trace before the run. `pool_of` returns the
    number of candidates to request per channel for a page of `top_k` hits, and `passages` is the number of candidates
    whose passages are fetched after all are in order. `variants` are searched in addition to the query's words.
    """

    query: Query
    execution: Execution = field(default_factory=Execution)
    channels: Sequence[str] = ()
    search: CandidateSearch = lambda _: CandidateResponse()
    weights: FieldWeights = DEFAULT
    stages: Sequence[Stage] = ()
    fuse: Fuse | None = None
    evidence: IndexFacts = NO_FACTS
    trace: Trace = UNTRACED
    pool_of: Callable[[int], int] = wide_pool
    passages: int = 0
    variants: tuple[Variant, ...] = ()
    clock: Stopwatch = field(default_factory=Stopwatch)
    outcome: Outcome = field(default_factory=Outcome)

    def __call__(self, top_k: int) -> Results:
        """Return at most `top_k` hits, each with its explanation."""
        table, trace = self.page(top_k)
        return Results(self.query.text, tuple(page(table)), trace)

    def page(self, top_k: int, offset: int = 0) -> tuple[Candidates, Trace]:
        """Return the candidates of a page with their passages, and the trace of the search.

        If stages drop so many candidates that the page is short, the search is repeated with more of them. Pages of a
        given length continue each other: candidates found only by a wider search follow those of the search that
        produced the first page, whatever their score.
        """
        last = offset + top_k
        plan = self
        above: Candidates | None = None
        while True:
            # A stage that looks at all candidates would reorder a larger number: it sees as many as for the first page.
            looks_at_all = any(each.top is None for each in plan.stages if each.phase == Phase.PASSAGES)
            passages = plan.passages_for(top_k if looks_at_all else last)
            fetching = replace(plan, passages=passages)
            table = fetching.run_phase(Phase.FETCH, fetching.candidates())
            table = plan.run_phase(Phase.PASSAGES, table).head(last)
            is_short = len(table) < top_k and bool(plan.outcome.dropped)
            may_go_on = is_short or (offset > 0 and len(table) < last)
            deeper = plan.deeper(passages) if may_go_on else None
            if above is not None and not (is_short and deeper):
                new = np.flatnonzero(~np.isin(table.ids, above.ids))
                table = replace(stacked(above, table.take(new)), rankings=table.rankings)
            if deeper is None:
                break
            # A first page that stayed short is also produced by the wider search.
            above = above if is_short else table
            plan = deeper
        table = table.take(range(min(offset, len(table)), min(last, len(table))))
        return plan.run_phase(Phase.PAGE, table), plan.completed_trace()

    def candidates(self, gathered: Candidates | None = None) -> Candidates:
        """Return all candidates in order, before passages are fetched; gathers them unless they are given."""
        table = self.run_phase(Phase.CANDIDATES, gather(self) if gathered is None else gathered)
        for name, ranking in table.rankings.items():
            self.outcome.counts[name] = len(ranking.ids)
        self.outcome.counts["fused"] = len(table.ids)
        return table

    def run_phase(self, phase: Phase, table: Candidates) -> Candidates:
        """Return the table after all stages of a phase."""
        for stage in self.stages:
            if stage.phase == phase:
                table = self.run(stage, table)
        return table

    def run(self, stage: Stage, table: Candidates) -> Candidates:
        """Return the table after a stage, recording its time, the rows it dropped, and why it was skipped."""
        if stage.applies and not stage.applies(self, table):
            return table
        before = len(table)
        start = perf_counter()
        try:
            table = stage.step(self, table)
        except StepSkipped as error:
            self.outcome.skipped[stage.name] = Notice(
                error.code, str(error), error.cure, {**error.data, "step": stage.name}
            )
        if stage.timed:
            self.clock.add(stage.name, start)
        if len(table) < before and stage.phase == Phase.PASSAGES:
            self.outcome.dropped[stage.name] = before - len(table)
        return table

    def passages_for(self, top_k: int) -> int:
        """Return the number of passages to fetch, for the page and for the stages."""
        pool = self.execution.pool
        tops = [pool if each.top is None else each.top for each in self.stages if each.phase == Phase.PASSAGES]
        return max(top_k, *tops) if tops else top_k

    def deeper(self, passages: int) -> Plan | None:
        """Return a plan that reads the channels deeper, or None if there are no more candidates or too many.

        After a run that read `passages`, more may remain among the fused candidates or further down in a channel.
        """
        counts = self.outcome.counts
        reached = any(counts[name] >= self.execution.sufficient for name in self.channels)
        if passages >= WIDEST or (counts["fused"] <= passages and not reached):
            return None
        return self.for_page(WIDER * self.execution.pool)

    def for_page(self, top_k: int) -> Plan:
        """Return the plan for another page length, with its pool and channel depth."""
        execution = reaching(self.execution, self.fuse, self.pool_of(top_k))
        return replace(self, execution=execution, outcome=Outcome())

    def completed_trace(self) -> Trace:
        """Return the trace completed with the stages' report."""
        outcome = self.outcome
        return replace(
            self.trace,
            reranker=None if RERANK in outcome.skipped else self.trace.reranker,
            milliseconds=self.clock.milliseconds,
            counts={**self.trace.counts, **outcome.counts},
            dropped={**self.trace.dropped, **outcome.dropped},
            degraded=(*self.trace.degraded, *outcome.notices) if outcome.skipped else self.trace.degraded,
            notes=(*self.trace.notes, *outcome.notes),
        )


def gather(plan: Plan) -> Candidates:
    """Return a table without rows that has each channel's ranking, recording facts of the best in `evidence`."""
    # A single channel needs only ranks and scores before passages are fetched.
    described = plan.fuse is not None
    found = plan.search(CandidateRequest(plan.query, plan.execution, plan.weights, plan.channels, described))
    plan.evidence.chunks = found.facts
    plan.evidence.known_cosines.update(found.cosines)
    for name, milliseconds in found.milliseconds.items():
        plan.clock.milliseconds[name] = round(plan.clock.milliseconds.get(name, 0.0) + milliseconds, 3)
    return Candidates(np.empty(0, np.int64), rankings=found.rankings)


def fuse(plan: Plan, table: Candidates) -> Candidates:
    """Turn the rankings into candidates by fused score, or by a single channel's own score."""
    if plan.fuse:
        rows = placed(pool_of(table.rankings, plan.execution.pool), table.rankings)
        return plan.fuse(rows, plan.evidence)
    return alone(*next(iter(table.rankings.items())))


def fetch(plan: Plan, table: Candidates) -> Candidates:
    """Fetch the passages of the first `plan.passages` rows, dropping chunks removed meanwhile."""
    table = table.head(plan.passages)
    reader = plan.evidence.reader
    passages = tuple(reader.catalog.hydrate(Ranking(table.ids, table[SCORE]))) if reader else ()
    if len(passages) < len(table):
        known = [int(hit.id, 16) for hit in passages]
        table = table.take(np.flatnonzero(np.isin(table.ids, known)))
    return replace(table, passages=passages)


def reaching(execution: Execution, fuse: Fuse | None, pool: int) -> Execution:
    """Return the execution with the channel depth for a pool of candidates."""
    if fuse is None:
        return replace(execution, pool=pool, limit=pool, enough=pool)
    return replace(execution, pool=pool, limit=fuse.depth(pool), enough=fuse.enough(pool))
