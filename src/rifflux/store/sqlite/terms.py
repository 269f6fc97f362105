"""A view's terms: how an owner's are kept apart, and a query's clauses as an FTS5 expression.

Terms of a named owner carry the owner's number: `|7|cache`. No analyzer makes a term with a bar, and what comes from
elsewhere loses it, so no term of one owner can be taken for another's. Every term of an expression is quoted, so
nothing a user writes is ever read as syntax.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rifflux.store.lexical import VARIANT
from rifflux.types import Clause, Query

__all__ = ["Terms"]

#: More alternatives only cost time: no question has as many words, and a pasted page is found by its first ones.
MOST_CLAUSES = 256
#: What ends a term for the word index, and the bar.
_NO_TERM = re.compile(r"[\x00-\x1f\x7f'\"|]")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one owner, by number; those of owner 0 are as the analyzer made them. `table` holds them."""

    owner: int

    @property
    def table(self) -> str:
        """The table of the word index that holds this owner's terms."""
        return "owned_terms" if self.owner else "chunk_terms"

    @property
    def index(self) -> str:
        """The name of the owner's word index beside the database, if there is one."""
        return f"words-{self.owner}" if self.owner else "words"

    @property
    def prefix(self) -> str:
        """What stands in front of each of the owner's terms."""
        return f"|{self.owner}|" if self.owner else ""

    def stored(self, term: str) -> str:
        """A term as the word index has it."""
        return self.prefix + _NO_TERM.sub("", term) if self.owner else term

    def joined(self, terms: str) -> str:
        """Terms with spaces between them, as the word index has them."""
        if not self.owner or not terms:
            return terms
        return self.prefix + f" {self.prefix}".join(_NO_TERM.sub("", terms).split())

    def expression(self, query: Query) -> str:
        """What to give to MATCH to rank by the query; empty when it has no term to rank by."""
        optional = self.ranked(query)
        required, excluded = self.all_of(query), self.any_of(query)
        wanted = " OR ".join([f"({required})"] * bool(required) + optional)
        if not wanted:
            return ""
        # The required clauses stand among the wanted ones too, so that the others may be missing.
        ranked = f"({required}) AND ({wanted})" if required else f"({wanted})"
        return f"({ranked}) NOT ({excluded})" if excluded else ranked

    def phrases(self, query: Query) -> list[str]:
        """The phrases of the expression, in its order: what FTS5 counts apart."""
        required, excluded = self._phrases(query.required), self._phrases(query.excluded)
        return [*required, *required, *self.ranked(query), *excluded]

    def worths(self, query: Query) -> list[float]:
        """What each of those phrases counts."""
        asked = len(self._phrases(query.clauses))
        guessed = len(self._phrases((*query.clauses, *query.variants))) - asked
        fixed = len(self._phrases(query.required))
        rest = len(self.phrases(query)) - 2 * fixed - asked - guessed
        return [*[1.0] * (2 * fixed + asked), *[VARIANT] * guessed, *[1.0] * rest]

    def ranked(self, query: Query) -> list[str]:
        """The alternatives of a query, each as an expression."""
        clauses = [self.phrase(clause) for clause in (*query.clauses, *query.variants)[:MOST_CLAUSES]]
        return clauses + [self.phrase((prefix,)) + " *" for prefix in query.prefixes[:MOST_CLAUSES]]

    def all_of(self, query: Query) -> str:
        """An expression for the clauses that must match; empty when there are none."""
        return " AND ".join(self._phrases(query.required))

    def any_of(self, query: Query) -> str:
        """An expression for the clauses that must not match; empty when there are none."""
        return " OR ".join(self._phrases(query.excluded))

    def _phrases(self, clauses: Sequence[Clause]) -> list[str]:
        return [self.phrase(clause) for clause in clauses[:MOST_CLAUSES]]

    def phrase(self, clause: Clause) -> str:
        """A clause, quoted."""
        return '"' + " ".join(map(self.stored, clause)).replace('"', '""') + '"'
