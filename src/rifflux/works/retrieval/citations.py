"""The works around the best candidates in the graph of citations, one step away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rifflux.retrieve.table import RANK, SCORE, Candidates, stacked
from rifflux.store import Store
from rifflux.types import Hit, Ids, Query, Ranking
from rifflux.works.retrieval.intent import IN
from rifflux.works.retrieval.question import Question
from rifflux.works.retrieval.score import NEAR

__all__ = ["CITED", "Neighborhood", "allowed", "neighborhood", "neighbors"]

#: The stage of explanations that tells how near a work is.
CITED = "cited"
NO_CITATIONS = "no citations of it are known here: those of the most similar works were followed"
NOT_TOLD = "no license is recorded for it, so its citations are not told: those of the most similar works were followed"
#: Neighbors of seeds that are looked at.
MOST = 100


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """The works that citations join with the best candidates, or with the work that is asked about, best first.

    Their scores are how near they are.
    """

    hits: Sequence[Hit] = ()
    notes: tuple[str, ...] = ()

    @property
    def near(self) -> Mapping[tuple[str, str], float]:
        """Return how near each work is, by collection and key."""
        return {hit.place: hit.score for hit in self.hits}

    def new(self, table: Candidates, most: int) -> Candidates:
        """Return at most so many neighbors that are no candidates yet."""
        known = {hit.place for hit in table.passages}
        ranked = [(rank, hit) for rank, hit in enumerate(self.hits, 1) if hit.place not in known][:most]
        found = Candidates.of_hits([hit for _, hit in ranked])
        return found.with_stage(CITED, {RANK: np.array([rank for rank, _ in ranked], np.float64), SCORE: found[SCORE]})

    def joined(self, table: Candidates, more: Candidates) -> Candidates:
        """Return candidates and new neighbors in one table, all with how near their works are."""
        table, near = stacked(table, more), self.near
        return table.with_column(NEAR, np.array([near.get(hit.place, np.nan) for hit in table.passages], np.float64))


def neighborhood(store: Store, question: Question, limits: Query, works: Candidates) -> Neighborhood:
    """Follow the citations of the work that is asked about, else of the best candidates, as the question allows."""
    about, expansion = question.about, question.intent.expansion
    closed = bool(about and about.hit.withheld)
    notes = (NOT_TOLD if closed else NO_CITATIONS,) if about else ()
    ranking = Ranking.empty()
    if about and not closed:
        ranking = allowed(store, limits, neighbors(store, np.array([about.id], np.int64), expansion.follow))
    if len(ranking):
        notes = ()
    else:
        ranking = allowed(store, limits, neighbors(store, works.ids[: expansion.seeds], expansion.follow))
    hits = store.catalog.hydrate(ranking) if len(ranking) else ()
    asked = about.hit.place if about else None
    return Neighborhood([hit for hit in hits if question.intent.leaving.keeps(hit) and hit.place != asked], notes)


def neighbors(store: Store, seeds: Ids, follow: Sequence[str]) -> Ranking:
    """Return the neighbors of seeds by their first chunks and how near they are; `follow` holds the directions.

    The nearness is the sum, over the seeds that a neighbor is linked with, of 1 / (rank of the seed + 1) times the
    link's confidence, divided by the square root of how many links the seed has: one that cites everything says little.
    Seeds that other seeds cite are among them.
    """
    if not len(seeds) or not follow:
        return Ranking.empty()
    scores: dict[int, float] = defaultdict(float)
    rank = {id: place for place, id in enumerate(seeds.tolist(), 1)}
    for direction in follow:
        edges = store.catalog.linked(seeds, incoming=direction == IN)
        fan: dict[int, int] = defaultdict(int)
        for edge in edges:
            fan[edge.asked] += 1
        for edge in edges:
            scores[edge.chunk] += edge.confidence / ((rank[edge.asked] + 1) * fan[edge.asked] ** 0.5)
    found = np.fromiter(scores, np.int64, len(scores))
    values = np.fromiter(scores.values(), np.float64, len(scores))
    order = np.lexsort((found, -values))[:MOST]
    return Ranking(found[order], values[order])


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
