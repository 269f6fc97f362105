"""Changes that would bring a chunk onto the page, each tested on the search's own candidates.

Tested are the parts of the query that exclude the chunk, a longer page, a query term that the chunk lacks, and the
weight of the channels. The first two run the changed search. An added term counts as one more occurrence in a passage
of average length, and weights are tested in steps of .01 on the scores at hand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rifflux.retrieve.explain.obstacles import Obstacle
from rifflux.retrieve.explain.verdict import Change, QueryTerm
from rifflux.retrieve.fuse import Fuse
from rifflux.retrieve.pipeline import Outcome, Phase, Plan, Stage, Stopwatch, gather
from rifflux.retrieve.steps.anchors import STAGE as ANCHORS
from rifflux.retrieve.steps.credits import STAGE as CREDITS
from rifflux.retrieve.table import LEXICAL, SCORE, SEMANTIC, Candidates
from rifflux.types import Ids, Ranking

#: The longest page considered; nobody reads further.
LONGEST_PAGE = 500
_WEIGHTS = np.arange(101) / 100


def changes(
    plan: Plan,
    candidates: Candidates,
    row: Candidates,
    rank: int | None,
    top_k: int,
    terms: Sequence[QueryTerm],
    obstacles: Sequence[Obstacle] = (),
) -> list[Change]:
    """Return the changes that would bring a chunk among the first `top_k`, smallest first.

    `row` has the chunk's exact ranks in the channels, `rank` is its rank among the candidates.
    """
    # Trial runs do not add to the trace of the search.
    plan = replace(plan, clock=Stopwatch(), outcome=Outcome())
    trial = _Trial(plan, candidates, row, rank, top_k)
    if obstacles:
        found = list(trial.unblocked(obstacles))
    else:
        found = [*trial.longer_page(), *trial.mention(terms), *trial.weight()]
    return sorted(found, key=lambda change: change.size)


@dataclass(frozen=True)
class _Trial:
    """Tests changes for one chunk."""

    plan: Plan
    candidates: Candidates
    row: Candidates
    rank: int | None
    top_k: int

    @property
    def id(self) -> int:
        """Return the chunk's id."""
        return int(self.row.ids[0])

    def unblocked(self, obstacles: Sequence[Obstacle]) -> Iterator[Change]:
        """Test the search without the parts of the query that exclude the chunk."""
        query = self.plan.query
        for obstacle in obstacles:
            query = obstacle.without(query)
        plan = replace(self.plan, query=query)
        candidates = plan.candidates()
        rank = self._rank_in(plan, candidates)
        if rank is None:
            return
        what = f"leave out {' and '.join(obstacle.what for obstacle in obstacles)}"
        if rank <= self.top_k:
            yield Change(what, rank, float(len(obstacles)))
            return
        for longer in _Trial(plan, candidates, self.row, rank, self.top_k).longer_page():
            yield Change(f"{what}, and {longer.what}", longer.rank, len(obstacles) + longer.size)

    def longer_page(self) -> Iterator[Change]:
        """Test longer pages. A longer page has more candidates, which may push the chunk further down."""
        page_size = self.rank or self._converged(self._first_reaching())
        for _ in range(2):
            if page_size is None or not self.top_k < page_size <= LONGEST_PAGE:
                return
            rank = self._rank_on_page_of(page_size, self.plan)
            if rank and rank <= page_size:
                yield Change(f"ask for {page_size} results", rank, (page_size - self.top_k) / self.top_k)
                return
            page_size = rank

    def _first_reaching(self) -> int | None:
        """Return the shortest page for which some channel reads down to the chunk."""
        places = [self.row[f"{name}/rank"][0] for name in self.plan.channels]
        ranks = [int(place) for place in places if np.isfinite(place)]
        pages = range(self.top_k + 1, LONGEST_PAGE + 1)
        # The pool never shrinks as the page grows.
        if ranks:
            first = bisect_left(pages, min(ranks), key=self.plan.pool_of)
        else:
            first = len(pages)
        if first < len(pages):
            return pages[first]
        return None

    def _converged(self, page: int | None) -> int | None:
        """Return the first page length from `page` that includes the chunk, without anchors and passage steps."""
        bare = replace(self.plan, stages=[each for each in self.plan.stages if _is_bare(each)])
        while page and page <= LONGEST_PAGE:
            rank = self._rank_on_page_of(page, bare)
            if rank is None or rank <= page:
                return page
            page = rank
        return None

    def _rank_on_page_of(self, top_k: int, plan: Plan) -> int | None:
        longer = plan.for_page(top_k)
        depths = {LEXICAL: longer.execution.limit, SEMANTIC: longer.execution.sufficient}
        found = {name: ranking.head(depths[name]) for name, ranking in self._far.items()}
        return self._rank_in(longer, longer.candidates(_ranked(found)), top_k)

    @cached_property
    def _far(self) -> Mapping[str, Ranking]:
        """Return the rankings of the channels for the longest page."""
        longest = self.plan.for_page(LONGEST_PAGE)
        run = self.plan.execution
        if (longest.execution.limit, longest.execution.sufficient) == (run.limit, run.sufficient):
            return self.candidates.rankings
        return gather(longest).rankings

    def _rank_in(self, plan: Plan, table: Candidates, top_k: int = 0) -> int | None:
        """Return the chunk's rank among candidates after all steps, or None."""
        order = table.ids.tolist()
        if any(stage.phase == Phase.PASSAGES for stage in plan.stages):
            passages = plan.passages_for(top_k or self.top_k)
            fetched = replace(plan, passages=passages).run_phase(Phase.FETCH, table)
            order = [*plan.run_phase(Phase.PASSAGES, fetched).ids.tolist(), *order[passages:]]
        return order.index(self.id) + 1 if self.id in order else None

    def mention(self, terms: Sequence[QueryTerm]) -> Iterator[Change]:
        """Test adding the rarest query term that the chunk lacks, then all missing terms."""
        missing = [term for term in terms if not term.matched and term.frequency and " " not in term.term]
        if not missing or LEXICAL not in self.candidates.rankings:
            return
        rarest = max(missing, key=lambda term: term.idf)
        for added in dict.fromkeys([(rarest,), tuple(missing)]):
            rank = self._rank_with(sum(term.idf for term in added))
            if rank and rank <= self.top_k:
                words = " and ".join(repr(term.word) for term in added)
                yield Change(f"a mention of {words} in it", rank, len(added) / len(terms))
                return

    def _rank_with(self, gain: float) -> int | None:
        """Return the chunk's rank with a higher BM25 score: an occurrence in an average passage adds the term's idf."""
        found = self.candidates.rankings
        score = float(np.nan_to_num(self.row[f"{LEXICAL}/score"][0])) + gain
        raised = {**found, LEXICAL: _raised(found[LEXICAL], self.id, score)}
        return self._rank_in(self.plan, self.plan.candidates(_ranked(raised)))

    def weight(self) -> Iterator[Change]:
        """Test the semantic weight nearest to the present one that would put the chunk on the page."""
        plan = self.plan
        found = self.candidates.rankings
        if self.rank is None or plan.fuse is None or not {LEXICAL, SEMANTIC} <= found.keys():
            return
        if any(stage.phase == Phase.PASSAGES for stage in plan.stages):
            return
        present = plan.fuse.semantic_weight(found, plan.evidence)
        if not 0 < present < 1:
            return
        ranks = self._ranks_by_weight(plan.fuse, present)
        enough = np.flatnonzero(ranks <= self.top_k)
        if len(enough):
            best = int(enough[np.argmin(np.abs(_WEIGHTS[enough] - present))])
            weight = float(_WEIGHTS[best])
            way = present if weight < present else 1 - present
            what = (
                f"weigh meaning {weight:.2f} and words {1 - weight:.2f}, instead of {present:.2f} and {1 - present:.2f}"
            )
            yield Change(what, int(ranks[best]), abs(weight - present) / way)

    def _ranks_by_weight(self, fuse: Fuse, present: float) -> Ids:
        """Return the chunk's rank for each of `_WEIGHTS`; ties count as above it."""
        table = self.candidates
        fused = table[f"{fuse.name}/score"]
        shares = table.parts(fuse.name)
        factors = np.divide(table[SCORE], fused, out=np.ones(len(table)), where=fused != 0)
        words = shares[LEXICAL] / (1 - present)
        meaning = shares[SEMANTIC] / present
        scores = factors[:, None] * (words[:, None] * (1 - _WEIGHTS) + meaning[:, None] * _WEIGHTS)
        return np.asarray(np.sum(scores >= scores[table.place(self.id)] - 1e-12, axis=0))


def _is_bare(stage: Stage) -> bool:
    """Return True for a stage that neither lifts what the query names nor reads passages."""
    return stage.phase == Phase.CANDIDATES and stage.name not in (ANCHORS, CREDITS)


def _ranked(rankings: Mapping[str, Ranking]) -> Candidates:
    """Return a table without rows that has the given rankings, as returned by the channels."""
    return Candidates(np.empty(0, np.int64), rankings=rankings)


def _raised(ranking: Ranking, id: int, score: float) -> Ranking:
    """Return the ranking with a changed score for one id."""
    others = ranking.ids != id
    ids = np.append(ranking.ids[others], id)
    scores = np.append(ranking.scores[others], score)
    order = np.lexsort((ids, -scores))
    return Ranking(ids[order], scores[order])
