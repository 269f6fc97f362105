"""The reranking step: the best candidates are rescored by a slower, more precise scorer than the channels."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np

from rifflux.errors import InvalidArgument, ModelError, RiffluxError
from rifflux.models.embedder import Embedder
from rifflux.models.guarded import Guard
from rifflux.models.workers import Late, Workers
from rifflux.retrieve.fuse.base import NO_STATISTICS, frequencies_of
from rifflux.retrieve.pipeline import NO_RERANKER, Plan, StepSkipped
from rifflux.retrieve.table import RANK, RELEVANCE, SCORE, Candidates, declare
from rifflux.text.analyzer import Analyzer, idf
from rifflux.types import Query, Scores

_log = logging.getLogger(__name__)

declare("rerank:*/*", "share of the score", "a component's addend in the reranked score")
declare("rerank:*/lowered", "of the fused score", "the amount by which candidates below the reranked ones were lowered")


@dataclass(frozen=True, slots=True)
class Scored:
    """One score per candidate, higher is better, and optionally the addends of all scores by component.

    A scorer whose score estimates how well a passage answers, independently of the others, returns the `relevance` of
    each, from 0 to 1; it then decides the level of the hit.
    """

    scores: Scores
    parts: Mapping[str, Scores] = field(default_factory=dict)
    relevance: Scores | None = None


class Scorer(Protocol):
    """Scores candidates for a query. Raises `StepSkipped` or any `RiffluxError` on failure.

    The table has its passages. After `plan.execution.deadline` the answer is discarded: a scorer that works in steps
    should check it between them.
    """

    @property
    def name(self) -> str:
        """Return the name that users select it by."""
        ...

    def __call__(self, plan: Plan, table: Candidates) -> Scored:
        """Return the scores of the candidates, in their order."""
        ...


@dataclass(frozen=True)
class Rerank:
    """Reorders the first `top` candidates by a scorer; the others follow in their previous order.

    Ties keep their order, so the result is deterministic. A reranked candidate has the scorer's score and its columns
    under `rerank:NAME`. The scores of the others are on another scale: unless they are below those of the reranked
    ones, all are lowered by the same amount, so that scores decrease along the table.

    The scorer has until the earlier of `deadline_ms` from now and the deadline of the search. If it fails or is late,
    `StepSkipped` leaves the table unchanged. A late scorer continues unobserved; see `Workers` for how many may.
    """

    scorer: Scorer
    top: int = 20
    deadline_ms: float | None = None
    workers: Workers = field(default_factory=Workers, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.top < 1:
            raise InvalidArgument(f"a reranker needs a top of at least 1 hit, not {self.top}")
        if self.deadline_ms is not None and not self.deadline_ms > 0:
            raise InvalidArgument(f"a deadline must be more than 0 milliseconds, not {self.deadline_ms}")

    @property
    def name(self) -> str:
        """Return the stage name of its columns."""
        return f"rerank:{self.scorer.name}"

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates, the best of them in the scorer's order."""
        if not len(table):
            return table
        head = table.head(self.top)
        scored = self._scored(plan, head)
        order = np.argsort(-scored.scores, kind="stable")
        scores = scored.scores[order]
        parts = {RANK: head.ranks(), "score": scores, **{name: part[order] for name, part in scored.parts.items()}}
        below = table[SCORE][len(head) :]
        table = table.take([*order.tolist(), *range(len(head), len(table))])
        if len(below):
            excess = below[0] - scores[-1]
        else:
            excess = 0.0
        if excess > 0:
            # The minimum corrects rounding.
            below = np.minimum(below - excess, scores[-1])
            parts["score"] = np.concatenate([scores, below])
            parts["lowered"] = np.concatenate([np.full(len(head), np.nan), np.full(len(below), excess)])
        table = table.with_stage(self.name, parts).with_column(SCORE, np.concatenate([scores, below]))
        if scored.relevance is None:
            return table
        return table.with_column(RELEVANCE, np.concatenate([scored.relevance[order], np.full(len(below), np.nan)]))

    def _scored(self, plan: Plan, head: Candidates) -> Scored:
        deadline = plan.execution.deadline
        if self.deadline_ms is not None:
            own = time.perf_counter() + self.deadline_ms / 1000
            deadline = own if deadline is None else min(own, deadline)
            plan = replace(plan, execution=replace(plan.execution, deadline=deadline))
        name = self.scorer.name
        try:
            work = partial(self.scorer, plan, head)
            if deadline is None:
                scored = work()
            else:
                scored = self.workers(work, deadline, self.name)
        except StepSkipped:
            raise
        except Late as late:
            raise StepSkipped(f"{name} was left out: {late}") from None
        except RiffluxError as error:
            if not isinstance(error, ModelError):
                _log.warning("%s failed", name, exc_info=error)
            raise StepSkipped(f"{name} failed: {error}", because=error) from error
        except Exception as error:  # whatever a model breaks with, the hits are there to be shown
            _log.warning("%s failed", name, exc_info=error)
            raise StepSkipped(f"{name} failed: {type(error).__name__}; the log says more") from error
        if scored.scores.shape != (len(head),) or not np.isfinite(scored.scores).all():
            raise StepSkipped(f"{name} failed: it did not return a finite score for each of {len(head)} hits")
        return scored


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """The models of rerankers: a cross-encoder's folder or name, and an LLM's endpoint, name and key."""

    cross_encoder: str = ""
    llm_url: str = ""
    llm_model: str = ""
    llm_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Resources:
    """Access to an index for scorers; everything expensive is looked up when needed.

    `features` are weights of the reranker of that name that differ from its defaults. `models` caches a model or client
    per key. `guard` is passed by calls to models other than the embedder.
    """

    analyzer: Analyzer
    embedder: Callable[[], Embedder]
    settings: RerankSettings = field(default_factory=RerankSettings)
    features: Mapping[str, float] = field(default_factory=dict)
    models: Callable[[Hashable, Callable[[], Any]], Any] = field(default=lambda _, make: make(), repr=False)
    guard: Guard = field(default_factory=Guard, repr=False)

    def terms(self, query: Query) -> Sequence[str]:
        """Return the terms of a query, or those of its whole text if it consists only of filters."""
        if query.semantic_text:
            return query.terms
        return self.analyzer.terms(query.text)

    def idf(self, plan: Plan) -> dict[str, float]:
        """Return the idf of each term of a query: above zero, highest for terms in no chunk."""
        chunks = (plan.execution.statistics or NO_STATISTICS).chunks
        counts = frequencies_of(plan, [(term,) for term in dict.fromkeys(self.terms(plan.query))])
        return {term: idf(max(chunks, count), count) for (term,), count in counts.items()}


#: The factory of each reranker, called with `Resources`, by the name that users select it by; imported on demand.
RERANKERS: Mapping[str, str] = {
    "features": "rifflux.retrieve.steps.rerank.features:reranker",
    "maxsim": "rifflux.retrieve.steps.rerank.maxsim:reranker",
    "cross-encoder": "rifflux.retrieve.steps.rerank.cross_encoder:reranker",
    "llm": "rifflux.retrieve.steps.rerank.llm:reranker",
}
DEFAULT_RERANKER = "features"
#: The default time limit of each reranker in milliseconds; `features` calls no model and has no deadline of its own. A
#: small cross-encoder scores twenty passages in a tenth of its time. `works` is the scoring of works.
DEADLINES_MS: Mapping[str, float] = {
    "maxsim": 5_000,
    "cross-encoder": 10_000,
    "llm": 10_000,
    "works": 200,
}


def checked_reranker(name: str) -> str:
    """Return the name of a reranker, or `none`. Raises `InvalidArgument` for unknown names."""
    if not isinstance(name, str) or name not in (NO_RERANKER, *RERANKERS):
        raise InvalidArgument(f"no reranker {name!r}; choose one of {', '.join(RERANKERS)}, {NO_RERANKER}")
    return name


def reranker_of(choice: str | Rerank, resources: Resources) -> Rerank:
    """Return the reranker with a given name and default settings; a reranker is returned unchanged.

    Raises `InvalidArgument` for an unknown name, or if its model or endpoint is not configured.
    """
    if isinstance(choice, Rerank):
        return choice
    if choice not in RERANKERS:
        checked_reranker(choice)
    module, _, function = RERANKERS[choice].partition(":")
    return cast(Rerank, getattr(import_module(module), function)(resources))
