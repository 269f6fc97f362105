"""Explanation of a document's rank for a query: the search is run and its table inspected after each step.

Nothing is computed separately: ranks, scores and contributions are the pipeline's own. Only if a chunk ranks below the
depth that the search reads is the channel searched again for its exact rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from rifflux.retrieve.explain.changes import changes
from rifflux.retrieve.explain.obstacles import Disclosable, Obstacle, obstacles
from rifflux.retrieve.explain.verdict import Change, QueryTerm, Verdict
from rifflux.retrieve.fuse.base import NO_STATISTICS, frequencies_of
from rifflux.retrieve.pipeline import RERANK, Phase, Plan, fetch
from rifflux.retrieve.query.reading import in_typed_words
from rifflux.retrieve.steps.anchors import STAGE as ANCHORS
from rifflux.retrieve.steps.beginnings import STAGE as BEGINNING
from rifflux.retrieve.steps.code import STAGE as CODE
from rifflux.retrieve.table import RANK, SCORE, SEMANTIC, Candidates, page, placed, stages
from rifflux.store import CandidateRequest, Store
from rifflux.text.analyzer import idf
from rifflux.text.numbers import ordinal
from rifflux.types import Clause, Hit, Ids, Query, Ranking, Trace

#: A chunk's id, rank and score in a channel.
Place = tuple[int, int, float]


@dataclass(frozen=True)
class Inquiry:
    """Runs a search and locates the chunks of one document in it.

    `name` is the document's namespace and key, `hits` are the chunks to locate, `chunks` is the number of all its
    chunks. `disclosable` returns whether the given fields of the document may be disclosed. `typed` are the query's
    words by term.
    """

    plan: Plan
    store: Store
    name: tuple[str, str]
    hits: Sequence[Hit]
    chunks: int
    top_k: int
    disclosable: Disclosable
    typed: Mapping[str, str] = field(default_factory=dict)

    def __call__(self) -> Verdict:
        """Return the verdict on the best of the chunks."""
        if not self.hits:
            return self._verdict(None, None, "index", "nothing of it is indexed: it contains no text")
        open_ids = np.setdiff1d(self.ids, np.concatenate([self.ids[:0], *(each.blocked for each in self.obstacles)]))
        if not len(open_ids):
            return self._blocked()
        standing = np.flatnonzero(np.isin(self.order, open_ids))
        if len(standing):
            return self._placed(int(standing[0]))
        dropped = self.candidates.ids[np.isin(self.candidates.ids, open_ids)]
        if len(dropped):
            return self._dropped(int(dropped[0]))
        return self._lost(open_ids)

    # The search and its tables

    @cached_property
    def ids(self) -> Ids:
        """Return the ids of the chunks in question."""
        return np.fromiter((int(hit.id, 16) for hit in self.hits), np.int64, len(self.hits))

    @cached_property
    def obstacles(self) -> Sequence[Obstacle]:
        """Return the parts of the query that exclude some of the chunks."""
        return list(obstacles(self.plan.query, self.store, self.hits[0], self.ids, self.disclosable, self.typed))

    @cached_property
    def candidates(self) -> Candidates:
        """Return all candidates of the search, before any passages are read."""
        return self.plan.candidates()

    @cached_property
    def _steps(self) -> Sequence[tuple[str, Candidates]]:
        """Return the table after each passage step by name, preceded by the unnamed table before all steps."""
        stages = [stage for stage in self.plan.stages if stage.phase == Phase.PASSAGES]
        if not stages:
            return ()
        table = self._fetched(self.candidates.head(self._read))
        steps = [("", table)]
        for stage in stages:
            table = self.plan.run(stage, table)
            steps.append((stage.name, table))
        return steps

    @property
    def _read(self) -> int:
        """Return the number of passages the steps see: a page as long as the pool, so that ranks are consistent."""
        return max(self.plan.execution.pool, self.top_k)

    def _fetched(self, rows: Candidates) -> Candidates:
        """Return rows with their passages."""
        return fetch(replace(self.plan, passages=len(rows)), rows)

    @property
    def _refined(self) -> Candidates:
        if self._steps:
            return self._steps[-1][1]
        return self.candidates.head(0)

    @cached_property
    def order(self) -> Ids:
        """Return the ids of all candidates that were not dropped, best first, after every step."""
        ids = self.candidates.ids
        if not self._steps:
            return ids
        return np.concatenate([self._refined.ids, ids[~np.isin(ids, self._steps[0][1].ids)]])

    def _row_at(self, place: int) -> Candidates:
        """Return the row of the candidate at a position, from 0."""
        if place < len(self._refined):
            return self._refined.take([place])
        return self._row(int(self.order[place]))

    def _row(self, id: int) -> Candidates:
        """Return a chunk's row before the steps, or its known ranks in the channels if it is not a candidate."""
        place = self.candidates.place(id)
        fuse = self.plan.fuse
        one = np.array([id], np.int64)
        if place is not None:
            return self.candidates.take([place])
        row = placed(one, self.candidates.rankings)
        if fuse:
            return row.with_stage(fuse.name, {RANK: np.full(1, np.nan)})
        return row

    @property
    def trace(self) -> Trace:
        """Return the search's trace so far."""
        trace = self.plan.trace
        outcome = self.plan.outcome
        degraded = (*trace.degraded, *outcome.notices)
        if RERANK in outcome.skipped:
            trace = replace(trace, reranker=None)
        counts = {name: len(ranking) for name, ranking in self.candidates.rankings.items()}
        counts["fused"] = len(self.candidates)
        return replace(trace, milliseconds=self.plan.clock.milliseconds, counts=counts, degraded=degraded)

    # Verdicts

    def _placed(self, place: int) -> Verdict:
        """Return the verdict on a candidate."""
        row = self._row_at(place)
        stage, how = self._decisive(int(row.ids[0]), place + 1)
        if place >= self.top_k:
            below = self._row_at(self.top_k - 1)[SCORE][0] - row[SCORE][0]
            how += f": {below:.3g} below the {ordinal(self.top_k)}"
        return self._verdict(self._exact(row), place + 1, stage, how)

    def _dropped(self, id: int) -> Verdict:
        """Return the verdict on a candidate that a step dropped."""
        (_, before), (stage, _) = next(
            (first, then) for first, then in pairwise(self._steps) if id in first[1].ids and id not in then[1].ids
        )
        place = before.place(id) or 0
        row = before.take([place]).with_column(SCORE, np.zeros(1))
        return self._verdict(row, None, stage, f"{stage} dropped it; it was {ordinal(place + 1)} before")

    def _lost(self, ids: Ids) -> Verdict:
        """Return the verdict on chunks that were not excluded but rank too low in every channel."""
        places = {name: self._place(name, ids) for name in self.plan.channels}
        known = [place for place in places.values() if place]
        if not known:
            stage = next(iter(places))
            reason = "; ".join(self._nothing(name) for name in places)
            return self._verdict(self._row(int(ids[0])), None, stage, reason)
        row = self._exact(self._row(min(known, key=lambda place: place[1])[0]))
        return self._verdict(row, None, "pool", self._below(row))

    def _blocked(self) -> Verdict:
        """Return the verdict on chunks that are all excluded."""
        fewest = min(self.obstacles, key=lambda each: len(each.blocked))
        free = np.setdiff1d(self.ids, fewest.blocked)
        id = int(free[0] if len(free) else self.ids[0])
        mine = [each for each in self.obstacles if id in each.blocked]
        reason = "; ".join(each.reason for each in mine)
        return self._verdict(self._row(id).with_column(SCORE, np.zeros(1)), None, mine[0].stage, reason, mine)

    def _verdict(
        self, row: Candidates | None, rank: int | None, stage: str, reason: str, mine: Sequence[Obstacle] = ()
    ) -> Verdict:
        namespace, document = self.name
        terms = self._terms(row.ids) if row else ()
        found: Sequence[Change] = ()
        if row and not (rank and rank <= self.top_k):
            found = changes(self.plan, self.candidates, row, rank, self.top_k, terms, mine)
        return Verdict(
            query=self.plan.query.text,
            document=document,
            namespace=namespace,
            hit=self._hit(row) if row else None,
            chunks=self.chunks,
            top_k=self.top_k,
            candidates=len(self.order),
            rank=rank,
            stage=stage,
            reason=reason,
            terms=terms,
            contributions=self._contributions(row) if row and rank else {},
            changes=tuple(found),
            trace=self.trace,
        )

    # Details

    def _hit(self, row: Candidates) -> Hit:
        """Return a row as a hit with its explanation; a chunk that is not a candidate has no score."""
        if SCORE not in row.columns:
            row = row.with_column(SCORE, np.zeros(1))
        return page(row if row.passages else self._fetched(row), [self._first])[0]

    def _place(self, channel: str, ids: Ids) -> Place | None:
        """Return the place of the best of some chunks in a channel, however far down, or None if it ranks none."""
        ranking = self._whole(channel)
        places = np.flatnonzero(np.isin(ranking.ids, ids))
        if not len(places):
            return None
        best = int(places[0])
        return int(ranking.ids[best]), best + 1, float(ranking.scores[best])

    def _whole(self, channel: str) -> Ranking:
        """Return the complete ranking of a channel, read when first needed."""
        if channel not in self._wholes:
            plan = self.plan
            chunks = (plan.execution.statistics or NO_STATISTICS).chunks
            run = replace(plan.execution, limit=max(chunks, plan.execution.limit), enough=0)
            found = plan.search(CandidateRequest(plan.query, run, plan.weights, (channel,), described=False))
            self._wholes[channel] = found.rankings[channel]
        return self._wholes[channel]

    @cached_property
    def _wholes(self) -> dict[str, Ranking]:
        return {}

    def _exact(self, row: Candidates) -> Candidates:
        """Return a row completed with its exact ranks in channels that were not read far enough."""
        for name, ranking in self.candidates.rankings.items():
            if np.isfinite(row[f"{name}/rank"][0]) or len(ranking) < self.plan.execution.sufficient:
                continue
            if place := self._place(name, row.ids):
                parts = {RANK: place[1], "score": place[2], "read": len(ranking)}
                row = row.with_stage(name, {part: np.array([value], np.float64) for part, value in parts.items()})
        return row

    def _decisive(self, id: int, rank: int) -> tuple[str, str]:
        """Return the stage that decided a chunk's rank, and a sentence on how.

        It is the last stage that moved the chunk onto or off the page; otherwise the stage that moved it furthest, or
        the first stage if none moved it.
        """
        journey = list(self._journey(id, rank))
        moves = [(before, after) for before, after in pairwise(journey) if before[1] != after[1]]
        crossings = [move for move in moves if (move[0][1] <= self.top_k) != (move[1][1] <= self.top_k)]
        if not moves:
            name, place = journey[0]
            return name, f"{name} ranked it {ordinal(place)}"
        if crossings:
            before, after = crossings[-1]
        else:
            before, after = max(moves, key=lambda move: abs(move[0][1] - move[1][1]))
        name, place = after
        if name == ANCHORS and place < before[1]:
            evidence = f" ({', '.join(self._lifted_by(id))})"
        else:
            evidence = ""
        return name, f"{name} moved it from {ordinal(before[1])} to {ordinal(place)}{evidence}"

    def _lifted_by(self, id: int) -> list[str]:
        """Return the reasons for which anchors lifted a chunk, with their factors."""
        row = self.candidates.take([self.candidates.place(id) or 0])
        return [f"{part} ×{factor:g}" for part, factor in _numbers(row, ANCHORS).items()]

    def _journey(self, id: int, rank: int) -> Iterator[tuple[str, int]]:
        """Yield the chunk's rank after each stage that orders candidates."""
        candidates, place = self.candidates, self.candidates.place(id) or 0
        yield self._first, int(candidates[f"{self._first}/rank"][place])
        if candidates.parts(ANCHORS):
            then = candidates[f"{ANCHORS}/rank"][place]
            yield ANCHORS, place + 1 if np.isnan(then) else int(then)
        in_beginning = np.isfinite(candidates[f"{BEGINNING}/rank"][place])
        if candidates.parts(CODE):
            then = candidates[f"{CODE}/rank"][place]
            yield CODE, int(then) if in_beginning and np.isfinite(then) else place + 1
        if in_beginning:
            yield BEGINNING, place + 1
        for name, table in self._steps[1:]:
            place_then = table.place(id)
            # A row below those that the steps see moves up as they drop others.
            yield name, rank if place_then is None else place_then + 1

    @property
    def _first(self) -> str:
        """Return the stage that ordered the candidates first: the fusion, or the only channel."""
        fuse = self.plan.fuse
        if fuse:
            return fuse.name
        return next(iter(self.candidates.rankings))

    def _below(self, row: Candidates) -> str:
        """Return why a chunk that some channel ranks is not a candidate."""
        pool = self.plan.execution.pool
        names = list(self.plan.channels)
        ranks = {name: row[f"{name}/rank"][0] for name in names}
        ranked = {name: int(rank) for name, rank in ranks.items() if np.isfinite(rank)}
        if any(rank <= pool for rank in ranked.values()):
            return "the fusion limits its results, and this is not among them"
        if len(ranked) > 1:
            where = " in both channels"
        else:
            where = ""
        listed = ", ".join(f"{name} {ordinal(rank)}" for name, rank in ranked.items())
        others = [self._nothing(name) for name in names if name not in ranked]
        return "; ".join([f"below the pool of {pool}{where} ({listed})", *others])

    def _nothing(self, channel: str) -> str:
        """Return why a channel does not rank a chunk at all."""
        if channel == SEMANTIC:
            if self.plan.execution.vector is not None:
                return "semantic: not embedded yet"
            return "semantic: no query vector"
        terms = [in_typed_words(clause, self.typed) for clause in _clauses(self.plan.query)] + list(
            self.plan.query.prefixes
        )
        if not terms:
            return "lexical: the query has no word to search for"
        return f"lexical: none of the query's terms occur: {', '.join(terms)}"

    def _terms(self, one: Ids) -> tuple[QueryTerm, ...]:
        """Return the query's terms, both those that a chunk contains and those that it lacks."""
        query = self.plan.query
        chunks = (self.plan.execution.statistics or NO_STATISTICS).chunks
        frequencies = frequencies_of(self.plan, _clauses(query))
        contained = [bool(each.any()) for each in self.plan.evidence.holders([*frequencies], one)]
        return tuple(
            QueryTerm(
                " ".join(clause),
                in_typed_words(clause, self.typed),
                count,
                idf(chunks, count),
                is_contained,
                clause in query.variants,
            )
            for (clause, count), is_contained in zip(frequencies.items(), contained, strict=True)
        )

    def _contributions(self, row: Candidates) -> Mapping[str, float]:
        """Return the addends of a row's score."""
        score = row[SCORE][0]
        base = row[f"{self._first}/score"][0]
        if np.isnan(base):
            return {}
        if self.plan.fuse:
            parts = _numbers(row, self._first)
        else:
            parts = {self._first: float(base)}
        if np.isfinite(lifted := row[f"{ANCHORS}/score"][0]):
            parts[ANCHORS] = float(lifted - base)
        if np.isfinite(moved := row[f"{CODE}/score"][0]):
            parts[CODE] = float(moved) - sum(parts.values())
        last = [
            stage for stage, columns in stages(row).items() if any(np.isfinite(each[0]) for each in columns.values())
        ][-1]
        if not last.startswith(RERANK):
            return parts
        addends = _numbers(row, last)
        if "lowered" in addends:
            return parts | {last: float(score) - sum(parts.values())}
        if addends and abs(sum(addends.values()) - score) < 1e-9:
            return addends
        return {last: float(score)}


def _numbers(row: Candidates, stage: str) -> dict[str, float]:
    """Return the values that a stage gave a row, by part."""
    return {part: float(values[0]) for part, values in row.parts(stage).items() if np.isfinite(values[0])}


def _clauses(query: Query) -> list[Clause]:
    return list(dict.fromkeys((*query.clauses, *query.required, *query.variants)))
