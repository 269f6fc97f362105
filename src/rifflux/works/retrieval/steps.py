"""The steps of a retrieval: from the candidates of a question to works in their order.

`kind`         works of kinds that the intent leaves out go
`citations`    works that citations join with the best, or with the work that is asked about, become candidates
`works`        the best candidate of each work stays
`rerank`       works are ordered by their score, those of either side of a comparison in turn; one whose title begins
               with what was asked is not left below its place by words alone
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, repeat
from operator import attrgetter
from time import perf_counter
from typing import TypeVar

import numpy as np
import numpy.ma  # which numpy loads when `unique` is first called: within a deadline, loading would count

from rifflux.errors import RiffluxError
from rifflux.models.workers import Late, Workers
from rifflux.retrieve.pipeline import RERANK, Plan, Stage, StepSkipped
from rifflux.retrieve.steps.beginnings import PreservePrefixRank
from rifflux.retrieve.steps.rerank import DEADLINES_MS
from rifflux.retrieve.table import OUTRIGHT, RANK, SCORE, Candidates, stacked
from rifflux.session.license_policy import LicensePolicy
from rifflux.session.stages import Search
from rifflux.store import Store
from rifflux.text.analyzer import Analyzer
from rifflux.types import Filter, Hit, Identifier, Ids, Query, Ranking, Tag
from rifflux.works.intent.intents import IN, MOST_JOINED, NONE_JOINED
from rifflux.works.intent.named import BY_TITLE, CERTAINTY, Place, add_certainty, names_in
from rifflux.works.intent.question import Question
from rifflux.works.retrieval.candidates import JOINED, SIDE, allowed, settled
from rifflux.works.retrieval.score import NEAR, SCORED, WorkScore

T = TypeVar("T")
#: The step that leaves out kinds, and the stage of explanations that tells the nearness of a work.
KIND = "kind"
CITED = "cited"
NO_CITATIONS = "no citations of it are known here: those of the most similar works were followed"
NOT_TOLD = "no license permits to tell its citations: those of the most similar works were followed"
#: The codes of what was late or failed.
NO_CITATIONS_FOLLOWED = "citations.left_out"
NO_SCORES = "scores.left_out"
_LEFT_OUT = {
    NO_CITATIONS_FOLLOWED: "citations were not followed",
    NO_SCORES: "the merged order was kept, without scores",
}
_PLACE = attrgetter("place")
#: How sure it is that a work is needed to understand one that cites it.
BUILT_ON = 0.5


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Limits of a retrieval: milliseconds to follow citations, and to score.

    `year` is this year, if not today's. `skip` are the codes of what is left out as if it had been late.
    """

    expansion_ms: float = 150.0
    rerank_ms: float = DEADLINES_MS["works"]
    year: int | None = None
    skip: frozenset[str] = frozenset()


@dataclass
class WorkSteps:
    """The steps of the works profile for a question. What fails or is late is left out.

    `filter` is what was asked for besides. Next to the table, the steps leave the `candidates` that works were chosen
    of, their `identifiers` and the `tags` of these works by chunk id, the number of works found by citations (`cited`)
    and `notes` for the reader. Once citations of the work that the question is about are found, `direct` is True, and
    the intent of `question` has the weights for that. `visible` is the rule of what the caller is shown, `year` is this
    year.
    """

    store: Store
    question: Question
    analyzer: Analyzer
    filter: Filter
    settings: RetrievalSettings
    workers: Workers
    visible: LicensePolicy
    year: int
    candidates: Candidates = field(init=False)
    identifiers: Mapping[int, Sequence[Identifier]] = field(init=False)
    tags: Mapping[int, Sequence[Tag]] = field(init=False)
    cited: int = 0
    direct: bool = False
    notes: list[str] = field(default_factory=list)

    def __call__(self, search: Search) -> Sequence[Stage]:
        """Return the stages in their order; a search of works by their evidence has no others."""
        del search
        stages = [Stage("citations", self.with_cited), Stage("works", self.one_per_work), Stage(RERANK, self.by_score)]
        if self.question.decision.intent.not_kinds:
            return [Stage(KIND, self.without_kinds), *stages]
        return stages

    def without_kinds(self, plan: Plan, table: Candidates) -> Candidates:
        """Leave out passages of the kinds that the intent leaves out."""
        del plan
        kinds = self.question.decision.intent.not_kinds
        kept = table.take([row for row, hit in enumerate(table.passages) if hit.kind.lower() not in kinds])
        if dropped := len(table) - len(kept):
            self.notes.append(f"left out for their kind: {dropped} passages of notices and the like")
        return kept

    def with_cited(self, plan: Plan, table: Candidates) -> Candidates:
        """Add the works that citations join with the best, or with the one that is asked about."""
        intent = self.question.decision.intent
        best = best_of_each(table)
        found = self._within(
            self.settings.expansion_ms,
            "citations",
            partial(self._neighbors, plan.query, best),
            NO_CITATIONS_FOLLOWED,
        )
        near = {hit.place: hit.score for hit in found.hits}
        self.cited = len(near)
        self.direct = found.direct
        if found.note:
            self.notes.append(found.note)
        if self.direct and intent.about:
            intent = replace(intent, weights=intent.about)
            self.question = replace(self.question, decision=replace(self.question.decision, intent=intent))
        more = settled(self.store, plan.execution, _new(found.hits, table, intent.neighbours), intent.weights)
        table = stacked(table, more)
        nearness = np.array([*map(near.get, (_PLACE(each) for each in table.passages), repeat(np.nan))], np.float64)
        table = table.with_column(NEAR, nearness)
        if not (self.direct and intent.about):
            return table
        if intent.joined:
            sure = found.confidence
        else:
            sure = {place: BUILT_ON * each for place, each in found.confidence.items()}
        joined = np.array([sure.get(hit.place, np.nan) for hit in table.passages], np.float64)
        table = table.with_column(JOINED, joined)
        # What is asked for by citations is a list that can be complete: what is merely alike does not belong to it.
        if intent.joined:
            return table.take(np.flatnonzero(np.isfinite(nearness)))
        return table

    def one_per_work(self, plan: Plan, table: Candidates) -> Candidates:
        """Keep the best candidate of each work."""
        del plan
        self.identifiers = self.store.catalog.identifiers_of(np.unique(table.ids))
        first = self.question.first.hit.place if self.question.first else None
        table = add_certainty(names_in(self.question.text), first, table, self.identifiers, self.visible)
        works = best_of_each(table)
        self.tags = self.store.catalog.tags_of(works.ids)
        # Of the candidates, all tell how near their works are by citations, not the new ones alone.
        scores = table[f"{CITED}/{SCORE}"]
        near = np.where(np.isnan(scores), table[NEAR], scores)
        self.candidates = table.with_column(f"{CITED}/{SCORE}", near)
        return works

    def by_score(self, plan: Plan, table: Candidates) -> Candidates:
        """Order works by their scores; in the merged order they stay if scoring is late or fails."""
        score = WorkScore(
            self.store, self.question, self.analyzer, self.year, self.tags, self.visible, self.filter.tags, self.direct
        )
        ranked = self._within(self.settings.rerank_ms, SCORED, partial(score, plan, table), NO_SCORES)
        if self.question.decision.sides:
            return _alternating(ranked)
        # Where words are to count nothing, they keep nothing up either.
        worded = self.question.decision.intent.weights["lexical"] > 0 and not self.question.about
        if worded:
            return PreservePrefixRank()(plan, _surely(ranked))
        return ranked

    def unmatched(self, works: Candidates) -> list[str]:
        """Return a note for each value of the filter that no work here has: a misspelt one finds nothing."""
        tags = self.filter.tags
        sources = self.filter.metadata.get("sources", ())
        of_works = chain.from_iterable(self.tags.values())
        seen = {name.lower() for tag in of_works for name in (tag.value, f"{tag.scheme}:{tag.value}")}
        listed = {name for hit in works.passages for name in hit.metadata.get("sources", ())}
        asked = [("has the subject", name, Filter(tags=(name,))) for name in tags if name.lower() not in seen]
        lists = [name for name in sources if name not in listed]
        asked += [("is from a source", name, Filter(metadata={"sources": [name]})) for name in lists]
        for role, told in (("authors", "is by"), ("venue", "appeared in")):
            # Of one that is there, the other spellings stand beside it in the filter of the question.
            if not self._known(role):
                unknown = [*self.filter.metadata.get(role, ())]
            else:
                unknown = []
            asked += [(told, name, Filter(metadata={role: [name]})) for name in unknown]
        passes = self.store.catalog.any_passes
        return [f"no work here {told} {name!r}" for told, name, each in asked if not passes(each)]

    def _known(self, role: str) -> bool:
        """Return True if names that were given are those of works here."""
        given = self.question.query.filter.metadata.get(role)
        return bool(given) and self.store.catalog.any_passes(Filter(metadata={role: given}))

    def _within(self, milliseconds: float, name: str, work: Callable[[], T], code: str) -> T:
        """Return the result of some work. Raises `StepSkipped` with `code` if it fails, is late or is to be skipped."""
        if code in self.settings.skip:
            raise StepSkipped(f"{_LEFT_OUT[code]}: it is skipped", code)
        try:
            return self.workers(work, perf_counter() + milliseconds / 1000, name)
        except (Late, RiffluxError) as error:
            reason = str(error)
        except Exception as error:  # words of an error that was not foreseen may hold anything
            reason = type(error).__name__
        raise StepSkipped(f"{_LEFT_OUT[code]}: {reason}", code)

    # The works around the best candidates in the graph of citations, one step away

    def _neighbors(self, query: Query, works: Candidates) -> Neighborhood:
        """Return the neighbors of the work that is asked about, else of the best ones, scored by how near they are."""
        about = self.question.about
        note = ""
        if about and not self.visible.tells_facts(about.hit.place[0], about.hit.license):
            note = NOT_TOLD
        elif about:
            found = self._around(query, np.array([about.id], np.int64))
            if len(found.ranking):
                hits = self._read(found.ranking, works, about.hit.place)
                sure = {hit.place: about.certainty * found.confidence[int(hit.id, 16)] for hit in hits}
                return Neighborhood(hits, direct=True, confidence=sure)
            follow = self.question.decision.intent.follow
            if self.question.decision.intent.joined:
                note = NONE_JOINED[follow[0]]
            else:
                note = NO_CITATIONS
        found = self._around(query, works.ids[: self.question.decision.intent.seeds])
        return Neighborhood(self._read(found.ranking, works, about.hit.place if about else None), note)

    def _around(self, query: Query, seeds: Ids) -> Neighbors:
        found = neighbors(self.store, seeds, self.question.decision.intent.follow)
        return replace(found, ranking=allowed(self.store, query, found.ranking))

    def _read(self, ranking: Ranking, works: Candidates, without: Place | None) -> list[Hit]:
        """Return the passages of a ranking that are there and may stay; those of candidates are read already."""
        known = dict(zip(works.ids.tolist(), works.passages, strict=True))
        hits = []
        kinds = self.question.decision.intent.not_kinds
        if len(missing := ranking.ids[~np.isin(ranking.ids, works.ids)]):
            found = self.store.catalog.hydrate(Ranking(missing, np.zeros(len(missing))))
            known |= {int(hit.id, 16): hit for hit in found}
        for id, score in zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True):
            hit = known.get(id)
            if hit and hit.place != without and hit.kind.lower() not in kinds:
                hits.append(hit.retold(score, ()))
        return hits


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """The works around others in the graph of citations, as hits that are scored by how near they are.

    `direct` says that they are those of the work that the question is about, with the `confidence` of each citation;
    else `note` says why others were followed.
    """

    hits: Sequence[Hit]
    note: str = ""
    direct: bool = False
    confidence: Mapping[Place, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Neighbors:
    """Neighbors in the graph of citations by how near they are, and how sure the surest citation of each is."""

    ranking: Ranking
    confidence: Mapping[int, float] = field(default_factory=dict)


def neighbors(store: Store, seeds: Ids, follow: Sequence[str]) -> Neighbors:
    """Return the neighbors of seeds, which come in the order of their relevance; `follow` holds the directions.

    The nearness is the sum, over the seeds that a neighbor is linked with, of 1 / (rank of the seed + 1) times the
    link's confidence, divided by the square root of how many links the seed has: one that cites everything says little.
    Seeds that other seeds cite are among them.
    """
    if not len(seeds) or not follow:
        return Neighbors(Ranking.empty())
    scores: dict[int, float] = defaultdict(float)
    confidence: dict[int, float] = defaultdict(float)
    rank = dict(zip(seeds.tolist(), range(1, len(seeds) + 1), strict=True))
    for direction in follow:
        edges = store.catalog.linked(seeds, incoming=direction == IN)
        fan: dict[int, int] = defaultdict(int)
        for edge in edges:
            fan[edge.asked] += 1
        for edge in edges:
            scores[edge.chunk] += edge.confidence / ((rank[edge.asked] + 1) * fan[edge.asked] ** 0.5)
            confidence[edge.chunk] = max(confidence[edge.chunk], edge.confidence)
    found = np.fromiter(scores, np.int64, len(scores))
    values = np.fromiter(scores.values(), np.float64, len(scores))
    order = np.lexsort((found, -values))[:MOST_JOINED]
    return Neighbors(Ranking(found[order], values[order]), confidence)


def _new(hits: Sequence[Hit], table: Candidates, most: int) -> Candidates:
    """Return at most so many neighbors that are no candidates yet, with their places among all."""
    known = {_PLACE(each) for each in table.passages}
    ranks: list[float] = []
    new: list[Hit] = []
    for rank, hit in enumerate(hits, 1):
        if hit.place not in known and len(new) < most:
            ranks.append(rank)
            new.append(hit)
    found = Candidates.of_hits(new)
    return found.with_stage(CITED, {RANK: np.array(ranks, np.float64), SCORE: found[SCORE]})


def best_of_each(table: Candidates) -> Candidates:
    """Return the best candidate of each work, in their order."""
    first: dict[tuple[str, str], int] = {}
    for row, hit in enumerate(table.passages):
        first.setdefault(hit.place, row)
    return table.take(list(first.values()))


def _surely(table: Candidates) -> Candidates:
    """Return works, those that are named by identifier or title as what was asked for outright."""
    surely = np.maximum(np.nan_to_num(table[OUTRIGHT]), table[CERTAINTY] >= BY_TITLE)
    return table.with_column(OUTRIGHT, surely)


def _alternating(table: Candidates) -> Candidates:
    """Return the works of each side of a comparison in turn, each side's in their order; those of neither come last.

    The side of the best comes first.
    """
    side = table[SIDE]
    if not np.isfinite(side).any():
        return table
    rows = {value: np.flatnonzero(side == value).tolist() for value in dict.fromkeys(side[np.isfinite(side)].tolist())}
    turns = max(map(len, rows.values()), default=0)
    inturn = [group[turn] for turn in range(turns) for group in rows.values() if turn < len(group)]
    return table.take([*inturn, *np.flatnonzero(~np.isfinite(side)).tolist()])
