"""Formulas in a question, searched as a whole and piece by piece: their letters alone stand in every text.

A run of mathematical tokens is a formula: letters, scripts, symbols and short names such as `Hom`, with no ordinary
word between. What has the formula has its terms next to each other, in this order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from rifflux.text.analyzer import Analyzer
from rifflux.text.symbols import symbol_names
from rifflux.types import Clause, Query

__all__ = ["formulas"]

#: Neighbouring tokens that are searched as a piece of a formula, and the most pieces of one question.
WIDTH, MOST_PIECES = 2, 16
#: Names of functions and categories are short; a longer word belongs to the sentence.
LONGEST_NAME = 5
_NAMES = frozenset(
    {"lim", "colim", "dim", "det", "deg", "ker", "coker", "hom", "ext", "tor", "spec", "proj", "gal", "id"}
)


def formulas(query: Query, analyzer: Analyzer) -> Iterator[tuple[str, list[Clause]]]:
    """Each formula of a question as its tokens, with the phrases to search it by: whole first, then its pieces."""
    if analyzer.mathematics != "notation":
        return
    for run in _runs(query.semantic_text, analyzer):
        terms = [clause for _, clause in run if clause]
        if len(terms) > 1 and any(_is_symbol(token) for token, _ in run):
            pieces = [_joined(terms[start : start + WIDTH]) for start in range(len(terms) - WIDTH + 1)]
            phrases = dict.fromkeys([_joined(terms), *pieces[:MOST_PIECES]])
            yield " ".join(token for token, clause in run if clause), list(phrases)


def _runs(text: str, analyzer: Analyzer) -> Iterator[list[tuple[str, Clause]]]:
    """Yield the longest runs of tokens without an ordinary word, each token with its terms."""
    run: list[tuple[str, Clause]] = []
    for token in analyzer.tokens(text):
        if _is_word(token):
            yield run
            run = []
        else:
            run.append((token, tuple(analyzer.terms_of(token))))
    yield run


def _is_word(token: str) -> bool:
    """Return True if a token belongs to the sentence around the formulas."""
    letters = token.replace("-", "").replace("'", "")
    if not letters.isalpha() or len(letters) == 1 or token in symbol_names() or token.lower() in _NAMES:
        return False
    return len(letters) > LONGEST_NAME or token.islower() or token.istitle()


def _is_symbol(token: str) -> bool:
    return len(token) == 1 or "_" in token or "^" in token or token in symbol_names()


def _joined(clauses: Sequence[Clause]) -> Clause:
    return tuple(chain.from_iterable(clauses))
