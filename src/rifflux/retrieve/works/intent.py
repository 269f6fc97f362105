"""What a question about research works is after, by rules that can be read, each with its reason.

An intent is a row of `INTENTS`: how the six components are weighed, which citations are followed, and how evidence is
packed. Nothing else in the code asks which intent it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from rifflux.errors import InvalidArgument
from rifflux.text.analyser import Analyser, fold
from rifflux.text.analyser import analyser as analyser_of
from rifflux.types import Understanding

__all__ = ["GENERIC", "INTENTS", "MODES", "Asked", "Intent", "Packing", "Weights", "asked_for"]


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each component of the score counts; only the proportions matter."""

    lexical: float = 0.35
    semantic: float = 0.5
    citation: float = 0.1
    field_match: float = 0.3
    freshness: float = 0.0
    authority: float = 0.1

    def shares(self) -> dict[str, float]:
        """The weights divided by their sum."""
        values = {each.name: float(getattr(self, each.name)) for each in fields(self)}
        total = sum(values.values())
        return {name: value / total for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Packing:
    """How evidence is chosen: at most so many passages of a work, works of an author and of a venue, at least so many
    works where there are candidates, and whether the works shall be spread over subjects."""

    per_work: int = 2
    least_works: int = 4
    per_author: int = 3
    per_venue: int = 5
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Intent:
    """What a sort of question needs. `follow` are directions of citations: `out`, what is cited, `in`, what cites."""

    name: str
    weights: Weights = field(default_factory=Weights)
    follow: tuple[str, ...] = ("out", "in")
    packing: Packing = field(default_factory=Packing)
    both_sides: bool = False


GENERIC = "generic"
#: Words without a sentence, as people type them who know what the text says.
KEYWORDS = "keywords"
INTENTS: Mapping[str, Intent] = {
    each.name: each
    for each in (
        Intent(GENERIC),
        Intent(KEYWORDS, Weights(lexical=0.5, semantic=0.15, citation=0.0)),
        Intent("lookup", Weights(lexical=0.6, semantic=0.4, citation=0.0, field_match=0.2, authority=0.05), ()),
        Intent(
            "survey",
            Weights(lexical=0.3, semantic=0.4, citation=0.15, field_match=0.25, authority=0.15),
            packing=Packing(per_work=1, least_works=6, spread=True),
        ),
        Intent("compare", packing=Packing(least_works=4), both_sides=True),
        Intent("prereq", Weights(citation=0.3, authority=0.15), ("out",), Packing(per_work=1, least_works=6)),
        Intent("related", Weights(lexical=0.25, semantic=0.5, citation=0.25), packing=Packing(per_work=1)),
    )
}
#: What a caller may ask for by name.
MODES = tuple(name for name in INTENTS if name not in (GENERIC, KEYWORDS))

_COMPARE = re.compile(
    r"\b(?:versus|vs\.?|compared? (?:to|with)|in comparison (?:to|with)|or rather)(?=\s)"
    r"|\bdifferences? between\b|\bcompar(?:e|ison of)\b",
    re.I,
)
_BETWEEN = re.compile(
    r"\b(?:differences? between|compare|comparison of)\s+(.+?)\s+(?:and|with|to|versus|vs\.?)\s+(.+)", re.I
)
_AROUND = re.compile(r"(.+?)\s+(?:versus|vs\.?|compared? (?:to|with)|in comparison (?:to|with)|or rather)\s+(.+)", re.I)
_PREREQ = re.compile(
    r"\bprerequisites?\b|\bbackground (?:for|needed|required|reading)\b|\bbefore (?:i )?(?:read|study)(?:ing)?\b"
    r"|\b(?:what|which) .*\b(?:read|know|learn|study)\b.*\b(?:before|first|to understand)\b|\brequired to understand\b",
    re.I,
)
_RELATED = re.compile(
    r"\b(?:related|similar) (?:to|works?|papers?|results?)\b|\b(?:papers?|works?|results?) like\b", re.I
)
_SURVEY = re.compile(
    r"\b(?:surveys?|overviews?|introductions? to|state of the art|literature on|reading list|textbooks?)\b"
    r"|\b(?:references?|papers|works|books) (?:on|about|for)\b",
    re.I,
)
_FOUNDATIONAL = re.compile(
    r"\b(?:foundational|foundations? of|classic(?:al)? (?:paper|work|reference)s?|seminal|canonical)\b", re.I
)
_RECENT = re.compile(r"\b(?:recent|latest|newest|current|this year)\b", re.I)
_BY = re.compile(r"\b(?:paper|article|book|theorem|lemma|work|result)s? (?:by|of) [^\W\d_a-z]", re.U)
_THEOREM = re.compile(r"\b(?:theorem|lemma|proposition|corollary|definition|tag)\s+[\d(]?[\w.]*\d", re.I)
_WORD = re.compile(r"[^\W\d_]+")
_LEAD = re.compile(r"^(?:what (?:is|are) the |the |compare |comparison of )", re.I)


@dataclass(frozen=True, slots=True)
class Asked:
    """The intent of a question, why it was taken for that, and the two sides of a comparison."""

    intent: Intent
    reason: str
    sides: tuple[str, ...] = ()


def asked_for(
    text: str,
    mode: str | None = None,
    understanding: Understanding | None = None,
    intents: Mapping[str, Intent] = INTENTS,
    analyser: Analyser | None = None,
) -> Asked:
    """What a question is after: what `mode` says, else the first rule that holds. Raises `InvalidArgument`.

    `analyser` knows the words that make a sentence; by default those of English.
    """
    if mode is not None and mode not in intents:
        raise InvalidArgument(f"no mode {mode!r}; choose one of {', '.join(MODES)}")
    name, reason = (mode, "asked for by name") if mode else _rule(text, understanding, analyser or analyser_of())
    intent = intents[name]
    weights, told = _leaning(text, intent.weights)
    sides = sides_of(text) if intent.both_sides else ()
    return Asked(replace(intent, weights=weights), f"{reason}{told}", sides)


def _rule(text: str, understanding: Understanding | None, analyser: Analyser) -> tuple[str, str]:
    for name, pattern in (("compare", _COMPARE), ("prereq", _PREREQ), ("related", _RELATED)):
        if found := pattern.search(text):
            return name, f"it says {found[0].strip()!r}"
    if (found := _FOUNDATIONAL.search(text)) or (found := _SURVEY.search(text)):
        return "survey", f"it says {found[0].strip()!r}"
    if found := _THEOREM.search(text) or _BY.search(text):
        return "lookup", f"it names one thing: {found[0].strip()!r}"
    if understanding and understanding.kind == "identifier":
        return "lookup", "it is an identifier"
    words = _WORD.findall(text)
    if words and all(map(analyser.of_word, words)):
        return KEYWORDS, "bare words, no sentence: the words count most"
    return GENERIC, "no rule holds: searched by words, meaning and citations"


def _leaning(text: str, weights: Weights) -> tuple[Weights, str]:
    """Foundational wording wants what is cited and not what is new; wording about time wants what is new."""
    if found := _FOUNDATIONAL.search(text):
        more = replace(weights, freshness=0.0, citation=2 * weights.citation, authority=2 * weights.authority)
        return more, f"; {found[0]!r}: citations count more, and age nothing"
    if found := _RECENT.search(text):
        return replace(weights, freshness=0.15), f"; {found[0]!r}: recent works count more"
    return weights, ""


def sides_of(text: str) -> tuple[str, ...]:
    """The two things that are compared, or none where they cannot be told."""
    found = _BETWEEN.search(text) or _AROUND.match(text)
    sides = [_LEAD.sub("", side).strip(" ?.,") for side in found.groups()] if found else []
    return tuple(sides) if len(sides) == 2 and all(sides) and fold(sides[0]) != fold(sides[1]) else ()


def described(asked: Asked) -> Mapping[str, object]:
    """An intent as it is told: its name, the reason, its weights."""
    return {"intent": asked.intent.name, "reason": asked.reason, "weights": asked.intent.weights.shares()}
