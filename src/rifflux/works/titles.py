"""Titles and names compared: what is left of them without case, accents, markup and punctuation."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from rifflux.text.analyser import fold
from rifflux.text.math import plain_math

__all__ = ["TITLE", "alike", "family_names", "person", "plain", "title_key"]

#: The scheme that the beginning of a title is stored under, to look for duplicates among few works.
TITLE = "title"
_KEY_LENGTH = 24
#: Shorter titles, such as `Errata`, name too many works.
_SHORTEST_KEY = 10
_ALIKE = 0.92
_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})


def plain(text: str) -> str:
    """A text as lower-case words: `{\\'E}tale $K$-theory, II` is `etale k theory ii`."""
    text = fold(plain_math(text).replace("$", "").replace("'", "").replace("’", ""))
    return " ".join(re.findall(r"[^\W_]+", text.replace("{", "").replace("}", "")))


def title_key(title: str) -> str:
    """How a title begins, in letters and digits alone; empty for one too short to tell works apart."""
    letters = plain(title).replace(" ", "")
    return letters[:_KEY_LENGTH] if len(letters) >= _SHORTEST_KEY else ""


def alike(one: str, other: str) -> bool:
    """Whether two plain titles differ by a slip of writing, or by a subtitle."""
    if not one or not other:
        return False
    if one.startswith(other + " ") or other.startswith(one + " "):
        return True
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _ALIKE


def family_names(authors: tuple[str, ...]) -> set[str]:
    """The plain last names of people written `Given Family`."""
    return {words[-1] for name in authors if (words := plain(name).split())}


def person(name: str) -> str:
    """Who is meant by a name, as lists spell it: `J.-P. Serre`, `Serre, Jean-Pierre` and `JP Serre` are `serre j`."""
    family, comma, given = name.partition(",")
    last, first = plain(family).split(), plain(given).split()
    if not comma:
        last = [word for word in last if word not in _SUFFIXES] or last
        last, first = last[-1:], last[:-1]
    return " ".join([*last[-1:], *(word[0] for word in first[:1])])
