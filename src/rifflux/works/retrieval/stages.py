"""The search for candidates about works, and the stages from these to works in their order.

Candidates are found for the question, for both sides of a comparison, or for a similar work. The stages are:

`kind`         passages of kinds that the intent leaves out go
`citations`    works that citations join with the best, or with the work that the question is about, become candidates
`names`        how surely the question names each candidate
`works`        the best candidate of each work stays
`rerank`       works are ordered by their score, those of either side of a comparison in turn; one whose title begins
               with the question is not left below its place by words alone
`licenses`     works go of which the caller may not know that they are by whom the question names
`unmatched`    what the question or its filter names and no work here has is noted
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TypeVar

import numpy as np
import numpy.ma  # loaded by the first `np.unique`, which could be within a deadline

from rifflux.errors import Cure, RiffluxError
from rifflux.evidence.pack import Packer
from rifflux.models.workers import Late, Workers
from rifflux.requests import HYBRID
from rifflux.retrieve.fuse import Fuse, ReciprocalRank
from rifflux.retrieve.pipeline import RERANK, Outcome, Phase, Plan, Stage, StepSkipped, Stopwatch, reaching
from rifflux.retrieve.steps.beginnings import PreservePrefixRank
from rifflux.retrieve.steps.rerank import DEADLINES_MS
from rifflux.retrieve.table import RANK, SCORE, Candidates, joined, stacked
from rifflux.session.license_policy import LicensePolicy
from rifflux.session.profile import FETCH, PAGE, Profile
from rifflux.session.searching import Licenses, Searcher, SearchOptions
from rifflux.session.session import IndexView
from rifflux.store import Store, holding
from rifflux.text.analyzer import idf
from rifflux.text.schemes import STRONG, parse_identifier
from rifflux.types import Clause, Execution, Filter, Hit, Ids, Notice, Query, Ranking
from rifflux.works.intent.classify import Question
from rifflux.works.intent.intents import IN, MOST_JOINED, NONE_JOINED, Intent
from rifflux.works.intent.named import MarkNamed, NamedWork, Place, identifier_candidates
from rifflux.works.intent.sides import query_of_side
from rifflux.works.retrieval.score import (
    DIRECT,
    JOINED,
    NEAR,
    SCORED,
    SIDE,
    SIDES,
    WorkScore,
    intent_of,
    scored_exactly,
)

T = TypeVar("T")
#: The stage that drops kinds, and the explanation stage of citation nearness.
KIND = "kind"
CITED = "cited"
NO_CITATIONS = "no citations of it are known here: those of the most similar works were followed"
UNDISCLOSED = "no license permits to tell its citations: those of the most similar works were followed"
#: Codes of notices about late or failed stages.
NO_CITATIONS_FOLLOWED = "citations.left_out"
NO_SCORES = "scores.left_out"
#: The number of titles that are suggested for an unknown identifier.
NEAREST = 3
#: The confidence of a prerequisite, given a citation.
BUILT_ON = 0.5


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """The limits of a retrieval: milliseconds for following citations, and for scoring.

    `year` is the current year by default. `skip` are codes of stages to skip as if they had been late.
    """

    expansion_ms: float = 150.0
    rerank_ms: float = DEADLINES_MS["works"]
    year: int | None = None
    skip: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalContext:
    """What the stages and the packer of one retrieval need.

    The view, the question with its intent, the explicit filter, the current year, and what licenses disclose.
    """

    view: IndexView
    question: Question
    filter: Filter
    packer: Packer
    settings: RetrievalSettings
    year: int
    visible: LicensePolicy

    @property
    def profile(self) -> Profile:
        """Return the view's profile, extended by the stages of this retrieval."""
        view = self.view
        question = self.question
        settings = self.settings
        limit = partial(TimeLimit, workers=view.session.workers, skip=settings.skip)
        profile = view.profile
        stages: list[str | Stage] = [*profile.stages[: profile.stages.index(FETCH) + 1]]
        # Complete the candidates: drop kinds, add works from citations, mark those that the question names.
        if not_kinds := question.decision.intent.not_kinds:
            stages.append(Stage(KIND, WithoutKinds(not_kinds)))
        in_time = limit(
            name="citations",
            milliseconds=settings.expansion_ms,
            code=NO_CITATIONS_FOLLOWED,
            effect="they were not followed",
        )
        stages.append(Stage("citations", FollowCitations(view.store, question, self.visible, in_time)))
        first = question.first.hit.place if question.first else None
        stages.append(Stage("names", MarkNamed(question.text, first, self.visible), timed=False))
        # Reduce them to works, and order these.
        in_time = limit(
            name=SCORED,
            milliseconds=settings.rerank_ms,
            code=NO_SCORES,
            effect="works stay in the merged order",
        )
        score = WorkScore(view.store, question, profile.analyzer, self.year, self.visible, self.filter.tags)
        stages += [
            PAGE,
            Stage("works", best_of_each),
            Stage(RERANK, OrderByScore(score, in_time)),
            Stage("licenses", Licenses(view).disclosable, timed=False),
            Stage("unmatched", NoteUnmatched(view.store, question, self.filter), timed=False),
        ]
        return replace(profile, stages=tuple(stages))


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Limits a stage to some milliseconds; it is skipped if late, failed, or named in `skip` by its `code`.

    `effect` describes the consequence.
    """

    workers: Workers
    name: str
    milliseconds: float
    code: str
    effect: str
    skip: frozenset[str] = frozenset()

    def __call__(self, work: Callable[[], T]) -> T:
        """Return the result of a function. Raises `StepSkipped`."""
        if self.code in self.skip:
            raise StepSkipped(f"{self.effect}: it is skipped", self.code)
        try:
            return self.workers(work, perf_counter() + self.milliseconds / 1000, self.name)
        except (Late, RiffluxError) as error:
            reason = str(error)
        except Exception as error:  # an unforeseen error may contain anything
            reason = type(error).__name__
        raise StepSkipped(f"{self.effect}: {reason}", self.code)


@dataclass(frozen=True, slots=True)
class WithoutKinds:
    """Drops passages of some kinds."""

    kinds: Sequence[str]

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the remaining candidates, and record the number dropped."""
        others = table.take([row for row, hit in enumerate(table.passages) if hit.kind.lower() not in self.kinds])
        if dropped := len(table) - len(others):
            text = f"left out for their kind: {dropped} passages of notices and the like"
            plan.outcome.notes.append(Notice("works.left_out_kinds", text, data={"passages": dropped}))
        return others


def best_of_each(plan: Plan, table: Candidates) -> Candidates:
    """Return the best candidate of each work, in order."""
    del plan
    first: dict[Place, int] = {}
    for row, hit in enumerate(table.passages):
        first.setdefault(hit.place, row)
    return table.take(list(first.values()))


@dataclass(frozen=True, slots=True)
class OrderByScore:
    """Orders works by their scores; if scoring is late or fails, the fused order stands."""

    score: WorkScore
    in_time: TimeLimit

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the works in order."""
        ranked = self.in_time(partial(self.score, plan, table))
        question = self.score.question
        if question.decision.sides:
            return _alternating(ranked)
        # An intent that gives words no weight needs no exact lexical scores.
        if question.decision.intent.weights["lexical"] > 0 and not question.about:
            return PreservePrefixRank()(plan, ranked)
        return ranked


def _alternating(table: Candidates) -> Candidates:
    """Interleave the works of both sides of a comparison, beginning with the best; those of neither side come last."""
    side = table[SIDE]
    if not np.isfinite(side).any():
        return table
    rows = {value: np.flatnonzero(side == value).tolist() for value in dict.fromkeys(side[np.isfinite(side)].tolist())}
    turns = max(len(group) for group in rows.values())
    in_turn = [group[turn] for turn in range(turns) for group in rows.values() if turn < len(group)]
    return table.take([*in_turn, *np.flatnonzero(~np.isfinite(side)).tolist()])


@dataclass(frozen=True, slots=True)
class NoteUnmatched:
    """Notes names and identifiers of the question or its filter that no work here has, such as misspelt ones."""

    store: Store
    question: Question
    filter: Filter

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the works unchanged."""
        notes = plan.outcome.notes
        catalog = self.store.catalog
        if not self.store.totals().has_works:
            notes.append(Notice("works.none", "this index has no works to retrieve", Cure.IMPORT_WORKS))
        titles = "; ".join(repr(hit.title) for hit in table.passages[:NEAREST])
        nearest = f"the nearest titles here are {titles}" if titles else "nothing here is near it"
        # These identifiers mean one work everywhere.
        parsed = [parse_identifier(each) for each in identifier_candidates(self.question.plan.query.phrasing.body)]
        identifiers = dict.fromkeys(str(each) for each in parsed if each and each.scheme in (*STRONG, "isbn"))
        known = catalog.identified([*identifiers]) if identifiers else {}
        for name in [each for each in identifiers if each not in known]:
            text = f"no work here has the identifier {name}: {nearest}"
            notes.append(Notice("works.no_identifier", text, data={"identifier": name}))
        for condition, name, filter in self._conditions(table) if self.filter else ():
            if not catalog.any_passes(filter):
                text = f"no work here {condition} {name!r}"
                notes.append(Notice("works.unmatched", text, data={"condition": condition, "name": name}))
        return table

    def _conditions(self, table: Candidates) -> Iterator[tuple[str, str, Filter]]:
        """Yield each condition of the filter that these works do not meet: its value, and a filter with it alone."""
        catalog = self.store.catalog
        tags = chain.from_iterable(catalog.tags_of(table.ids).values())
        known = {name.lower() for tag in tags for name in (tag.value, f"{tag.scheme}:{tag.value}")}
        for tag in self.filter.tags:
            if tag.lower() not in known:
                yield "has the subject", tag, Filter(tags=(tag,))
        sources = {name for hit in table.passages for name in hit.metadata.get("sources", ())}
        for name in self.filter.metadata.get("sources", ()):
            if name not in sources:
                yield "is from a source", name, Filter(metadata={"sources": [name]})
        for role, condition in (("authors", "is by"), ("venue", "appeared in")):
            # For a known name, the filter of the question holds its other spellings too.
            given = self.question.plan.query.filter.metadata.get(role)
            if not (given and catalog.any_passes(Filter(metadata={role: given}))):
                for name in self.filter.metadata.get(role, ()):
                    yield condition, name, Filter(metadata={role: [name]})


# Following citations, one step from the best candidates


@dataclass(frozen=True, slots=True)
class FollowCitations:
    """Adds works linked by citations to the best candidates, or to the work that the question is about."""

    store: Store
    question: Question
    visible: LicensePolicy
    in_time: TimeLimit

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates and the added works, with their nearness."""
        plan.outcome.counts[CITED] = 0
        best = best_of_each(plan, table)
        found = self.in_time(partial(self._neighbors, plan.query, best))
        plan.outcome.counts[CITED] = len(found.hits)
        if found.note:
            plan.outcome.notes.append(Notice("works.citations", found.note))
        intent = intent_of(self.question, direct=found.direct)
        known = {hit.place for hit in table.passages}
        new = {rank: hit for rank, hit in enumerate(found.hits, 1) if hit.place not in known}
        ranks = [*new][: intent.neighbours]
        more = Candidates.of_hits([new[rank] for rank in ranks])
        more = more.with_stage(CITED, {RANK: np.array(ranks, np.float64), SCORE: more[SCORE]})
        table = stacked(table, scored_exactly(self.store, plan, more, intent.weights))
        near = {hit.place: hit.score for hit in found.hits}
        nearness = np.array([near.get(hit.place, np.nan) for hit in table.passages], np.float64)
        table = table.with_column(NEAR, nearness)
        if not found.direct:
            return table
        table = table.with_column(DIRECT, np.ones(len(table)))
        if not intent.about:
            return table
        sure = found.confidence
        if not intent.joined:
            sure = {place: BUILT_ON * confidence for place, confidence in sure.items()}
        joined = np.array([sure.get(hit.place, np.nan) for hit in table.passages], np.float64)
        table = table.with_column(JOINED, joined)
        # The answer is a list of citations that can be complete; works that are merely similar do not belong in it.
        if intent.joined:
            return table.take(np.flatnonzero(np.isfinite(nearness)))
        return table

    def _neighbors(self, query: Query, works: Candidates) -> Neighborhood:
        """Return the neighbors of the question's work, or else of the best candidates, by nearness."""
        about = self.question.about
        intent = self.question.decision.intent
        note = ""
        if about and not self.visible.discloses_facts(about.hit.place[0], about.hit.license):
            note = UNDISCLOSED
        elif about:
            ranking, confidence = neighbors(self.store, query, np.array([about.id], np.int64), intent)
            if len(ranking):
                hits = self._read(ranking, works)
                sure = {hit.place: about.certainty * confidence[int(hit.id, 16)] for hit in hits}
                return Neighborhood(hits, direct=True, confidence=sure)
            note = NONE_JOINED[intent.follow[0]] if intent.joined else NO_CITATIONS
        ranking, _ = neighbors(self.store, query, works.ids[: intent.seeds], intent)
        return Neighborhood(self._read(ranking, works), note)

    def _read(self, ranking: Ranking, works: Candidates) -> list[Hit]:
        """Return the passages of a ranking that exist and pass the filter, reusing those of candidates."""
        known = dict(zip(works.ids.tolist(), works.passages, strict=True))
        missing = ranking.ids[~np.isin(ranking.ids, works.ids)]
        if len(missing):
            found = self.store.catalog.hydrate(Ranking(missing, np.zeros(len(missing))))
            known |= {int(hit.id, 16): hit for hit in found}
        about = self.question.about and self.question.about.hit.place
        kinds = self.question.decision.intent.not_kinds
        hits = []
        for id, score in zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True):
            hit = known.get(id)
            if hit and hit.place != about and hit.kind.lower() not in kinds:
                hits.append(hit.retold(score=score, why=()))
        return hits


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """Works around others in the citation graph, as hits scored by nearness.

    `direct` means neighbors of the question's own work, with the `confidence` of each citation; otherwise `note`
    explains why others were followed.
    """

    hits: Sequence[Hit]
    note: str = ""
    direct: bool = False
    confidence: Mapping[Place, float] = field(default_factory=dict)


def neighbors(store: Store, query: Query, seeds: Ids, intent: Intent) -> tuple[Ranking, Mapping[int, float]]:
    """Return the neighbors of seeds in the citation graph that the query admits, with the surest citation of each.

    Seeds are ordered by relevance; seeds that other seeds cite are among the neighbors. The nearness is the sum, over
    linked seeds, of confidence / (rank of the seed + 1), divided by the square root of the seed's number of links,
    since one that cites everything says little.
    """
    scores: dict[int, float] = defaultdict(float)
    confidence: dict[int, float] = defaultdict(float)
    rank = {seed: place for place, seed in enumerate(seeds.tolist(), 1)}
    for direction in intent.follow if rank else ():
        edges = store.catalog.linked(seeds, incoming=direction == IN)
        fan: dict[int, int] = defaultdict(int)
        for edge in edges:
            fan[edge.requested] += 1
        for edge in edges:
            scores[edge.chunk] += edge.confidence / ((rank[edge.requested] + 1) * fan[edge.requested] ** 0.5)
            confidence[edge.chunk] = max(confidence[edge.chunk], edge.confidence)
    found = np.fromiter(scores, np.int64, len(scores))
    values = np.fromiter(scores.values(), np.float64, len(scores))
    order = np.lexsort((found, -values))[:MOST_JOINED]
    return meeting_limits(store, query, Ranking(found[order], values[order])), confidence


def meeting_limits(store: Store, query: Query, ranking: Ranking) -> Ranking:
    """Return the entries that pass a query's filter, required clauses and exclusions.

    Each work is judged by its representative chunk, as a search judges chunks.
    """
    ids = ranking.ids
    if query.filter and len(ids):
        ids = ids[np.isin(ids, store.catalog.passing(query.filter, ids))]
    for clause in query.required if len(ids) else ():
        ids = holding(store.lexical, clause, ids)
    for clause in query.excluded if len(ids) else ():
        ids = ids[~np.isin(ids, holding(store.lexical, clause, ids))]
    passing = np.isin(ranking.ids, ids)
    return Ranking(ranking.ids[passing], ranking.scores[passing])


# The search for candidates

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
        vector = self.searcher.view.store.semantic.vectors_of(np.array([named.id], np.int64)).get(named.id)
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
