"""Comparison of titles and names without case, accents, markup and punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import filterfalse, product

from rifflux.text.analyzer import fold
from rifflux.text.notation import one_notation

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
