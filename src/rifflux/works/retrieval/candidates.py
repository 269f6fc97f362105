"""Candidates for a question about works, by words and meaning: of it, of the sides of a comparison, or like a work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from time import perf_counter

import numpy as np

from rifflux.retrieve.fuse import Fuse, ReciprocalRank
from rifflux.retrieve.fuse.base import Weights
from rifflux.retrieve.pipeline import Channel, Outcome, Phase, Plan, Stopwatch, channels, reaching
from rifflux.retrieve.steps.beginnings import COLUMNS as BEGUN
from rifflux.retrieve.steps.beginnings import STAGE as BEGINNING
from rifflux.retrieve.table import (
    CREDITED,
    LEXICAL,
    LIFT,
    NAMED,
    OUTRIGHT,
    RELEVANCE,
    SCORE,
    SEMANTIC,
    Candidates,
    declare,
    joined,
    stacked,
)
from rifflux.session.searching import Searcher
from rifflux.store import FieldWeights, Store
from rifflux.text.analyzer import idf
from rifflux.types import Clause, Execution, Filter, Ids, Query, Ranking, Scores, Trace
from rifflux.works.intent.named import CERTAINTY, NamedWork, Place
from rifflux.works.intent.question import Question
from rifflux.works.intent.sides import query_of_side

#: Candidates of each search.
POOL = 60
#: The most telling terms of a work stand for it, from so much of its text.
TERMS = 25
CHARACTERS = 5_000
#: The step that merges both sides of a comparison.
SIDES = "sides"
JOINED = declare("joined", "from 0 to 1", "how surely citations join the work with the one that is asked about")
SIDE = declare("side", "place from 0", "the side of a comparison that ranks the candidate better")


@dataclass(frozen=True, slots=True)
class Gathered:
    """Candidates by their scores, and the queries that they answer.

    All of them are scored by the question of `plan`, and satisfy it; its stages that read passages are still to come.
    `sides` are the questions that they are judged by: one for each side of a comparison, else a single one. The work at
    `named` is the one that the question names.
    """

    table: Candidates
    plan: Plan
    sides: Sequence[Plan]
    trace: Trace
    named: Place | None = None


@dataclass(frozen=True)
class CandidateGenerator:
    """Search for works that answer a question, by words and meaning together, `POOL` deep."""

    searcher: Searcher
    question: Question
    filter: Filter
    clock: Stopwatch

    def __call__(self) -> Gathered:
        """Return the candidates, within the limits of the question and the filter."""
        if self.question.decision.sides:
            return self._of_sides(self.question.decision.sides)
        if self.question.about:
            return self._like(self.question.about)
        found = self._gathered(self.question.plan)
        if self.question.first:
            return self._with(self.question.first, found)
        return found

    def _gathered(self, parsed: Plan, without: Place | None = None) -> Gathered:
        """Return the candidates of one search, less a work; the stages follow once those of all sides are there."""
        plan = self.searcher.plan(replace(parsed, clock=self.clock, outcome=Outcome()), POOL)
        first = [stage for stage in plan.stages if stage.phase <= Phase.FETCH]
        table = replace(plan, stages=first).ordered(POOL)
        trace = plan.completed_trace()
        if without:
            table = table.take([row for row, hit in enumerate(table.passages) if hit.place != without])
        table = settled(self.searcher.store, plan.execution, table, self.question.decision.intent.weights)
        return Gathered(table, plan, [plan], trace)

    def _with(self, named: NamedWork, found: Gathered) -> Gathered:
        """Make the named work a candidate, whatever the channels say, unless the question leaves it out."""
        table = found.table
        store = self.searcher.store
        if named.hit.place not in [hit.place for hit in table.passages]:
            ranking = allowed(store, found.plan.query, Ranking(np.array([named.id], np.int64), np.zeros(1)))
            more = Candidates.of_hits(store.catalog.hydrate(ranking))
            table = stacked(table, settled(store, found.plan.execution, more, self.question.decision.intent.weights))
        return replace(found, table=table, named=named.hit.place)

    def _of_sides(self, sides: Sequence[str]) -> Gathered:
        """Return the candidates for either side of a comparison, merged."""
        plan = self.question.plan
        first, second = (self._gathered(replace(plan, query=query_of_side(plan.query, side))) for side in sides)
        plans = [first.plan, second.plan]
        trace = _both(first.trace, second.trace)
        return Gathered(_merged(first.table, second.table), _joined(plans), plans, trace)

    def _like(self, named: NamedWork) -> Gathered:
        """Return what is like a work, by its most telling words and its vector, without the work itself."""
        vector = self.searcher.store.semantic.vectors_of(np.array([named.id], np.int64), exact=True).get(named.id)
        plan = self._titled(named)
        title = replace(plan.query, required=(), anchors=(), specificity=0.0)
        telling = replace(title, clauses=self._telling(named), variants=(), beside=(), prefixes=())
        plan = replace(plan, execution=replace(plan.execution, vector=vector))
        found = self._gathered(replace(plan, query=telling), named.hit.place)
        # How well a work answers is judged by what the other is called: none holds all of the other's words.
        return replace(found, sides=[replace(found.plan, query=title)])

    def _titled(self, named: NamedWork) -> Plan:
        """Return a work's title as a question, within the limits of the one that names it."""
        title = "".join(char if char.isalnum() else " " for char in named.hit.title)
        asked = self.question.query
        start = perf_counter()
        text = f"{title} {asked.phrasing.limits}"
        plan = self.searcher.parse(text, self.filter, understanding=asked.understanding)
        self.clock.add("understand", start)
        return plan

    def rated(self, found: Gathered, table: Candidates) -> Candidates:
        """Return candidates with their relevance for the question; if it has two sides, for the one they answer.

        The named work is what was asked for, whether or not its text says its name; so is what citations join with the
        work that is asked about, as surely as these are known.
        """
        rated = map(self.searcher.rated, found.sides, repeat(table))
        by_side = np.array([*(each[RELEVANCE] for each in rated)])
        best = np.max(by_side, axis=0)
        side = table[SIDE]
        known = np.flatnonzero(np.isfinite(side))
        best[known] = by_side[side[known].astype(np.int64), known]
        if found.named:
            best[np.array([hit.place == found.named for hit in table.passages], bool) & (table[CERTAINTY] > 0)] = 1.0
        best = np.fmax(best, table[JOINED])
        return table.with_column(RELEVANCE, best)

    def _telling(self, named: NamedWork) -> tuple[Clause, ...]:
        """Return the terms of a work that are rare elsewhere and frequent in it."""
        store = self.searcher.store
        document = store.catalog.document(*named.hit.place)
        if document:
            text = document.text[:CHARACTERS]
        else:
            text = named.hit.text
        counts = Counter(self.searcher.analyzer.terms(f"{named.hit.title} {text}"))
        known = store.lexical.document_frequencies(list(counts))
        chunks = store.counts()["chunks"]
        worth = {term: count**0.5 * idf(chunks, known[term]) for term, count in counts.items() if term in known}
        best = sorted(worth, key=lambda term: (-worth[term], term))[:TERMS]
        return tuple((term,) for term in best)


def _merged(first: Candidates, second: Candidates) -> Candidates:
    """Return the candidates of two sides by reciprocal ranks, each with the row of the side that ranks it better."""
    rankings = {str(side): Ranking(table.ids, table[SCORE]) for side, table in enumerate((first, second))}
    fused = ReciprocalRank()(joined(rankings)).head(POOL)
    one, other = (np.nan_to_num(fused[f"{side}/rank"], nan=np.inf) for side in rankings)
    answers = other <= one
    rows = np.where(answers, other + len(first), one).astype(np.int64) - 1
    table = stacked(first, second).take(rows).with_column(SCORE, fused[SCORE])
    return table.with_column(SIDE, answers.astype(np.float64)).with_column(f"{SIDES}/score", fused[SCORE])


def _joined(plans: Sequence[Plan]) -> Plan:
    """Return the sides of a comparison as one search: for what either wants."""
    vectors = [plan.execution.vector for plan in plans if plan.execution.vector is not None]
    units = [vector / (np.linalg.norm(vector) or 1.0) for vector in vectors]
    mean = np.asarray(np.mean(units, axis=0, dtype=np.float32)) if len(units) == len(plans) else None
    first = plans[0]
    clauses = tuple(dict.fromkeys(clause for plan in plans for clause in plan.query.clauses))
    return replace(first, query=replace(first.query, clauses=clauses), execution=replace(first.execution, vector=mean))


def _both(one: Trace, other: Trace) -> Trace:
    """Return the trace of two searches; their clock is one."""
    return replace(
        other,
        counts=_sums(one.counts, other.counts),
        dropped=_sums(one.dropped, other.dropped),
        degraded=tuple(dict.fromkeys((*one.degraded, *other.degraded))),
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
    )


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in (*one, *other)}


def allowed(store: Store, limits: Query, ranking: Ranking) -> Ranking:
    """Return what a search would let through: what passes the filter, and holds what must and must not be held.

    Each work is judged by the chunk that stands for it, as a search judges chunks.
    """
    ids = ranking.ids
    if limits.filter and len(ids):
        ids = ids[np.isin(ids, store.catalog.passing(limits.filter, ids))]
    for clause in limits.required if len(ids) else ():
        ids = ids[np.isin(ids, store.lexical.holding(clause, ids))]
    for clause in limits.excluded if len(ids) else ():
        ids = ids[~np.isin(ids, store.lexical.holding(clause, ids))]
    kept = np.isin(ranking.ids, ids)
    return Ranking(ranking.ids[kept], ranking.scores[kept])


#: The columns that are kept, besides those of the channels.
_KEPT = ("anchors/", "cited/", f"{BEGINNING}/")
_ALSO = (LIFT, NAMED, OUTRIGHT, CREDITED, *BEGUN)


def settled(store: Store, execution: Execution, table: Candidates, weights: Weights) -> Candidates:
    """Return the rows by their BM25 and the cosine of the tables, as both are weighed.

    Scores are shares of the greatest; ranks are among these rows, ties by chunk id. What is not among the best by words
    has nothing for them.
    """
    if not len(table):
        return table
    lexical = np.nan_to_num(table[f"{LEXICAL}/score"])
    semantic = np.nan_to_num(np.maximum(store.semantic.cosines_of(execution.vector, table.ids), 0.0))
    columns: dict[str, Scores] = {}
    for name, scores in {LEXICAL: lexical, SEMANTIC: semantic}.items():
        known = scores > 0
        columns[f"{name}/rank"] = np.where(known, _ranks(scores, table.ids), np.nan)
        columns[f"{name}/score"] = np.where(known, scores, np.nan)
    for name in table.columns:
        if name in _ALSO or name.startswith(_KEPT):
            columns[name] = table[name]
    total = weights["lexical"] + weights["semantic"]
    if total:
        words = weights["lexical"] / total
    else:
        words = 0.5
    merged = words * share(lexical) + (1 - words) * share(semantic)
    return replace(table, columns=columns, rankings={}).scored(merged)


def share(values: Scores) -> Scores:
    """Return values as shares of the greatest; zero where there is none above zero."""
    greatest = values.max(initial=0.0)
    return values / greatest if greatest > 0 else np.zeros(len(values))


def _ranks(scores: Scores, ids: Ids) -> Scores:
    order = np.lexsort((ids, -scores))
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


# Channels of retrieval's own, so that equal indexes name equal candidates: derived indexes round lengths to a byte and
# vectors to sixteen bits, and what was added since they were made would change the last digits


#: No channel is read deeper.
DEEPEST = 200
#: Name so many more candidates than are kept, so that rounding of the last of them does not matter.
MORE = 1.5
#: So few terms give very many passages nearly one score: the tables name them.
FEW_TERMS = 2


@dataclass(frozen=True)
class ExactLexical:
    """Rank by words with the scores of the tables: `channel` names more candidates than are wanted, and may round."""

    channel: Channel
    store: Store
    fields: FieldWeights

    def __call__(self, query: Query, execution: Execution) -> Ranking:
        """Return the best chunks for a query by the tables' scores, ties by chunk id."""
        if len(set(chain.from_iterable(query.clauses))) <= FEW_TERMS:
            return self.channel(query, replace(execution, exact=True))
        found = self.channel(query, replace(execution, limit=int(MORE * execution.limit), enough=0)).ids
        scores = self.store.lexical.bm25_of(query, found, self.fields)
        order = np.lexsort((found, -scores))[: execution.limit]
        return Ranking(found[order], scores[order])


def sufficient_reach(execution: Execution, fuse: Fuse | None, pool: int) -> Execution:
    """Return the execution whose channels are read as deep as suffices, no deeper even where that costs nothing."""
    execution = reaching(execution, fuse, pool)
    return replace(execution, limit=min(execution.sufficient, DEEPEST))


def exact_channels(store: Store, weights: FieldWeights) -> Mapping[str, Channel]:
    """Return the channels of a store, that of words with the scores of the tables."""
    found = channels(store, weights)
    return {**found, LEXICAL: ExactLexical(found[LEXICAL], store, weights)}
