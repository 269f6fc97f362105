"""Authors, venues and years: works of those that a question names become candidates, and count more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rifflux.retrieve.pipeline import Channel, Plan
from rifflux.retrieve.table import CREDITED, RELEVANCE, SCORE, Candidates, declare
from rifflux.store import Store
from rifflux.types import Credit, Execution, Ids, Query, Ranking, Scores

STAGE = "credits"
declare(
    "credits/*", "factor", "the factor for being by the author, in the venue or of the year that the question names"
)
#: So many works of those who are named become candidates, whatever their words.
MOST = 200


@dataclass(frozen=True)
class CreditedChannel:
    """A channel that names the works of those whom the question names, too, behind what it names anyway."""

    channel: Channel
    store: Store

    def __call__(self, query: Query, execution: Execution) -> Ranking:
        """Return what the channel finds at all, then what it finds among these works, then the rest of them."""
        found = [self.channel(query, execution)]
        for credit in query.credits:
            theirs = replace(query, filter=query.filter.narrowed(credit.filter))
            found.append(self.channel(theirs, replace(execution, limit=min(execution.limit, MOST))))
            rest = self.store.catalog.first_of(theirs.filter, MOST)
            found.append(Ranking(rest, np.zeros(len(rest))))
        ids, scores = (np.concatenate(each) for each in zip(*((each.ids, each.scores) for each in found), strict=True))
        _, first = np.unique(ids, return_index=True)
        kept = np.sort(first)
        order = kept[np.lexsort((ids[kept], -scores[kept]))]
        return Ranking(ids[order], scores[order])


def with_credited(channels: Mapping[str, Channel], store: Store) -> Mapping[str, Channel]:
    """Return channels that name the works of those whom the question names, too."""
    return {name: CreditedChannel(channel, store) for name, channel in channels.items()}


def credited(store: Store, credit: Credit, ids: Ids) -> Scores:
    """Return 1 for each chunk of a work of those who are named, 0 for others."""
    return np.isin(ids, store.catalog.passing(credit.filter, ids)).astype(np.float64)


@dataclass(frozen=True)
class Credits:
    """Candidates of those whom the question names count more: `sure` times where nothing else can be meant.

    Where it asks for nothing but their works, these come before all others.
    """

    store: Store
    likely: float = 2.0
    sure: float = 8.0

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Lift the scores of these works; a column for each name."""
        query = plan.query
        factors = {}
        share = np.zeros(len(table))
        for credit in query.credits:
            of_them = credited(self.store, credit, table.ids)
            if credit.sure and not query.credits_only:
                factor = self.sure
            else:
                factor = self.likely
            # A leading space keeps what is typed apart from the columns `rank` and `score`.
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
    """Order what a reranker ordered by the factors that it knows nothing of."""
    lifted = np.nan_to_num(table[CREDITED], nan=1.0)
    if plan.query.credits_only:
        first = (lifted > 1) * table[SCORE].max(initial=0.0)
    else:
        first = 0.0
    return table.scored((table[SCORE] + first) * lifted)


@dataclass(frozen=True, slots=True)
class CreditRelevance:
    """Rates works that are all that the question wants as surely relevant."""

    store: Store

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates, in their order, with their relevance."""
        if not len(table):
            return table
        every = np.min([credited(self.store, credit, table.ids) for credit in plan.query.credits], axis=0)
        return table.with_column(RELEVANCE, np.maximum(table[RELEVANCE], every))
