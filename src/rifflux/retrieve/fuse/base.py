"""What every fusion is made of: the protocol, the evidence on candidates, one weighted sum, and the order of scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import mul, truediv
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.retrieve.table import SCORE, Candidates
from rifflux.store import ChunkFacts, CodePiece, Store
from rifflux.text.analyzer import idf
from rifflux.types import (
    Clause,
    Execution,
    Filter,
    Hit,
    Ids,
    Query,
    Ranking,
    Scores,
    TermStatistics,
    Vectors,
)

if TYPE_CHECKING:
    from rifflux.retrieve.scale import VectorScale


#: Those of an index that holds nothing.
NO_STATISTICS = TermStatistics(0, 0, {})


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


@runtime_checkable
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

    def __call__(self, table: Candidates, evidence: CandidateFacts = ...) -> Candidates:
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


def frequencies_of(plan: Planned, clauses: Iterable[Clause]) -> Mapping[Clause, int]:
    """Return the number of chunks that hold each clause at most: a phrase is no more frequent than its rarest word.

    The chunks of other languages hold another form of it.
    """
    statistics = plan.execution.statistics or NO_STATISTICS
    known = statistics.frequencies
    forms = plan.query.languages.forms
    found: dict[Clause, int] = {}
    for clause in clauses:
        if not forms and len(clause) == 1:
            found[clause] = known.get(clause[0], 0)
            continue
        count = sum(min((known.get(term, 0) for term in form), default=0) for form in (clause, *forms.get(clause, ())))
        found[clause] = min(count, statistics.chunks) if forms else count
    return found


def weights_of(plan: Planned) -> Mapping[Clause, float]:
    """Return the idf of each clause of the question."""
    chunks = (plan.execution.statistics or NO_STATISTICS).chunks
    found = frequencies_of(plan, (*plan.query.clauses, *plan.query.required))
    return {clause: idf(chunks, count) for clause, count in found.items()}


@dataclass(frozen=True)
class IndexFacts:
    """What steps know of the candidates of one search beyond ranks and scores; nothing is read twice.

    The call that gathers candidates gives the `chunks` that it described. What a step looks at besides is read when it
    does; without a `reader`, nothing else is known.
    """

    plan: Planned
    reader: Store | None = None
    scale: VectorScale | None = None
    chunks: dict[int, ChunkFacts | None] = field(default_factory=dict, repr=False)
    known_vectors: dict[int, Vectors | None] = field(default_factory=dict, repr=False)

    def facts(self, ids: Ids) -> Mapping[int, ChunkFacts]:
        """Return what each chunk is and is called, in the order of the ids; chunks that are gone are left out."""
        wanted = ids.tolist()
        missing = [id for id in wanted if id not in self.chunks]
        if missing and self.reader:
            self.chunks.update(dict.fromkeys(missing))
            self.chunks.update(self.reader.catalog.facts(np.array(missing, np.int64)))
        return {id: found for id in wanted if (found := self.chunks.get(id))}

    def vectors(self, ids: Ids) -> Mapping[int, Vectors]:
        """Return the vector of each chunk that has one, in the order of the ids."""
        wanted = ids.tolist()
        missing = [id for id in wanted if id not in self.known_vectors]
        if missing and self.reader:
            self.known_vectors.update(dict.fromkeys(missing))
            self.known_vectors.update(self.reader.semantic.vectors_of(np.array(missing, np.int64)))
        return {id: found for id in wanted if (found := self.known_vectors.get(id)) is not None}

    def holding(self, clause: Clause, ids: Ids) -> Ids:
        """Return those of the chunks that hold a term, or a phrase of adjacent terms."""
        return self.reader.lexical.holding(clause, ids) if self.reader else ids[:0]

    def passing(self, filter: Filter, ids: Ids) -> Scores:
        """Return 1 for each chunk whose document a filter lets through, 0 for others."""
        found = self.reader.catalog.passing(filter, ids) if self.reader else ids[:0]
        return np.isin(ids, found).astype(np.float64)

    def code_of(self, ids: Ids) -> Mapping[int, CodePiece]:
        """Return those of the chunks that are source code."""
        return self.reader.catalog.code_of(ids) if self.reader else {}

    def passages(self, ranking: Ranking) -> Sequence[Hit]:
        """Return the stored chunks of a ranking, in its order, with its scores; ids that are gone are left out."""
        return self.reader.catalog.hydrate(ranking) if self.reader else ()

    def coverage(self, ids: Ids) -> Scores:
        """Return the share of the query's terms, weighted by idf, that each chunk holds; in [0, 1]."""
        weights = weights_of(self.plan)
        forms = self.plan.query.languages.forms
        total = sum(weights.values())
        share = np.zeros(len(ids))
        for clause, weight in weights.items():
            holders = [self.holding(form, ids) for form in (clause, *forms.get(clause, ()))]
            share += weight * np.isin(ids, np.concatenate(holders))
        if total:
            return share / total
        return share

    def kinds(self, ids: Ids) -> Sequence[str]:
        """Return the kind of each chunk's document; empty for a chunk that is gone."""
        found = self.facts(ids)
        return [found[id].kind if id in found else "" for id in ids.tolist()]

    @property
    def specificity(self) -> float:
        """Return the share of the question's words that name one thing, in [0, 1]."""
        return self.plan.query.specificity


@dataclass(frozen=True, slots=True)
class Unplanned:
    """A question of which nothing is known."""

    query: Query = field(default_factory=lambda: Query(""))
    execution: Execution = field(default_factory=Execution)


#: Knows nothing: for fusions that look at ranks and scores only.
NO_FACTS = IndexFacts(Unplanned())


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
