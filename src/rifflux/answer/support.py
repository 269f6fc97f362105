"""Whether a sentence stands in a source: its numbers, names, dates, identifiers and quotations do, and its words.

The words stand in the passage, the numbers near the sentence that it resembles most, and that sentence says nothing
else (see `contradiction`). That is no proof: it keeps out what the source does not speak of, and what turns it around.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rifflux.answer.alignment import Alignment, TextWords, align, words_of
from rifflux.answer.amounts import Amounts, amounts_in, is_unit
from rifflux.answer.contradiction import Statement, contradicts
from rifflux.answer.denial import denies
from rifflux.answer.relations import conflicts
from rifflux.evidence.pack import EvidenceItem
from rifflux.retrieve.steps.rerank.maxsim import TokenEmbedder
from rifflux.text.analyzer import Analyzer, fold
from rifflux.text.identifiers import labelled
from rifflux.text.lexicon import word_lists
from rifflux.text.moments import dates_in, moments_in
from rifflux.text.sentences import pieces
from rifflux.text.turns import TurnLead
from rifflux.types import Moment, Span

#: The share of a sentence's words that must stand in its source, by their stems, and where vectors tell what they mean.
LEAST_SUPPORT = 0.7
LEAST_MEANT = 0.62
#: A source that shares fewer of a sentence's terms is not compared with it.
LEAST_SHARED = 0.25
#: A sentence of a source is compared with a claim if it shares this part of what the best one shares with it.
NEARLY = 0.95
#: A clause that holds this share of a claim's words holds its numbers, too.
SAME = 0.8
_CAPITAL = re.compile(r"\b[A-Z][^\W\d_]+")
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{3,})[\"”“»]")
_URL = re.compile(r"(?:https?|ftp)://[^\s)>\]]+|www\.[^\s)>\]]+|\b[\w.+-]+@[\w-]+\.\w+")
_NAME = re.compile(r"(?<=[^\s.!?:;\"“(\[*_-]\s)[A-Z][^\W\d_]\w*(?:\.\w+)*")
#: Words with capitals in turn, of which an acronym may be made, and acronyms.
_CAPITALS = re.compile(r"\b[A-Z][\w’']*(?:[\s-]+(?:(?:of|and|for|the|on|in)\s+)*[A-Z][\w’']*)+")
_ACRONYM = re.compile(r"\b(?:[A-Z]\.){2,}|\b[A-Z]{2,}\b")
#: Words that may be short for others: `Pub. 527`, `Oct 3`.
_SHORT = re.compile(r"\b[A-Z]?[a-z]{2,4}\b(?=\.| \d)")
#: A name that a sentence begins with: another word follows it than one that follows an order or a link.
_FIRST = re.compile(r"\W*([A-Z][^\W\d_]+)\s+(?!(?:the|an?|your|its?|all|each|both|for|if|to|that|this|and|or)\b)[a-z]")
_LEADING = word_lists("claims")["leading"]
_SMALL = re.compile(r"\b[a-z]+\b")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class SourcePassage:
    """A passage of a pack, as sentences are compared with it; `lead` is how its turns begin if it is a conversation.

    `sections` are where sections begin in the text of one that reaches over several, with the headings of each.
    Where an `embedder` is given, words are compared by their meaning, too. `documented` are the places in the text of
    code that document it in words.
    """

    item: EvidenceItem
    analyzer: Analyzer
    is_code: bool = False
    lead: TurnLead | None = None
    sections: Sequence[tuple[int, str]] = ()
    embedder: TokenEmbedder | None = None
    documented: Sequence[Span] = ()

    def heading_path_at(self, place: int) -> str:
        """Return the headings that a place in the text stands under."""
        under = [path for start, path in self.sections if start <= place]
        return under[-1] if under else self.item.heading_path

    @cached_property
    def whole(self) -> str:
        """Return the words of the passage: its title, its headings and its text."""
        return "\n".join((self.item.title, self.item.heading_path, self.item.text))

    @cached_property
    def terms(self) -> frozenset[str]:
        """Return the terms of the passage."""
        return frozenset(self.analyzer.terms(self.whole))

    @cached_property
    def plain(self) -> str:
        """Return the passage folded, with single blanks."""
        return _plain(self.whole)

    @cached_property
    def words(self) -> TextWords:
        """Return the words of the passage, aligned with those of sentences."""
        before = len(self.whole) - len(self.item.text)
        own = [(before + span[0], before + span[1]) for span, _ in self.sentences]
        if self.whole[:before].strip():
            own = [(0, before), *own]
        return words_of(self.whole, self.analyzer, self.embedder, own)

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the terms of what is written with a capital in it."""
        return _named(self.item.text, self.analyzer)

    @cached_property
    def first_names(self) -> frozenset[str]:
        """Return the terms of what sentences begin with, if it may be a name and is written so everywhere."""
        if self.analyzer.language == "german":
            return frozenset()
        found = [_FIRST.match(self.item.text[slice(*span)]) for span, _ in self.sentences]
        names = [each[1] for each in found if each and _may_be_name(each[1])]
        small = frozenset(_SMALL.findall(self.item.text))
        return frozenset(term for name in names if name.lower() not in small for term in self.analyzer.terms(name))

    @cached_property
    def dates(self) -> frozenset[object]:
        """Return the dates that it names."""
        return frozenset(dates_in(self.whole))

    @cached_property
    def sentences(self) -> Sequence[tuple[Span, frozenset[str]]]:
        """Return the places of its sentences in its text, with their terms."""
        found = pieces(self.item.text, code=self.is_code)
        return [(piece.span, frozenset(self.analyzer.terms(self.item.text[slice(*piece.span)]))) for piece in found]

    def span_for(self, terms: frozenset[str]) -> Span:
        """Return where in its document the sentence stands that shares most with some terms, the first of equals."""
        start = self.item.span[0]
        if not self.sentences:
            return self.item.span
        first, last = max(self.sentences, key=lambda each: (len(terms & each[1]), -each[0][0]))[0]
        return start + first, start + last

    def holds(self, sentence: _Claim) -> float:
        """Return the share of a sentence's words that stand here; 0 where something stands here in no form."""
        if not all(each in self.plain for each in sentence.exact) or not self._has_names(sentence):
            return 0.0
        if len(sentence.terms & self.terms) < LEAST_SHARED * len(sentence.terms):
            return 0.0
        alignment = align(sentence.words, self.words)
        spoken = " . ".join(each.text for clause in sentence.words.clauses for each in alignment.saying(clause))
        if not any(self._says(sentence, span, spoken) for span in self._nearest(sentence.terms)):
            return 0.0
        if self._is_by_another(sentence, alignment) or denies(alignment):
            return 0.0
        if conflicts(alignment, self.names | self.first_names):
            return 0.0
        least = LEAST_SUPPORT
        if self.embedder:
            least = LEAST_MEANT
        if alignment.share < least:
            return 0.0
        return alignment.share

    def _has_names(self, claim: _Claim) -> bool:
        """Return True if what a claim writes with a capital stands here, in short, or written out."""
        missing = claim.names - self.terms
        if not missing:
            return True
        for name in _NAME.findall(claim.text):
            if is_unit(name) or any(name.casefold().startswith(word) for word in self._short_words):
                missing -= frozenset(self.analyzer.terms(name))
        for own, other in ((claim.text, self.whole), (self.whole, claim.text)):
            short = {found.replace(".", "") for found in _ACRONYM.findall(own)}
            for run in _CAPITALS.findall(other):
                if _initials(run) & short:
                    missing -= frozenset(self.analyzer.terms(run))
                    missing -= frozenset(term for each in _initials(run) & short for term in self.analyzer.terms(each))
        return not missing

    @cached_property
    def _short_words(self) -> frozenset[str]:
        """Return its words that may be short for another one."""
        return frozenset(word.casefold() for word in _SHORT.findall(self.whole))

    def _is_by_another(self, claim: _Claim, alignment: Alignment) -> bool:
        """Return True if a sentence begins with a name that does not stand here, where another one does."""
        if not claim.first or claim.first & self.terms:
            return False
        for clause in alignment.saying(alignment.claim.clauses[0]):
            for word in _CAPITAL.findall(clause.text):
                terms = frozenset(self.analyzer.terms(word))
                if _may_be_name(word) and terms and not terms & claim.terms:
                    return True
        return False

    def _nearest(self, terms: frozenset[str]) -> list[Span]:
        """Return the places of the sentences that share most with some terms."""
        shares = [(len(terms & own), span) for span, own in self.sentences]
        most = max((share for share, _ in shares), default=0)
        if not most:
            return []
        return [span for share, span in shares if share >= NEARLY * most]

    def _says(self, claim: _Claim, span: Span, spoken: str) -> bool:
        """Return True if a sentence, with those beside it and what is `spoken` of, has what a claim has.

        It has nothing against it, either.
        """
        source = Statement(self.item.text[slice(*span)])
        around = self._around(span)
        around = f"{around}\n{spoken}"
        if contradicts(claim.statement, source, Statement(around)):
            return False
        if self._dated(claim, around):
            return True
        return claim.amounts.stand_in(amounts_in(around)) and self._holds_numbers(claim, span)

    def _holds_numbers(self, claim: _Claim, span: Span) -> bool:
        """Return True unless one clause says what the claim says with other numbers."""
        words = frozenset(term for term in claim.terms if not term[:1].isdecimal())
        source = words_of(self.item.text[slice(*span)], self.analyzer)
        speaking = [
            amounts_in(clause.text)
            for clause in source.clauses
            if len(words & frozenset(self.analyzer.terms(clause.text))) >= SAME * len(words)
        ]
        return not speaking or any(not claim.amounts.missing(each) for each in speaking)

    def _around(self, span: Span) -> str:
        """Return a sentence with those before and behind it, below the title and the headings."""
        spans = [each for each, _ in self.sentences]
        place = spans.index(span)
        first = spans[max(0, place - 1)][0]
        last = spans[min(len(spans) - 1, place + 1)][1]
        return "\n".join((self.item.title, self.item.heading_path, self.item.text[first:last]))

    def _dated(self, sentence: _Claim, around: str) -> bool:
        """Return True if all numbers that are missing here belong to dates that stand here in other words."""
        if not sentence.dates or not sentence.dates <= self.dates:
            return False
        return sentence.undated.stand_in(amounts_in(around))


@dataclass(frozen=True)
class _Claim:
    """A sentence, taken apart into what its source must hold."""

    text: str
    analyzer: Analyzer
    embedder: TokenEmbedder | None

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(self.analyzer.terms(self.text))

    @cached_property
    def words(self) -> TextWords:
        """Return its words, as they are aligned with those of a passage."""
        return words_of(self.text, self.analyzer, self.embedder)

    @cached_property
    def amounts(self) -> Amounts:
        return amounts_in(self.text)

    @cached_property
    def _moments(self) -> Sequence[Moment]:
        """Return the days and months that are named with their year."""
        return [each for each in moments_in(self.text) if not (each.yearly or each.words.isdecimal())]

    @cached_property
    def dates(self) -> frozenset[object]:
        return frozenset((each.since, each.until) for each in self._moments)

    @cached_property
    def undated(self) -> Amounts:
        """Return the amounts that are no part of a date."""
        rest = self.text
        for moment in self._moments:
            rest = rest.replace(moment.words, " ")
        return amounts_in(rest)

    @cached_property
    def exact(self) -> tuple[str, ...]:
        """Return what must stand in the source to the letter, as it is compared: identifiers, quotations, addresses."""
        found = (
            *(written for _, written in labelled(self.text)),
            *_QUOTED.findall(self.text),
            *_URL.findall(self.text),
        )
        return tuple(_plain(each.strip(" .,;:!?")) for each in found)

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the terms of what is written with a capital inside the sentence; in German all nouns are."""
        return _named(self.text, self.analyzer)

    @cached_property
    def first(self) -> frozenset[str]:
        """Return the terms of the first word if that may be a name."""
        first = _FIRST.match(self.text)
        if not first or not _may_be_name(first[1]) or self.analyzer.language == "german":
            return frozenset()
        return frozenset(self.analyzer.terms(first[1]))

    @cached_property
    def statement(self) -> Statement:
        return Statement(self.text)


@dataclass(frozen=True, slots=True)
class Supported:
    """The passages that a sentence stands in, with the place in each document that speaks for it, and how much does."""

    passages: tuple[tuple[SourcePassage, Span], ...]
    support: float


def supported(text: str, cited: Sequence[SourcePassage], passages: Sequence[SourcePassage]) -> Supported | None:
    """Return those of the cited passages that a sentence stands in, else the one of all in which most of it does.

    None if it stands in none of them.
    """
    if not passages:
        return None
    claims: dict[Analyzer, _Claim] = {}
    for passage in passages:
        claims.setdefault(passage.analyzer, _Claim(text, passage.analyzer, passage.embedder))
    others = [each for each in passages if not any(each is known for known in cited)]
    for candidates, most in ((cited, len(cited)), (others, 1)):
        held = [(passage.holds(claims[passage.analyzer]), passage) for passage in candidates]
        good = sorted((each for each in held if each[0]), key=lambda each: -each[0])[:most]
        if good:
            places = tuple((passage, passage.span_for(claims[passage.analyzer].terms)) for _, passage in good)
            return Supported(places, round(good[0][0], 4))
    return None


def code_in(text: str, passages: Iterable[SourcePassage]) -> SourcePassage | None:
    """Return the first passage that every line of a piece of code stands in, blanks aside."""
    lines = [line for line in (_plain(each) for each in text.splitlines()) if line]
    return next((each for each in passages if lines and all(line in each.plain for line in lines)), None)


def _named(text: str, analyzer: Analyzer) -> frozenset[str]:
    """Return the terms of what is written with a capital inside sentences; in German all nouns are."""
    if analyzer.language == "german":
        return frozenset()
    return frozenset(term for name in _NAME.findall(text) for term in analyzer.terms(name))


def _initials(run: str) -> frozenset[str]:
    """Return the acronyms that may stand for words in turn: of all of them, or of all but the first ones."""
    letters = "".join(word[0] for word in re.findall(r"[A-Z][\w’']*", run))
    return frozenset(
        letters[first:last] for first in range(len(letters) - 1) for last in range(first + 2, len(letters) + 1)
    )


def _may_be_name(word: str) -> bool:
    return word.casefold() not in _LEADING and not word.endswith(("ly", "ing", "ed"))


def _plain(text: str) -> str:
    return _SPACE.sub(" ", fold(text)).strip()
