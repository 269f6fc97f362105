"""Find where a claim says of one thing what its source says of another: who does what, and what a number counts.

A claim that was turned around has the words of its source in other places. It is read in phrases, adjacent words that
say something, and in relations: a phrase beside a word, with what joins them (`delivery of the table`). A relation of
the claim is compared with those of the source about the same word with the same joint. It conflicts if what stands
there is another thing of the source, and never this one. A relation that the source does not have conflicts with
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from rifflux.answer.alignment import Alignment, TextWords
from rifflux.answer.amounts import is_unit
from rifflux.text.lexicon import word_lists

#: The rest of a clause has so many words, and this share of them in the sentence that has something else.
LEAST_REST = 2
LEAST_SHARE = 0.9
#: A word that is as near as this to another may stand for it.
STANDS_FOR = 0.45
#: The phrases of a list that are read, at most.
LISTED = 5
_LISTS = word_lists("claims")
_PREPOSITIONS = _LISTS["prepositions"]
#: What stands between a subject and what it does, or before a phrase, and joins nothing.
_AUXILIARIES = _LISTS["auxiliaries"]
_DETERMINERS = _LISTS["determiners"]
_LISTING = frozenset(("and", "or", ",", "/"))
_GAP = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")
#: What joins two sides of which one is first.
_DIRECTED = _LISTS["directed"]
_OF = "of"
#: The joints of what stands before a word: who does it, and to whom it is done.
DOES = "does"
IS_DONE = "is done"
_PASSIVE = _LISTS["passive"]


@dataclass(frozen=True)
class Phrase:
    """Adjacent words of a text, with what stands between them and those before; None where a sentence begins."""

    words: range
    gap: tuple[str, ...] | None


@dataclass(frozen=True)
class Relation:
    """What stands beside a word: a phrase and those that belong to it, and what joins them."""

    beside: int
    joint: str
    filler: tuple[int, ...]
    whole: frozenset[int]


def phrases(text: TextWords, names: frozenset[str]) -> list[Phrase]:
    """Return the phrases of a text; a name and what stands beside it are two."""
    found: list[Phrase] = []
    first = 0
    gap: tuple[str, ...] | None = None
    named = [bool(terms & names) for terms in text.terms]
    begins = {sentence.start for sentence in text.sentences}
    for place in range(1, len(text.terms) + 1):
        if place < len(text.terms):
            between = text.text[text.spans[place - 1][1] : text.spans[place][0]]
            if between.strip(" -'’") == "" and named[place - 1] == named[place] and "\n" not in between:
                continue
        found.append(Phrase(range(first, place), gap))
        if place < len(text.terms):
            gap = tuple(token.casefold() for token in _GAP.findall(between))
            if place in begins:
                gap = None
            first = place
    return found


def relations(text: TextWords, names: frozenset[str]) -> Iterator[Relation]:
    """Yield the relations of a text."""
    found = phrases(text, names)
    for number, (before, phrase) in enumerate(pairwise(found)):
        if phrase.gap is None:
            continue
        joint = _joint(phrase.gap)
        if joint is not None:
            yield Relation(before.words[-1], joint, tuple(phrase.words), _whole(found, number + 1))
        does = _does(phrase.gap)
        if does is not None:
            yield Relation(phrase.words[0], does, tuple(before.words), frozenset(before.words))


def _joint(gap: tuple[str, ...]) -> str | None:
    """Return what joins a phrase to the word before it, None if nothing does."""
    words = [token for token in gap if token not in _DETERMINERS]
    if not words:
        return ""
    if len(words) == 1 and words[0] in _PREPOSITIONS:
        return words[0]
    return None


def _does(gap: tuple[str, ...]) -> str | None:
    """Return how a phrase stands before a word that it does or that is done to it, None if it does not."""
    if not all(token in _AUXILIARIES for token in gap):
        return None
    if _PASSIVE.intersection(gap):
        return IS_DONE
    return DOES


def _whole(found: list[Phrase], number: int) -> frozenset[int]:
    """Return the words of a phrase and of what follows as part of it: a list, or what it is of."""
    words = set(found[number].words)
    for phrase in found[number + 1 : number + 1 + LISTED]:
        if phrase.gap is None:
            break
        tokens = [token for token in phrase.gap if token not in _DETERMINERS]
        if tokens and not all(token in _LISTING or token == _OF or token in "()" for token in tokens):
            break
        words.update(phrase.words)
    return frozenset(words)


def conflicts(alignment: Alignment, names: frozenset[str]) -> bool:
    """Return True if a claim says of one thing what its source says of another."""
    return _misrelated(alignment, names) or _miscounted(alignment, names)


def _misrelated(alignment: Alignment, names: frozenset[str]) -> bool:
    """Return True if the source has something else in a relation of a claim."""
    source = list(relations(alignment.source, names))
    for own in relations(alignment.claim, names):
        if own.joint in _DIRECTED and _reversed(alignment, own, source):
            return True
        there = [each for each in source if each.joint == own.joint and alignment.sameness[own.beside, each.beside]]
        if there and _conflicts(alignment, own, there, names):
            return True
    return False


def _reversed(alignment: Alignment, own: Relation, source: list[Relation]) -> bool:
    """Return True if the source has both sides of a relation the other way round, and not this way."""
    same = alignment.sameness
    joined = [each for each in source if each.joint == own.joint]
    if any(same[own.beside, each.beside] and same[list(own.filler)][:, list(each.filler)].any() for each in joined):
        return False
    return any(
        same[own.beside, list(each.filler)].any() and same[list(own.filler), each.beside].any() for each in joined
    )


def _conflicts(alignment: Alignment, own: Relation, there: list[Relation], names: frozenset[str]) -> bool:
    """Return True if the sentence that a claim was taken from has something else in a relation."""
    clause = next(each.words for each in alignment.claim.clauses if own.beside in each.words)
    rest = [each for each in clause if each not in own.filler]
    if len(rest) < LEAST_REST:
        return False
    shares = {
        each: float(alignment.stands[rest, each.start : each.stop].any(axis=1).mean())
        for each in alignment.source.sentences
    }
    if max(shares.values()) < LEAST_SHARE:
        return False
    near = [each for each, share in shares.items() if share == max(shares.values())]
    best = [(other, each) for other in there for each in near if other.beside in each]
    if not best or len({each for _, each in best}) < len(near):
        return False
    return all(_conflict(alignment, own, other, each, names) for other, each in best)


def _conflict(alignment: Alignment, own: Relation, other: Relation, sentence: range, names: frozenset[str]) -> bool:
    """Return True if two relations to one word have things that differ, and the claim's is another of the source."""
    claim, source = alignment.claim, alignment.source
    whole = sorted(other.whole)
    extra = [each for each in own.filler if not alignment.stands[each, whole].any()]
    if not extra or not all(alignment.sameness[each].any() for each in extra):
        return False
    lacking = [each for each in other.filler if not alignment.stands[list(own.filler), each].any()]
    if not lacking or _are_units(claim, extra):
        return False
    named = False
    if own.joint in ("", DOES, IS_DONE):
        named = all(claim.terms[each] & names for each in extra) and all(source.terms[each] & names for each in lacking)
        if not named and len(extra) == len(own.filler):
            return False
    if own.joint == DOES and named:
        return True
    stands_there = alignment.sameness[extra, sentence.start : sentence.stop].any()
    if stands_there and not alignment.sameness[:, lacking].any(axis=0).all():
        return False  # both stand in the sentence, and have not changed places
    return bool(alignment.nearness[extra][:, lacking].max() < STANDS_FOR)


def _are_units(claim: TextWords, places: list[int]) -> bool:
    words = [claim.text[slice(*claim.spans[each])] for each in places]
    return all(word.islower() and is_unit(word) for word in words)


def _miscounted(alignment: Alignment, names: frozenset[str]) -> bool:
    """Return True if a number of a claim is of one thing, and in its source only of another that has another number."""
    own = _counted(alignment.claim, names)
    there = _counted(alignment.source, names)
    for number, things in own:
        same = [other for at, other in there if alignment.sameness[number, at]]
        if not same or not things:
            continue
        if any(not other or alignment.stands[things][:, other].any() for other in same):
            continue
        others = [other for at, other in there if not alignment.sameness[number, at] and other]
        if any(alignment.sameness[things][:, other].any() for other in others):
            return True
    return False


def _counted(text: TextWords, names: frozenset[str]) -> list[tuple[int, list[int]]]:
    """Return the numbers of a text, each with the words for what it counts."""
    found = phrases(text, names)
    counted: list[tuple[int, list[int]]] = []
    for place, phrase in enumerate(found):
        for at in phrase.words:
            if not any(term[:1].isdecimal() for term in text.terms[at]):
                continue
            words = []
            for each in range(at + 1, phrase.words.stop):
                if any(term[:1].isdecimal() for term in text.terms[each]):
                    break
                words.append(each)
            if words and words[-1] == phrase.words[-1] and place + 1 < len(found) and found[place + 1].gap == (_OF,):
                words.extend(found[place + 1].words)
            things = [each for each in words if not is_unit(text.text[slice(*text.spans[each])])]
            counted.append((at, things))
    return counted
