"""The score of a work: a weighted sum of six components, each in [0, 1].

Works of an author, a venue or a year that the question names gain an addend for each, such as `by: Dijkstra`.

`lexical`      BM25 of its best passage, lifted where the question names it to the letter, as a share of the greatest
`semantic`     cosine of its best passage with the question, as a share of the greatest
`citation`     how near it is in the graph of citations to the work that the question is about, as a share of the
               greatest; else to the best candidates, in proportion to its relevance by words and meaning up to
               `FULL_LIFT`
`field_match`  how nearly one of its subjects is the question: the share that both have of all terms of either, squared,
               so that words in common say little and a subject that is the question says all. Of subjects that are
               codes, those that the best candidates have too, for a quarter. Where the filter names subjects, how many
               of those it has
`freshness`    halved with every `HALF_LIFE_YEARS` of age; zero without a year, or one that may not be disclosed
`authority`    log(1 + the works here that cite it), as a share of that of `MOST_CITATIONS`; never above 1, and in
               proportion to its relevance as `citation` is

A work that the question names (see `named`) has all that words can say, one that is looked up by its identifier or
title has all that words, meaning and subjects can say. Where no license discloses the facts of a work, freshness and
authority say nothing of it.

Nothing is taken away for age, and what is cited ever so often gets no more than `MOST_CITATIONS` give: an old work that
answers stays where its words and meaning put it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from rifflux.retrieve.fuse.base import Weights, weighed
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.steps.beginnings import COLUMNS as BEGUN
from rifflux.retrieve.steps.beginnings import STAGE as BEGINNING
from rifflux.retrieve.table import (
    CREDITED,
    LEXICAL,
    LIFT,
    NAMED,
    OUTRIGHT,
    RANK,
    SCORE,
    SEMANTIC,
    Candidates,
    declare,
)
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import Store
from rifflux.text.analyzer import Analyzer
from rifflux.text.schemes import WORDED
from rifflux.types import Ids, Scores, Tag, Vectors
from rifflux.works.intent.classify import Question
from rifflux.works.intent.intents import Intent
from rifflux.works.intent.named import CERTAINTY

#: The explanation stage of the score.
SCORED = "works"
declare("works/*", "share of the score", "what a component of a work's score adds to it")
#: Prefix of unweighted components.
VALUE = "component "
declare("component *", "share from 0 to 1", "a component of a work's score, before weighing")
NEAR = declare("near", "sum of confidences by rank", "how near a work is to the best candidates by citations")
DIRECT = declare("direct", "1", "1 where nearness is to the very work that the question is about")
JOINED = declare("joined", "from 0 to 1", "how surely citations join the work with the one that the question is about")
#: The stage that merges both sides of a comparison.
SIDES = "sides"
SIDE = declare("side", "place from 0", "the side of a comparison that ranks the candidate better")
#: The number of top candidates whose classification codes are compared.
LEADERS = 10
HALF_LIFE_YEARS = 10.0
MOST_CITATIONS = 100
#: The weight of codes shared with the top candidates, relative to words of the question itself.
CODED = 0.25
#: The relevance by words and meaning, as a share of the greatest, at which citations reach full weight. They lift what
#: is relevant, and cannot replace relevance.
FULL_LIFT = 0.5
#: The score gained by a work of an author, venue or year that the question surely names: more than all components
#: together.
NAMED_SURELY = 1.0
NAMED_LIKELY = 0.2


def intent_of(question: Question, *, direct: bool) -> Intent:
    """Return a question's intent; it has the weights of related works if nearness refers to a named work."""
    intent = question.decision.intent
    if direct and intent.about:
        return replace(intent, weights=intent.about)
    return intent


@dataclass(frozen=True)
class WorkScore:
    """Scores a table of one passage per work by words, meaning, nearness and facts. `year` is the current year.

    `visible` decides whose facts are disclosed. `subjects` are those of the filter.
    """

    store: Store
    question: Question
    analyzer: Analyzer
    year: int
    visible: LicensePolicy
    subjects: Sequence[str] = ()

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the works by score, ties by chunk id, with a column for each component and its addend."""
        if not len(table):
            return table
        weights = intent_of(self.question, direct=DIRECT in table.columns).weights
        values = self.components(table, weights)
        scores, addends = weighed(values, weights.shares())
        for credit in plan.query.credits:
            if credit.sure or plan.query.credits_only:
                worth = NAMED_SURELY
            else:
                worth = NAMED_LIKELY
            addends = {**addends, credit.label: worth * plan.evidence.passing(credit.filter, table.ids)}
            scores = scores + addends[credit.label]
        for name, column in values.items():
            table = table.with_column(VALUE + name, column)
        table = table.with_stage(SCORED, {SCORE: scores, **addends}).scored(scores)
        return table.with_column(f"{SCORED}/{RANK}", table.ranks())

    def components(self, table: Candidates, weights: Weights) -> dict[str, Scores]:
        """Return the six components of each work, in [0, 1]."""
        hits = table.passages
        first = self.question.first and self.question.first.hit.place
        certain = table[CERTAINTY] > 0
        named = certain & np.array([hit.place == first for hit in hits], bool)
        disclosed = np.array([self.visible.discloses_facts(hit.place[0], hit.license) for hit in hits], bool)
        by_words = share(np.nan_to_num(table[f"{LEXICAL}/score"]) * np.nan_to_num(table[LIFT], nan=1.0))
        lexical = np.maximum.reduce([by_words, named, certain])
        semantic = np.maximum(share(np.nan_to_num(table[f"{SEMANTIC}/score"])), named)
        lift = np.ones(len(hits))
        total = weights["lexical"] + weights["semantic"]
        if total and DIRECT not in table.columns:
            relevance = (weights["lexical"] * lexical + weights["semantic"] * semantic) / total
            lift = np.minimum(1.0, relevance / FULL_LIFT)
        years = [hit.metadata.get("year") for hit in hits]
        ages = np.array([max(0, self.year - year) if isinstance(year, int) else np.inf for year in years], np.float64)
        cited = self.store.catalog.citations(table.ids)
        counts = np.array([cited.get(id, 0) for id in table.ids.tolist()], np.float64)
        authority = np.minimum(1.0, np.log1p(counts) / np.log1p(MOST_CITATIONS))
        return {
            "lexical": lexical,
            "semantic": semantic,
            "citation": share(np.nan_to_num(table[NEAR])) * lift,
            "field_match": np.maximum(self._field_match(table.ids), named),
            # This is the displayed year in another form.
            "freshness": np.exp2(-ages / HALF_LIFE_YEARS) * disclosed,
            "authority": authority * disclosed * lift,
        }

    def _field_match(self, ids: Ids) -> Scores:
        known = self.store.catalog.tags_of(ids)
        tags = [known.get(id, []) for id in ids.tolist()]
        if self.subjects:
            weights = {_plain(each): 1.0 for each in self.subjects}
            return share(np.array([_overlap(each, weights) for each in tags]))
        about = self.question.about
        words = frozenset(self.analyzer.terms(about.hit.title) if about else self.question.plan.query.terms)
        named = np.zeros(len(tags))
        codes: list[list[Tag]] = [[] for _ in tags]
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
        """Return the share of the question's work's codes, or of the top candidates', that each work has."""
        weights: dict[str, float] = defaultdict(float)
        if about := self.question.about:
            like = [tag for tag in about.tags if tag.scheme not in WORDED]
        else:
            like = []
        for rank, tags in enumerate([like] if like else codes[:LEADERS], 1):
            for tag in tags:
                weights[_plain(tag.value)] += 1.0 / (rank + 1)
        return np.array([_overlap(each, weights) for each in codes])


#: The columns that exact scoring adds, besides those of the channels.
_FAMILIES = ("anchors/", "cited/", f"{BEGINNING}/")
_SINGLE = (LIFT, NAMED, OUTRIGHT, CREDITED, *BEGUN)


def _exact_cosines(store: Store, vector: Vectors | None, ids: Ids) -> Scores:
    """Return the cosine of each chunk with a vector, by the vectors as stored; 0 for chunks without one."""
    cosines = np.zeros(len(ids))
    length = 0.0 if vector is None else float(np.linalg.norm(vector))
    known = store.semantic.vectors_of(ids) if length else {}
    rows = [row for row, id in enumerate(ids.tolist()) if id in known]
    if rows:
        stacked = np.array([known[id] for id in ids[rows].tolist()], np.float64)
        cosines[rows] = np.vecdot(stacked, np.asarray(vector, np.float64) / length)
    return cosines


def scored_exactly(store: Store, plan: Plan, table: Candidates, weights: Weights) -> Candidates:
    """Return the rows with exact BM25 and cosine values from the tables.

    Scores are shares of the greatest; ranks are among these rows, ties by chunk id. Rows outside the best by words have
    no lexical score.
    """
    if not len(table):
        return table
    lexical = np.nan_to_num(table[f"{LEXICAL}/score"])
    semantic = np.maximum(_exact_cosines(store, plan.execution.vector, table.ids), 0.0)
    columns: dict[str, Scores] = {}
    for name, scores in {LEXICAL: lexical, SEMANTIC: semantic}.items():
        ranks = np.empty(len(table))
        ranks[np.lexsort((table.ids, -scores))] = np.arange(1, len(table) + 1)
        columns[f"{name}/rank"] = np.where(scores > 0, ranks, np.nan)
        columns[f"{name}/score"] = np.where(scores > 0, scores, np.nan)
    for name in table.columns:
        if name in _SINGLE or name.startswith(_FAMILIES):
            columns[name] = table[name]
    words = 0.5
    total = weights["lexical"] + weights["semantic"]
    if total:
        words = weights["lexical"] / total
    merged = words * share(lexical) + (1 - words) * share(semantic)
    return Candidates(table.ids, columns, passages=table.passages).scored(merged)


def share(values: Scores) -> Scores:
    """Return values as shares of the greatest; zero if none is positive."""
    greatest = values.max(initial=0.0)
    return values / greatest if greatest > 0 else np.zeros(len(values))


@lru_cache(maxsize=1 << 16)
def _terms(analyzer: Analyzer, subject: str) -> frozenset[str]:
    return frozenset(analyzer.terms(subject))


def _likeness(terms: frozenset[str], words: frozenset[str]) -> float:
    """Return the squared Jaccard similarity of the terms of a subject and the question."""
    return (len(terms & words) / (len(terms | words) or 1)) ** 2


def _overlap(tags: Sequence[Tag], weights: Mapping[str, float]) -> float:
    total = 0.0
    for tag in tags:
        total += weights.get(_plain(tag.value), 0.0) or weights.get(_plain(f"{tag.scheme}:{tag.value}"), 0.0)
    return total


def _plain(subject: str) -> str:
    """Normalize case and spaces of a subject for comparison."""
    return " ".join(subject.lower().split())
