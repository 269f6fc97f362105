"""The lexical role: matching and scoring of chunks by their terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rifflux.types import Clause, Ids, Ranking

__all__ = ["CONTRACT", "DEFAULT", "MOST_CLAUSES", "VARIANT", "FieldWeights", "Lexical", "TermSequences", "holding"]

#: The weight of a query's variants relative to its words: a guess may be wrong, and a rare guessed word would otherwise
#: outweigh the common one that is meant.
VARIANT = 0.75
#: The maximum number of clauses of a kind that are matched: no query has as many words, and a pasted page is found by
#: its first ones.
MOST_CLAUSES = 256


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """The parameters of BM25: the weight of each field, the saturation `k1`, and the length normalization `b`.

    The defaults are declared only here and are those of SQLite's bm25(). With `by_match`, SQLite's MATCH finds the
    chunks, with the same result, and all alternatives have equal weight, as in that function.
    """

    title: float = 2.0
    headings: float = 1.0
    body: float = 1.0
    b: float = 0.75
    k1: float = 1.2
    by_match: bool = False


#: The parameters of the contract surfaces, whose scores equal SQLite's bm25().
CONTRACT = FieldWeights(by_match=True)
#: The parameters of every other search.
DEFAULT = FieldWeights()


@dataclass(frozen=True, slots=True)
class TermSequences:
    """The terms of the titles and texts of some chunks, in order, as an engine has indexed them.

    A title is followed by the document's further names. A term is a number, and numbers ascend as terms do. Of each
    chunk, `bounds` has where the title begins, where the text begins, and where it ends among the `values`, whole
    numbers of up to 32 bits. `number_of` returns the number of a term, or None for one in no chunk.
    """

    values: NDArray[Any]
    bounds: NDArray[Any]
    number_of: Callable[[str], int | None]


class Lexical(Protocol):
    """The terms of one owner's chunks, further specified by `testing.LexicalContract`.

    `Store.search` ranks the chunks.
    """

    def holders(self, clauses: Sequence[Clause], ids: Ids) -> NDArray[np.bool_]:
        """Return for each clause which of some chunks contain it: a row of the answer for a clause.

        A clause is a term, or a phrase of adjacent terms.
        """

    def occurring(self, clauses: Iterable[Clause], most: int = 1) -> list[Clause]:
        """Return the first `most` of some clauses that a chunk contains: terms, or phrases of adjacent terms."""

    def best_with(self, clauses: Sequence[Clause], weights: FieldWeights) -> list[Ranking]:
        """Return for each clause the best chunk that contains it, if any."""

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Return the number of chunks that contain each term; terms without any may be omitted."""

    def vocabulary(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
    ) -> Mapping[str, int]:
        """Return the chunk counts of terms that begin with `start` and have `shortest` to `longest` characters.

        With `like`, only terms for which it is True. A term that none of these owners' chunks contains is never
        returned, whoever else has or had it.
        """

    def sequences(self, ids: Ids) -> TermSequences | None:
        """Return the terms of some chunks in order, or None if the engine does not have those of all of them at hand.

        Their texts are then analyzed instead, with the same result.
        """
        return None


def holding(lexical: Lexical, clause: Clause, ids: Ids) -> Ids:
    """Return those of some chunks that contain a clause."""
    (found,) = lexical.holders([clause], ids)
    return np.asarray(ids[found])
