"""Highlighting: the spans of query words in a text, and the excerpt that contains most of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from rifflux.text.analyzer import CJK, Analyzer
from rifflux.types import Span


@cache
def _pattern() -> re.Pattern[str]:
    """Return a pattern of words, and of overlapping character pairs in scripts without spaces."""
    return re.compile(rf"[^\s{CJK}]+|(?=([{CJK}]{{2}}))")


_AROUND = ".,;:!?\"'()[]{}<>`*_|~…“”‘’«»„"
#: How far to look for the end of a word; longer runs without spaces are cut anywhere.
_REACH = 40


def matches(text: str, terms: Collection[str], analyzer: Analyzer) -> list[Span]:
    """Return the spans of the words of `text` that share a term with the query, in order and without overlaps."""
    query_terms = set(terms)
    found: list[Span] = []
    for start, end in _words(text):
        if query_terms.isdisjoint(analyzer.of_word(text[start:end])):
            continue
        if found and start < found[-1][1]:
            start = found.pop()[0]
        found.append((start, end))
    return found


def spelling_of(clause: Sequence[str], text: str, analyzer: Analyzer) -> str:
    """Return the lower-case spelling of adjacent terms in a text; empty if they are not adjacent there."""
    clause_terms = tuple(clause)
    words = [*_words(text)]
    for first, (start, _) in enumerate(words):
        letter = text[start]
        # Stemming never changes the first letter of a word; one that begins with a sign may be any.
        if letter.isascii() and letter.isalnum() and letter.lower() != clause_terms[0][0]:
            continue
        terms: tuple[str, ...] = ()
        spelled: list[str] = []
        for begin, end in words[first:]:
            word = text[begin:end]
            added = tuple(analyzer.of_word(word))
            if not added:
                if not spelled:
                    break
                continue
            terms += added
            spelled.append(word.lower())
            if terms == clause_terms:
                return " ".join(spelled)
            if terms != clause_terms[: len(terms)]:
                break
    return ""


def words_of_question(text: str, question: str, analyzer: Analyzer) -> list[Span]:
    """Return the spans of words of `text` that share a term with a query; `analyzer` is that of the text."""
    return matches(text, analyzer.of_word(question), analyzer)


def _words(text: str) -> Iterator[Span]:
    for word in _pattern().finditer(text):
        if word[1]:
            yield word.span(1)
        elif stripped := word[0].strip(_AROUND):
            start = word.start() + word[0].index(stripped)
            yield start, start + len(stripped)


def stretch(text: str, spans: Sequence[Span], length: int) -> Span:
    """Return the earliest span of about `length` characters with the most matches, cut between words."""
    if len(text) <= length:
        return 0, len(text)
    starts = [start for start, _ in spans] or [0]
    best = max(
        starts, key=lambda start: (bisect_left(starts, start + length * 0.8) - bisect_left(starts, start), -start)
    )
    start = max(0, min(best - length // 8, len(text) - length))
    return _word_start(text, start), _word_end(text, start + length)


def _word_start(text: str, at: int) -> int:
    near = range(at, max(-1, at - _REACH), -1)
    return next((start for start in near if not start or text[start - 1].isspace()), at)


def _word_end(text: str, at: int) -> int:
    near = range(at, min(len(text), at + _REACH) + 1)
    return next((end for end in near if end == len(text) or text[end].isspace()), min(at, len(text)))
