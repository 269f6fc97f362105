"""A query's clauses as an FTS5 expression. Every term is quoted, so nothing a user writes is ever read as syntax."""

from __future__ import annotations

from rifflux.types import Query

__all__ = ["expression"]

#: More alternatives than this only cost time: no question has as many words, and a pasted page is found by its first ones.
MOST_CLAUSES = 256


def expression(query: Query) -> str:
    """What to give to MATCH; empty when the query has no term to rank by."""
    required = [_phrase(clause) for clause in query.required[:MOST_CLAUSES]]
    optional = [_phrase(clause) for clause in query.clauses[:MOST_CLAUSES]]
    optional += [_phrase((prefix,)) + " *" for prefix in query.prefixes[:MOST_CLAUSES]]
    wanted = " OR ".join([*required, *optional])
    if not wanted:
        return ""
    parts = [*required, f"({wanted})"] if required else [f"({wanted})"]
    without = "".join(f" NOT {_phrase(clause)}" for clause in query.excluded[:MOST_CLAUSES])
    return f"({' AND '.join(parts)}){without}"


def _phrase(clause: tuple[str, ...]) -> str:
    return '"' + " ".join(clause).replace('"', '""') + '"'
