"""The reranking stage: the best hits are scored again, by something slower and finer than the sources."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.models.workers import Late, Workers
from rifflux.retrieve.pipeline import NotApplied
from rifflux.types import Hit, Query, Scores

__all__ = ["Rerank", "Scored", "Scorer"]


@dataclass(frozen=True, slots=True)
class Scored:
    """One score for each hit, higher is better, and optionally what each is made of."""

    scores: Scores
    details: Sequence[Mapping[str, Any]] = ()


class Scorer(Protocol):
    """Scores hits against a query. Raises `NotApplied` or any `RiffluxError` when it can't.

    `query.deadline` is when the answer is given up: a scorer that works in steps should look at it between them.
    """

    @property
    def name(self) -> str:
        """The name users choose it by."""
        ...

    def __call__(self, query: Query, hits: Sequence[Hit]) -> Scored:
        """Score the hits, in their order."""
        ...


@dataclass(frozen=True)
class Rerank:
    """Reorders the first `top` hits by a scorer; the others follow in the order they had.

    Hits of equal score keep their order, so the same scores always give the same result. A reranked hit has the
    scorer's score and tells of it in its trail under `rerank:NAME`. The scores of the other hits are on another scale:
    where they are not below those of the reranked, all are lowered by one amount, so that scores fall along the list.

    The scorer has until the nearer of `deadline_ms` from now and the query's own deadline. When it fails or is late,
    `NotApplied` leaves the hits as they were. A late scorer runs on unobserved; see `Workers` for how many may.
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
        """The stage's name in the trail of a hit."""
        return f"rerank:{self.scorer.name}"

    def __call__(self, query: Query, hits: Sequence[Hit]) -> list[Hit]:
        """The hits, the best of them in the scorer's order."""
        head, tail = hits[: self.top], hits[self.top :]
        if not head:
            return []
        scored = self._scored(query, head)
        details = scored.details or [{}] * len(head)
        order = np.argsort(-scored.scores, kind="stable").tolist()
        moved = [
            head[old].moved(self.name, float(scored.scores[old]), rank=rank, **details[old])
            for rank, old in enumerate(order, 1)
        ]
        return moved + self._below(moved[-1].score, tail)

    def _scored(self, query: Query, head: Sequence[Hit]) -> Scored:
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

    def _below(self, floor: float, tail: Sequence[Hit]) -> list[Hit]:
        """The tail with scores of `floor` at most; unchanged if they are already."""
        excess = tail[0].score - floor if tail else 0.0
        if excess <= 0:
            return list(tail)
        # The minimum mends what rounding may add.
        return [hit.moved(self.name, min(hit.score - excess, floor), lowered=excess) for hit in tail]
