"""Queries over content in several languages.

A document is analyzed in its own language, so a word of the query may have a different term in each. The query is read
in the language of most of its function words; its terms in other languages are searched as equally weighted
alternatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rifflux.text.analyzer import Analyzer
from rifflux.text.lexicon import stop_words
from rifflux.types import Clause, Query

_EDGES = ".,;:!?()[]{}'\"-*"


def of_question(text: str, analyzers: Sequence[Analyzer]) -> Analyzer:
    """Return the analyzer for a query: the language of most of its function words, or the first of equals.

    A language in which the query consists only of function words is ruled out: "war" is about war.
    """
    words = [word.strip(_EDGES) for word in text.casefold().split()]
    telling = [each for each in analyzers if each.terms(text)] or analyzers
    counts = [sum(word in stop_words(each.language) for word in words) for each in telling]
    return telling[counts.index(max(counts))]


def in_other_languages(
    query: Query,
    others: Sequence[Analyzer],
    phrases: Sequence[tuple[str, Clause]],
    excluded: Sequence[str],
    prefixes: Sequence[str],
) -> Query:
    """Return the query with the other languages' forms of its words, phrases, exclusions and prefixes.

    `phrases` are the required phrases as text with their terms.
    """
    variants: dict[Clause, Clause] = {}
    stands_for: dict[str, dict[str, str]] = {}
    forms: dict[Clause, dict[Clause, None]] = {}
    present = {*query.clauses, *query.required}
    for analyzer in others:
        known = stands_for.setdefault(analyzer.language, {})
        for token, terms in query.tokens:
            for alternative, term in _pairs(terms, analyzer.terms_of(token)):
                known.setdefault(alternative, term)
                if (term,) in present and (alternative,) not in present:
                    variants.setdefault((alternative,), (term,))
                    forms.setdefault((term,), {})[alternative,] = None
        for text, clause in phrases:
            form = tuple(analyzer.terms(text))
            if form and form != clause:
                forms.setdefault(clause, {})[form] = None
    without = [clause for text in excluded for each in others if (clause := tuple(each.terms(text)))]
    beginnings = [term for text in prefixes for each in others for term in each.terms(text)[:1]]
    worths = {variant: query.worths.get(word, 1.0) for variant, word in variants.items()}
    return replace(
        query,
        variants=(*query.variants, *variants),
        beside=(*query.beside, *variants.values()),
        worths={**query.worths, **worths},
        languages=replace(
            query.languages,
            forms={clause: tuple(each) for clause, each in forms.items()},
            stands_for=stands_for,
        ),
        excluded=tuple(dict.fromkeys((*query.excluded, *without))),
        prefixes=tuple(dict.fromkeys((*query.prefixes, *beginnings))),
    )


def _pairs(terms: Clause, others: Clause) -> list[tuple[str, str]]:
    """Return the terms of another language, each paired with the query's term that it corresponds to.

    A word with different numbers of terms in the two languages has no pairs.
    """
    if len(terms) != len(others):
        return []
    return [(other, term) for term, other in zip(terms, others, strict=True) if other != term]
