"""The lexical role: chunks named and scored by their terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rifflux.types import Clause, Ids, Query, Ranking, Scores

__all__ = ["VARIANT", "FieldWeights", "Lexical"]

#: What a query's variants count, where the words asked for count 1: a guess may be wrong, and a rare word that was
#: guessed would weigh more than the common one that is meant.
VARIANT = 0.75
#: The constants of SQLite's bm25().
K1, B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """How much a term counts by where it stands, and how much of that the length of a chunk takes away: BM25's `b`."""

    title: float = 2.0
    headings: float = 1.0
    body: float = 1.0
    b: float = B


class Lexical(Protocol):
    """The terms of one owner's chunks. Rankings come best first, ties by id. `testing.LexicalContract` says the rest.

    An engine that only names candidates gives `match` and leaves the rest to another engine's lexical role.
    """

    def match(self, query: Query, limit: int, weights: FieldWeights) -> Ranking:
        """Rank chunks by BM25 over the query's terms; scores are positive, higher is better. Variants add `VARIANT`.

        Of at most `limit` chunks, those that are `enough` for the query are always found.
        """

    def bm25_of(self, query: Query, ids: Ids, weights: FieldWeights) -> Scores:
        """Score some chunks by BM25, by what is stored: `match` may answer from what is derived, and round.

        0 where a chunk has no term of the query, whose filter is not looked at.
        """

    def holding(self, clause: Clause, ids: Ids) -> Ids:
        """Return those of the chunks that hold a term, or a phrase of adjacent terms."""

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Count the chunks in which each term occurs; terms that occur in none may be left out."""

    def vocabulary(self, start: str, shortest: int, longest: int) -> Mapping[str, int]:
        """Return the terms of so many characters that begin with `start`, with the number of chunks that hold each.

        Terms that occur no more may be among them, with 0.
        """
