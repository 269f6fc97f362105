"""What a question about works asks for: its intent with the reason, two sides to compare, a direction of citations.

Rules of wording and likeness to examples (`likeness`) decide together. Each intent has the share that the examples near
the question give it; an intent that a rule speaks for has its odds multiplied. What asks for something, or speaks of
publications, is taken for what is most probable; of what only says or names something, more has to be known. A text of
many words is no question: of it, only sentences that ask are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rifflux.errors import InvalidArgument
from rifflux.retrieve.query.reading import Words
from rifflux.text.analyzer import analyzer
from rifflux.text.schemes import SCHEMES, parse_identifier
from rifflux.types import Clause, Understanding
from rifflux.works.retrieval.comparison import comparison_in, sides_in
from rifflux.works.retrieval.intent import GENERIC, IN, INTENTS, KEYWORDS, MODES, OUT, WEIGHTS, Intent
from rifflux.works.retrieval.likeness import Likeness
from rifflux.works.retrieval.wording import (
    FOUNDATIONAL,
    RECENT,
    asks,
    asks_citations,
    cited_way,
    is_bare,
    is_broad,
    names_one,
    quoted_title,
    said,
    titled,
    worded,
)

__all__ = ["Asked", "Liken", "asked_for"]

#: Gives the likeness of a question to examples; None where no model can tell.
Liken = Callable[[str], Likeness | None]
#: What a rule multiplies the odds of an intent by: one that speaks of a wish, and one that sees a name.
RULE, NAME_RULE = 12.0, 5.0
#: How probable an intent has to be: of what asks for something, and of what does not.
ENOUGH, SURE = 0.3, 0.6
#: A text of more words is no question, but may hold one.
MOST_WORDS = 32
#: From such a share on, what is like a question about citations is one.
DIRECTED = 0.5

_EDGES = " .,;!?()[]\"'“”"
_SENTENCE = re.compile(r"[^.?!]+(?:[.?!]+(?=\s|$)|$|[.?!])+")


@dataclass(frozen=True, slots=True)
class Asked:
    """The intent of a question, why it was taken for that, and the two sides of a comparison.

    `cited` is the direction of citations that a question about a work is after, empty for any: `out` for the works that
    it cites, `in` for those that cite it.
    """

    intent: Intent
    reason: str
    sides: tuple[str, ...] = ()
    cited: str = ""


def asked_for(
    text: str,
    mode: str | None = None,
    understanding: Understanding | None = None,
    intents: Mapping[str, Intent] = INTENTS,
    words: Mapping[str, Clause] | None = None,
    *,
    named: str = "",
    liken: Liken = lambda _: None,
) -> Asked:
    """Return the intent of a question: that of `mode`, else the most probable one. Raises `InvalidArgument`.

    `text` is the question without its filters. `words` has the terms of its words, none of those that only make a
    sentence; by default they are English. `named` says what the question is where it names or refers to a work and asks
    nothing. Without `liken`, rules alone decide.
    """
    if mode is not None and mode not in MODES:
        raise InvalidArgument(f"no mode {mode!r}; choose one of {', '.join(MODES)}, or none: the wording decides then")
    words = Words(analyzer()) if words is None else words
    part = asking_part(text)
    if mode:
        name, reason, like = mode, "asked for by name", None
    elif not part:
        name, reason, like = GENERIC, f"a text of {len(text.split())} words that asks for nothing", None
    else:
        name, reason, like = _decided(part, understanding, words, named, liken)
    part = part or (text if mode else "")
    intent, leaning = _leaning(part, intents[name])
    sides, told = _sides(part) if intent.both_sides else ((), "")
    intent, broad = _broadened(text, intent, understanding, words)
    cited = _cited(part, like) if name == "related" else ""
    told += f"; {_WAYS[cited]}" if cited else ""
    return Asked(intent, f"{reason}{leaning}{told}{broad}", sides, cited)


_WAYS = {OUT: "asked for is what the work cites", IN: "asked for is what cites the work"}


def asking_part(text: str) -> str:
    """Return what a text may ask: all of a short one, the last sentence of a long one that asks, empty if none does."""
    if len(text.split()) <= MOST_WORDS:
        return text
    sentences = [each for each in map(str.strip, _SENTENCE.findall(text)) if len(each.split()) <= MOST_WORDS]
    return next((each for each in reversed(sentences) if asks(each, alone=False)), "")


def _decided(
    text: str, understanding: Understanding | None, words: Mapping[str, Clause], named: str, liken: Liken
) -> tuple[str, str, Likeness | None]:
    """Return the most probable intent, the reason, and the likeness that spoke for it, if any."""
    if named:
        return "lookup", f"it is {named}", None
    rules = _rules(text, words)
    if (one := parse_identifier(text.strip(_EDGES))) and one.scheme in SCHEMES:
        return "lookup", "it is an identifier", None
    if title := quoted_title(text):
        return "lookup", f"it is a title: {title!r}", None
    if not rules and understanding and understanding.kind == "identifier":
        rare = understanding.names and not understanding.identifiers
        told = f"few texts here say {understanding.names[0]!r}" if rare else "it is an identifier"
        return "lookup", told, None
    bare = is_bare(text, words)
    like = None if bare and not rules else liken(text)
    name = _most_probable(rules, like, ENOUGH if asks(text) else SURE)
    # What neither asks nor names anything looks for no one work.
    name = GENERIC if name == "lookup" and not rules and not asks(text) else name
    if name == GENERIC:
        if bare:
            return KEYWORDS, "bare words, no sentence: the words count most", None
        return GENERIC, "no rule holds: searched by words, meaning and citations", like
    reasons = [rules[name]] if name in rules else []
    if like and (not reasons or like.shares[name] >= ENOUGH):
        reasons.append(f"it is worded like {like.nearest[name]!r}")
    return name, ", and ".join(reasons), like


def _rules(text: str, words: Mapping[str, Clause]) -> Mapping[str, str]:
    """Return the intent that a rule of wording speaks for, if any, and the reason."""
    if comparison := comparison_in(text):
        return {"compare": f"it says {comparison.says!r}"}
    if asks_citations(text):
        return {"related": "it asks for citations"}
    if found := worded(text):
        name, says = found
        return {name: f"it names one thing: {says!r}" if name == "lookup" else f"it says {says!r}"}
    if one := names_one(text, words) or titled(text):
        return {"lookup": f"it names one thing: {one!r}"}
    return {}


def _most_probable(rules: Mapping[str, str], like: Likeness | None, enough: float) -> str:
    """Return the most probable intent of all but keywords, the generic one where that is not probable enough."""
    if like is None:
        return next(iter(rules), GENERIC)
    odds = {name: like.shares[name] for name in INTENTS if name in like.shares}
    for name in rules:
        odds[name] *= NAME_RULE if name == "lookup" else RULE
    best = max(odds, key=odds.__getitem__)
    return best if odds[best] >= enough * sum(odds.values()) else GENERIC


def _leaning(text: str, intent: Intent) -> tuple[Intent, str]:
    """Weigh citations more and age less for foundational wording, and new works more for wording about time."""
    weights = intent.weights
    if words := said(FOUNDATIONAL, text):
        cited, authority = weights["citation"] or WEIGHTS["citation"], max(weights["authority"], WEIGHTS["authority"])
        more = weights.but(freshness=0.0, citation=2 * cited, authority=2 * authority)
        # What nobody follows cannot count.
        intent = replace(intent, weights=more, follow=intent.follow or (OUT, IN))
        return intent, f"; {words!r}: citations count more, and age nothing"
    if words := said(RECENT, text):
        return replace(intent, weights=weights.but(freshness=0.15)), f"; {words!r}: recent works count more"
    return intent, ""


def _sides(text: str) -> tuple[tuple[str, ...], str]:
    """Return the two sides of a comparison, if there are two, and a note on them."""
    if found := sides_in(text):
        return found, f"; searched for {found[0]!r} and for {found[1]!r}"
    return (), "; no two sides were found: searched as one question"


def _broadened(
    text: str, intent: Intent, understanding: Understanding | None, words: Mapping[str, Clause]
) -> tuple[Intent, str]:
    """Spread the evidence of a broad question that names nothing over several fields."""
    named = understanding and (understanding.identifiers or understanding.names)
    if intent.name not in (GENERIC, KEYWORDS) or intent.limits.spread or named or not is_broad(text, words):
        return intent, ""
    spread = replace(intent, limits=replace(intent.limits, spread=True))
    return spread, "; so few words are broad: evidence is spread over subjects"


def _cited(text: str, like: Likeness | None) -> str:
    """Return the direction of citations that a question is after: by its grammar, else by its likeness."""
    if way := cited_way(text):
        return way
    best = max(like.ways, key=like.ways.__getitem__) if like and like.ways else ""
    return best if like and best and like.ways[best] >= DIRECTED else ""
