"""Other ways to write the numbers and codes of a question, as far as the index knows them: `RFC2119`, `ch. 07`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise, product
from typing import Protocol

from rifflux.text.analyzer import fold
from rifflux.types import Clause, Query

_PIECE = re.compile(r"[^\W\d_]+|\d+")
_SHORTENED = re.compile(r"\b([^\W\d_]{1,6})(\.?)\s?(\d+)")
#: What codes are joined by, and how many digits a number is filled to.
JOINTS = ("", "-", ".", ":", "/")
WIDEST = 5
#: The longest word that an abbreviation stands for, and for how many.
LONGEST = 14
MOST = 8
#: A number that may be two, written without the sign between them, has so many digits at most.
MOST_DIGITS = 12
#: A question has so many numbers looked at: a pasted page must not cost seconds.
MOST_NUMBERS = 8

#: A code has so many runs of letters and digits at most, its letters stand in runs of so many, and so many clauses are
#: tried for each way to group its parts.
MOST_PARTS = 6
MOST_LETTERS = 4
MOST_CLAUSES = 4

#: A clause to search by, and the words and terms it stands beside.
Way = tuple[Clause, str, Clause]
#: In how many chunks terms occur, of those that do.
Frequencies = Callable[[Sequence[str]], Mapping[str, int]]


class NearTerms(Protocol):
    """Count the chunks that hold each term of a beginning and length, as `Lexical.vocabulary` does."""

    def __call__(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None, /
    ) -> Mapping[str, int]: ...


def codes(query: Query, frequencies: Frequencies, is_phrase: Callable[[Clause], bool]) -> Iterator[Way]:
    """Yield how the index writes numbers and codes of the question: parted, joined, with other zeros.

    `is_phrase` tells whether terms stand side by side in the index.
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
            regrouped = regroup(parts, frequencies, is_phrase)
            spelled = [regrouped] if regrouped else filter(is_phrase, _cut(parts, frequencies))
            yield from ((clause, token, terms) for clause in spelled)
    whole = spelled_code(query, frequencies, is_phrase) if len(query.tokens) > 1 else None
    if whole and whole != _as_typed(query):
        yield whole, query.semantic_text, query.terms


def spelled_code(query: Query, frequencies: Frequencies, is_phrase: Callable[[Clause], bool]) -> Clause | None:
    """Return how the index writes the code that the whole question spells: `pii 2024 0042` as `pii-2024-0042`.

    Of a question of several words, one term of the index must join letters and digits or numbers: words stand side by
    side for other reasons too.
    """
    parts = _PIECE.findall(fold(query.semantic_text))
    if not _is_code(parts):
        return None
    found = regroup(parts, frequencies, is_phrase) or regroup(
        [*(_bare(part) for part in parts)], frequencies, is_phrase
    )
    joined = found and any(len(_PIECE.findall(term)) > 1 for term in found)
    if joined or len(query.tokens) == 1:
        return found
    return None


def _as_typed(query: Query) -> Clause:
    """Return the terms that the tokens of a question are as a whole."""
    return tuple(terms[0] for _, terms in query.tokens if terms)


def _is_code(parts: Sequence[str]) -> bool:
    """Return True if the parts of a question may be one code: numbers, and some letters at least."""
    letters = [part for part in parts if not part.isdecimal()]
    return 1 < len(parts) <= MOST_PARTS and 0 < len(letters) < len(parts) and max(map(len, letters)) <= MOST_LETTERS


def regroup(parts: Sequence[str], frequencies: Frequencies, is_phrase: Callable[[Clause], bool]) -> Clause | None:
    """Return the parts of a code in the groups that the index has side by side: `30CFR75.1` as `30`, `cfr`, `75.1`."""
    if len(parts) > MOST_PARTS:
        if is_phrase(tuple(parts)):
            return tuple(parts)
        return None
    spans = [(start, end) for start in range(len(parts)) for end in range(start + 1, len(parts) + 1)]
    spelled = {(start, end): dict.fromkeys(joint.join(parts[start:end]) for joint in JOINTS) for start, end in spans}
    known = frequencies([*dict.fromkeys(chain.from_iterable(spelled.values()))])
    for cuts in sorted(product((False, True), repeat=len(parts) - 1), key=sum):
        ends = [place for place, cut in enumerate(cuts, start=1) if cut]
        groups = [spelled[span] for span in pairwise([0, *ends, len(parts)])]
        for clause in islice(product(*([term for term in group if known.get(term)] for group in groups)), MOST_CLAUSES):
            if len(clause) == 1 or is_phrase(clause):
                return clause
    return None


def _cut(parts: Sequence[str], frequencies: Frequencies) -> Iterator[Clause]:
    """Yield the parts of a code whose last number is cut in two by a sign, where the index has it so: `30CFR25017`."""
    *first, last = parts
    if last.isdecimal() and len(last) <= MOST_DIGITS:
        cut = [f"{last[:place]}{sign}{last[place:]}" for place in range(1, len(last)) for sign in JOINTS[1:]]
        yield from ((*first, each) for each in frequencies(cut))


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
        if (
            token[:1].isdecimal()
            and len(parts := _PIECE.findall(token)) > 1
            and all(part.isdecimal() for part in parts)
        ):
            yield parts


def _has_digit(token: str) -> bool:
    return any(each.isdecimal() for each in token)


def _bare(piece: str) -> str:
    if piece.isdecimal():
        return piece.lstrip("0") or piece
    return piece


def _filled(number: str) -> Iterator[str]:
    """Yield a number without leading zeros, and with as many as are usual."""
    bare = _bare(number)
    yield bare
    yield from (bare.zfill(each) for each in range(len(bare) + 1, WIDEST + 1))


def shortened(
    query: Query, frequencies: Frequencies, vocabulary: NearTerms, is_phrase: Callable[[Clause], bool]
) -> Iterator[Way]:
    """Yield the words that one before a number is short for, with that number, where the index has both side by side.

    So `ch. 7` is `chapter 7` where there is one, and no word that merely begins alike.
    """
    for found in islice(_SHORTENED.finditer(query.semantic_text), MOST_NUMBERS):
        word = fold(found[1])
        number = found[3]
        if not found[2] and (len(word) == 1 or frequencies([word])):
            continue
        longer = vocabulary(word, len(word) + 1, LONGEST)
        words = [term for term in longer if term.isalpha()]
        for term in sorted(words, key=lambda each: (-longer[each], each))[:MOST]:
            if is_phrase((term, number)):
                yield (term, number), f"{found[1]} {number}", (word,)
