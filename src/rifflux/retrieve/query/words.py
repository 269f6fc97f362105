"""Terms as people write them."""

from __future__ import annotations

from collections.abc import Mapping

from rifflux.text.analyzer import Analyzer, tokens
from rifflux.types import Clause

__all__ = ["as_typed", "shown"]


def as_typed(text: str, analyzer: Analyzer) -> Mapping[str, str]:
    """Return the words of a text by the term that each becomes; names, which become several, are left out."""
    words = ((analyzer.of_word(word), word) for token in tokens(text) for word in token.split("-"))
    return {terms[0]: word for terms, word in words if len(terms) == 1}


def shown(clause: Clause, typed: Mapping[str, str]) -> str:
    """Return a clause in the words that were typed."""
    return " ".join(typed.get(term, term) for term in clause)
