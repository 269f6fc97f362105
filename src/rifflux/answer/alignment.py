"""Align the words of a claim with those of its source, by their stems or else by their vectors, clause by clause.

A word stands in a source as far as the nearest word of that is nearer than words of unrelated sentences are. In
sentences of documentation, 95 in 100 words are nearer than `NOISE` to no word of an unrelated sentence, and half of
the words that stand in both are at least as near as `ALIKE` to themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rifflux.answer.amounts import number_in
from rifflux.answer.contradiction import is_negated
from rifflux.retrieve.steps.rerank.maxsim import TokenEmbedder
from rifflux.text.analyzer import Analyzer
from rifflux.text.lexicon import word_lists
from rifflux.types import Scores, Span, Vectors

NOISE = 0.34
ALIKE = 0.73
#: A word stands in one that is as near as this, from 0 to 1.
STANDS = 0.6
#: A clause speaks of another if it holds this share of its words; the most clauses that say what one says.
SPOKEN_OF = 0.3
MOST_CLAUSES = 3
#: What ends a sentence between two words.
SENTENCE_END = re.compile(r"[.;:?!](?:\W|$)|\n")
_WORD = re.compile(r"[^\W_]+(?:['’.,][^\W_]+)*")
#: Where another speaker begins, or another sentence or half of one.
_HARD = r"[;\n]|(?<!\b[A-Z])(?<!\b[A-Z][a-z])(?<!Mrs)[.?!](?=\s)|\s/\s|\s(?=\[)"
#: What parts a sentence into what is said of different things, and what may only part words of a list.
_JOINING = word_lists("claims")["conjunctions"]
_SOFT = rf"[,:](?=[\s\"”])|[–—()]|\b(?=(?i:{'|'.join(sorted(_JOINING))})\b)"
_CLAUSE = re.compile(rf"(?P<hard>{_HARD})|{_SOFT}")
_RELATIVE = re.compile(r"\W*(?:who|which|that|whose|whom)\b", re.IGNORECASE)
_REPORTING = word_lists("claims")["reporting"]
_INSIDE = re.compile(r"[^\W_][ ]|, ")
_SPEAKER = re.compile(r"\b[^\W\d_]+:(?=\s)")


@dataclass(frozen=True)
class TextClause:
    """A part of a sentence, with the places of its words among those of the text."""

    text: str
    words: range


@dataclass(frozen=True)
class TextWords:
    """The words of a text that say something, with their terms, their vectors and the clauses that they stand in.

    Numbers and names are `exact`: one of them stands for no other, however near their vectors are. What only joins
    clauses, or says who says something, does not count.
    """

    text: str
    terms: tuple[frozenset[str], ...]
    spans: tuple[Span, ...]
    clauses: tuple[TextClause, ...]
    #: The places of the words of each sentence.
    sentences: tuple[range, ...]
    exact: NDArray[np.bool_]
    counts: NDArray[np.bool_]
    vectors: Vectors | None

    def sameness(self, source: TextWords) -> Scores:
        """Return 1 where a word has a term of a word of a source, (own words, words of the source), else 0."""
        same = np.array([[bool(own & other) for other in source.terms] for own in self.terms], dtype=np.float64)
        return same.reshape(len(self.terms), len(source.terms))

    def nearness(self, source: TextWords, same: Scores) -> Scores:
        """Return how much each word stands in each word of a source, from 0 to 1."""
        if self.vectors is None or source.vectors is None or not same.size:
            return same
        near = np.clip((self.vectors @ source.vectors.T - NOISE) / (ALIKE - NOISE), 0.0, 1.0)
        near[self.exact] = 0.0
        return np.asarray(np.maximum(same, near), dtype=np.float64)


@dataclass(frozen=True)
class Alignment:
    """What of a claim stands in a source: how much each word stands in each word of it, and which clauses say it."""

    claim: TextWords
    source: TextWords
    sameness: Scores
    nearness: Scores

    @cached_property
    def share(self) -> float:
        """Return the share of the claim's words that stand in the source; numbers and names are compared elsewhere."""
        if not self.nearness.size or not self.claim.counts.any():
            return 0.0
        shares = np.where(self.claim.exact, 1.0, self.nearness.max(axis=1))
        return float(shares[self.claim.counts].mean())

    @cached_property
    def stands(self) -> NDArray[np.bool_]:
        """Return which words of the claim stand in which words of the source: by their terms, else by their vectors."""
        has_terms = self.sameness.any(axis=1, keepdims=True)
        return np.where(has_terms, self.sameness > 0, self.nearness >= STANDS)

    @cached_property
    def clauses(self) -> NDArray[np.bool_]:
        """Return which words of the claim stand in which clauses of the source."""
        found = [self.stands[:, each.words.start : each.words.stop].any(axis=1) for each in self.source.clauses]
        return np.array(found, dtype=bool).reshape(len(found), len(self.claim.terms)).T

    def saying(self, clause: TextClause) -> list[TextClause]:
        """Return the clauses of the source that say what one of the claim says: the nearest, and what that lacks."""
        by_clause = self._found_by_clause(clause)
        if by_clause is None:
            return []
        best = int(by_clause.sum(axis=1).argmax())
        chosen = [best]
        left = by_clause[best] < STANDS
        while left.any() and len(chosen) < MOST_CLAUSES:
            sums = np.where((by_clause >= STANDS) & left, by_clause, 0.0).sum(axis=1)
            best = int(sums.argmax())
            if sums[best] < 1:
                break
            chosen.append(best)
            left &= by_clause[best] < STANDS
        return [self.source.clauses[each] for each in chosen]

    def _found_by_clause(self, clause: TextClause) -> Scores | None:
        """Return how much of each word of a clause stands in each clause of the source; None if none speaks of it."""
        near = self.nearness[clause.words.start : clause.words.stop]
        if not near.size:
            return None
        by_clause = np.array([_greatest(near[:, each.words.start : each.words.stop]) for each in self.source.clauses])
        if by_clause.sum(axis=1).max() < SPOKEN_OF * len(near):
            return None
        return by_clause


def align(claim: TextWords, source: TextWords) -> Alignment:
    """Align the words of a claim with those of its source."""
    same = claim.sameness(source)
    return Alignment(claim, source, same, claim.nearness(source, same))


def words_of(
    text: str, analyzer: Analyzer, embedder: TokenEmbedder | None = None, sentences: Sequence[Span] = ()
) -> TextWords:
    """Return the words of a text, parted into clauses; each of its sentences is read by itself."""
    found = [(match, _terms(match[0], analyzer)) for match in _WORD.finditer(text)]
    found = [(match, terms) for match, terms in found if terms]
    matches = [match for match, _ in found]
    vectors: Vectors | None = None
    if embedder and found:
        vectors = _vectors(text, matches, embedder, sentences or [(0, len(text))])
    starts = [match.start() for match, _ in found]
    return TextWords(
        text=text,
        terms=tuple(terms for _, terms in found),
        spans=tuple(match.span() for match in matches),
        clauses=tuple(_clauses(text, starts)),
        sentences=tuple(_sentences(text, [match.span() for match in matches])),
        exact=np.array([_is_exact(text, match) for match in matches], dtype=bool),
        counts=_counting([match[0].casefold() for match in matches]),
        vectors=vectors,
    )


def _sentences(text: str, spans: Sequence[Span]) -> Iterator[range]:
    """Yield the places of the words of each sentence or line."""
    starts = [0]
    for place, (before, after) in enumerate(pairwise(spans)):
        if SENTENCE_END.search(text[before[1] : after[0]]):
            starts.append(place + 1)
    return map(range, starts, [*starts[1:], len(spans)])


def _terms(word: str, analyzer: Analyzer) -> frozenset[str]:
    """Return the terms of a word; a number in words is the one in digits as well."""
    terms = frozenset(analyzer.terms(word))
    number = number_in(word)
    if terms and number is not None:
        return terms | {f"{number:g}"}
    return terms


def _counting(words: Sequence[str]) -> NDArray[np.bool_]:
    """Return which words say something themselves."""
    found = np.array([word not in _JOINING and word not in _REPORTING for word in words], dtype=bool)
    if len(words) > 1 and words[1] in _REPORTING:
        found[0] = False
    return found


def _is_exact(text: str, match: re.Match[str]) -> bool:
    """Return True for a number, and for what is written with a capital inside a sentence."""
    if match[0][0].isdecimal() or number_in(match[0]) is not None:
        return True
    return match[0][0].isupper() and bool(_INSIDE.search(text, max(0, match.start() - 2), match.start()))


def _greatest(near: Scores) -> Scores:
    return np.asarray(near.max(axis=1, initial=0.0), dtype=np.float64)


def _vectors(
    text: str, matches: Sequence[re.Match[str]], embedder: TokenEmbedder, sentences: Sequence[Span]
) -> Vectors:
    """Return the unit vectors of words, each the mean of those of its tokens."""
    count = embedder.count_tokens
    read = embedder.token_vectors([text[start:end] for start, end in sentences])
    found = np.zeros((len(matches), read[0].shape[1]), dtype=np.float32)
    for (start, end), tokens in zip(sentences, read, strict=True):
        place = 0
        behind = start
        for row, match in enumerate(matches):
            if start <= match.start() < end:
                first = place + count(text[behind : match.start()])
                place = first + count(match[0])
                behind = match.end()
                found[row] = tokens[first:place].sum(axis=0)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found / np.maximum(lengths, 1e-9), dtype=np.float32)


def _clauses(text: str, starts: Sequence[int]) -> list[TextClause]:
    """Return the clauses of a text; a part with one word or none belongs to that before it, unless a sentence ends."""
    parts: list[tuple[int, bool]] = [(0, True)]
    for match in _CLAUSE.finditer(text):
        if match[0] == ":" and _SPEAKER.search(text, max(0, match.start() - 20), match.end() + 1):
            continue
        parts.append((match.start(), bool(match["hard"])))
    ends = [*(start for start, _ in parts[1:]), len(text)]
    found: list[tuple[int, int, int, int]] = []
    for (start, is_hard), end in zip(parts, ends, strict=True):
        first = sum(each < start for each in starts)
        last = sum(each < end for each in starts)
        is_short = last - first < 2 and not is_negated(text[start:end])
        if found and not is_hard and last > first and (is_short or found[-1][3] - found[-1][2] < 2):
            found[-1] = (found[-1][0], end, found[-1][2], last)
        elif last > first or not found or (is_negated(text[start:end]) and _RELATIVE.match(text, found[-1][0])):
            found.append((start, end, first, last))
        else:
            found[-1] = (found[-1][0], end, found[-1][2], found[-1][3])
    return [TextClause(text[start:end].strip(" ,;"), range(first, last)) for start, end, first, last in found]
