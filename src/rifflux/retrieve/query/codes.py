"""Other spellings of a query's numbers and codes that occur in the index: `RFC2119`, `ch. 07`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise, product
from typing import Protocol

from rifflux.text.analyzer import fold
from rifflux.types import Clause, Query

_PIECE = re.compile(r"[^\W\d_]+|\d+")
_SHORTENED = re.compile(r"\b([^\W\d_]{1,6})(\.?)\s?(\d+)")
#: The signs that join the parts of a code, and the maximum width of zero-padded numbers.
JOINTS = ("", "-", ".", ":", "/")
WIDEST = 5
#: The maximum length of a word that an abbreviation stands for, and the number of such words tried.
LONGEST = 14
MOST = 8
#: The maximum digits of a number that may be two numbers written without the sign between them.
MOST_DIGITS = 12
#: The maximum number of numbers examined per query: a pasted page must not cost seconds.
MOST_NUMBERS = 8

#: The maximum number of runs of letters and digits in a code, of letters per run, and of clauses tried for each way to
#: group its parts.
MOST_PARTS = 6
MOST_LETTERS = 4
MOST_CLAUSES = 4
#: The maximum number of places found for a sign inside a number.
MOST_CUTS = 4 * MOST_DIGITS

#: A clause to search for, with the query's words and terms that it is an alternative to.
Way = tuple[Clause, str, Clause]
#: Returns the number of chunks that contain each term, for terms that occur.
Frequencies = Callable[[Sequence[str]], Mapping[str, int]]


class Phrases(Protocol):
    """Returns the first `most` of some clauses whose terms are adjacent in the index, as `Lexical.occurring` does."""

    def __call__(self, clauses: Iterable[Clause], most: int = 1, /) -> list[Clause]: ...


class NearTerms(Protocol):
    """Returns the chunk counts of terms with a prefix and a range of lengths, as `Lexical.vocabulary` does."""

    def __call__(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None, /
    ) -> Mapping[str, int]: ...


def codes(query: Query, frequencies: Frequencies, phrases: Phrases) -> Iterator[Way]:
    """Yield spellings of the query's numbers and codes that occur in the index: split, joined, or with other zeros.

    `phrases` returns those of some clauses whose terms are adjacent in the index.
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
            regrouped = regroup(parts, frequencies, phrases)
            spelled = [regrouped] if regrouped else phrases(_cut(parts, frequencies), MOST_CUTS)
            yield from ((clause, token, terms) for clause in spelled)
    whole = spelled_code(query, frequencies, phrases) if len(query.tokens) > 1 else None
    if whole and whole != _as_typed(query):
        yield whole, query.semantic_text, query.terms


def spelled_code(query: Query, frequencies: Frequencies, phrases: Phrases) -> Clause | None:
    """Return the index's spelling of the code that the whole query spells: `pii-2024-0042` for `pii 2024 0042`.

    For a query of several words, one term of the index must join letters and digits or several numbers: words are
    adjacent for other reasons too.
    """
    parts = _PIECE.findall(fold(query.semantic_text))
    if not _is_code(parts):
        return None
    found = regroup(parts, frequencies, phrases) or regroup([*(_bare(part) for part in parts)], frequencies, phrases)
    joined = found and any(len(_PIECE.findall(term)) > 1 for term in found)
    if joined or len(query.tokens) == 1:
        return found
    return None


def _as_typed(query: Query) -> Clause:
    """Return the first term of each of the query's tokens."""
    return tuple(terms[0] for _, terms in query.tokens if terms)


def _is_code(parts: Sequence[str]) -> bool:
    """Return True if the parts of a query may form one code: numbers and at least some letters."""
    letters = [part for part in parts if not part.isdecimal()]
    return 1 < len(parts) <= MOST_PARTS and 0 < len(letters) < len(parts) and max(map(len, letters)) <= MOST_LETTERS


def regroup(parts: Sequence[str], frequencies: Frequencies, phrases: Phrases) -> Clause | None:
    """Return the parts of a code grouped as the index has them side by side: `30CFR75.1` as `30`, `cfr`, `75.1`."""
    if len(parts) > MOST_PARTS:
        return next(iter(phrases([tuple(parts)])), None)
    spans = [(start, end) for start in range(len(parts)) for end in range(start + 1, len(parts) + 1)]
    spelled = {(start, end): dict.fromkeys(joint.join(parts[start:end]) for joint in JOINTS) for start, end in spans}
    known = frequencies([*dict.fromkeys(chain.from_iterable(spelled.values()))])
    ways: list[Clause] = []
    for cuts in sorted(product((False, True), repeat=len(parts) - 1), key=sum):
        ends = [place for place, cut in enumerate(cuts, start=1) if cut]
        groups = [spelled[span] for span in pairwise([0, *ends, len(parts)])]
        ways += islice(product(*([term for term in group if known.get(term)] for group in groups)), MOST_CLAUSES)
    if ways and len(ways[0]) == 1:
        return ways[0]
    return next(iter(phrases(ways)), None)


def _cut(parts: Sequence[str], frequencies: Frequencies) -> Iterator[Clause]:
    """Yield a code with a sign inserted in its last number where the index has one: `30CFR25017`."""
    *first, last = parts
    if last.isdecimal() and len(last) <= MOST_DIGITS:
        cut = [f"{last[:place]}{sign}{last[place:]}" for place in range(1, len(last)) for sign in JOINTS[1:]]
        yield from ((*first, each) for each in frequencies(cut))


def _runs(query: Query) -> Iterator[list[str]]:
    """Yield runs of adjacent numbers, and the numbers within one token."""
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
    """Yield a number without leading zeros, then padded to each usual width."""
    bare = _bare(number)
    yield bare
    yield from (bare.zfill(each) for each in range(len(bare) + 1, WIDEST + 1))


def shortened(query: Query, frequencies: Frequencies, vocabulary: NearTerms, phrases: Phrases) -> Iterator[Way]:
    """Yield the words that an abbreviation before a number stands for, if the index has both side by side.

    So `ch. 7` becomes `chapter 7` if the index contains that phrase; words that merely have the same prefix do not
    qualify.
    """
    runs = [*islice(_SHORTENED.finditer(query.semantic_text), MOST_NUMBERS)]
    known = frequencies([word for found in runs if not found[2] and len(word := fold(found[1])) > 1])
    # A dictionary, because two runs may have the same clause. All are looked up together.
    ways: dict[Clause, Way] = {}
    for found in runs:
        word = fold(found[1])
        number = found[3]
        if not found[2] and (len(word) == 1 or known.get(word)):
            continue
        longer = vocabulary(word, len(word) + 1, LONGEST)
        words = [term for term in longer if term.isalpha()]
        for term in sorted(words, key=lambda each: (-longer[each], each))[:MOST]:
            ways[term, number] = (term, number), f"{found[1]} {number}", (word,)
    yield from (ways[clause] for clause in phrases(ways, len(ways)))
