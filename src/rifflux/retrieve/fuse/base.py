"""What every fusion is made of: the protocol, the evidence on candidates, one weighted sum, and the order of scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, filterfalse, repeat
from operator import mul, truediv
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.retrieve.table import SCORE, Candidates
from rifflux.store import Store
from rifflux.text.analyzer import idf
from rifflux.types import Clause, Execution, Ids, Query, Ranking, Scores

if TYPE_CHECKING:
    from rifflux.retrieve.scale import VectorScale


class Planned(Protocol):
    """A question with its execution, as `rifflux.retrieve.pipeline.Plan` has them."""

    @property
    def query(self) -> Query:
        """Return the question."""
        ...

    @property
    def execution(self) -> Execution:
        """Return how it is executed."""
        ...


class CandidateFacts(Protocol):
    """What a fusion may look up about candidates, beyond their ranks and scores; lazy, since lookups cost time."""

    def coverage(self, ids: Ids) -> Scores:
        """Return the share of the query's terms, weighted by idf, that each chunk holds; in [0, 1]."""
        ...

    def kinds(self, ids: Ids) -> Sequence[str]:
        """Return the kind of each chunk's document."""
        ...

    @property
    def specificity(self) -> float:
        """Return the share of the question's words that name one thing, in [0, 1]."""
        ...

    @property
    def scale(self) -> VectorScale | None:
        """Return the scale of the index's cosines; None where it is unknown."""
        ...


class _NoEvidence:
    """Knows nothing: for fusions that look at ranks and scores only."""

    specificity = 0.0
    scale = None

    def coverage(self, ids: Ids) -> Scores:
        """Return zeros: nothing is known to be covered."""
        return np.zeros(len(ids))

    def kinds(self, ids: Ids) -> Sequence[str]:
        """Return empty names: every kind is unknown."""
        return [""] * len(ids)


NO_FACTS: CandidateFacts = _NoEvidence()


class Fuse(Protocol):
    """Fuses the channels of a candidate table into one score.

    `depth` is how far the rankings should reach for a pool of candidates: scores known further down than the
    pool keep a candidate of one channel from counting as worthless in the other. `enough` of them suffice where reading
    on costs time.
    """

    @property
    def name(self) -> str:
        """Return the name users choose it by."""
        ...

    @property
    def anchored(self) -> bool:
        """Return True if anchors may multiply its scores; where ranks alone decide they may not."""
        ...

    def depth(self, pool: int) -> int:
        """Return how many entries of each channel it makes use of."""
        ...

    def enough(self, pool: int) -> int:
        """Return how many of them it can do with."""
        ...

    def __call__(self, table: Candidates, evidence: CandidateFacts = NO_FACTS) -> Candidates:
        """Return the candidates by their fused score, with the addend of each channel as a column."""
        ...

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: CandidateFacts) -> float:
        """Return the weight of the semantic channel as a share of the weights of both, in [0, 1]."""
        ...


def fused(table: Candidates, name: str, scores: Scores, addends: Mapping[str, Scores]) -> Candidates:
    """Return the candidates by a fused score; equal ones by their best rank in any channel, then by id."""
    best = np.fmin.reduce([*(table[f"{each}/rank"] for each in table.rankings)])
    table = table.with_stage(name, {SCORE: scores, **addends}).scored(scores, best)
    return table.with_column(f"{name}/rank", table.ranks())


def frequencies_of(store: Store, plan: Planned, clauses: Iterable[Clause]) -> Mapping[Clause, int]:
    """Return the number of chunks that hold each clause at most: a phrase is no more frequent than its rarest word.

    The chunks of other languages hold another form of it. The store counts only terms that the plan has no statistics
    of.
    """
    clauses = dict.fromkeys(clauses)
    statistics = plan.execution.statistics
    known = dict(statistics.frequencies) if statistics else {}
    forms = plan.query.languages.forms
    every = {clause: (clause, *forms.get(clause, ())) for clause in clauses}
    missing = [*filterfalse(known.__contains__, chain.from_iterable(chain.from_iterable(every.values())))]
    if missing:
        known |= store.lexical.document_frequencies(missing)
    found = {}
    for clause in clauses:
        found[clause] = sum(min(map(known.get, form, repeat(0)), default=0) for form in every[clause])
    if forms:
        most = chunks_of(store, plan)
        found = {clause: min(count, most) for clause, count in found.items()}
    return found


def chunks_of(store: Store, plan: Planned) -> int:
    """Return the number of chunks, as of when the question was read."""
    if plan.execution.statistics:
        return plan.execution.statistics.chunks
    return store.counts()["chunks"]


def weights_of(store: Store, plan: Planned) -> Mapping[Clause, float]:
    """Return the idf of each clause of the question."""
    chunks = chunks_of(store, plan)
    found = frequencies_of(store, plan, (*plan.query.clauses, *plan.query.required))
    return dict(zip(found, map(idf, repeat(chunks), found.values()), strict=True))


@dataclass(frozen=True)
class StoreFacts:
    """The evidence on the candidates of one search."""

    store: Store
    plan: Planned
    scale: VectorScale | None = None
    known: dict[int, str] = field(default_factory=dict, compare=False, repr=False)

    def coverage(self, ids: Ids) -> Scores:
        """Return the share of the query's terms, weighted by idf, that each chunk holds; in [0, 1]."""
        weights = weights_of(self.store, self.plan)
        forms = self.plan.query.languages.forms
        total = sum(weights.values())
        share = np.zeros(len(ids))
        for clause, weight in weights.items():
            holders = [self.store.lexical.holding(form, ids) for form in (clause, *forms.get(clause, ()))]
            share += weight * np.isin(ids, np.concatenate(holders))
        if total:
            return share / total
        return share

    def kinds(self, ids: Ids) -> Sequence[str]:
        """Return the kind of each chunk's document; empty for a chunk that is gone."""
        wanted = ids.tolist()
        if not self.known.keys() >= {*wanted}:
            self.known.update(dict.fromkeys(wanted, "") | dict(self.store.catalog.kinds(ids)))
        return [*(self.known[each] for each in wanted)]

    @property
    def specificity(self) -> float:
        """Return the share of the question's words that name one thing, in [0, 1]."""
        return self.plan.query.specificity


@dataclass(frozen=True, slots=True)
class Weights(Mapping[str, float]):
    """How much each component counts, by its name; only the proportions matter."""

    by_name: Mapping[str, float]

    def __post_init__(self) -> None:
        values = self.by_name.values()
        if not all(math.isfinite(value) for value in values) or min(values, default=0.0) < 0 or not any(values):
            raise InvalidArgument("feature weights must be finite and not negative, and some above zero")

    def __getitem__(self, name: str) -> float:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def but(self, **changes: float) -> Weights:
        """Return these weights with some replaced. Raises `InvalidArgument` for a component that is none."""
        if unknown := sorted(changes.keys() - self.by_name.keys()):
            raise InvalidArgument(f"no component {unknown[0]!r} to weigh; choose from {', '.join(self.by_name)}")
        return Weights({**self.by_name, **dict(zip(changes, map(float, changes.values()), strict=True))})

    def shares(self) -> dict[str, float]:
        """Return the weights divided by their sum."""
        weights = self.by_name.values()
        return dict(zip(self.by_name, map(truediv, weights, repeat(sum(weights))), strict=True))


def weighed(components: Mapping[str, Scores], weights: Mapping[str, float]) -> tuple[Scores, dict[str, Scores]]:
    """Return the sum of the components times their weights, and the addend of each; in the order of the weights."""
    addends = dict(zip(weights, map(mul, weights.values(), (components[weight] for weight in weights)), strict=True))
    return np.sum(list(addends.values()), axis=0), addends
