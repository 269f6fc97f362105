"""Authors, venues and years: works by those named in the query become candidates and are boosted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.table import CREDITED, RELEVANCE, SCORE, Candidates, declare
from rifflux.store import CandidateRequest, CandidateResponse, FactTable, Store
from rifflux.types import Ranking

STAGE = "credits"
declare("credits/*", "factor", "the factor for an author, venue or year named in the query")
#: The maximum number of works per credit that become candidates regardless of their words.
MOST = 200


@dataclass(frozen=True, slots=True)
class CreditedSearch:
    """Searches a store and adds the works of the query's authors, venues and years to the candidates."""

    store: Store

    def __call__(self, request: CandidateRequest) -> CandidateResponse:
        """Return in each channel the normal results merged with those among these works, then the remaining works."""
        query = request.query
        found = self.store.search(request)
        rankings = {name: [ranking] for name, ranking in found.rankings.items()}
        facts = found.facts
        milliseconds = dict(found.milliseconds)
        run = replace(request.execution, limit=min(request.execution.limit, MOST))
        for credit in query.credits:
            filter = query.filter.narrowed(credit.filter)
            theirs = self.store.search(replace(request, query=replace(query, filter=filter), execution=run))
            rest = self.store.catalog.first_of(filter, MOST)
            if theirs.facts is not facts:
                facts = FactTable.of({**facts.facts(), **theirs.facts.facts()})
            for name, ranking in theirs.rankings.items():
                rankings[name] += [ranking, Ranking(rest, np.zeros(len(rest)))]
                milliseconds[name] += theirs.milliseconds[name]
        merged = {name: _in_turn(parts) for name, parts in rankings.items()}
        return CandidateResponse(merged, facts, milliseconds)


def _in_turn(rankings: Sequence[Ranking]) -> Ranking:
    """Return the entries of all rankings by score, without duplicates; ties keep the lower id first."""
    ids = np.concatenate([each.ids for each in rankings])
    scores = np.concatenate([each.scores for each in rankings])
    _, first = np.unique(ids, return_index=True)
    kept = np.sort(first)
    order = kept[np.lexsort((ids[kept], -scores[kept]))]
    return Ranking(ids[order], scores[order])


@dataclass(frozen=True)
class Credits:
    """Boosts works of the query's authors, venues and years: by `sure` if nothing else can be meant.

    If the query requests nothing but their works, these precede all others.
    """

    likely: float = 2.0
    sure: float = 8.0

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Boost the scores of these works, adding a column per name."""
        query = plan.query
        factors = {}
        share = np.zeros(len(table))
        for credit in query.credits:
            of_them = plan.evidence.passing(credit.filter, table.ids)
            if credit.sure and not query.credits_only:
                factor = self.sure
            else:
                factor = self.likely
            # A leading space separates user input from the columns `rank` and `score`.
            factors[f" {credit.label}"] = np.where(of_them > 0, factor, np.nan)
            share = np.maximum(share, of_them)
        if not share.any():
            return table
        lifted = np.prod([np.nan_to_num(each, nan=1.0) for each in factors.values()], axis=0)
        if query.credits_only:
            first = share * table[SCORE].max(initial=0.0)
        else:
            first = 0.0
        return table.with_column(CREDITED, lifted).factored(STAGE, factors, (table[SCORE] + first) * lifted)


def credits_first(plan: Plan, table: Candidates) -> Candidates:
    """Reapply the credit factors, which a reranker does not use, to its order."""
    lifted = np.nan_to_num(table[CREDITED], nan=1.0)
    if plan.query.credits_only:
        first = (lifted > 1) * table[SCORE].max(initial=0.0)
    else:
        first = 0.0
    return table.scored((table[SCORE] + first) * lifted)


def credit_relevance(plan: Plan, table: Candidates) -> Candidates:
    """Set the relevance of works to 1 if the query requests nothing else."""
    if not len(table):
        return table
    every = np.min([plan.evidence.passing(credit.filter, table.ids) for credit in plan.query.credits], axis=0)
    return table.with_column(RELEVANCE, np.maximum(table[RELEVANCE], every))
