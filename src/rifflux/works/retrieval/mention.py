"""Mentions of one work in a question: its identifier, its title, or its authors and year as notes have them."""

from __future__ import annotations

import re

from rifflux.works.retrieval.wording import NAME

#: So many words begin with a capital where a question is a title.
_CAPITALS = 3
_IDENTIFIER = re.compile(
    r"(?<![\w.])(?:(?:doi\W{0,2})?10\.\d{4,9}/[^\s\"'<>]+"
    r"|(?:arxiv\W{0,3}|arxiv\.org/\w+/)(?:\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?:v\d+)?"
    r"|\d\d(?:0[1-9]|1[0-2])\.\d{4,5}(?:v\d+)?(?![\w.]*\d)"
    r"|pmid\W{0,2}\d{4,}|isbn[\s:=-]*\d[\dX -]{8,}|97[89][\d-]{10,14}|openalex\W{0,2}W?\d{3,}|W\d{6,}"
    r"|tag\s+0[0-9A-Z]{3}(?!\w)|(?!https?:)[a-z][a-z0-9.-]{2,}:[a-z]*\d[\w./-]*)",
    re.I,
)
_YEAR = r"\(?(?<![\w.-])(?:1[4-9]|20)\d\d(?![\w-]|\.\d)\)?"
#: Several authors, then a year or words between commas; one with initials and a year, with a venue in capitals and the
#: year, or with the year in brackets.
_NOTE = re.compile(
    rf"{NAME}(?:,? et al\b\.?|(?:, {NAME})*,? (?:and|&) {NAME})[\s,:]+"
    rf"(?:(?:\S+\s+){{0,9}}?{_YEAR}|[\"“A-Z][^?]*,\s[^?]*)"
    rf"|(?:[A-Z]\.[ -]?)+{NAME},?\s+(?:[^\s?]+\s+){{0,9}}?{_YEAR}"
    rf"|{NAME}(?:'s)?,?\s+(?:[^\s?]+\s+){{0,9}}?[A-Z]{{2,5}},?\s+{_YEAR}\W*\Z"
    rf"|{NAME},?\s+\([^()]*{_YEAR}\)"
)
#: A note has no more words.
_MOST_WORDS = 16


def identifier_in(text: str) -> str:
    """Return the first identifier in a text, as it is spelt there; empty if there is none."""
    found = _IDENTIFIER.search(text)
    if found:
        return found[0].rstrip(".,;)")
    return ""


def noted(text: str) -> str:
    """Return how a text begins that refers to a work as notes do; empty if it does not.

    `Ford and Fulkerson 1956`, `Okun, Potential GNP, ASA 1962`: whether anybody of that name is known here or not.
    """
    found = _NOTE.match(text.strip())
    if found and len(text.split()) <= _MOST_WORDS:
        return found[0].strip()
    return ""


#: What may stand around a title where nothing else is asked: names, a year, a few words.
_TITLE = re.compile(
    r"[^\w\"“]*(?P<lead>(?:[\w'’.-]+\s+){0,4}?)(?:[\"“](?P<quoted>[^\"”]{8,})[\"”]"
    r"|(?P<plain>(?:[A-Z]|[A-Za-z]+['’]s\s+[A-Z])[\w'’-]*"
    r"(?:\s+(?:[A-Z0-9][\w'’-]*|of|the|and|in|on|for|to|a|an|with|from))+))"
    r"(?P<rest>(?:[\s,]+(?:[A-Z][\w'’.-]*|by|et|al|and|&|\(?\d{4}\)?|please))*)\W*"
)
_LEADS = frozenset(
    {"the", "a", "an", "paper", "article", "book", "report", "by", "find", "get", "show", "me", "open", "give", "is"}
    | {"do", "you", "have", "this", "that", "my"}
)


def titled(text: str) -> str:
    """Return the title that a question is, with hardly anything around it; empty if it is none."""
    found = _title_in(text)
    if not found:
        return ""
    return found["quoted"] or (found["plain"] if _capitals(found["plain"]) >= _CAPITALS else "")


def quoted_title(text: str) -> str:
    """Return the title that a question is beyond doubt: quoted, and spelt like one or said to be by somebody.

    Other quoted words may be a phrase that texts have to say.
    """
    found = _title_in(text)
    quoted = found["quoted"] if found else None
    if not found or not quoted:
        return ""
    if _capitals(quoted) >= _CAPITALS or re.search(r"\bby\b", found["rest"]):
        return quoted
    return ""


def _title_in(text: str) -> re.Match[str] | None:
    found = _TITLE.fullmatch(text)
    if found and _LEADS.issuperset(found["lead"].lower().split()):
        return found
    return None


def _capitals(title: str) -> int:
    """Return how many words begin with a capital."""
    return sum(word[0].isupper() for word in title.split())
