"""Intents of questions about research works, with the reason for each, and their consequences.

An intent is a row of `INTENTS`: how the six components are weighed, which works are left out, which citations are
followed how far, how evidence is packed, and what becomes of a work that the question names. Nothing else in the code
asks which intent it is. The rules of wording are in `wording`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from rifflux.errors import InvalidArgument
from rifflux.evidence.choose import Limits
from rifflux.text.analyzer import Analyzer
from rifflux.text.analyzer import analyzer as analyzer_of
from rifflux.types import Hit, Understanding
from rifflux.works.retrieval.sides import comparison_in
from rifflux.works.retrieval.wording import foundational, is_bare, is_broad, names_one, recent, worded

__all__ = [
    "ABOUT",
    "FIRST",
    "GENERIC",
    "IN",
    "INTENTS",
    "MODES",
    "OUT",
    "Asked",
    "ComponentWeights",
    "Expanding",
    "Intent",
    "Leaving",
    "Packing",
    "asked_for",
    "described",
]

#: Directions of citations: to what is cited, and to what cites.
OUT, IN = "out", "in"
#: What becomes of a work that a question names: it comes first, or what is looked for is like it.
FIRST, ABOUT = "first", "about"


@dataclass(frozen=True, slots=True)
class ComponentWeights:
    """The weight of each component of the score; only the proportions matter."""

    lexical: float = 0.35
    semantic: float = 0.5
    citation: float = 0.1
    field_match: float = 0.3
    freshness: float = 0.0
    authority: float = 0.1

    def shares(self) -> dict[str, float]:
        """Return the weights divided by their sum."""
        values = {each.name: float(getattr(self, each.name)) for each in fields(self)}
        total = sum(values.values())
        return {name: value / total for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Leaving:
    """The works that are left out, besides those of a filter: those of `not_kinds`, in lower case."""

    not_kinds: tuple[str, ...] = ()

    def keeps(self, hit: Hit) -> bool:
        """Return whether a hit is not of these kinds."""
        return hit.kind.lower() not in self.not_kinds


@dataclass(frozen=True, slots=True)
class Expanding:
    """The citations that are followed: in the directions of `follow`, from so many of the best candidates (`seeds`).

    So many `neighbours` become candidates.
    """

    follow: tuple[str, ...] = (OUT, IN)
    seeds: int = 10
    neighbours: int = 30


@dataclass(frozen=True, slots=True)
class Packing:
    """The limits that evidence is chosen by.

    At most so many passages of a work, works of an author and of a venue, at least so many works where there are
    candidates; `spread` takes works of several subjects.
    """

    per_work: int = 2
    least_works: int = 4
    per_author: int = 3
    per_venue: int = 5
    spread: bool = False

    @property
    def limits(self) -> Limits:
        """Return the limits that evidence is chosen by."""
        caps = {"authors": self.per_author, "venues": self.per_venue}
        return Limits(self.per_work, self.least_works, caps, self.spread, noun="works")


@dataclass(frozen=True, slots=True)
class Intent:
    """The needs of a sort of question. `naming` says if a work that it names comes first or others like it do.

    Where the question is about such a work, `about` are the weights, if there are any.
    """

    name: str
    weights: ComponentWeights = field(default_factory=ComponentWeights)
    leaving: Leaving = field(default_factory=Leaving)
    expansion: Expanding = field(default_factory=Expanding)
    packing: Packing = field(default_factory=Packing)
    naming: str = ""
    about: ComponentWeights | None = None
    both_sides: bool = False


GENERIC = "generic"
#: Words without a sentence, as people type them who know what the text says.
KEYWORDS = "keywords"
#: Kinds of publications that nobody learns a field from, as OpenAlex, Crossref and CSL call them.
NOTICES = Leaving(
    ("correction", "corrigendum", "editorial", "erratum", "errata", "paratext", "peer-review", "retraction")
)
INTENTS: Mapping[str, Intent] = {
    each.name: each
    for each in (
        Intent(GENERIC),
        Intent(KEYWORDS, ComponentWeights(lexical=0.5, semantic=0.15, citation=0.0)),
        Intent(
            "lookup",
            ComponentWeights(lexical=0.6, semantic=0.4, citation=0.0, field_match=0.2, authority=0.05),
            expansion=Expanding(follow=()),
            naming=FIRST,
        ),
        Intent(
            "survey",
            ComponentWeights(lexical=0.3, semantic=0.4, citation=0.15, field_match=0.25, authority=0.15),
            leaving=NOTICES,
            packing=Packing(per_work=1, least_works=6, spread=True),
        ),
        Intent("compare", both_sides=True),
        Intent(
            "prereq",
            ComponentWeights(citation=0.3, authority=0.15),
            leaving=NOTICES,
            expansion=Expanding(follow=(OUT,)),
            packing=Packing(per_work=1, least_works=6),
            naming=ABOUT,
            about=ComponentWeights(lexical=0.15, semantic=0.2, citation=0.6, field_match=0.15, authority=0.15),
        ),
        Intent(
            "related",
            ComponentWeights(lexical=0.25, semantic=0.5, citation=0.25),
            packing=Packing(per_work=1),
            naming=ABOUT,
        ),
    )
}
#: What a caller may ask for by name.
MODES = tuple(name for name in INTENTS if name not in (GENERIC, KEYWORDS))


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
    analyzer: Analyzer | None = None,
    *,
    named: str = "",
) -> Asked:
    """Return the intent of a question: that of `mode`, else of the first rule that holds. Raises `InvalidArgument`.

    `text` is the question without its filters. `analyzer` knows the words that make a sentence; by default those of
    English. `named` says what the question is where it is the name of a work and nothing else.
    """
    if mode is not None and mode not in MODES:
        raise InvalidArgument(f"no mode {mode!r}; choose one of {', '.join(MODES)}, or none: the wording decides then")
    analyzer = analyzer or analyzer_of()
    name, reason = (mode, "asked for by name") if mode else _rule(text, understanding, analyzer, named)
    intent, leaning = _leaning(text, intents[name])
    sides, told = _sides(text, intent, by_name=mode is not None)
    intent, broad = _broadened(text, intent, understanding, analyzer)
    return Asked(intent, f"{reason}{leaning}{told}{broad}", sides)


def _rule(text: str, understanding: Understanding | None, analyzer: Analyzer, named: str) -> tuple[str, str]:
    """Return the intent that a question's wording tells, and the reason."""
    if named:
        return "lookup", f"it is {named}"
    if comparison := comparison_in(text):
        return "compare", f"it says {comparison.says!r}"
    if found := worded(text):
        name, words = found
        return name, f"it names one thing: {words!r}" if name == "lookup" else f"it says {words!r}"
    if one := names_one(text, analyzer):
        return "lookup", f"it names one thing: {one!r}"
    if understanding and understanding.kind == "identifier":
        rare = understanding.names and not understanding.identifiers
        return "lookup", f"few texts here say {understanding.names[0]!r}" if rare else "it is an identifier"
    if is_bare(text, analyzer):
        return KEYWORDS, "bare words, no sentence: the words count most"
    return GENERIC, "no rule holds: searched by words, meaning and citations"


def _leaning(text: str, intent: Intent) -> tuple[Intent, str]:
    """Foundational wording wants what is cited and not what is new; wording about time wants what is new."""
    weights, plain = intent.weights, ComponentWeights()
    if words := foundational(text):
        more = replace(
            weights,
            freshness=0.0,
            citation=2 * (weights.citation or plain.citation),
            authority=2 * max(weights.authority, plain.authority),
        )
        # What nobody follows cannot count.
        expansion = replace(intent.expansion, follow=intent.expansion.follow or (OUT, IN))
        told = f"; {words!r}: citations count more, and age nothing"
        return replace(intent, weights=more, expansion=expansion), told
    if words := recent(text):
        return replace(intent, weights=replace(weights, freshness=0.15)), f"; {words!r}: recent works count more"
    return intent, ""


def _sides(text: str, intent: Intent, *, by_name: bool) -> tuple[tuple[str, ...], str]:
    """Return the two sides of a comparison, and how that is told; none where the intent compares nothing."""
    if not intent.both_sides:
        return (), ""
    found = comparison_in(text, by_name=by_name)
    if not found:
        return (), "; no two sides were found: searched as one question"
    return found.sides, f"; searched for {found.sides[0]!r} and for {found.sides[1]!r}"


def _broadened(
    text: str, intent: Intent, understanding: Understanding | None, analyzer: Analyzer
) -> tuple[Intent, str]:
    """Return a broad question that names nothing wants evidence from several fields."""
    named = understanding and (understanding.identifiers or understanding.names)
    if intent.name not in (GENERIC, KEYWORDS) or intent.packing.spread or named or not is_broad(text, analyzer):
        return intent, ""
    packing = replace(intent.packing, spread=True)
    return replace(intent, packing=packing), "; so few words are broad: evidence is spread over subjects"


def described(asked: Asked) -> Mapping[str, object]:
    """Return an intent as it is told: its name, the reason, its weights."""
    return {"intent": asked.intent.name, "reason": asked.reason, "weights": asked.intent.weights.shares()}
