"""The basis of every fusion: the protocol, the facts about candidates, a weighted sum, and the order of scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse, repeat
from operator import mul, truediv
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rifflux.errors import InvalidArgument
from rifflux.retrieve.table import SCORE, Candidates
from rifflux.store import ChunkFacts, CodePiece, FactTable, Store, TermSequences
from rifflux.text.analyzer import Analyzer, idf
from rifflux.types import (
    Clause,
    Execution,
    Filter,
    Ids,
    Query,
    Ranking,
    Scores,
    TermStatistics,
    Vectors,
)

if TYPE_CHECKING:
    from rifflux.retrieve.scale import VectorScale


#: The maximum number of chunks of a view whose kinds are kept.
MOST_KINDS = 1 << 12
#: Statistics of an empty index.
NO_STATISTICS = TermStatistics(0, 0, {})


class Planned(Protocol):
    """A query with its execution, implemented by `rifflux.retrieve.pipeline.Plan`."""

    @property
    def query(self) -> Query:
        """Return the parsed query."""
        ...

    @property
    def execution(self) -> Execution:
        """Return the statistics and settings that the query is executed with."""
        ...


class CandidateFacts(Protocol):
    """Facts about candidates that a fusion may use beyond ranks and scores; lazy, because lookups cost time."""

    def coverage(self, ids: Ids) -> Scores:
        """Return the idf-weighted share of the query's terms that each chunk contains, in [0, 1]."""
        ...

    def kinds(self, ids: Ids) -> Sequence[str]:
        """Return the kind of each chunk's document."""
        ...

    def cosines(self, ids: Ids) -> Scores:
        """Return the cosine of each chunk with the query; NaN without a vector."""
        ...

    @property
    def specificity(self) -> float:
        """Return the share of the query's words that name a specific thing, in [0, 1]."""
        ...

    @property
    def scale(self) -> VectorScale | None:
        """Return the scale of the index's cosines, or None if it is unknown."""
        ...


@runtime_checkable
class Fuse(Protocol):
    """Fuses the channels of a candidate table into one score.

    `depth` is the number of entries that each ranking should have for a given pool size: with scores known beyond the
    pool, a candidate of one channel does not count as worthless in the other. By meaning `enough` of them suffice.
    """

    @property
    def name(self) -> str:
        """Return the name that users select it by."""
        ...

    @property
    def anchored(self) -> bool:
        """Return True if anchors may multiply its scores; False for fusions by rank alone."""
        ...

    def depth(self, pool: int) -> int:
        """Return the number of entries to use from each channel."""
        ...

    def enough(self, pool: int) -> int:
        """Return the number of entries that it needs by meaning."""
        ...

    def __call__(self, table: Candidates, evidence: CandidateFacts = ...) -> Candidates:
        """Return the candidates by fused score, with each channel's addend as a column."""
        ...

    def semantic_weight(self, rankings: Mapping[str, Ranking], evidence: CandidateFacts) -> float:
        """Return the weight of the semantic channel as a share of the weights of both, in [0, 1]."""
        ...


def fused(table: Candidates, name: str, scores: Scores, addends: Mapping[str, Scores]) -> Candidates:
    """Return the candidates by fused score; ties go to the best rank in any channel, then to the lower id."""
    best = np.fmin.reduce([table[f"{each}/rank"] for each in table.rankings])
    parts = {f"{name}/{part}": values for part, values in {SCORE: scores, **addends}.items()}
    table = Candidates(table.ids, {**table.columns, **parts}, table.rankings).scored(scores, best)
    return table.with_column(f"{name}/rank", table.ranks())


def frequencies_of(plan: Planned, clauses: Iterable[Clause]) -> Mapping[Clause, int]:
    """Return an upper bound on the number of chunks that contain each clause: for a phrase, that of its rarest word.

    A clause's forms in other languages are counted too.
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
    """Return the idf of each clause of the query."""
    chunks = (plan.execution.statistics or NO_STATISTICS).chunks
    found = frequencies_of(plan, (*plan.query.clauses, *plan.query.required))
    return {clause: idf(chunks, count) for clause, count in found.items()}


@dataclass(eq=False)
class IndexFacts:
    """Facts about the candidates of one search beyond ranks and scores; nothing is read twice.

    The caller that gathers candidates provides the facts of `chunks` that it has already described, and cosines that it
    knows. Other facts are read when a step first needs them; without a `reader` they are empty.
    """

    plan: Planned
    reader: Store | None = None
    scale: VectorScale | None = None
    chunks: FactTable = field(default_factory=FactTable, repr=False)
    known_vectors: dict[int, Vectors | None] = field(default_factory=dict, repr=False)
    known_cosines: dict[int, float] = field(default_factory=dict, repr=False)
    #: The terms of the passages that steps have read, by analyzer (see `steps.calibrate.terms_of`).
    passages: dict[Analyzer, Any] = field(default_factory=dict, repr=False)
    #: The chunks that were looked for in vain.
    _gone: set[int] = field(default_factory=set, init=False, repr=False)

    def sequences(self, ids: Ids) -> TermSequences | None:
        """Return the terms of chunks in order, or None if their texts must be analyzed."""
        return self.reader.lexical.sequences(ids) if self.reader else None

    def facts(self, ids: Ids) -> Mapping[int, ChunkFacts]:
        """Return the stored facts of each chunk, in the order of the ids, without chunks that no longer exist."""
        numbers = self.numbers(ids).tolist()
        every = self.chunks.every
        return {id: every[number] for id, number in zip(ids.tolist(), numbers, strict=True) if number >= 0}

    def numbers(self, ids: Ids) -> Ids:
        """Return the number of each chunk's facts in `chunks`; -1 for a chunk that no longer exists."""
        wanted = ids.tolist()
        known = self.chunks.numbers
        missing = [id for id in filterfalse(known.__contains__, wanted) if id not in self._gone]
        if missing and self.reader:
            read = self.reader.catalog.facts(np.array(missing, np.int64))
            self._gone.update(id for id in missing if id not in read)
            if not read.keys() <= known.keys():
                # The table may be shared with other searches, or of what the content was a moment ago.
                more = FactTable.of({**self.chunks.facts(), **read})
                more.names = self.chunks.names
                self.chunks = more
                known = self.chunks.numbers
        return np.fromiter(map(known.get, wanted, repeat(-1)), np.int64, len(wanted))

    def vectors(self, ids: Ids) -> Mapping[int, Vectors]:
        """Return the vector of each chunk that has one, in the order of the ids."""
        chunk_ids = ids.tolist()
        missing = [id for id in chunk_ids if id not in self.known_vectors]
        if missing and self.reader:
            self.known_vectors.update(dict.fromkeys(missing))
            self.known_vectors.update(self.reader.semantic.vectors_of(np.array(missing, np.int64)))
        return {id: found for id in chunk_ids if (found := self.known_vectors.get(id)) is not None}

    def cosines(self, ids: Ids) -> Scores:
        """Return the cosine of each chunk with the query; NaN without a vector."""
        known_cosines = self.known_cosines
        found = np.array([known_cosines.get(id, np.nan) for id in ids.tolist()], np.float64)
        missing = np.flatnonzero(np.isnan(found))
        vector = self.plan.execution.vector
        if vector is None or not len(missing) or not (length := float(np.linalg.norm(vector))):
            return found
        ids = ids[missing]
        known = self.vectors(ids)
        if len(known) < len(ids):
            missing = missing[[row for row, id in enumerate(ids.tolist()) if id in known]]
        if known:
            found[missing] = np.vecdot(np.concatenate([*known.values()]).reshape(len(known), -1), vector / length)
        return found

    def holders(self, clauses: Sequence[Clause], ids: Ids) -> NDArray[np.bool_]:
        """Return for each clause which of the chunks contain its term, or its terms side by side."""
        if not clauses or not self.reader:
            return np.zeros((len(clauses), len(ids)), np.bool_)
        return self.reader.lexical.holders(clauses, ids)

    def passing(self, filter: Filter, ids: Ids) -> Scores:
        """Return 1 for each chunk whose document passes the filter, and 0 for others."""
        found = self.reader.catalog.passing(filter, ids) if self.reader else ids[:0]
        return np.isin(ids, found).astype(np.float64)

    def code_of(self, ids: Ids, beside: Ids) -> Mapping[int, CodePiece]:
        """Return the source code details of those chunks that are code; `beside` are probably fetched next."""
        # The texts of all others would be read for nothing.
        code = [id for id, kind in zip(ids.tolist(), self.kinds(ids), strict=True) if kind == "code"]
        return self.reader.catalog.code_of(np.array(code, np.int64), beside) if self.reader and code else {}

    def coverage(self, ids: Ids) -> Scores:
        """Return the idf-weighted share of the query's terms that each chunk contains, in [0, 1]."""
        weights = weights_of(self.plan)
        total = sum(weights.values())
        share = np.zeros(len(ids))
        if not total or not self.reader:
            return share
        forms = self.plan.query.languages.forms
        spellings = [(clause, *forms.get(clause, ())) for clause in weights]
        holders = self.reader.lexical.holders([each for clause in spellings for each in clause], ids)
        place = 0
        for several, weight in zip(spellings, weights.values(), strict=True):
            share += weight * holders[place : place + len(several)].any(axis=0)
            place += len(several)
        return share / total

    def kinds(self, ids: Ids) -> Sequence[str]:
        """Return the kind of each chunk's document, or an empty string for a chunk that no longer exists."""
        known = self.chunks.kinds
        wanted = ids.tolist()
        found = {id: kind for id in wanted if (kind := known.get(id)) is not None}
        missing = [*filterfalse(found.__contains__, wanted)]
        if missing:
            others = np.array(missing, np.int64)
            if self.chunks.names and (names := self.chunks.names(others)):
                kinds = [*map(names.table.text, names.kinds.tolist())]
            else:
                numbers = self.numbers(others).tolist()
                every = self.chunks.every
                kinds = [every[number].kind if number >= 0 else "" for number in numbers]
            if len(known) >= MOST_KINDS:
                # Others may read that one meanwhile.
                known = self.chunks.kinds = {}
            read = dict(zip(missing, kinds, strict=True))
            known.update(read)
            found |= read
        return [found[id] for id in wanted]

    @property
    def specificity(self) -> float:
        """Return the share of the query's words that name a specific thing, in [0, 1]."""
        return self.plan.query.specificity


@dataclass(frozen=True, slots=True)
class Unplanned:
    """A placeholder plan with an empty query."""

    query: Query = field(default_factory=lambda: Query(""))
    execution: Execution = field(default_factory=Execution)


#: Facts without any content, for fusions that use only ranks and scores.
NO_FACTS = IndexFacts(Unplanned())


@dataclass(frozen=True, slots=True)
class Weights(Mapping[str, float]):
    """Component weights by name; only their proportions matter."""

    by_name: Mapping[str, float]

    def __post_init__(self) -> None:
        values = self.by_name.values()
        if not all(math.isfinite(value) for value in values) or min(values, default=0.0) < 0 or not any(values):
            raise InvalidArgument("feature weights must be finite and not negative, with at least one above zero")

    def __getitem__(self, name: str) -> float:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def but(self, **changes: float) -> Weights:
        """Return a copy with some weights replaced. Raises `InvalidArgument` for an unknown component."""
        if unknown := sorted(changes.keys() - self.by_name.keys()):
            raise InvalidArgument(f"no component {unknown[0]!r} to weigh; choose from {', '.join(self.by_name)}")
        return Weights({**self.by_name, **dict(zip(changes, map(float, changes.values()), strict=True))})

    def shares(self) -> dict[str, float]:
        """Return the weights divided by their sum."""
        weights = self.by_name.values()
        return dict(zip(self.by_name, map(truediv, weights, repeat(sum(weights))), strict=True))


def weighed(components: Mapping[str, Scores], weights: Mapping[str, float]) -> tuple[Scores, dict[str, Scores]]:
    """Return the weighted sum of the components, and the addend of each, in the order of the weights."""
    addends = dict(zip(weights, map(mul, weights.values(), (components[weight] for weight in weights)), strict=True))
    return np.sum(list(addends.values()), axis=0), addends
