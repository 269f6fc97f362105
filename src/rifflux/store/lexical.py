"""The lexical role: chunks named and scored by their terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rifflux.types import Clause, Ids, Query, Ranking, Scores

__all__ = ["CONTRACT", "DEFAULT", "VARIANT", "FieldWeights", "Lexical"]

#: What a query's variants count, where the words asked for count 1: a guess may be wrong, and a rare word that was
#: guessed would weigh more than the common one that is meant.
VARIANT = 0.75


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """The parameters of BM25: what a term counts in each field, its saturation `k1`, and how far length counts, `b`.

    The defaults are declared here only, and are those of SQLite's bm25(). With `by_match`, SQLite's MATCH names the
    chunks, which are the same, and all alternatives weigh alike, as that function has them.
    """

    title: float = 2.0
    headings: float = 1.0
    body: float = 1.0
    b: float = 0.75
    k1: float = 1.2
    by_match: bool = False


#: The parameters of the contract surfaces: scores equal SQLite's bm25().
CONTRACT = FieldWeights(by_match=True)
#: Those of every other search.
DEFAULT = FieldWeights()


class Lexical(Protocol):
    """The terms of one owner's chunks. Rankings come best first, ties by id. `testing.LexicalContract` says the rest.

    An engine that only names candidates gives `match` and leaves the rest to another engine's lexical role.
    """

    def match(self, query: Query, limit: int, weights: FieldWeights) -> Ranking:
        """Rank the best `limit` chunks by BM25 over the query's terms; scores are positive, higher is better.

        Variants add `VARIANT`.
        """

    def bm25_of(self, query: Query, ids: Ids, weights: FieldWeights) -> Scores:
        """Score some chunks by BM25, with the digits of `match`.

        0 where a chunk has no term of the query, whose filter is not looked at.
        """

    def holding(self, clause: Clause, ids: Ids) -> Ids:
        """Return those of the chunks that hold a term, or a phrase of adjacent terms."""

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Count the chunks in which each term occurs; terms that occur in none may be left out."""

    def vocabulary(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
    ) -> Mapping[str, int]:
        """Count the chunks that hold each term which begins with `start` and has `shortest` to `longest` characters.

        With `like`, return only the terms for which it is true. A term that none of these owners' chunks holds is never
        returned, whoever else holds it and whatever held it before.
        """
