"""The reranking step: the best candidates are scored again, by a slower and finer judge than the channels."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.models.workers import Late, Workers
from rifflux.retrieve.pipeline import NotApplied
from rifflux.retrieve.table import RANK, SCORE, Candidates, declare
from rifflux.types import Query, Scores

__all__ = ["Rerank", "Scored", "Scorer"]


declare("rerank:*/*", "share of the score", "what a component adds to the reranked score")
declare("rerank:*/lowered", "of the fused score", "the amount by which candidates below the reranked ones were lowered")


@dataclass(frozen=True, slots=True)
class Scored:
    """One score for each candidate, higher is better, and optionally the addends of all by component."""

    scores: Scores
    parts: Mapping[str, Scores] = field(default_factory=dict)


class Scorer(Protocol):
    """Scores candidates against a query. Raises `NotApplied` or any `RiffluxError` when it can't.

    The passages of the table were read. `query.deadline` is when the answer is given up: a scorer that works in steps
    should look at it between them.
    """

    @property
    def name(self) -> str:
        """Return the name users choose it by."""
        ...

    def __call__(self, query: Query, table: Candidates) -> Scored:
        """Score the candidates, in their order."""
        ...


@dataclass(frozen=True)
class Rerank:
    """Reorders the first `top` candidates by a scorer; the others follow in the order they had.

    Candidates of equal score keep their order, so the same scores always give the same result. A reranked one has the
    scorer's score and its columns under `rerank:NAME`. The scores of the others are on another scale:
    where they are not below those of the reranked, all are lowered by one amount, so that scores fall along the table.

    The scorer has until the nearer of `deadline_ms` from now and the query's own deadline. When it fails or is late,
    `NotApplied` leaves the table as it was. A late scorer runs on unobserved; see `Workers` for how many may.
    """

    scorer: Scorer
    top: int = 20
    deadline_ms: float | None = None
    workers: Workers = field(default_factory=Workers, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.top < 1:
            raise InvalidArgument(f"a reranker takes the best 1 or more hits, not {self.top}")
        if self.deadline_ms is not None and not self.deadline_ms > 0:
            raise InvalidArgument(f"a deadline is more than 0 milliseconds, not {self.deadline_ms}")

    @property
    def name(self) -> str:
        """Return the stage that its columns belong to."""
        return f"rerank:{self.scorer.name}"

    def __call__(self, query: Query, table: Candidates) -> Candidates:
        """Return the candidates, the best of them in the scorer's order."""
        if not len(table):
            return table
        head = table.head(self.top)
        scored = self._scored(query, head)
        order = np.argsort(-scored.scores, kind="stable")
        scores = scored.scores[order]
        parts = {RANK: head.ranks(), "score": scores, **{name: part[order] for name, part in scored.parts.items()}}
        below = table[SCORE][len(head) :]
        table = table.take([*order.tolist(), *range(len(head), len(table))])
        excess = below[0] - scores[-1] if len(below) else 0.0
        if excess > 0:
            # The minimum mends what rounding may add.
            below = np.minimum(below - excess, scores[-1])
            parts["score"] = np.concatenate([scores, below])
            parts["lowered"] = np.concatenate([np.full(len(head), np.nan), np.full(len(below), excess)])
        return table.with_stage(self.name, parts).with_column(SCORE, np.concatenate([scores, below]))

    def _scored(self, query: Query, head: Candidates) -> Scored:
        deadline = self._deadline(query)
        query, name = replace(query, deadline=deadline), self.scorer.name
        try:
            scored = self.workers(lambda: self.scorer(query, head), deadline, self.name)
        except NotApplied:
            raise
        except Late as late:
            raise NotApplied(f"{name} was left out: {late}") from None
        except Exception as error:  # whatever a model or a server breaks with, the hits are there to be shown
            raise NotApplied(f"{name} failed: {str(error) or type(error).__name__}") from error
        if scored.scores.shape != (len(head),) or not np.isfinite(scored.scores).all():
            raise NotApplied(f"{name} failed: it did not give each of {len(head)} hits a finite score")
        return scored

    def _deadline(self, query: Query) -> float | None:
        own = None if self.deadline_ms is None else time.perf_counter() + self.deadline_ms / 1000
        return min((each for each in (own, query.deadline) if each is not None), default=None)
