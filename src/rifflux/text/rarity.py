"""Inverse document frequency: how much a term says, by how few chunks hold it."""

from __future__ import annotations

import math

__all__ = ["idf", "okapi_idf"]

#: What FTS5 gives a term that half of all chunks or more hold.
LEAST = 1e-6


def idf(chunks: int, frequency: int) -> float:
    """Return Lucene's idf, which is never negative (Robertson and Zaragoza 2009, with 1 added)."""
    return math.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))


def okapi_idf(chunks: int, frequency: int) -> float:
    """Return the idf of FTS5's bm25(): Robertson's own, and next to nothing for what half of all chunks hold."""
    if 2 * frequency >= chunks:
        return LEAST
    return math.log((chunks - frequency + 0.5) / (frequency + 0.5))
