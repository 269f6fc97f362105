"""Find where a claim denies what its source says, says what that denies, or says the opposite.

A denial reaches over the few words behind it (`is not kept on disk`), or before it if none follow. A claim agrees with
a denial of its source if one of its own reaches over one of the same words. Words of opposite meaning contradict each
other where they stand beside the same word, and one of both denied contradicts nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rifflux.answer.alignment import SENTENCE_END, Alignment, TextWords
from rifflux.answer.contradiction import ABOVE, AT_LEAST, AT_MOST, BELOW, NEGATION, SIDES, WITHOUT, is_turned
from rifflux.text.lexicon import word_lists

#: The words that a denial reaches over, and those of them that it is first of all about.
REACH = 3
FIRST = 2
#: The words on either side of one of opposite meaning that tell of what it is said.
BESIDE = 2
#: A sentence of the source speaks of a claim if it has this share of its words.
SPEAKS = 0.5
_LISTS = word_lists("claims")
_PREPOSITIONS = _LISTS["prepositions"]
#: What stands between a denial and what it denies.
_PASSED = _LISTS["auxiliaries"]
#: What joins words of equal rank, and ends no denial.
_JOINING = _LISTS["joining"]
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NEXT = re.compile(r"\s+([^\W_]+)")
#: What looks like a denial and is none: `not until Monday`, `not only`.
_NO_DENIAL = re.compile(
    r"\b(?:not|n['’]t) only\b|(?:\bnot|n['’]t|\bno)\b(?=[^.,;!?]*\b(?:until|till|unless)\b)"
    r"|\bwhether or not\b|\bif not\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"instead of|rather than", re.IGNORECASE)
_THAN = re.compile(r"\s+(?:than|als|que|di|dan)\b", re.IGNORECASE)
_QUOTES = frozenset("\"”'’")
_PARTING = re.compile(
    rf"{SENTENCE_END.pattern}|[,()]|\b(?:{'|'.join(sorted(_LISTS['conjunctions'] - _JOINING))})\b", re.IGNORECASE
)


@dataclass(frozen=True)
class _Denial:
    """What is denied: the words that it is about first of all, and all that it reaches."""

    first: tuple[int, ...]
    reach: tuple[int, ...]
    is_contrast: bool = False
    is_aside: bool = False


@dataclass(frozen=True)
class _Mark:
    """A word that has an opposite: which pair and side, and the word that it stands at or before."""

    pair: int
    side: int
    place: int
    beside: tuple[int, ...]
    compares: bool = False


@dataclass(frozen=True)
class _TextReading:
    """A text, read for its denials and its words of opposite meaning."""

    words: TextWords

    def sentence_of(self, place: int) -> range:
        """Return the sentence that a word stands in."""
        return next((each for each in self.words.sentences if place in each), range(0))

    def text_of(self, words: range) -> str:
        """Return the text of some words."""
        return self.words.text[self.words.spans[words[0]][0] : self.words.spans[words[-1]][1]] if words else ""

    @cached_property
    def clean(self) -> str:
        """Return the text without what looks like a denial and is none."""
        text = _NO_DENIAL.sub(_blank, self.words.text)
        return AT_MOST.sub(_blank, text)

    @cached_property
    def denials(self) -> list[_Denial]:
        """Return what the text denies."""
        found = []
        for pattern in (NEGATION, WITHOUT):
            for match in pattern.finditer(self.clean):
                denial = self._denial(match)
                if pattern is WITHOUT:
                    denial = _Denial(denial.first[:1], denial.first[:1], is_aside=True)
                elif _CONTRAST.fullmatch(match[0]):
                    denial = _Denial(denial.first, denial.reach, is_contrast=True)
                if denial.reach and not _QUOTES.intersection(self.clean[match.end() : match.end() + 1]):
                    found.append(denial)
        return found

    @cached_property
    def denied(self) -> frozenset[int]:
        """Return the words that denials are about first of all."""
        return frozenset(word for denial in self.denials for word in denial.first)

    def _denial(self, match: re.Match[str]) -> _Denial:
        own = self._at(match.start())
        start = self._next(match.end())
        behind = self._run(range(start, len(self.words.terms)), match.end())
        before_at = start if own is None else own
        before = self._run(range(before_at - 1, -1, -1), match.start())
        if not behind:
            return _Denial(before[:FIRST], before)
        if len(behind) == 1:
            return _Denial(behind, (*behind, *before))
        return _Denial(behind[:FIRST], behind)

    def _run(self, places: range, position: int) -> tuple[int, ...]:
        """Return those of the next words, in either direction, that no mark and no `but` parts from a position."""
        found: list[int] = []
        for place in places:
            start, end = self.words.spans[place]
            between = self.words.text[min(position, end) : max(position, start)]
            if _PARTING.search(between) or len(found) == REACH:
                break
            word = self.words.text[start:end].casefold()
            if word not in _PASSED and not word.endswith("ly"):
                found.append(place)
            position = start if places.step < 0 else end
        return tuple(found)

    def _at(self, position: int) -> int | None:
        return next((n for n, (start, end) in enumerate(self.words.spans) if start <= position < end), None)

    def _next(self, position: int) -> int:
        return next((n for n, (start, _) in enumerate(self.words.spans) if start >= position), len(self.words.terms))

    @cached_property
    def marks(self) -> list[_Mark]:
        """Return its words that have an opposite, and its bounds."""
        found: list[_Mark] = []
        text = AT_MOST.sub(_blank, self.words.text)
        bounds = [(match, SIDES["maximum"]) for match in AT_MOST.finditer(self.words.text)]
        bounds += [(match, SIDES["minimum"]) for pattern in (ABOVE, AT_LEAST) for match in pattern.finditer(text)]
        bounds += [(match, SIDES["maximum"]) for match in BELOW.finditer(text)]
        text = NEGATION.sub(_blank, text)
        for match in _WORD.finditer(text):
            if match[0].casefold() in SIDES:
                bounds.append((match, SIDES[match[0].casefold()]))
        for match, sides in bounds:
            place, beside = self._placed(match, _joins(text[match.end() :]))
            compares = _THAN.match(text, match.end()) is not None
            found.extend(_Mark(pair, side, place, beside, compares) for pair, side in sides)
        return found

    def _placed(self, match: re.Match[str], is_joining: bool) -> tuple[int, tuple[int, ...]]:
        """Return the word that something stands at or before, and those beside it in its sentence."""
        own = self._at(match.start())
        if own is not None:
            place, behind = own, own + 1
        else:
            place = behind = self._next(match.end())
        last = len(self.words.spans)
        if behind < last and SENTENCE_END.search(self.words.text[match.end() : self.words.spans[behind][0]]):
            last = behind
        if is_joining and own is None:
            return place, tuple(range(place, min(place + 1, last)))
        sentence = self.sentence_of(max(place - 1, 0)) if own is None else self.sentence_of(own)
        before = [each for each in range(place - BESIDE, place) if each in sentence]
        following = [each for each in range(behind, min(behind + BESIDE, last)) if each in sentence]
        return place, (*before, *following)


def _joins(behind: str) -> bool:
    """Return True if a word stands before what it is about: `before midnight`, `on the first day`."""
    word = _NEXT.match(behind)
    return word is not None and word[1].casefold() not in _PREPOSITIONS


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def denies(alignment: Alignment) -> bool:
    """Return True if a claim denies what its source says, or says what that denies."""
    claim, source = _TextReading(alignment.claim), _TextReading(alignment.source)
    stands = alignment.stands
    if not stands.size:
        return False
    if _opposes(alignment, claim, source):
        return True
    return any(
        _unanswered(alignment, source, own) and not _turned(claim, source, own)
        for own in claim.denials
        if not own.is_contrast
    ) or any(_overlooked(alignment, claim, source, other) for other in source.denials)


def _overlooked(alignment: Alignment, claim: _TextReading, source: _TextReading, other: _Denial) -> bool:
    """Return True if a claim says what its source denies, and no sentence that is as near says it."""
    stands = alignment.stands
    said = np.flatnonzero(stands[:, other.first[0]]).tolist()
    if not said or claim.denied.intersection(said) or _turned(source, claim, other):
        return False
    if any(stands[np.ix_(own.reach, other.reach)].any() for own in claim.denials):
        return False
    most = _shared(alignment, source.sentence_of(other.first[0]))
    if most < SPEAKS * len(claim.words.terms):
        return False
    affirmed = [each for each in np.flatnonzero(stands[said].any(axis=0)).tolist() if each not in source.denied]
    return not any(_shared(alignment, source.sentence_of(each)) >= most for each in affirmed)


def _unanswered(alignment: Alignment, source: _TextReading, own: _Denial) -> bool:
    """Return True if the source says what a claim denies, in a sentence nearer to it than any that denies it."""
    stands = alignment.stands
    head = next((each for each in own.reach if stands[each].any()), None)
    if head is None:
        return False
    denying = -1
    reached: set[int] = set()
    for other in source.denials:
        reached.update(other.reach)
        shared = own.first if other.is_aside else own.reach
        if stands[head, list(other.reach)].any() or stands[np.ix_(shared, other.first)].any():
            denying = max(denying, _shared(alignment, source.sentence_of(other.first[0])))
    said = [each for each in np.flatnonzero(stands[head]).tolist() if each not in reached]
    return max((_shared(alignment, source.sentence_of(each)) for each in said), default=-1) > denying


def _shared(alignment: Alignment, sentence: range) -> int:
    return int(alignment.stands[:, sentence.start : sentence.stop].any(axis=1).sum())


def _turned(own: _TextReading, other: _TextReading, denial: _Denial) -> bool:
    """Return True if what is denied has its opposite in the other text."""
    there = {(mark.pair, mark.side) for mark in other.marks}
    return any(
        (mark.pair, 1 - mark.side) in there and (mark.pair, mark.side) not in there
        for mark in own.marks
        if mark.place in denial.reach
    )


def _opposes(alignment: Alignment, claim: _TextReading, source: _TextReading) -> bool:
    """Return True if a word of a claim has its opposite in the source beside the same word, and not itself."""
    for mark in claim.marks:
        if not mark.beside:
            continue
        denied = mark.place in claim.denied
        found: dict[bool, tuple[int, int]] = {True: (0, 0), False: (0, 0)}
        for other in source.marks:
            if other.pair != mark.pair or not other.beside:
                continue
            near = int(alignment.stands[np.ix_(mark.beside, other.beside)].any(axis=1).sum())
            held = _shared(alignment, source.sentence_of(other.beside[0]))
            agrees = other.side == mark.side or (other.place in source.denied) != denied
            if mark.compares and other.compares:
                turned = is_turned(claim.words.text, source.text_of(source.sentence_of(other.place)))
                agrees = (other.side == mark.side) != turned
            if near or agrees:
                found[agrees] = max(found[agrees], (held, near))
        if found[False][0] > found[True][0]:
            return True
    return False
