"""Find where a claim says something else than the sentence it was taken from, in nearly the same words.

Shared words do not tell "is kept" from "is not kept", nor "at least" from "at most". A claim is compared with what it
resembles most in its source: its negation, words of opposite meaning, the sides of a comparison, and words that claim
more than the source does (`always`, `all`, `must`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from rifflux.answer.amounts import is_unit
from rifflux.text.lexicon import phrase_lists, word_lists

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|cannot|unable|fail(?:s|ed)? to|refus(?:e|es|ed|ing)"
    r"|(?:hard|bare|scarce)ly"
    r"|instead of|rather than|turn(?:s|ed|ing)? down|rul(?:es?|ed|ing) out|except(?:s|ed)?|apart from|[^\W\d_]+-free"
    r"|exclud(?:e|es|ed|ing)|avoid(?:s|ed|ing)?|oppos(?:e|es|ed|ing)"
    r"|object(?:ed|ing|s to)|(?:vot|decid|advis|argu|rul)\w*(?: [\w-]+){0,4} against"
    r"|lack(?:s|ed|ing)?|reject(?:s|ed)?|nicht|kein\w*|nie|niemals|weder|pas|jamais|ninguno?|nunca|non|mai|não|nem"
    r"|niet|geen|nooit)\b|n['’]t\b",
    re.IGNORECASE,
)
#: What denies one thing of what is said.
WITHOUT = re.compile(r"\b(?:without|ohne|sans|sin|senza|sem|zonder)\b", re.IGNORECASE)
#: Bounds in words: `up to`, and a comparison with a number.
AT_MOST = re.compile(
    r"\b(?:up to|at most|(?:not|never|n['’]t)(?: to)? exceed(?:ing)?|limited to(?= \W?\d)"
    r"|(?:no|not|never|n['’]t)(?: [^\W\d_]+)? more than|no longer than)\b",
    re.IGNORECASE,
)
AT_LEAST = re.compile(r"\b(?:at least|no (?:less|fewer) than)\b", re.IGNORECASE)
ABOVE = re.compile(r"\b(?:(?:more|longer|greater|larger) than|over|above)\b(?= \W?\d)|\bexceed(?:s|ed|ing)?\b", re.I)
BELOW = re.compile(r"\b(?:(?:less|fewer|shorter|smaller) than|under|below)\b(?= \W?\d)", re.IGNORECASE)
_THAN = re.compile(
    r"\b(?:than|als|que|di|dan)\b(?! \W?\d)(?! (?:two|three|four|five|six|seven|eight|nine|ten)\b)", re.IGNORECASE
)
_BEFORE_THAN = re.compile(rf"(\w+) {_THAN.pattern}", re.IGNORECASE)
_TOKEN = re.compile(r"\w+")

#: A comparison in which a claim goes beyond its source: everything that is best or most of all.
_SUPERLATIVE = re.compile(r"\b(?:best|worst|most|least|[a-z]{2,}(?:iest|gest|test|dest|west|nest|rest|lest|hest))\b")
_NO_SUPERLATIVE = word_lists("claims")["no_superlatives"]
_EACH = frozenset(("every", "each"))
_TIMES = word_lists("claims")["times"]
_PER = re.compile(r"\bper\b", re.IGNORECASE)
_EACH_NAMED = re.compile(r"\b(?:[Ee]very|[Ee]ach) (?=[A-Z])")
_AT_ONCE = re.compile(r"\b(?:at once|(?:straight|right) away)\b")
_OBLIGED = re.compile(r"\b(?:ha(?:s|ve|d)|needs?) to\b")
#: What leaves a choice, and what says that nothing is excepted.
_MAY = re.compile(r"\b(?:may|might|can|could|should|optional(?:ly)?|recommend\w*|suggest\w*)\b", re.IGNORECASE)
_SOME = re.compile(r"\b(?:some|many|most|few|several|half|mostly|mainly|usually|often|sometimes)\b", re.IGNORECASE)
_NO_EXCEPTION = re.compile(r"\b(?:no|nobody|none|nothing|never|any(?! time)|neither|both)\b", re.IGNORECASE)


def _sides() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for number, pair in enumerate(phrase_lists("claims")["opposites"]):
        for side, words in enumerate(pair.split(" / ")):
            for word in words.split():
                found.setdefault(word, []).append((number, side))
    return found


SIDES = _sides()
_STRENGTH = {word: kind for kind, words in enumerate(phrase_lists("claims")["strengths"]) for word in words.split()}


@dataclass(frozen=True)
class Statement:
    """A sentence, read for what may be turned around in it."""

    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the words in lower case."""
        return tuple(word.casefold().replace("’", "'") for word in _WORD.findall(self.text))

    @cached_property
    def strengths(self) -> frozenset[int]:
        """Return the kinds of words that leave no exception; `every week` leaves some."""
        text = _OBLIGED.sub("must", _AT_ONCE.sub("immediately", _EACH_NAMED.sub("", self.text).casefold()))
        words = _WORD.findall(text)
        following = [*words[1:], ""]
        return frozenset(
            _STRENGTH[word]
            for word, behind in zip(words, following, strict=False)
            if word in _STRENGTH and not (word in _EACH and (is_unit(behind) or behind in _TIMES))
        )

    @cached_property
    def superlatives(self) -> frozenset[str]:
        """Return the words that put something above all others."""
        found = frozenset(_SUPERLATIVE.findall(self.text.casefold()))
        return found - _NO_SUPERLATIVE


def is_negated(text: str) -> bool:
    """Return True if a text denies something."""
    text = AT_MOST.sub("maximum", text)
    return bool(NEGATION.search(text)) != bool(WITHOUT.search(text))


def contradicts(claim: Statement, source: Statement, around: Statement) -> bool:
    """Return True if a claim turns around or exaggerates the sentence that it resembles, and those beside it."""
    return _swapped(claim, source) or _exaggerated(claim, source, around)


def _swapped(claim: Statement, source: Statement) -> bool:
    """Return True if what is compared with `than` stands on the other side of it, and the comparison is the same."""
    if not is_turned(claim.text, source.text):
        return False
    return not _opposite(_BEFORE_THAN.search(claim.text), _BEFORE_THAN.search(source.text))


def is_turned(claim: str, source: str) -> bool:
    """Return True if what is compared with `than` stands on the other side of it."""
    left = _compared(claim)
    right = _compared(source)
    if not left or not right:
        return False
    (first, second), (before, behind) = left, right
    return bool(first & behind) and bool(second & before)


def _opposite(left: re.Match[str] | None, right: re.Match[str] | None) -> bool:
    """Return True if two comparatives are the opposite of one another."""
    if not left or not right:
        return False
    sides = SIDES.get(right[1].casefold(), ())
    return any((pair, 1 - side) in sides for pair, side in SIDES.get(left[1].casefold(), ()))


def _compared(text: str) -> tuple[set[str], set[str]] | None:
    """Return the words on both sides of a comparison without those that stand on both."""
    parts = _THAN.split(text, maxsplit=1)
    if len(parts) < 2:
        return None
    before, behind = (set(_TOKEN.findall(part.casefold())) for part in parts)
    return before - behind, behind - before


def _exaggerated(claim: Statement, source: Statement, around: Statement) -> bool:
    """Return True if the claim leaves no exception where the source leaves one."""
    left = set(claim.strengths - source.strengths)
    if not _MAY.search(source.text):
        left.discard(_STRENGTH["must"])
    if _STRENGTH["only"] in around.strengths or is_negated(around.text):
        left.discard(_STRENGTH["only"])
    if _PER.search(source.text) and _EACH.intersection(claim.words):
        left.discard(_STRENGTH["each"])
    if _NO_EXCEPTION.search(source.text) and not _SOME.search(source.text):
        left.discard(_STRENGTH["all"])
    return bool(left or claim.superlatives - around.superlatives)
