"""Verdicts on a document's rank, with the changes that would bring it onto the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rifflux.types import Hit, Trace


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term or phrase of a query: its chunk frequency, its idf, and whether the explained chunk contains it.

    `term` is as indexed, `word` as typed. `variant` is True for another spelling or a synonym that was not typed.
    """

    term: str
    word: str
    frequency: int
    idf: float
    matched: bool
    variant: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A change that would bring a chunk onto the page, and the rank it would then have.

    `size` is relative: 0.4 means 40 % more results, one of two and a half words, or a weight moved by 40 % of its
    range.
    """

    what: str
    rank: int
    size: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The explanation of a document's rank for a query, whether among the first `top_k` or not.

    `hit` is the best of its `chunks` chunks with the trail of all stages, or None if it has no chunks. In the trail,
    channels give the exact rank even below the depth that a search reads. `rank` is its rank among all candidates, or
    None if it is not a candidate. `stage` decided the rank or dropped it, and `reason` explains how. `contributions`
    add up to the score. `changes` would bring it onto the page, smallest first; empty if it is on the page or if no
    tested change suffices.
    """

    query: str
    document: str
    namespace: str
    hit: Hit | None
    chunks: int
    top_k: int
    candidates: int
    rank: int | None
    stage: str
    reason: str
    terms: tuple[QueryTerm, ...]
    contributions: Mapping[str, float]
    changes: tuple[Change, ...]
    trace: Trace

    @property
    def found(self) -> bool:
        """Whether it is among the first `top_k`."""
        return self.rank is not None and self.rank <= self.top_k

    @property
    def score(self) -> float | None:
        """The score that it is ranked by, or None without a rank."""
        if self.hit and self.rank:
            return self.hit.score
        return None

    @property
    def change(self) -> Change | None:
        """The smallest change that would bring it onto the page, or None."""
        if self.changes:
            return self.changes[0]
        return None
