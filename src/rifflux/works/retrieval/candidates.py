"""Candidates for a question about works: for the question, the sides of a comparison, or a similar work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from rifflux.requests import HYBRID
from rifflux.retrieve.fuse import Fuse, ReciprocalRank
from rifflux.retrieve.pipeline import Outcome, Phase, Plan, Stopwatch, reaching
from rifflux.retrieve.table import SCORE, Candidates, joined, stacked
from rifflux.session.searching import Searcher, SearchOptions
from rifflux.text.analyzer import idf
from rifflux.types import Clause, Execution, Ranking
from rifflux.works.intent.named import NamedWork, Place
from rifflux.works.intent.sides import query_of_side
from rifflux.works.retrieval.score import SCORED, SIDE, SIDES, scored_exactly
from rifflux.works.retrieval.stages import RetrievalContext, meeting_limits

#: The number of candidates per search.
POOL = 60
#: The number of most characteristic terms that represent a work, and the characters of its text that are read.
TERMS = 25
CHARACTERS = 5_000


@dataclass(frozen=True, slots=True)
class Gathered:
    """Scored candidates, and the plan of the question that scored them; stages that read passages follow.

    `sides` are the plans that judge candidates: one for each side of a comparison, otherwise a single one.
    """

    table: Candidates
    plan: Plan
    sides: Sequence[Plan]


@dataclass(frozen=True)
class CandidateGenerator:
    """Searches for works that answer a question, by words and meaning, `POOL` deep."""

    searcher: Searcher
    context: RetrievalContext
    clock: Stopwatch

    def __call__(self) -> Gathered:
        """Return the candidates within the limits of the question and the filter."""
        question = self.context.question
        if question.decision.sides:
            found = self._of_sides(question.decision.sides)
        elif question.about:
            found = self._like(question.about)
        else:
            found = self._search(question.plan)
            if question.first:
                found = replace(found, table=self._with(question.first, found))
        notes = (*found.plan.trace.notes, *question.notes)
        trace = replace(found.plan.trace, reranker=SCORED, notes=notes, understanding=question.plan.query.understanding)
        return replace(found, plan=replace(found.plan, trace=trace))

    def _search(self, parsed: Plan, without: Place | None = None) -> Gathered:
        """Return the candidates of one search, without the named work."""
        plan = self.searcher.plan(
            replace(parsed, clock=self.clock, passages=POOL), POOL, SearchOptions(HYBRID, self.searcher.profile.fusion)
        )
        table = plan.candidates()
        table = plan.run_phase(Phase.FETCH, table)
        plan = replace(plan, trace=plan.completed_trace(), outcome=Outcome())
        if without:
            table = table.take([row for row, hit in enumerate(table.passages) if hit.place != without])
        table = scored_exactly(self.searcher.view.store, plan, table, self.context.question.decision.intent.weights)
        return Gathered(table, plan, [plan])

    def _with(self, named: NamedWork, found: Gathered) -> Candidates:
        """Return the candidates including the named work, unless the question excludes it."""
        table = found.table
        if named.hit.place in [hit.place for hit in table.passages]:
            return table
        store = self.searcher.view.store
        ranking = meeting_limits(store, found.plan.query, Ranking(np.array([named.id], np.int64), np.zeros(1)))
        more = Candidates.of_hits(store.catalog.hydrate(ranking))
        return stacked(table, scored_exactly(store, found.plan, more, self.context.question.decision.intent.weights))

    def _of_sides(self, sides: Sequence[str]) -> Gathered:
        """Return the merged candidates for both sides of a comparison."""
        plan = self.context.question.plan
        first, second = (self._search(replace(plan, query=query_of_side(plan.query, side))) for side in sides)
        return Gathered(
            _merged_tables(first.table, second.table), _merged_plans(first.plan, second.plan), [first.plan, second.plan]
        )

    def _like(self, named: NamedWork) -> Gathered:
        """Return works similar to a work, by its most characteristic words and its vector, without the work itself."""
        vector = self.searcher.view.store.semantic.vectors_of(np.array([named.id], np.int64), exact=True).get(named.id)
        plan = self._titled(named)
        title = replace(plan.query, required=(), anchors=(), specificity=0.0)
        telling = replace(title, clauses=self._telling(named), variants=(), beside=(), prefixes=())
        plan = replace(plan, execution=replace(plan.execution, vector=vector))
        found = self._search(replace(plan, query=telling), named.hit.place)
        # Relevance is judged against the work's title, since no other work has all of its words.
        return replace(found, sides=[replace(found.plan, query=title)])

    def _titled(self, named: NamedWork) -> Plan:
        """Return a work's title as a query, within the limits of the query that names it."""
        title = "".join(char if char.isalnum() else " " for char in named.hit.title)
        query = self.context.question.plan.query
        start = perf_counter()
        text = f"{title} {query.phrasing.limits}"
        plan = self.searcher.parse(text, self.context.filter, understanding=query.understanding)
        self.clock.add("understand", start)
        return plan

    def _telling(self, named: NamedWork) -> tuple[Clause, ...]:
        """Return the terms of a work that are rare elsewhere and frequent in it."""
        store = self.searcher.view.store
        document = store.catalog.document(*named.hit.place)
        if document:
            text = document.text[:CHARACTERS]
        else:
            text = named.hit.text
        counts = Counter(self.searcher.analyzer.terms(f"{named.hit.title} {text}"))
        known = store.lexical.document_frequencies(list(counts))
        chunks = store.totals().chunks
        worth = {term: count**0.5 * idf(chunks, known[term]) for term, count in counts.items() if term in known}
        best = sorted(worth, key=lambda term: (-worth[term], term))[:TERMS]
        return tuple((term,) for term in best)


def _merged_tables(first: Candidates, second: Candidates) -> Candidates:
    """Merge the candidates of two sides by reciprocal ranks, each with the row of the side that ranks it higher."""
    rankings = {str(side): Ranking(table.ids, table[SCORE]) for side, table in enumerate((first, second))}
    fused = ReciprocalRank()(joined(rankings)).head(POOL)
    one, other = (np.nan_to_num(fused[f"{side}/rank"], nan=np.inf) for side in rankings)
    answers = other <= one
    rows = np.where(answers, other + len(first), one).astype(np.int64) - 1
    table = stacked(first, second).take(rows).with_column(SCORE, fused[SCORE])
    return table.with_column(SIDE, answers.astype(np.float64)).with_column(f"{SIDES}/score", fused[SCORE])


def _merged_plans(first: Plan, second: Plan) -> Plan:
    """Return both sides of a comparison as one plan; they share a clock."""
    vectors = [plan.execution.vector for plan in (first, second) if plan.execution.vector is not None]
    mean = None
    if len(vectors) == 2:
        units = [vector / (np.linalg.norm(vector) or 1.0) for vector in vectors]
        mean = np.asarray(np.mean(units, axis=0, dtype=np.float32))
    trace = replace(
        second.trace,
        counts=_sums(first.trace.counts, second.trace.counts),
        dropped=_sums(first.trace.dropped, second.trace.dropped),
        degraded=tuple(dict.fromkeys((*first.trace.degraded, *second.trace.degraded))),
        notes=tuple(dict.fromkeys((*first.trace.notes, *second.trace.notes))),
    )
    clauses = tuple(dict.fromkeys((*first.query.clauses, *second.query.clauses)))
    return replace(
        first,
        query=replace(first.query, clauses=clauses),
        execution=replace(first.execution, vector=mean),
        trace=trace,
    )


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in (*one, *other)}


#: The maximum depth of a channel.
DEEPEST = 200


def sufficient_reach(execution: Execution, fuse: Fuse | None, pool: int) -> Execution:
    """Return the execution whose channels are read only as deep as needed."""
    execution = reaching(execution, fuse, pool)
    return replace(execution, limit=min(execution.sufficient, DEEPEST))
