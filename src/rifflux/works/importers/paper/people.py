"""Recognition of people's names in the front matter: capitalized words that are not of places or dates."""

from __future__ import annotations

import re

from rifflux.ingest.read.pdf_lines import Line

#: Signs and words that no person's name contains: of places, titles and dates.
_SIGNS = re.compile(r"[@\d:{}\[\]|=+/\\<>%]")
_PLACE = re.compile(
    r"\b(?:universit\w*|institut\w*|dep(?:artmen|t)\w*|laborator\w*|labs?|college|school|faculty|cent(?:er|re)|research"
    r"|inc|corp\w*|ltd|gmbh|division|academy|hospital|group|company|foundation|press|state|national|street|road|avenue"
    r"|technolog\w*|science\w*|engineering|informatics|physics|mathematics|systems?|software"
    r"|usa|canada|germany|france|china|india|italy|spain|israel|japan|kingdom"
    r"|abstract|keywords|introduction|editors?|revised|draft|version|submitted|received|accepted|copyright"
    r"|member|fellow|student|senior|ieee|acm|the|of|for|in|on|at|from|to|with"
    r"|january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_PARTICLES = frozenset(
    [
        *(
            "van",
            "von",
            "der",
            "den",
            "de",
            "da",
            "di",
            "du",
            "del",
            "della",
            "dos",
            "la",
            "le",
            "el",
            "al",
            "bin",
            "ben",
        ),
        *("ter", "ten", "zu", "zur", "y", "e"),
    ]
)
_DEGREES = re.compile(r",\s*(?:Ph\.?\s?D|M\.?\s?D|M\.?\s?Sc|B\.?\s?Sc|M\.?\s?P\.?H|R\.?N|M\.?S)\b\.?")
_MEMBER = re.compile(
    r",\s*(?:(?:student|senior|life|associate)\s+)?(?:member|fellow)\s*,?\s*(?:IEEE|ACM|AAAI|OSA)?", re.IGNORECASE
)
_TOKEN = re.compile(r"(?:[^\W\d_]\.-?)+|[^\W\d_][^\W\d_'’.-]*(?:[-'’][^\W\d_]+)*\.?")
_SEPARATOR = re.compile(r"\s*(?:,|;|·|•|\band\b|&|\t|\bund\b|\bet\b|\s{2,})\s*", re.IGNORECASE)
_MARKS = re.compile(r"[*∗†‡§¶‖⋆♯♭♮♠♣♦♥◦#$^~•]+|(?<=[^\W\d_])\d+(?:\s*,\s*\d+)*|\(\d+\)")


def people_in(line: Line) -> list[str]:
    """Return the names of people in a line, or an empty list if it contains much else."""
    text = _DEGREES.sub("", _MEMBER.sub(",", line.words))
    text = re.sub(r"^\s*(?:by|von|par)\s+", "", text, flags=re.IGNORECASE)
    pieces = [" ".join(_MARKS.sub(" ", each).split()).strip(" .,-–'") for each in _SEPARATOR.split(text)]
    pieces = [each for each in pieces if each and each.lower() not in ("jr", "sr", "ii", "iii")]
    named = {each: name for each in pieces if (name := _name(each))}
    others = [each for each in pieces if each not in named]
    if not named or (pieces[0] not in named):
        return []
    # Some lines give an affiliation and state after the names.
    places = [each for each in others if _PLACE.search(each)]
    is_list = len(named) >= 0.7 * len(pieces) or (
        bool(places) and all(each in places or (each.isupper() and len(each) < 4) for each in others)
    )
    if is_list:
        return list(named.values())
    return []


def _name(text: str) -> str:
    """Return a person's name of two to five words, two of them capitalized and one not an initial; else empty."""
    if _SIGNS.search(text) or _PLACE.search(text.replace(".", ". ")):
        return ""
    words = text.split()
    if not 2 <= len(words) <= 5 or len(text) > 50 or not all(_TOKEN.fullmatch(word) for word in words):
        return ""
    capital = [word for word in words if word[0].isupper()]
    if len(capital) < 2 or any(word not in _PARTICLES for word in words if word not in capital):
        return ""
    if not any(len(word.strip(".")) > 1 and "." not in word[:-1] for word in capital):
        return ""
    if text.isupper():
        return " ".join(_cased(word) for word in words)
    return text


def _cased(word: str) -> str:
    if "." in word or len(word) < 2:
        return word
    return "-".join(each.capitalize() for each in word.split("-"))
