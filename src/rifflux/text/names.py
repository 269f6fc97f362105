"""Comparison of the names of works, people and journals, and the keys by which they are looked up.

Case, accents, markup and punctuation are ignored. `Dijkstra, E. W.`, `E.W. Dijkstra`, `EW Dijkstra` and `Edsger
Dijkstra` match: their full words are equal, and an initial matches any word that begins with it. Word order is ignored,
since sources write both `Wang Xiaoyun` and `Xiaoyun Wang`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from itertools import filterfalse, product
from typing import Any

from rifflux.text.analyzer import fold
from rifflux.text.lexicon import stop_words
from rifflux.text.notation import one_notation
from rifflux.types import AUTHORS, VENUE

#: The scheme of title keys, which find duplicates among few works.
TITLE = "title"
_KEY_LENGTH = 24
#: Shorter titles, such as `Errata`, name too many works, unless an author is known.
_SHORTEST_KEY = 10
#: A reference identifies a work by its whole title if it has this many words and is at least as long as a key.
_FEWEST_WORDS = 4
#: The letters at each end of a title that form a key with an author's name; a typo spoils only one of them.
_EDGE_LENGTH = 8
#: The maximum number of authors in keys.
_MOST_AUTHORS = 3
_ALIKE = 0.92
_ARTICLES = frozenset(("a", "an", "the", "der", "die", "das", "le", "la", "les"))
_NUMBER = re.compile(r"\d+|[ivx]+")
#: Letters that do not decompose into a base and an accent, apart from those that `text.notation` rewrites.
_LETTERS = str.maketrans({"ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ħ": "h", "ı": "i"})
_TRANSLITERATIONS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv"))
#: Placeholders for unnamed authors: `and others`, `et al.`
_UNTOLD = frozenset(("others", "al"))


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """Return a text as lower-case words: `{\\'E}tale $K$-theory, II` is `etale k theory ii`."""
    text = fold(one_notation(text.translate(_LETTERS)))
    return " ".join(re.findall(r"[^\W_]+", re.sub("[$'’{}]", "", text)))


def title_keys(title: str, authors: Sequence[str]) -> frozenset[str]:
    """Return keys that likely duplicates share: the title's beginning, and both its ends with an author's name."""
    letters = "".join(_telling(plain(title)))
    names = families(authors[:_MOST_AUTHORS])
    edges = {"/".join(each) for each in product(names, (letters[:_EDGE_LENGTH], letters[-_EDGE_LENGTH:]))}
    return frozenset(
        ({letters[:_KEY_LENGTH]} if len(letters) >= _SHORTEST_KEY else set()) | (edges if letters else set())
    )


def whole_title(title: str) -> str:
    """Return the key of a whole title, `=` and its letters; empty for a short one, which names many works."""
    words = _telling(plain(title))
    letters = "".join(words)
    long_enough = len(words) >= _FEWEST_WORDS and len(letters) >= _KEY_LENGTH
    if long_enough:
        return f"={letters}"
    return ""


def _telling(title: str) -> list[str]:
    words = title.split()
    return [*filterfalse(_ARTICLES.__contains__, words)] or words


def alike(one: str, other: str) -> bool:
    """Return True if plain titles differ by a typo, articles or a subtitle. Parts I and II are two works."""
    first = _telling(one)
    second = _telling(other)
    if not first or not second or _numbers(first) != _numbers(second):
        return False
    shorter, longer = sorted((first, second), key=len)
    if longer[: len(shorter)] == shorter:
        return True
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.real_quick_ratio() >= _ALIKE and matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE


def _numbers(words: list[str]) -> list[str]:
    return [word for word in words if _NUMBER.fullmatch(word)]


def families(authors: Sequence[str]) -> dict[str, set[str]]:
    """Return the plain family names of people written `Given Family`, each with the initials that occur with it."""
    found: dict[str, set[str]] = {}
    for name in authors:
        for family, initial in _spellings(name):
            found.setdefault(family, set()).add(initial)
    return found


def _spellings(name: str) -> Iterator[tuple[str, str]]:
    """Yield a person's family name and initial, and again with umlauts spelt out."""
    for spelling in dict.fromkeys((name, name.casefold().translate(_TRANSLITERATIONS))):
        words = [word for word in plain(spelling).split() if word not in _SUFFIXES]
        if not words or words[-1] in _UNTOLD:
            continue
        # Some write `Erdős P.` where others write `P. Erdős`.
        family = next((word for word in reversed(words) if len(word) > 1), words[-1])
        given = next((word for word in words if word != family), "")
        yield family, given[:1]


def person(name: str) -> str:
    """Return a name in normalized form: `J.-P. Serre`, `Serre, Jean-Pierre` and `JP Serre` are `serre j`."""
    family, comma, given = name.partition(",")
    last = plain(family).split()
    first = plain(given).split()
    if not comma:
        last = [*filterfalse(_SUFFIXES.__contains__, last)] or last
        last, first = last[-1:], last[:-1]
    return " ".join([*last[-1:], *(each[0] for each in first[:1])])


# Names of people, and the rules by which one spelling matches another

#: The identifiers of the authors, one text per author.
_AUTHOR_IDS = "author_ids"
_WORD = re.compile(r"[^\W\d_]+(?:(?:\.[-‐‑]|[-‐‑'’.])[^\W\d_]+)*\.?")
_POSSESSIVE = re.compile(r"['’]s?\Z")
_BETWEEN = re.compile(r"[-‐‑.]+")
#: What may follow a person's name.
_AFTER_NAMES = _SUFFIXES | {"phd"}
#: Particles of family names, which are not lookup keys.
_PARTICLES = frozenset(
    {"van", "von", "vom", "zu", "der", "den", "de", "del", "della", "di", "da", "do", "dos", "du", "la", "le", "el"}
    | {"al"}
)
#: Words in the names of societies and committees.
_OF_BODIES = frozenset(("of", "and", "for", "on", "in", "the", "to", "committee", "group", "society", "association"))
#: The maximum length of initials without stops: `JP Serre`, `CAR Hoare`.
_MOST_INITIALS = 3
#: The minimum length of an abbreviated word.
_ABBREVIATED = 3
_ORCID = re.compile(r"(?:(?:https?://)?orcid\.org/|orcid:\s*)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a name, folded, and again with its umlauts spelt out; `glued` are initials without stops."""

    forms: tuple[str, ...]
    glued: bool = False
    capital: bool = False

    @property
    def is_initial(self) -> bool:
        """Return True for a single letter."""
        return len(self.forms[0]) == 1 and self.forms[0].isascii()

    def begins(self, other: Word) -> bool:
        """Return True if both begin with the same letter."""
        return any(one[0] == each[0] for one in self.forms for each in other.forms)


@dataclass(frozen=True)
class Named:
    """The words of a person's name in the written order, without `Jr.` and the like."""

    words: tuple[Word, ...]

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the lookup keys of the name: its full words, also with umlauts spelt out."""
        full = [each for each in self.words if not each.is_initial]
        telling = [each for each in full if _PARTICLES.isdisjoint(each.forms)] or full
        return frozenset(form for each in telling for form in each.forms)

    @property
    def family(self) -> Word | None:
        """Return the last full word."""
        return next((each for each in reversed(self.words) if not each.is_initial), None)

    @property
    def is_body(self) -> bool:
        """Return True for a society or committee, which one or two words of its name do not identify."""
        return any(not _OF_BODIES.isdisjoint(word.forms) for word in self.words)

    def fits(self, mentioned: Named) -> int:
        """Score a mention of the person: 3 for several words, 2 for the family name, 1 for another, 0 for a mismatch.

        Every word must match one of the name; only initials that a shorter form of the name lacks are ignored.
        """
        if self.is_body and 2 * len(mentioned.words) < len(self.words):
            return 0
        left = list(self.words)
        matched: list[Word] = []
        rest: list[Word] = []
        for word in mentioned.words:
            same = next(
                (each for each in left if not each.is_initial and not set(each.forms).isdisjoint(word.forms)), None
            )
            if same and not word.is_initial:
                left.remove(same)
                matched.append(same)
            else:
                rest.append(word)
        if not matched:
            return 0
        more = False
        for word in rest:
            for letter in [Word((each,)) for each in word.forms[0]] if word.glued else [word]:
                same = next((each for each in left if _stands_for(letter, each)), None)
                if same:
                    left.remove(same)
                elif letter.is_initial:
                    more = True
                else:
                    return 0
        if more and left:
            return 0
        if len(mentioned.words) > 1 and (rest or len(matched) > 1) and not all(is_particle(each) for each in matched):
            return 3
        if matched[-1] is self.family:
            return 2
        return 1


def _stands_for(one: Word, other: Word) -> bool:
    """Return True if one of two words is the initial of the other, or both are the same letter."""
    return (one.is_initial or other.is_initial) and one.begins(other)


def is_particle(word: Word) -> bool:
    """Return True for a particle of a family name: `van`, `de`."""
    return not _PARTICLES.isdisjoint(word.forms)


@lru_cache(maxsize=1 << 14)
def named(name: str) -> Named:
    """Parse a name: `Given Family`, or `Family, Given`."""
    family, comma, given = name.partition(",")
    words = list(_words(f"{given} {family}" if comma and given.strip() else name))
    while len(words) > 1 and not _AFTER_NAMES.isdisjoint(words[-1].forms):
        words.pop()
    return Named(tuple(each for each in words if _AFTER_NAMES.isdisjoint(each.forms) or len(words) == 1))


def spoken(text: str) -> Iterator[tuple[re.Match[str], tuple[Word, ...]]]:
    """Yield each word of a sentence with the name words that it stands for: `E.W.` is two initials."""
    for match in _WORD.finditer(text):
        if words := tuple(_words(match[0])):
            yield match, words


def _words(text: str) -> Iterator[Word]:
    for match in _WORD.finditer(text):
        written = _POSSESSIVE.sub("", match[0])
        pieces = [piece for piece in _BETWEEN.split(written) if piece]
        for piece in pieces:
            spellings = (piece, piece.casefold().translate(_TRANSLITERATIONS))
            forms = dict.fromkeys("".join(plain(each).split()) for each in spellings)
            forms.pop("", None)
            if forms:
                glued = 1 < len(piece) <= _MOST_INITIALS and piece.isupper()
                yield Word(tuple(forms), glued, piece[:1].isupper())


def person_key(text: str) -> str:
    """Return the lookup key of a person's identifier, such as `orcid:0000-0002-1825-0097`; empty for a name."""
    match = _ORCID.fullmatch(text.strip())
    if match:
        return f"orcid:{match[1].casefold()}"
    if re.fullmatch(r"[a-z]+:\S+", text.strip()):
        return text.strip().casefold()
    return ""


def credits_of(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the role, key and name for each lookup key of a document's authors and venue."""
    given = metadata.get(AUTHORS)
    if isinstance(given, list | tuple):
        names = given
    else:
        names = [given]
    authors = [each for each in names if isinstance(each, str)]
    for name in dict.fromkeys(authors):
        for key in sorted(named(name).keys):
            yield AUTHORS, key, name
    ids = metadata.get(_AUTHOR_IDS)
    for name, known in zip(authors, ids if isinstance(ids, list | tuple) else (), strict=False):
        for each in str(known).split():
            yield AUTHORS, each.casefold(), name
    venue = metadata.get(VENUE)
    for key in sorted(venue_keys(venue)) if isinstance(venue, str) else ():
        yield VENUE, key, str(venue)


# Journals


@cache
def _little_words() -> frozenset[str]:
    """Return the words that abbreviations of journal names omit."""
    return stop_words("english") | stop_words("german") | stop_words("french") | {"und", "et"}


def venue_keys(venue: str) -> frozenset[str]:
    """Return the lookup keys of a journal: its name, its acronym, and the beginnings of its words."""
    words = _venue_words(venue)
    if not words:
        return frozenset()
    if len(words) > 1:
        short = [" ".join(word[:_ABBREVIATED] for word in words)]
    else:
        short = []
    acronym = "".join(written if written.isupper() else written[0] for written in _written(venue))
    keys = (plain(venue), " ".join(words), *short, *([acronym.casefold()] if len(acronym) >= _ABBREVIATED else []))
    return frozenset(filter(None, keys))


def is_venue(mentioned: str, venue: str) -> bool:
    """Return True if a mention matches a journal by its name, its acronym, or abbreviations of all its words."""
    spoken = _venue_words(mentioned)
    words = _venue_words(venue)
    if not spoken or plain(mentioned) == plain(venue) or spoken == words:
        return bool(spoken)
    if len(spoken) == len(words) and all(word.startswith(each) for each, word in zip(spoken, words, strict=True)):
        return True
    return len(spoken) == 1 and len(words) > 1 and "".join(spoken) in venue_keys(venue)


def _venue_words(venue: str) -> Sequence[str]:
    words = plain(venue).split()
    return [word for word in words if word not in _little_words()] or words


def _written(venue: str) -> list[str]:
    words = re.findall(r"[^\W\d_]+", venue)
    return [word for word in words if word.casefold() not in _little_words()]
