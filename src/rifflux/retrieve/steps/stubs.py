"""Stubs: a passage of a few words answers little, and stands high where titles are short records or section heads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rifflux.retrieve.table import NAMED, SCORE, Candidates, declare
from rifflux.types import Query

__all__ = ["STAGE", "Stubs"]

STAGE = "stubs"
declare("stubs/factor", "factor", "the factor for a passage of a few words, which is no name that was asked for")


@dataclass(frozen=True)
class Stubs:
    """The scores of passages below `length` characters fall by up to `lowered`, the shorter the more.

    What the question names stays: who asks for an entry wants it, however short it is. No more passages are read.
    """

    length: int = 100
    lowered: float = 0.3
    top: int = 1

    def __call__(self, query: Query, table: Candidates) -> Candidates:
        """Return the candidates by their scores, those of stubs lowered."""
        lengths = np.array([len(hit.content) for hit in table.passages], np.float64)
        short = np.maximum(0.0, 1 - lengths / self.length) * (np.nan_to_num(table[NAMED]) == 0)
        if not short.any():
            return table
        factors = 1 - self.lowered * short
        parts = {"factor": factors, "score": table[SCORE] * factors}
        table = table.with_stage(STAGE, {name: np.where(short > 0, values, np.nan) for name, values in parts.items()})
        return table.scored(table[SCORE] * factors, table.ranks())
