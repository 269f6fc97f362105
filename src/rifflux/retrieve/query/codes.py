"""Other ways to write the numbers and codes of a question, as far as the index knows them: `RFC2119`, `ch. 07`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, pairwise

from rifflux.text.analyzer import fold
from rifflux.types import Clause, Query

__all__ = ["Frequencies", "Vocabulary", "codes", "parted", "shortened"]

_PIECE = re.compile(r"[^\W\d_]+|\d+")
_SHORTENED = re.compile(r"\b([^\W\d_]{1,6})(\.?)\s?(\d+)")
#: What codes are joined by, and how many digits a number is filled to.
JOINTS, WIDEST = ("", "-", ".", ":", "/"), 5
#: The longest word that an abbreviation stands for, and for how many.
LONGEST, MOST = 14, 8
#: A number that may be two, written without the sign between them, has so many digits at most.
MOST_DIGITS = 12
#: A question has so many numbers looked at: a pasted page must not cost seconds.
MOST_NUMBERS = 8

#: A clause to search by, and the words and terms it stands beside.
Way = tuple[Clause, str, Clause]
#: In how many chunks terms occur, of those that do.
Frequencies = Callable[[Sequence[str]], Mapping[str, int]]
#: The terms that begin with a text and have so many characters, with the number of chunks that hold each.
Vocabulary = Callable[[str, int, int], Mapping[str, int]]


def codes(query: Query, frequencies: Frequencies, held: Callable[[Clause], bool]) -> Iterator[Way]:
    """Yield how the index writes numbers and codes of the question: parted, joined, with other zeros.

    `held` tells whether terms stand side by side in the index.
    """
    numbered = [place for place, (token, _) in enumerate(query.tokens) if _has_digit(token)][:MOST_NUMBERS]
    if not numbered:
        return
    ways = dict[str, tuple[str, Clause]]()
    for place in numbered:
        token, terms = query.tokens[place]
        if token.isdecimal():
            ways.update((each, (token, terms)) for each in _filled(token) if each not in terms)
        for (one, first), (other, second) in pairwise(query.tokens[max(0, place - 1) : place + 2]):
            found = (fold(f"{one}{joint}{other}") for joint in JOINTS)
            ways.update((joined, (f"{one} {other}", (*first, *second))) for joined in found)
    for run in islice(_runs(query), MOST_NUMBERS):
        for joint in JOINTS:
            ways[joint.join(map(_bare, run))] = " ".join(run), tuple(run)
    known = frequencies([*ways, *map(_bare, ways)])
    for way, (word, terms) in ways.items():
        if known.get(way) and ((way,) not in query.clauses) and (_bare(way) == way or not known.get(_bare(way))):
            yield (way,), word, terms
    for place in numbered:
        token, terms = query.tokens[place]
        parts = tuple(map(_bare, _PIECE.findall(fold(token))))
        if len(parts) > 1 and terms and not frequencies(terms[:1]):
            spelled = [parts] if held(parts) else filter(held, _cut(parts, frequencies))
            yield from ((clause, token, terms) for clause in spelled)


def _cut(parts: Sequence[str], frequencies: Frequencies) -> Iterator[Clause]:
    """Yield the parts of a code whose last number is cut in two by a sign, where the index has it so: `30CFR25017`."""
    *first, last = parts
    if last.isdecimal() and len(last) <= MOST_DIGITS:
        cut = [f"{last[:place]}{sign}{last[place:]}" for place in range(1, len(last)) for sign in JOINTS[1:]]
        yield from ((*first, each) for each in frequencies(cut))


def parted(query: Query) -> str:
    """Return what is asked for, its codes parted as the index has them, where that is one way: `30 CFR 250.17`."""
    text = query.semantic_text
    for token, terms in query.tokens if query.variants else ():
        if len(terms) > 1 and _has_digit(token):
            ways = [way for way, beside in zip(query.variants, query.beside, strict=False) if beside == terms]
            text = text.replace(token, " ".join(ways[0])) if len(ways) == 1 else text
    return text


def _runs(query: Query) -> Iterator[list[str]]:
    """Yield the numbers that stand side by side, and those of one token."""
    run: list[str] = []
    for token, _ in (*query.tokens, ("", ())):
        if token.isdecimal():
            run.append(token)
            continue
        if 2 < len(run) <= MOST_NUMBERS:
            yield run
        run = []
        if token[:1].isdecimal() and len(parts := _PIECE.findall(token)) > 1 and all(map(str.isdecimal, parts)):
            yield parts


def _has_digit(token: str) -> bool:
    return any(map(str.isdecimal, token))


def _bare(piece: str) -> str:
    return piece.lstrip("0") or piece if piece.isdecimal() else piece


def _filled(number: str) -> Iterator[str]:
    """Yield a number without leading zeros, and with as many as are usual."""
    bare = _bare(number)
    yield bare
    yield from map(bare.zfill, range(len(bare) + 1, WIDEST + 1))


def shortened(query: Query, frequencies: Frequencies, vocabulary: Vocabulary) -> Iterator[Way]:
    """Yield the words that one before a number may be short for, with that number: `ch. 7`, `chapter 7`."""
    for found in islice(_SHORTENED.finditer(query.semantic_text), MOST_NUMBERS):
        word, number = fold(found[1]), found[3]
        if not found[2] and (len(word) == 1 or frequencies([word])):
            continue
        longer = vocabulary(word, len(word) + 1, LONGEST)
        for term in sorted(longer, key=lambda each: (-longer[each], each))[:MOST]:
            yield (term, number), f"{found[1]} {number}", (word,)
