"""Verdicts: why a document stands where it does, and what would bring it onto the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rifflux.types import Hit, Trace


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term (or phrase) of a query: in how many chunks it occurs, its idf, and whether the chunk in question holds it.

    `term` is as indexed, `word` as it was typed. `variant` says that it was not asked for: it is another spelling or a
    synonym.
    """

    term: str
    word: str
    frequency: int
    idf: float
    held: bool
    variant: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What would bring a chunk onto the page, and the rank it would have there.

    `size` is relative to what is changed: 0.4 is 40 % more results, one of two and a half words, a weight moved by 40 %
    of the way it can go.
    """

    what: str
    rank: int
    size: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a document is among the first `top_k` for a query, or is not.

    `hit` is its best chunk with the trail of all stages, of `chunks` that it has; None if it has none. In the trail,
    channels tell the exact rank also below what a search reads. `rank` is the chunk's place in the whole list of
    candidates, None if it did not become one. `stage` placed or lost it, `reason` says how. `contributions` add up to
    the score. `changes` are what would bring it onto the page, the smallest first; empty where it is there already, or
    where nothing that was tried would do.
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
        """The score that decided its rank; None where it has no rank."""
        if self.hit and self.rank:
            return self.hit.score
        return None

    @property
    def change(self) -> Change | None:
        """The smallest change that would bring it onto the page."""
        if self.changes:
            return self.changes[0]
        return None
