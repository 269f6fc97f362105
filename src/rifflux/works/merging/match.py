"""Comparing two records that may be of one work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rifflux.text.schemes import STRONG
from rifflux.text.titles import alike, families, plain
from rifflux.works.model import Work

__all__ = ["Likeness", "Verdict", "compare"]

#: Preprint and print are mostly a year apart at the most.
YEARS_APART = 1
#: Titles of fewer words are given to many works.
TELLING_WORDS = 4
#: Titles of fewer letters are given by one author twice: `Errata`.
SHORT_TITLE = 10


class Likeness(Enum):
    """One work, two works, or for a person to say."""

    SAME = "same"
    DOUBTFUL = "doubtful"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The likeness of two records, and the reason."""

    likeness: Likeness
    reason: str


def compare(one: Work, other: Work) -> Verdict:
    """Judge two records by their identifiers, then by title, authors and year.

    A shared identifier decides, unless title and authors say otherwise: identifiers are mistyped too. Equal titles
    decide with an author in common and years that fit, in different sources; a source seldom has a work twice under
    different keys, so there it is doubtful.
    """
    titles, authors = _titles(one, other), _authors(one, other)
    if shared := _shared(one, other):
        if titles == "different" and authors == "different":
            return Verdict(Likeness.DOUBTFUL, f"both are {shared}, with different titles and authors")
        return Verdict(Likeness.SAME, f"both are {shared}")
    if titles == "different" or authors == "different":
        return Verdict(Likeness.OTHER, "different titles or authors")
    if doubt := _doubt(one, other, titles, authors):
        return doubt
    return Verdict(Likeness.SAME, "same title, authors and year")


def _doubt(one: Work, other: Work, titles: str, authors: str) -> Verdict | None:
    """Return the reasons against two works being one whose titles and authors could be the same."""
    same_source = bool(set(one.sources) & set(other.sources))
    if authors == "unknown" and (same_source or titles != "same" or len(plain(one.title).split()) < TELLING_WORDS):
        return Verdict(Likeness.OTHER, "too little is known to tell")
    apart = abs(one.year - other.year) if one.year and other.year else 0
    if titles == "alike" and apart > YEARS_APART:
        return Verdict(Likeness.OTHER, "similar titles of different years")
    reasons = [
        *(["the titles are similar"] if titles == "alike" else []),
        *(["authors are missing"] if authors == "unknown" else []),
        *(["the title is short"] if len(plain(one.title)) < SHORT_TITLE else []),
        *(["the authors share family names alone"] if authors == "alike" else []),
        *(["the years differ"] if apart > YEARS_APART else []),
        *([f"they have different {scheme} identifiers" for scheme in _contradicting(one, other)]),
        *(["both are in one source"] if same_source else []),
    ]
    return Verdict(Likeness.DOUBTFUL, "same work? " + ", ".join(reasons)) if reasons else None


def _shared(one: Work, other: Work) -> str:
    """Return an identifier that both have, of a scheme that means the same everywhere."""
    both = set(one.identifiers) & set(other.identifiers)
    return next((str(each) for scheme in STRONG for each in sorted(both, key=str) if each.scheme == scheme), "")


def _contradicting(one: Work, other: Work) -> list[str]:
    return [scheme for scheme in ("arxiv", "doi") if one.identifier(scheme) and other.identifier(scheme)]


def _titles(one: Work, other: Work) -> str:
    first, second = plain(one.title), plain(other.title)
    return "same" if first == second else "alike" if alike(first, second) else "different"


def _authors(one: Work, other: Work) -> str:
    first, second = families(one.authors), families(other.authors)
    if not first or not second:
        return "unknown"
    shared = first.keys() & second.keys()
    # Initials are often left out; where they are told and differ, only a family name is shared.
    if any("" in first[name] | second[name] or first[name] & second[name] for name in shared):
        return "same"
    return "alike" if shared else "different"
