"""Why a document is where it is for a query: the search is run, and its candidates are looked at, none left out.

Nothing is computed apart: ranks, scores and contributions are those of the pipeline. Only where a chunk stands below
what a search reads is its channel asked for the exact place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from rifflux.retrieve.channels import SEMANTIC, Place, Whole
from rifflux.retrieve.coverage import idf
from rifflux.retrieve.explain.changes import changes
from rifflux.retrieve.explain.obstacles import Obstacle, obstacles
from rifflux.retrieve.fuse import ranks_of
from rifflux.retrieve.pipeline import RERANK, Candidates, Plan
from rifflux.retrieve.query.words import ordinal, shown
from rifflux.store import Store
from rifflux.types import Change, Clause, Hit, Ids, Query, QueryTerm, Ranking, Trace, Verdict, Why

__all__ = ["Inquiry", "deep"]


def deep(plan: Plan, chunks: int) -> Plan:
    """The same search in an index of so many chunks, from sources that know the place of every chunk."""
    sources = {name: Whole(source, chunks) for name, source in plan.pipeline.sources.items()}
    return replace(plan, pipeline=replace(plan.pipeline, sources=sources))


@dataclass(frozen=True)
class Inquiry:
    """Runs a search, planned `deep`, and looks where some chunks of one document, `asked`, ended up.

    `name` is the collection and the key of the document, `chunks` is how many it has in all. `typed`
    are the words of the question by their terms.
    """

    plan: Plan
    store: Store
    name: tuple[str, str]
    asked: Sequence[Hit]
    chunks: int
    top_k: int
    typed: Mapping[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict, init=False)

    def __call__(self) -> Verdict:
        """The verdict on the best of the chunks."""
        if not self.asked:
            return self._verdict(None, None, "index", "nothing of it is indexed: it holds no text")
        open_ids = np.setdiff1d(self.ids, np.concatenate([self.ids[:0], *(each.blocked for each in self.obstacles)]))
        if not len(open_ids):
            return self._blocked()
        standing = np.flatnonzero(np.isin(self.order, open_ids))
        if len(standing):
            return self._placed(int(standing[0]))
        dropped = np.isin(self.candidates.lifted.ids, open_ids)
        return self._dropped(int(self.candidates.lifted.ids[dropped][0])) if dropped.any() else self._lost(open_ids)

    # What the search did

    @cached_property
    def ids(self) -> Ids:
        """The chunks in question."""
        return _ids(self.asked)

    @cached_property
    def obstacles(self) -> Sequence[Obstacle]:
        """What keeps some of them out."""
        return list(obstacles(self.plan.query, self.store, self.asked[0], self.ids, self.typed))

    @cached_property
    def candidates(self) -> Candidates:
        """All candidates of the search."""
        return self.plan.pipeline.candidates(self.plan.query, self.plan.clock)

    @cached_property
    def _steps(self) -> Sequence[tuple[str, Sequence[Hit]]]:
        """The hits after each stage by its name; those that had gone in come first, under no name."""
        pipeline, query = self.plan.pipeline, self.plan.query
        if not pipeline.stages:
            return ()
        hits = pipeline.explained(self.candidates, self.candidates.lifted.head(self._read))
        steps = [("", hits)]
        for name, stage in pipeline.stages:
            hits, left_out, _ = replace(pipeline, stages=[(name, stage)]).refined(query, hits, self.plan.clock)
            self.left_out.update(left_out)
            steps.append((name, hits))
        return steps

    @property
    def _read(self) -> int:
        """How many hits the stages are shown: all of a page as long as the pool, so that the ranks below agree."""
        return max(self.plan.pipeline.pool, self.top_k)

    @property
    def _refined(self) -> Sequence[Hit]:
        return self._steps[-1][1] if self._steps else ()

    @cached_property
    def order(self) -> Ids:
        """The ids of all candidates that were not dropped, best first, after every stage."""
        lifted = self.candidates.lifted.ids
        if not self._steps:
            return lifted
        return np.concatenate([_ids(self._refined), lifted[~np.isin(lifted, _ids(self._steps[0][1]))]])

    def _score_at(self, place: int) -> float:
        """The score of the candidate at a place, counted from 0."""
        refined, lifted = self._refined, self.candidates.lifted
        if place < len(refined):
            return refined[place].score
        return float(lifted.scores[np.flatnonzero(lifted.ids == self.order[place])[0]])

    @property
    def trace(self) -> Trace:
        """The search's trace as far as it went."""
        trace, found = self.plan.trace, self.candidates.found
        counts = {name: len(ranking) for name, ranking in found.items()} | {"fused": len(self.candidates.fused)}
        degraded = (*trace.degraded, *map(": ".join, self.left_out.items()))
        trace = replace(trace, reranker=None) if RERANK in self.left_out else trace
        return replace(trace, milliseconds=self.plan.clock.milliseconds, counts=counts, degraded=degraded)

    # Verdicts

    def _placed(self, place: int) -> Verdict:
        """The verdict on a candidate."""
        id, score = int(self.order[place]), self._score_at(place)
        refined = self._refined
        hit = refined[place] if place < len(refined) else self._hit(id, score)
        hit = replace(hit, why=tuple(self._exact(why, id) for why in hit.why))
        stage, how = self._decisive(id, place + 1)
        if place >= self.top_k:
            last = self._score_at(self.top_k - 1)
            how += f": {last - score:.3g} below the {ordinal(self.top_k)}"
        return self._verdict(hit, place + 1, stage, how)

    def _dropped(self, id: int) -> Verdict:
        """The verdict on a candidate that a stage left out."""
        (_, before), (stage, _) = next(
            (first, then) for first, then in pairwise(self._steps) if id in _ids(first[1]) and id not in _ids(then[1])
        )
        rank = int(np.flatnonzero(_ids(before) == id)[0]) + 1
        hit = replace(self._hit(id, 0.0), why=before[rank - 1].why)
        return self._verdict(hit, None, stage, f"{stage} left it out, {ordinal(rank)} until then")

    def _lost(self, ids: Ids) -> Verdict:
        """The verdict on chunks that nothing kept out, and that no channel ranked among its first."""
        places = {name: self._place(name, ids) for name in self.plan.pipeline.sources}
        known = {name: place for name, place in places.items() if place}
        if not known:
            id = int(ids[0])
            stage, reason = next(iter(places)), "; ".join(self._nothing(name) for name in places)
            return self._verdict(self._hit(id, 0.0), None, stage, reason)
        id = min(known.values(), key=lambda place: place[1])[0]
        hit = self._hit(id, 0.0)
        hit = replace(hit, why=tuple(self._exact(why, id) for why in hit.why))
        return self._verdict(hit, None, "pool", self._below(hit))

    def _blocked(self) -> Verdict:
        """The verdict on chunks that all are kept out."""
        fewest = min(self.obstacles, key=lambda each: len(each.blocked))
        free = np.setdiff1d(self.ids, fewest.blocked)
        id = int(free[0] if len(free) else self.ids[0])
        mine = [each for each in self.obstacles if id in each.blocked]
        reason = "; ".join(each.reason for each in mine)
        return self._verdict(self._hit(id, 0.0), None, mine[0].stage, reason, mine)

    def _verdict(
        self, hit: Hit | None, rank: int | None, stage: str, reason: str, mine: Sequence[Obstacle] = ()
    ) -> Verdict:
        collection, document = self.name
        terms = self._terms(int(hit.chunk_id, 16)) if hit else ()
        found: Sequence[Change] = ()
        if hit and not (rank and rank <= self.top_k):
            found = changes(self.plan, self.candidates, hit, rank, self.top_k, terms, mine)
        return Verdict(
            query=self.plan.query.text,
            document=document,
            collection=collection,
            hit=hit,
            chunks=self.chunks,
            top_k=self.top_k,
            candidates=len(self.order),
            rank=rank,
            stage=stage,
            reason=reason,
            terms=terms,
            contributions=self._contributions(hit) if hit and rank else {},
            changes=tuple(found),
            trace=self.trace,
        )

    # Details

    def _hit(self, id: int, score: float) -> Hit:
        one = Ranking(np.array([id], np.int64), np.array([score]))
        return self.plan.pipeline.explained(self.candidates, one)[0]

    def _place(self, channel: str, ids: Ids) -> Place | None:
        """The place of the best of some chunks in a channel, however far down; None where it ranks none of them."""
        source = self.plan.pipeline.sources[channel]
        return source.place(self.plan.query, ids) if isinstance(source, Whole) else None

    def _exact(self, why: Why, id: int) -> Why:
        """What a channel has to say, also of a chunk that stands below what the search reads."""
        ranking, query = self.candidates.found.get(why.stage), self.plan.query
        if ranking is None or why.rank is not None or len(ranking) < query.sufficient(query.limit):
            return why
        place = self._place(why.stage, np.array([id], np.int64))
        return replace(why, rank=place[1], score=place[2], detail={"read": len(ranking)}) if place else why

    def _decisive(self, id: int, rank: int) -> tuple[str, str]:
        """The last stage that moved a chunk onto the page or off it (else the first), and how."""
        journey = list(self._journey(id, rank))
        first, decisive = journey[0], journey[0]
        for before, stage in pairwise(journey):
            if (before[1] <= self.top_k) != (stage[1] <= self.top_k):
                decisive, first = stage, before
        name, place = decisive
        if decisive == first:
            return name, f"{name} put it {ordinal(place)}"
        return name, f"{name} moved it from {ordinal(first[1])} to {ordinal(place)}"

    def _journey(self, id: int, rank: int) -> Iterator[tuple[str, int]]:
        """The chunk's rank after each stage that orders candidates."""
        pipeline, candidates, one = self.plan.pipeline, self.candidates, np.array([id])
        yield pipeline.fuse.name if pipeline.fuse else next(iter(candidates.found)), _rank(candidates.fused, one)
        if candidates.factors:
            yield "anchors", _rank(candidates.lifted, one)
        for name, hits in self._steps[1:]:
            places = np.flatnonzero(_ids(hits) == id)
            # What is below the hits that stages see moves up as they drop some.
            yield name, int(places[0]) + 1 if len(places) else rank

    def _below(self, hit: Hit) -> str:
        """Why a chunk that channels rank is no candidate."""
        pool, names = self.plan.pipeline.pool, list(self.plan.pipeline.sources)
        ranked = [why for why in hit.why if why.stage in names and why.rank]
        if any(why.rank and why.rank <= pool for why in ranked):
            return "the fusion keeps only its best results, and this is none of them"
        where = " in both channels" if len(ranked) > 1 else ""
        told = ", ".join(f"{why.stage} {ordinal(why.rank or 0)}" for why in ranked)
        others = [self._nothing(name) for name in names if all(why.stage != name for why in ranked)]
        return "; ".join([f"below the pool of {pool}{where} ({told})", *others])

    def _nothing(self, channel: str) -> str:
        """Why a channel does not rank a chunk at all."""
        if channel == SEMANTIC:
            return "semantic: not embedded yet" if self.plan.query.vector is not None else "semantic: no query vector"
        asked = [shown(clause, self.typed) for clause in _clauses(self.plan.query)] + list(self.plan.query.prefixes)
        if not asked:
            return "lexical: the query has no word to search by"
        return f"lexical: none of the query's terms occurs: {', '.join(asked)}"

    def _terms(self, id: int) -> tuple[QueryTerm, ...]:
        """The query's terms, those that a chunk holds and those that it misses."""
        query, store, one = self.plan.query, self.store, np.array([id], np.int64)
        clauses = _clauses(query)
        known = store.lexical.document_frequencies([term for clause in clauses for term in clause])
        chunks = store.counts()["chunks"]
        return tuple(
            QueryTerm(
                " ".join(clause), shown(clause, self.typed), count, idf(chunks, count), held, clause in query.variants
            )
            for clause in clauses
            # A phrase is at most as frequent as its rarest word.
            for count in [min(known.get(term, 0) for term in clause)]
            for held in [bool(len(store.lexical.holding(clause, one)))]
        )

    def _contributions(self, hit: Hit) -> Mapping[str, float]:
        """Addends of the hit's score."""
        fuse = self.plan.pipeline.fuse
        base = hit.because(fuse.name if fuse else next(iter(self.candidates.found)))
        if base is None or base.score is None:
            return {}
        parts = dict(base.detail) if fuse else {base.stage: base.score}
        if (anchors := hit.because("anchors")) and anchors.score is not None:
            parts["anchors"] = anchors.score - base.score
        last = hit.why[-1]
        if not last.stage.startswith("rerank"):
            return parts
        if "lowered" in last.detail:
            return parts | {last.stage: hit.score - sum(parts.values())}
        return _addends(last.detail, hit.score) or {last.stage: hit.score}


def _addends(detail: Mapping[str, Any], score: float) -> dict[str, float]:
    """The numbers of a detail if they add up to the score."""
    numbers = {name: value for name, value in detail.items() if isinstance(value, float)}
    return numbers if abs(sum(numbers.values()) - score) < 1e-9 else {}


def _ids(hits: Sequence[Hit]) -> Ids:
    return np.fromiter((int(hit.chunk_id, 16) for hit in hits), np.int64, len(hits))


def _clauses(query: Query) -> list[Clause]:
    return list(dict.fromkeys((*query.clauses, *query.required, *query.variants)))


def _rank(ranking: Ranking, id: Ids) -> int:
    return int(ranks_of(ranking, id)[0])
