"""Lookup keys for names of people and journals, and the rules by which one spelling matches another.

`Dijkstra, E. W.`, `E.W. Dijkstra`, `EW Dijkstra` and `Edsger Dijkstra` match: their full words are equal, and an
initial matches any word that begins with it. Accents, case, hyphens, apostrophes and word order are ignored, since
sources write both `Wang Xiaoyun` and `Xiaoyun Wang`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from rifflux.text.lexicon import stop_words
from rifflux.text.titles import plain
from rifflux.types import AUTHORS, VENUE

#: The identifiers of the authors, one text per author.
_AUTHOR_IDS = "author_ids"
_WORD = re.compile(r"[^\W\d_]+(?:(?:\.[-‐‑]|[-‐‑'’.])[^\W\d_]+)*\.?")
_POSSESSIVE = re.compile(r"['’]s?\Z")
_BETWEEN = re.compile(r"[-‐‑.]+")
_TRANSLITERATIONS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv", "phd"))
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
    while len(words) > 1 and not _SUFFIXES.isdisjoint(words[-1].forms):
        words.pop()
    return Named(tuple(each for each in words if _SUFFIXES.isdisjoint(each.forms) or len(words) == 1))


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
            forms = dict.fromkeys((_folded(piece), _folded(piece.casefold().translate(_TRANSLITERATIONS))))
            forms.pop("", None)
            if forms:
                glued = 1 < len(piece) <= _MOST_INITIALS and piece.isupper()
                yield Word(tuple(forms), glued, piece[:1].isupper())


def _folded(word: str) -> str:
    return "".join(plain(word).split())


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
    words = _telling(venue)
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
    spoken = _telling(mentioned)
    words = _telling(venue)
    if not spoken or plain(mentioned) == plain(venue) or spoken == words:
        return bool(spoken)
    if len(spoken) == len(words) and all(word.startswith(each) for each, word in zip(spoken, words, strict=True)):
        return True
    return len(spoken) == 1 and len(words) > 1 and "".join(spoken) in venue_keys(venue)


def _telling(venue: str) -> Sequence[str]:
    words = plain(venue).split()
    return [word for word in words if word not in _little_words()] or words


def _written(venue: str) -> list[str]:
    words = re.findall(r"[^\W\d_]+", venue)
    return [word for word in words if word.casefold() not in _little_words()]
