"""A query's clauses as an FTS5 expression. Every term is quoted, so nothing a user writes is ever read as syntax."""

from __future__ import annotations

from rifflux.types import Clause, Query

__all__ = ["all_of", "any_of", "expression", "phrase"]

#: More alternatives only cost time: no question has as many words, and a pasted page is found by its first ones.
MOST_CLAUSES = 256


def expression(query: Query) -> str:
    """What to give to MATCH to rank by the query; empty when it has no term to rank by."""
    optional = [phrase(clause) for clause in (*query.clauses, *query.variants)[:MOST_CLAUSES]]
    optional += [phrase((prefix,)) + " *" for prefix in query.prefixes[:MOST_CLAUSES]]
    required, excluded = all_of(query), any_of(query)
    wanted = " OR ".join([f"({required})"] * bool(required) + optional)
    if not wanted:
        return ""
    # The required clauses stand among the wanted ones too, so that the others may be missing.
    ranked = f"({required}) AND ({wanted})" if required else f"({wanted})"
    return f"({ranked}) NOT ({excluded})" if excluded else ranked


def all_of(query: Query) -> str:
    """An expression for the clauses that must match; empty when there are none."""
    return " AND ".join(phrase(clause) for clause in query.required[:MOST_CLAUSES])


def any_of(query: Query) -> str:
    """An expression for the clauses that must not match; empty when there are none."""
    return " OR ".join(phrase(clause) for clause in query.excluded[:MOST_CLAUSES])


def phrase(clause: Clause) -> str:
    """A clause, quoted."""
    return '"' + " ".join(clause).replace('"', '""') + '"'
