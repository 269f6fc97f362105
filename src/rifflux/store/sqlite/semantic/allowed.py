"""Which rows a query leaves, so that vectors are narrowed before they are ranked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rifflux.types import Ids

__all__ = ["Allowed"]


@dataclass(frozen=True, slots=True)
class Allowed:
    """The row numbers of documents that pass a filter, and of chunks that hold what they must, and must not.

    None where nothing is asked.
    """

    documents: Ids | None = None
    required: Ids | None = None
    excluded: Ids | None = None

    def mask(self, documents: Ids, chunks: Ids) -> NDArray[np.bool_]:
        """Which of some chunks, each with its document, are allowed."""
        allowed = np.ones(len(chunks), np.bool_)
        if self.documents is not None:
            allowed &= _held(self.documents, documents)
        if self.required is not None:
            allowed &= _held(self.required, chunks)
        if self.excluded is not None:
            allowed &= ~_held(self.excluded, chunks)
        return allowed


def _held(wanted: Ids, rows: Ids) -> NDArray[np.bool_]:
    """Which rows are among the wanted ones; row numbers are small, so a table tells fastest."""
    if not len(wanted) or not len(rows):
        return np.zeros(len(rows), np.bool_)
    table = np.zeros(int(max(wanted.max(), rows.max())) + 1, np.bool_)
    table[wanted] = True
    return table.take(rows, mode="clip")
