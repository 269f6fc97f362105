"""The score of a work: a weighted sum of six components, each in [0, 1], each shown.

Works of an author, a venue or a
year that the question names gain an addend for each, such as `by: Dijkstra`.

`lexical`      BM25 of its best passage, lifted where the question names it to the letter, as a share of the greatest
`semantic`     cosine of its best passage with the question, as a share of the greatest
`citation`     how near it is in the graph of citations to the work that is asked about, as a share of the greatest;
               else to the best candidates, in proportion to its relevance by words and meaning up to `FULL_LIFT`
`field_match`  how nearly one of its subjects is what was asked: the share that both have of all terms of either,
               squared, so that words in common say little and a subject that is the question says all. Of subjects
               that are codes, those that the best candidates have too, for a quarter. Where subjects were asked for,
               how many of those it has
`freshness`    halved with every `half_life_years` of age; zero without a year, or one that may not be shown
`authority`    log(1 + the works here that cite it), as a share of that of `most_citations`; never above 1, and in
               proportion to its relevance as `citation` is

A work that the question names (see `named`) has all that words can say, one that is looked up by its identifier or
title has all that words, meaning and subjects can say. Of one where no facts are told, neither year nor citations are
shown, so freshness and authority say nothing of it.

Nothing is taken away for age, and what is cited ever so often gets no more than `most_citations` give: an old work that
answers stays where its words and meaning put it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat

import numpy as np

from rifflux.retrieve.fuse.base import weighed
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.steps.credits import credited
from rifflux.retrieve.table import LEXICAL, LIFT, RANK, SCORE, SEMANTIC, Candidates, declare
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import Store
from rifflux.text.analyzer import Analyzer
from rifflux.text.schemes import WORDED
from rifflux.types import Hit, Ids, Scores, Tag
from rifflux.works.intent.named import CERTAINTY
from rifflux.works.intent.question import Question
from rifflux.works.retrieval.candidates import share

#: The stage of explanations that tells the score.
SCORED = "works"
declare("works/*", "share of the score", "what a component of a work's score adds to it")
#: Begins the names of components before weighing.
VALUE = "component "
declare("component *", "share from 0 to 1", "a component of a work's score, before weighing")
NEAR = declare("near", "sum of confidences by rank", "how near a work is to the best candidates by citations")
#: The weight of codes that the best candidates share, next to words of the question itself.
CODED = 0.25
#: The relevance by words and meaning, as a share of the greatest, from which on citations count in full. They lift what
#: is relevant, and cannot stand in for relevance.
FULL_LIFT = 0.5
#: What a work's score gains by being by whom the question names: of one that is sure, more than all components give.
NAMED_SURELY = 1.0
NAMED_LIKELY = 0.2


@dataclass(frozen=True)
class WorkScore:
    """Score a table of one passage a work by BM25, cosine, nearness and the works' own facts. `year` is this year.

    `tags` are the subjects of the works, by chunk id, `subjects` those that were asked for; `visible` says of
    which works the facts are told. `direct` says that nearness is to the very work that the question is about.
    """

    store: Store
    question: Question
    analyzer: Analyzer
    year: int
    tags: Mapping[int, Sequence[Tag]]
    visible: LicensePolicy
    subjects: Sequence[str] = ()
    direct: bool = False
    leaders: int = 10
    half_life_years: float = 10.0
    most_citations: int = 100

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the works by their scores, ties by chunk id, with a column for each component and its addend."""
        if not len(table):
            return table
        values = self.components(table)
        scores, addends = weighed(values, self.question.decision.intent.weights.shares())
        for credit in plan.query.credits:
            if credit.sure or plan.query.credits_only:
                worth = NAMED_SURELY
            else:
                worth = NAMED_LIKELY
            addends = {**addends, credit.shown: worth * credited(self.store, credit, table.ids)}
            scores = scores + addends[credit.shown]
        for name, column in values.items():
            table = table.with_column(VALUE + name, column)
        table = table.with_stage(SCORED, {SCORE: scores, **addends}).scored(scores)
        return table.with_column(f"{SCORED}/{RANK}", table.ranks())

    def components(self, table: Candidates) -> dict[str, Scores]:
        """Return the six components of each work, in [0, 1]."""
        hits = table.passages
        first = self.question.first and self.question.first.hit.place
        named = np.zeros(len(hits), bool)
        open = np.zeros(len(hits), bool)
        for row, hit in enumerate(hits):
            named[row], open[row] = hit.place == first, self.visible.tells_facts(hit.place[0], hit.license)
        named &= table[CERTAINTY] > 0
        factors = np.where(np.isnan(table[LIFT]), 1.0, table[LIFT])
        by_words = share(np.nan_to_num(table[f"{LEXICAL}/score"]) * factors)
        lexical = np.maximum.reduce([by_words, named, table[CERTAINTY] > 0])
        semantic = np.maximum(share(np.nan_to_num(table[f"{SEMANTIC}/score"])), named)
        if self.direct:
            lift = np.ones(len(hits))
        else:
            lift = self._lift(lexical, semantic)
        return {
            "lexical": lexical,
            "semantic": semantic,
            "citation": share(np.nan_to_num(table[NEAR])) * lift,
            "field_match": np.maximum(self._field_match(table.ids), named),
            # The year in another form, and shown.
            "freshness": self._freshness(hits) * open,
            "authority": self._authority(table.ids) * open * lift,
        }

    def _lift(self, lexical: Scores, semantic: Scores) -> Scores:
        """Return the share of what citations say that counts, by the relevance of each work."""
        weights = self.question.decision.intent.weights
        total = weights["lexical"] + weights["semantic"]
        if not total:
            return np.ones(len(lexical))
        relevance = (weights["lexical"] * lexical + weights["semantic"] * semantic) / total
        return np.asarray(np.minimum(1.0, relevance / FULL_LIFT))

    def _field_match(self, ids: Ids) -> Scores:
        tags = [*map(self.tags.get, ids.tolist(), repeat(()))]
        if self.subjects:
            wanted = {_plain(each): 1.0 for each in self.subjects}
            return share(np.array([*map(_overlap, tags, repeat(wanted))]))
        about = self.question.about
        words = frozenset(self.analyzer.terms(about.hit.title) if about else self.question.query.terms)
        named = np.zeros(len(tags))
        codes = [*map(list[Tag], repeat((), len(tags)))]
        for row, each in enumerate(tags):
            for tag in each:
                if tag.scheme in WORDED:
                    named[row] = max(named[row], _likeness(_terms(self.analyzer, tag.value), words))
                else:
                    codes[row].append(tag)
        if any(codes):
            return np.asarray(np.maximum(named, CODED * share(self._shared(codes))))
        return named

    def _shared(self, codes: Sequence[Sequence[Tag]]) -> Scores:
        """Return how much each work has of the codes of the work that is asked about, else of the best candidates."""
        wanted: dict[str, float] = defaultdict(float)
        if about := self.question.about:
            like = [tag for tag in about.tags if tag.scheme not in WORDED]
        else:
            like = []
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
