"""The steps of a retrieval: from the candidates of a question to works in their order.

`kind`         works of kinds that the intent leaves out go
`citations`    works that citations join with the best, or with the work that is asked about, become candidates
`works`        the best candidate of each work stays
`rerank`       works are ordered by their score, those of either side of a comparison in turn; one whose title begins
               with what was asked is not left below its place by words alone

The score of a work is a weighted sum of six components, each in [0, 1], each shown. Works of an author, a venue or a
year that the question names gain an addend for each, such as `by: Dijkstra`.

`lexical`      BM25 of its best passage, lifted where the question names it to the letter, as a share of the greatest
`semantic`     cosine of its best passage with the question, as a share of the greatest
`citation`     how near it is to the best candidates in the graph of citations, as a share of the greatest
`field_match`  how nearly one of its subjects is what was asked: the share that both have of all terms of either,
               squared, so that words in common say little and a subject that is the question says all. Of subjects
               that are codes, those that the best candidates have too, for a quarter. Where subjects were asked for,
               how many of those it has
`freshness`    halved with every `half_life_years` of age; zero without a year, or one that may not be shown
`authority`    log(1 + the works here that cite it), as a share of that of `most_citations`; never above 1

A work that the question names (see `named`) has all that words can say, one that is looked up by its identifier or
title has all that words, meaning and subjects can say. Of one
where no facts are told, neither year nor citations are shown, so freshness and authority say nothing of it.

Nothing is taken away for age, and what is cited ever so often gets no more than `most_citations` give: an old work that
answers stays where its words and meaning put it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain, repeat
from operator import attrgetter
from time import perf_counter
from typing import TypeVar

import numpy as np

from rifflux.errors import RiffluxError
from rifflux.models.workers import Late, Workers
from rifflux.retrieve.fuse.base import weighed
from rifflux.retrieve.pipeline import RERANK, NotApplied, Step
from rifflux.retrieve.steps.beginnings import KeptUp
from rifflux.retrieve.steps.credits import credited
from rifflux.retrieve.table import LEXICAL, LIFT, OUTRIGHT, RANK, SCORE, SEMANTIC, Candidates, declare, stacked
from rifflux.session.visibility import Visibility
from rifflux.store import Store
from rifflux.text.analyzer import Analyzer
from rifflux.text.schemes import WORDED
from rifflux.types import Filter, Hit, Identifier, Ids, Query, Ranking, Scores, Tag
from rifflux.works.retrieval.candidates import SIDE, allowed, settled, share
from rifflux.works.retrieval.intent import IN, MOST_JOINED, NONE_JOINED
from rifflux.works.retrieval.named import BY_TITLE, CERTAINTY, certain_of
from rifflux.works.retrieval.question import Place, Question

__all__ = [
    "CITED",
    "KIND",
    "NOT_FOLLOWED",
    "NOT_SCORED",
    "SCORED",
    "VALUE",
    "RetrievalSettings",
    "WorkScore",
    "WorkSteps",
]

T = TypeVar("T")
#: The step that leaves out kinds, and the stages of explanations: the nearness of a work, and its score.
KIND, CITED, SCORED = "kind", "cited", "works"
declare("works/*", "share of the score", "what a component of a work's score adds to it")
#: Begins the names of components before weighing.
VALUE = "component "
declare("component *", "share from 0 to 1", "a component of a work's score, before weighing")
NEAR = declare("near", "sum of confidences by rank", "how near a work is to the best candidates by citations")
#: The weight of codes that the best candidates share, next to words of the question itself.
CODED = 0.25
NO_CITATIONS = "no citations of it are known here: those of the most similar works were followed"
NOT_TOLD = "no license permits to tell its citations: those of the most similar works were followed"
#: Begin the notes on what was late or failed.
NOT_FOLLOWED, NOT_SCORED = "citations were not followed", "the merged order was kept, without scores"
#: What a work's score gains by being by whom the question names: of one that is sure, more than all components give.
NAMED_SURELY, NAMED_LIKELY = 1.0, 0.2
_PLACE = attrgetter("place")


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Limits of a retrieval: milliseconds to follow citations, and to score.

    `year` is this year, if not today's. `without` are the notes of what is left out as if it had been late.
    """

    expansion_ms: float = 50.0
    rerank_ms: float = 200.0
    year: int | None = None
    without: tuple[str, ...] = ()


@dataclass
class WorkSteps:
    """The steps of the works profile for a question. What fails or is late is left out.

    `filter` is what was asked for besides. Next to the table, the steps leave the `candidates` that works were chosen
    of, their `identifiers` and the `tags` of these works by chunk id, the number of works found by citations (`cited`)
    and `notes` for the reader. `visible` is the rule of what the caller is shown, `year` is this year.
    """

    store: Store
    question: Question
    analyzer: Analyzer
    filter: Filter
    settings: RetrievalSettings
    workers: Workers
    visible: Visibility
    year: int
    candidates: Candidates = field(init=False)
    identifiers: Mapping[int, Sequence[Identifier]] = field(init=False)
    tags: Mapping[int, Sequence[Tag]] = field(init=False)
    cited: int = 0
    notes: list[str] = field(default_factory=list)

    def __call__(self, reranker: Step | None, further: Sequence[tuple[str, Step]]) -> Sequence[tuple[str, Step]]:
        """Return the steps by name, in their order; a search of works by their evidence has no others."""
        del reranker, further
        steps = [("citations", self.with_cited), ("works", self.one_per_work), (RERANK, self.by_score)]
        return [(KIND, self.without_kinds), *steps] if self.question.asked.intent.not_kinds else steps

    def without_kinds(self, query: Query, table: Candidates) -> Candidates:
        """Leave out passages of the kinds that the intent leaves out."""
        del query
        kinds = self.question.asked.intent.not_kinds
        kept = table.take([row for row, hit in enumerate(table.passages) if hit.kind.lower() not in kinds])
        if dropped := len(table) - len(kept):
            self.notes.append(f"left out for their kind: {dropped} passages of notices and the like")
        return kept

    def with_cited(self, query: Query, table: Candidates) -> Candidates:
        """Add the works that citations join with the best, or with the one that is asked about."""
        intent, best = self.question.asked.intent, best_of_each(table)
        hits, note = self._within(
            self.settings.expansion_ms,
            "citations",
            partial(self._neighbors, query, best),
            NOT_FOLLOWED,
        )
        self.cited, near = len(hits), dict(map(attrgetter("place", "score"), hits))
        self.notes += [note] if note else []
        more = settled(self.store, query, _new(hits, table, intent.neighbours), intent.weights)
        table = stacked(table, more)
        nearness = np.array([*map(near.get, map(_PLACE, table.passages), repeat(np.nan))], np.float64)
        table = table.with_column(NEAR, nearness)
        # What is asked for by citations is a list that can be complete: what is merely alike does not belong to it.
        return table.take(np.flatnonzero(np.isfinite(nearness))) if intent.joined and near and not note else table

    def one_per_work(self, query: Query, table: Candidates) -> Candidates:
        """Keep the best candidate of each work."""
        del query
        self.identifiers = self.store.catalog.identifiers_of(np.unique(table.ids))
        table = certain_of(self.question, table, self.identifiers, self.visible)
        works = best_of_each(table)
        self.tags = self.store.catalog.tags_of(works.ids)
        # Of the candidates, all tell how near their works are by citations, not the new ones alone.
        scores = table[f"{CITED}/{SCORE}"]
        near = np.where(np.isnan(scores), table[NEAR], scores)
        self.candidates = table.with_column(f"{CITED}/{SCORE}", near)
        return works

    def by_score(self, query: Query, table: Candidates) -> Candidates:
        """Order works by their scores; in the merged order they stay if scoring is late or fails."""
        score = WorkScore(
            self.store, self.question, self.analyzer, self.year, self.tags, self.visible, self.filter.tags
        )
        ranked = self._within(self.settings.rerank_ms, SCORED, partial(score, query, table), NOT_SCORED)
        if self.question.asked.sides:
            return _alternating(ranked)
        return ranked if self.question.about else KeptUp()(query, _surely(ranked))

    def unmatched(self, works: Candidates) -> list[str]:
        """Return a note for each value of the filter that no work here has: a misspelt one finds nothing."""
        tags, sources = self.filter.tags, self.filter.metadata.get("sources", ())
        of_works = chain.from_iterable(self.tags.values())
        seen = {name.lower() for tag in of_works for name in (tag.value, f"{tag.scheme}:{tag.value}")}
        listed = {name for hit in works.passages for name in hit.metadata.get("sources", ())}
        asked = [("has the subject", name, Filter(tags=(name,))) for name in tags if name.lower() not in seen]
        lists = [name for name in sources if name not in listed]
        asked += [("is from a source", name, Filter(metadata={"sources": [name]})) for name in lists]
        for role, told in (("authors", "is by"), ("venue", "appeared in")):
            # Of one that is there, the other spellings stand beside it in the filter of the question.
            unknown = [*self.filter.metadata.get(role, ())] if not self._known(role) else []
            asked += [(told, name, Filter(metadata={role: [name]})) for name in unknown]
        passes = self.store.catalog.any_passes
        return [f"no work here {told} {name!r}" for told, name, each in asked if not passes(each)]

    def _known(self, role: str) -> bool:
        """Return True if names that were given are those of works here."""
        given = self.question.query.filter.metadata.get(role)
        return bool(given) and self.store.catalog.any_passes(Filter(metadata={role: given}))

    def _within(self, milliseconds: float, name: str, work: Callable[[], T], otherwise: str) -> T:
        """Return the result of some work. Raises `NotApplied` if it fails or is late."""
        for note in self.settings.without:
            if note.startswith(f"{otherwise}: "):
                raise NotApplied(note)
        try:
            return self.workers(work, perf_counter() + milliseconds / 1000, name)
        except (Late, RiffluxError) as error:
            reason = str(error)
        except Exception as error:  # words of an error that was not foreseen may hold anything
            reason = type(error).__name__
        raise NotApplied(f"{otherwise}: {reason}")

    # The works around the best candidates in the graph of citations, one step away

    def _neighbors(self, query: Query, works: Candidates) -> tuple[list[Hit], str]:
        """Return the neighbors of the work that is asked about, else of the best ones, scored by how near they are.

        The note says why those of the best were followed.
        """
        about, note = self.question.about, ""
        if about and not self.visible.tells_facts(about.hit.place[0], about.hit.license):
            note = NOT_TOLD
        elif about:
            found = self._around(query, np.array([about.id], np.int64))
            if len(found):
                return self._read(found, works, about.hit.place), ""
            follow = self.question.asked.intent.follow
            note = NONE_JOINED[follow[0]] if self.question.asked.intent.joined else NO_CITATIONS
        found = self._around(query, works.ids[: self.question.asked.intent.seeds])
        return self._read(found, works, about.hit.place if about else None), note

    def _around(self, query: Query, seeds: Ids) -> Ranking:
        return allowed(self.store, query, neighbors(self.store, seeds, self.question.asked.intent.follow))

    def _read(self, ranking: Ranking, works: Candidates, without: Place | None) -> list[Hit]:
        """Return the passages of a ranking that are there and may stay; those of candidates are read already."""
        known, hits = dict(zip(works.ids.tolist(), works.passages, strict=True)), []
        kinds = self.question.asked.intent.not_kinds
        if len(missing := ranking.ids[~np.isin(ranking.ids, works.ids)]):
            found = self.store.catalog.hydrate(Ranking(missing, np.zeros(len(missing))))
            known |= {int(hit.chunk_id, 16): hit for hit in found}
        for id, score in zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True):
            hit = known.get(id)
            if hit and hit.place != without and hit.kind.lower() not in kinds:
                hits.append(hit.retold(score, ()))
        return hits


def neighbors(store: Store, seeds: Ids, follow: Sequence[str]) -> Ranking:
    """Return the neighbors of seeds by their first chunks and how near they are; `follow` holds the directions.

    The nearness is the sum, over the seeds that a neighbor is linked with, of 1 / (rank of the seed + 1) times the
    link's confidence, divided by the square root of how many links the seed has: one that cites everything says little.
    Seeds that other seeds cite are among them.
    """
    if not len(seeds) or not follow:
        return Ranking.empty()
    scores: dict[int, float] = defaultdict(float)
    rank = dict(zip(seeds.tolist(), range(1, len(seeds) + 1), strict=True))
    for direction in follow:
        edges = store.catalog.linked(seeds, incoming=direction == IN)
        fan: dict[int, int] = defaultdict(int)
        for edge in edges:
            fan[edge.asked] += 1
        for edge in edges:
            scores[edge.chunk] += edge.confidence / ((rank[edge.asked] + 1) * fan[edge.asked] ** 0.5)
    found = np.fromiter(scores, np.int64, len(scores))
    values = np.fromiter(scores.values(), np.float64, len(scores))
    order = np.lexsort((found, -values))[:MOST_JOINED]
    return Ranking(found[order], values[order])


def _new(hits: Sequence[Hit], table: Candidates, most: int) -> Candidates:
    """Return at most so many neighbors that are no candidates yet, with their places among all."""
    known, ranks, new = set(map(_PLACE, table.passages)), list[float](), list[Hit]()
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


@dataclass(frozen=True)
class WorkScore:
    """Score a table of one passage a work by BM25, cosine, nearness and the works' own facts. `year` is this year.

    `tags` are the subjects of the works, by chunk id, `subjects` those that were asked for; `visible` says of
    which works the facts are told.
    """

    store: Store
    question: Question
    analyzer: Analyzer
    year: int
    tags: Mapping[int, Sequence[Tag]]
    visible: Visibility
    subjects: Sequence[str] = ()
    leaders: int = 10
    half_life_years: float = 10.0
    most_citations: int = 100

    def __call__(self, query: Query, table: Candidates) -> Candidates:
        """Return the works by their scores, ties by chunk id, with a column for each component and its addend."""
        if not len(table):
            return table
        values = self.components(table)
        scores, addends = weighed(values, self.question.asked.intent.weights.shares())
        for credit in query.credits:
            worth = NAMED_SURELY if credit.sure or query.credits_only else NAMED_LIKELY
            addends = {**addends, credit.shown: worth * credited(self.store, credit, table.ids)}
            scores = scores + addends[credit.shown]
        for name, column in values.items():
            table = table.with_column(VALUE + name, column)
        table = table.with_stage(SCORED, {SCORE: scores, **addends}).scored(scores)
        return table.with_column(f"{SCORED}/{RANK}", table.ranks())

    def components(self, table: Candidates) -> dict[str, Scores]:
        """Return the six components of each work, in [0, 1]."""
        hits, first = table.passages, self.question.first and self.question.first.hit.place
        named, open = np.zeros(len(hits), bool), np.zeros(len(hits), bool)
        for row, hit in enumerate(hits):
            named[row], open[row] = hit.place == first, self.visible.tells_facts(hit.place[0], hit.license)
        named &= table[CERTAINTY] > 0
        lift = np.where(np.isnan(table[LIFT]), 1.0, table[LIFT])
        return {
            "lexical": np.maximum.reduce(
                [share(np.nan_to_num(table[f"{LEXICAL}/score"]) * lift), named, table[CERTAINTY] > 0]
            ),
            "semantic": np.maximum(share(np.nan_to_num(table[f"{SEMANTIC}/score"])), named),
            "citation": share(np.nan_to_num(table[NEAR])),
            "field_match": np.maximum(self._field_match(table.ids), named),
            # The year in another form, and shown.
            "freshness": self._freshness(hits) * open,
            "authority": self._authority(table.ids) * open,
        }

    def _field_match(self, ids: Ids) -> Scores:
        tags = [*map(self.tags.get, ids.tolist(), repeat(()))]
        if self.subjects:
            wanted = {_plain(each): 1.0 for each in self.subjects}
            return share(np.array([*map(_overlap, tags, repeat(wanted))]))
        about = self.question.about
        words = frozenset(self.analyzer.terms(about.hit.title) if about else self.question.query.terms)
        named, codes = np.zeros(len(tags)), [*map(list[Tag], repeat((), len(tags)))]
        for row, each in enumerate(tags):
            for tag in each:
                if tag.scheme in WORDED:
                    named[row] = max(named[row], _likeness(_terms(self.analyzer, tag.value), words))
                else:
                    codes[row].append(tag)
        return np.asarray(np.maximum(named, CODED * share(self._shared(codes)))) if any(codes) else named

    def _shared(self, codes: Sequence[Sequence[Tag]]) -> Scores:
        """Return how much each work has of the codes of the work that is asked about, else of the best candidates."""
        wanted: dict[str, float] = defaultdict(float)
        like = [tag for tag in about.tags if tag.scheme not in WORDED] if (about := self.question.about) else []
        for rank, tags in enumerate([like] if like else codes[: self.leaders], 1):
            for tag in tags:
                wanted[_plain(tag.value)] += 1.0 / (rank + 1)
        return np.array([*map(_overlap, codes, repeat(wanted))])

    def _freshness(self, hits: Sequence[Hit]) -> Scores:
        ages = np.full(len(hits), np.inf)
        for row, hit in enumerate(hits):
            year = hit.metadata.get("year")
            if isinstance(year, int):
                ages[row] = max(0, self.year - year)
        return np.asarray(np.exp2(-ages / self.half_life_years))

    def _authority(self, ids: Ids) -> Scores:
        cited = self.store.catalog.citations(ids)
        counts = np.array([*map(cited.get, ids.tolist(), repeat(0))], np.float64)
        return np.asarray(np.minimum(1.0, np.log1p(counts) / np.log1p(self.most_citations)))


@lru_cache(maxsize=1 << 16)
def _terms(analyzer: Analyzer, subject: str) -> frozenset[str]:
    return frozenset(analyzer.terms(subject))


def _likeness(terms: frozenset[str], words: frozenset[str]) -> float:
    """Return the share that a subject and the question both have of all terms of either (Jaccard), squared."""
    return (len(terms & words) / (len(terms | words) or 1)) ** 2


def _overlap(tags: Sequence[Tag], wanted: Mapping[str, float]) -> float:
    total = 0.0
    for tag in tags:
        total += wanted.get(_plain(tag.value), 0.0) or wanted.get(_plain(f"{tag.scheme}:{tag.value}"), 0.0)
    return total


def _plain(subject: str) -> str:
    """Return a subject as it is compared: case says nothing."""
    return " ".join(subject.lower().split())
