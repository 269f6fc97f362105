"""The lexical role: chunks named and scored by their terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rifflux.types import Clause, Ids, Query, Ranking, Scores

__all__ = ["VARIANT", "FieldWeights", "Lexical"]

#: What a query's variants count, where the words asked for count 1: a guess may be wrong, and a rare word that was
#: guessed would weigh more than the common one that is meant.
VARIANT = 0.75
#: The constants of SQLite's bm25().
K1 = 1.2
B = 0.75


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """Weigh a term by the field it stands in; `b` is BM25's normalization by length.

    The defaults are declared here only. Derived files, which store counts that these weights multiplied, read them from
    here; raise the format of both derived files when a default changes.
    """

    title: float = 2.0
    headings: float = 1.0
    body: float = 1.0
    b: float = B

    @property
    def fields(self) -> tuple[float, float, float]:
        """Return the weights of title, headings and body, in the order in which the fields are stored."""
        return self.title, self.headings, self.body

    def whole(self) -> FieldWeights:
        """Round the weights of the fields to whole numbers: a derived file counts a term a whole number of times.

        An engine that gets other weights than the rounded ones ranks by the tables.
        """
        title, headings, body = map(round, self.fields)
        return FieldWeights(float(title), float(headings), float(body), self.b)


#: The weights that derived files are counted with.
WHOLE_WEIGHTS = FieldWeights().whole()


class Lexical(Protocol):
    """The terms of one owner's chunks. Rankings come best first, ties by id. `testing.LexicalContract` says the rest.

    An engine that only names candidates gives `match` and leaves the rest to another engine's lexical role.
    """

    def match(
        self, query: Query, limit: int, weights: FieldWeights, *, enough: int = 0, exact: bool = False
    ) -> Ranking:
        """Rank chunks by BM25 over the query's terms; scores are positive, higher is better. Variants add `VARIANT`.

        Of at most `limit` chunks, the best `enough` (0: all of them) are always found. With `exact`, scores are those
        of the tables to the last digit, whatever is faster.
        """

    def bm25_of(self, query: Query, ids: Ids, weights: FieldWeights) -> Scores:
        """Score some chunks by BM25, by what is stored: `match` may answer from what is derived, and round.

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
