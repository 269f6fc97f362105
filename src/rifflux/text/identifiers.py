"""Recognition of identifiers, which are matched literally: codes, section numbers, versions, names in programs.

D40 · PII-2024-0042 · 30 CFR 250.1725 · § 12.4 · v1.2.3 · E0502 · parseHTTPHeader · snake_case · std::vec · C++
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import dropwhile

from rifflux.text.lexicon import stop_words, word_lists
from rifflux.types import Span

_NUMBERED = r"(?=[^\W_]{0,40}\d)[^\W_]{1,40}(?:[.\-/:][^\W_]+)+|(?:[^\W\d_]+\d|\d+[^\W\d_])[^\W_]*"
_IDENTIFIER = re.compile(
    rf"""
    (?<![\w])
    (?: \d{{1,4}}\s+[A-Z]{{2,}}(?:\s+(?:§|[Pp]art|[Ss]ec\.?))?\s+\d[\w.\-]*\w    # 30 CFR 250.1725
      | [Tt]ag\s+(?P<tag>0[0-9A-Za-z]{{3}})                                           # of the Stacks Project
      | (?<!§)§+\s*\d[\w.\-]*                                                          # § 12.4
      | (?:Lemma|Theorem|Definition|Proposition|Corollary|Section|Chapter|Figure|Table|Tag|RFC|ISO|CVE)\s+\d[\w.\-:]*
      | [A-Z]{{2}}[A-Za-z]*(?:-[A-Za-z0-9]+)*-\d\w*(?:-\w+)*                          # PII-2024-0042, IL-6, GPT-4
      | {_NUMBERED}                                                              # D40, PII-2024-0042, 75.1725, v1.2
      | [a-z]+(?:[A-Z][a-z0-9]*)+ | (?:[A-Z][a-z0-9]+){{2,}}                       # camelCase, PascalCase
      | \w+(?:_\w+)+ | _+\w+                                                     # snake_case, __init__
      | \w+(?:::\w+)+                                                            # std::vec
      | [A-Za-z](?:\+\+|\#)                                                      # C++, C#
      | [A-Za-z]\w*(?:\.[a-z_]\w+){{1,12}}(?=\(|\s|$)                                  # json.loads
    )
    (?!\w)
    """,
    re.VERBOSE,
)
#: Common words in which a digit is next to a letter.
_ORDINARY = re.compile(r"\d+(?:st|nd|rd|th|s|d|am|pm|k|m|x|%)?\Z|\d+(?:-\d+)?\Z", re.IGNORECASE)
_COUNT = re.compile(r"\d+(?:-[a-z]+)+\Z|[a-z]{3,}-\d{1,2}\Z|\d+[a-zµ]{1,3}(?:/[a-z]+)?\Z|\d{1,2}\.\d{1,2}\Z")


def labelled(text: str) -> Iterator[tuple[str, str]]:
    """Yield each identifier as written and without its label, if that is not part of it: `Tag 06Z4`, `06Z4`.

    Ordinals, years, ranges, amounts and words such as `5-year` are none.
    """
    for match in _IDENTIFIER.finditer(text):
        written = match.group().strip()
        if match["tag"] or not (_ORDINARY.match(written) or _COUNT.match(written)):
            yield written, match["tag"] or written


# Named and numbered results and objects of mathematics: Zorn's lemma, Hilbert scheme, Thm. 4.2, Lemma A.1


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*['’]?")
_JOINED = re.compile(r"\s*(?:--?|[‐‑–—−])\s*\Z")
#: The maximum number of characters between two words of a name.
_LONGEST_GAP = 6
#: The maximum number of words before the noun of a name, and of those that describe the subject of a result.
_MOST_WORDS = 8
_MOST_QUALIFIERS = 2
#: A longer question is a sentence, which always begins with a capital and may mention objects, such as Hausdorff
#: spaces, that are not its subject.
_LONGEST_NAME = 5


@dataclass(frozen=True)
class _WordLists:
    """The words that recognize a name, by the roles in `lexicon/results.txt`."""

    stated: frozenset[str]
    results: frozenset[str]
    objects: frozenset[str]
    particles: frozenset[str]
    nobody: frozenset[str]
    prefixes: frozenset[str]
    common: frozenset[str]

    @cached_property
    def nouns(self) -> frozenset[str]:
        """Return every noun that ends the name of a result or an object."""
        return self.results | self.objects


@cache
def _lists() -> _WordLists:
    lists = word_lists("results")
    return _WordLists(
        stated=lists["stated"],
        results=lists["stated"] | lists["results"],
        objects=lists["objects"],
        particles=lists["particles"],
        nobody=lists["nobody"],
        prefixes=lists["prefixes"],
        common=stop_words("english"),
    )


@dataclass(frozen=True, slots=True)
class _Word:
    """A word, its span, its joint with the word before (`-`, a blank or empty), and its case-folded text."""

    text: str
    start: int
    end: int
    joint: str
    plain: str

    @property
    def bears_name(self) -> bool:
        """Return True if it is capitalized as a name: `Hahn`, but not `X` or `Every`."""
        return self.text[0].isupper() and len(self.text) > 1 and self.plain not in _lists().nobody

    @property
    def is_whose(self) -> bool:
        """Return True if it is a possessive: `zorn's`."""
        return self.plain.endswith(("'s", "’s", "s'", "s’"))


def named_results(text: str) -> list[str]:
    """Return the distinct named results and objects in a text: `Hahn–Banach theorem`, `Hilbert scheme`."""
    words = _words(text)
    sentence = len(text.split()) > _LONGEST_NAME
    spans = _whole(text, words)
    for at, word in enumerate(words):
        if word.plain in _lists().nouns:
            noun = word.plain
        else:
            noun = word.plain.removesuffix("s")
        if noun in _lists().nouns:
            spans += _names(words, at, noun, sentence=sentence)
    if spans:
        return _longest(text, spans)
    return []


def _longest(text: str, spans: Iterable[Span]) -> list[str]:
    """Return the distinct texts of spans within no other: `Hilbert basis theorem`, not `Hilbert basis`."""
    reached = 0
    found: dict[str, None] = {}
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end > reached:
            reached = end
            found[text[start:end]] = None
    return list(found)


def _words(text: str) -> list[_Word]:
    end = 0
    words = []
    for found in _WORD.finditer(text):
        if found.start() - end <= _LONGEST_GAP:
            gap = text[end : found.start()]
        else:
            gap = "."
        if gap.isspace() or gap == "~":
            joint = " "
        elif gap and _JOINED.match(gap):
            joint = "-"
        else:
            joint = ""
        words.append(_Word(found[0], found.start(), found.end(), joint if end else "", found[0].casefold()))
        end = found.end()
    return words


def _names(words: Sequence[_Word], at: int, noun: str, *, sentence: bool) -> Iterator[Span]:
    """Yield the span of each name whose noun is at `at`."""
    if noun in _lists().stated and (last := _last_of(words, at)) > at:
        yield words[at].start, words[last].end
    if (first := _first_of(words, at, noun)) < at:
        # The first word of a sentence is always capitalized.
        alone = first == 0 and words[0].text.isalpha() and not any(word.bears_name for word in words[1:at])
        # Title Case names a field rather than an object: Commutative Algebra.
        if not (noun in _lists().objects and (sentence or words[at].text[0].isupper())) and not (sentence and alone):
            yield words[first].start, words[at].end


def _last_of(words: Sequence[_Word], at: int) -> int:
    """Return the index of the last word of `theorem of Stone and Weierstrass`, or `at` if there is none."""
    last = at
    place = at + 2
    while place < min(len(words), at + _MOST_WORDS) and words[at + 1].plain == "of" and words[place].bears_name:
        last = place
        place += 2 if place + 1 < len(words) and words[place + 1].plain == "and" else 1
    return last


def _first_of(words: Sequence[_Word], at: int, noun: str) -> int:
    """Return the index of the first word of the name that ends with the noun at `at`; `at` if there is none."""
    places = list(_before(words, at, _MOST_QUALIFIERS if noun in _lists().results else 1))
    for place in places:
        if (first := _bearer(words, place)) <= place:
            return first
    if noun in _lists().stated and places:
        if _is_compound(words, places[0]):
            return _compound(words, places[0])
        return next((_compound(words, place) for place in places if words[place].is_whose), at)
    return at


def _before(words: Sequence[_Word], at: int, qualifiers: int) -> Iterator[int]:
    """Yield the indices where a name may end before a noun: next to it, or before words describing its subject."""
    for place in range(at - 1, max(-1, at - 2 - qualifiers), -1):
        if not words[place + 1].joint:
            return
        yield place
        if words[place].plain in _lists().common:
            return


def _bearer(words: Sequence[_Word], last: int) -> int:
    """Return the index of the first of the names that end at `last`, or `last + 1` if that is not a name."""
    first = last + 1
    for place in range(last, max(-1, last - _MOST_WORDS), -1):
        if words[place].bears_name:
            first = place
        elif words[place].plain not in _lists().particles or first > last:
            break
        else:
            first = place
        if not words[place].joint:
            break
    return first


def _compound(words: Sequence[_Word], last: int) -> int:
    """Return the index of the first word that hyphens join to the one at `last`."""
    first = last
    while first > max(0, last - _MOST_WORDS) and words[first].joint == "-":
        first -= 1
    return first


def _is_compound(words: Sequence[_Word], last: int) -> bool:
    """Return True if a word ends a lower-case compound that may be names: `hahn-banach`, not `non-vanishing`."""
    first = _compound(words, last)
    return first < last and all(
        len(word.text) > 2 and word.plain not in _lists().prefixes for word in words[first : last + 1]
    )


def _whole(text: str, words: Sequence[_Word]) -> list[Span]:
    """Return the span of a short query that is just the name of a result, such as `snake lemma`."""
    if not words or words[-1].plain not in _lists().stated or text[words[-1].end :].strip(" ?.!"):
        return []
    name = [*dropwhile(lambda word: word.plain in _lists().nobody, words)]
    if not 2 <= len(name) <= _LONGEST_NAME or any(_is_common(word) for word in name[:-1]):
        return []
    if all(word.joint for word in name[1:]):
        return [(name[0].start, name[-1].end)]
    return []


def _is_common(word: _Word) -> bool:
    return len(word.text) < 2 or word.plain in _lists().nobody or word.plain in _lists().common


# Numbers

#: The labels of numbered results by abbreviation.
_LABELS = {
    "thm": "Theorem", "lem": "Lemma", "prop": "Proposition", "cor": "Corollary", "def": "Definition",
    "defn": "Definition", "rem": "Remark", "rmk": "Remark", "ex": "Example", "eq": "Equation", "conj": "Conjecture",
    "sec": "Section",
}  # fmt: skip
_NUMBERED_RESULT = re.compile(
    r"(?<!\w)(?P<label>lemma|theorem|definition|proposition|corollary|remark|example|conjecture|claim|fact|exercise"
    r"|equation|section|thm|lem|prop|cor|defn?|rem|rmk|ex|eq|conj|sec)\.?(?:\s|~)\(?"
    r"(?P<number>(?:[A-Z]{1,4}\.)?\d[\w\-]*(?:\.[\w\-]+)*)(?!\w)",
    re.IGNORECASE,
)


def numbered_results(text: str) -> Iterator[tuple[str, str]]:
    """Yield the numbered results in a text as written and with the full label: `Thm. 4.2`, `Theorem 4.2`."""
    for found in _NUMBERED_RESULT.finditer(text):
        label = found["label"]
        number = found["number"]
        # "an example 2 dimensional" is not one; numbers with a dot are.
        if label[0].isupper() or "." in number:
            yield found[0], f"{_LABELS.get(label.lower(), label.capitalize())} {number}"
