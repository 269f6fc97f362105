"""Questions about content in several languages.

A document is analyzed in its own language, so a word of the question may be another term in each. The question is read
in one language, the one that most of its function words belong to; what other languages make of its words is searched
as alternatives of equal worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rifflux.text.analyzer import Analyzer
from rifflux.text.lexicon import stop_words
from rifflux.types import Clause, Query

_EDGES = ".,;:!?()[]{}'\"-*"


def of_question(text: str, analyzers: Sequence[Analyzer]) -> Analyzer:
    """Return the analyzer to read a question with: that of most of its function words, of equals the first.

    A language in which the question has nothing but function words is not meant: "war" is about war.
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
    """Return a question with what other languages make of its words, its phrases, its exclusions and its prefixes.

    `phrases` are the required ones as text with their terms.
    """
    variants: dict[Clause, Clause] = {}
    stands_for: dict[str, dict[str, str]] = {}
    forms: dict[Clause, dict[Clause, None]] = {}
    asked = {*query.clauses, *query.required}
    for analyzer in others:
        known = stands_for.setdefault(analyzer.language, {})
        for token, terms in query.tokens:
            for alternative, term in _pairs(terms, analyzer.terms_of(token)):
                known.setdefault(alternative, term)
                if (term,) in asked and (alternative,) not in asked:
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
    """Return terms of another language, each with the term of the question that it stands for.

    A word that is several terms in one language and not as many in the other has no counterparts.
    """
    if len(terms) != len(others):
        return []
    return [(other, term) for term, other in zip(terms, others, strict=True) if other != term]
