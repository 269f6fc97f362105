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
from rifflux.works.retrieval.mention import identifier_in, noted, quoted_title, titled
from rifflux.works.retrieval.pieces import untitled
from rifflux.works.retrieval.wording import (
    FOUNDATIONAL,
    RECENT,
    asks,
    asks_citations,
    cited_way,
    is_bare,
    is_broad,
    names_one,
    said,
    tells,
    worded,
)

#: Gives the likeness of a question to examples; None where no model can tell.
Liken = Callable[[str], Likeness | None]
#: What a rule multiplies the odds of an intent by.
RULE = 8.0
#: What a misread question of content costs next to a wish that is not heard.
COST = 0.6
#: How probable an intent has to be: of what asks for something, and of what does not.
ENOUGH = 0.3
SURE = 0.55
#: A text of more words is no question, but may hold one.
MOST_WORDS = 32
#: From such a share on, what is like a question about citations is one.
DIRECTED = 0.5

_YEAR_LAST = re.compile(r"\b(?:1[4-9]|20)\d\d\W*\Z")
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
    if words is None:
        words = Words(analyzer())
    part = asking_part(text)
    if mode:
        name = mode
        reason = "asked for by name"
        like = None
    elif not part:
        name = GENERIC
        reason = f"a text of {len(text.split())} words that asks for nothing"
        like = None
    else:
        name, reason, like = _decided(part, understanding, words, named, liken)
    part = part or (text if mode else "")
    intent, leaning = _leaning(part, intents[name])
    sides, told = _sides(part) if intent.both_sides else ((), "")
    intent, broad = _broadened(text, intent, understanding, words)
    if name == "related":
        cited = _cited(part, like)
    else:
        cited = ""
    told += f"; {_WAYS[cited]}" if cited else ""
    return Asked(intent, f"{reason}{leaning}{told}{broad}", sides, cited)


_WAYS = {OUT: "asked for is what the work cites", IN: "asked for is what cites the work"}


def asking_part(text: str) -> str:
    """Return what a text may ask: all of a short one, the last sentence of a long one that asks, empty if none does."""
    if len(text.split()) <= MOST_WORDS:
        return text
    sentences = [each for each in (each.strip() for each in _SENTENCE.findall(text)) if len(each.split()) <= MOST_WORDS]
    return next((each for each in reversed(sentences) if asks(each, alone=False)), "")


def _decided(
    text: str, understanding: Understanding | None, words: Mapping[str, Clause], named: str, liken: Liken
) -> tuple[str, str, Likeness | None]:
    """Return the most probable intent, the reason, and the likeness that spoke for it, if any."""
    if named:
        return "lookup", f"it is {named}", None
    rules = _rules(text, words)
    code = identifier_in(text)
    if (one := parse_identifier(text.strip(_EDGES))) and one.scheme in SCHEMES:
        return "lookup", "it is an identifier", None
    if title := quoted_title(text):
        return "lookup", f"it is a title: {title!r}", None
    if not rules and understanding and understanding.kind == "identifier":
        rare = understanding.names and not understanding.identifiers
        if rare:
            told = f"few texts here say {understanding.names[0]!r}"
        else:
            told = "it is an identifier"
        return "lookup", told, None
    bare = is_bare(text, words) and not code
    if bare and not rules and not tells(text):
        like = None
    else:
        like = liken(text)
    odds = _odds(rules, like, code)
    name = max(odds, key=odds.__getitem__, default=GENERIC)
    if odds and odds[name] < (ENOUGH if code or asks(text) else SURE) * sum(odds.values()):
        name = GENERIC
    # An author nobody knows here, a subject and a year are those of an event as well.
    if name == GENERIC or (name == "lookup" and bare and not rules and _YEAR_LAST.search(text)):
        if bare:
            return KEYWORDS, "bare words, no sentence: the words count most", None
        return GENERIC, "no rule holds: searched by words, meaning and citations", like
    reasons = [rules[name]] if name in rules else []
    if code and name == "lookup":
        reasons.append(f"it has the identifier {code!r}")
    if like and (not reasons or like.shares[name] >= ENOUGH):
        reasons.append(f"it is worded like {like.nearest[name]!r}")
    return name, ", and ".join(reasons), like


def _rules(text: str, words: Mapping[str, Clause]) -> Mapping[str, str]:
    """Return the intent that a rule of wording speaks for, if any, and the reason."""
    said = untitled(text, other=" This Work ")
    if (comparison := comparison_in(text)) and comparison.says in said:
        return {"compare": f"it says {comparison.says!r}"}
    if asks_citations(text):
        return {"related": "it asks for citations"}
    if note := noted(text):
        return {"lookup": f"it refers to a work as notes do: {note!r}"}
    if found := worded(said):
        name, says = found
        return {name: f"it names one thing: {says!r}" if name == "lookup" else f"it says {says!r}"}
    if one := names_one(text, words) or titled(text):
        return {"lookup": f"it names one thing: {one!r}"}
    return {}


def _odds(rules: Mapping[str, str], like: Likeness | None, code: str) -> Mapping[str, float]:
    """Return the odds of all intents but keywords; of a question with an identifier, a lookup has those of content."""
    if like is None:
        return dict.fromkeys(rules, 1.0) or ({"lookup": 1.0} if code else {})
    odds = {name: like.shares[name] * (COST if name == GENERIC else 1.0) for name in INTENTS if name in like.shares}
    for name in rules:
        odds[name] *= RULE
    if code:
        odds["lookup"] += odds.pop(GENERIC) + odds.pop("survey")
    return odds


def _leaning(text: str, intent: Intent) -> tuple[Intent, str]:
    """Weigh citations more and age less for foundational wording, and new works more for wording about time."""
    weights = intent.weights
    if words := said(FOUNDATIONAL, text):
        cited = weights["citation"] or WEIGHTS["citation"]
        authority = max(weights["authority"], WEIGHTS["authority"])
        more = weights.but(freshness=0.0, citation=2 * cited, authority=2 * authority)
        # To be cited by what is relevant makes a work foundational; to cite does not.
        intent = replace(intent, weights=more, follow=(OUT,))
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
    if like and like.ways:
        best = max(like.ways, key=like.ways.__getitem__)
    else:
        best = ""
    if like and best and like.ways[best] >= DIRECTED:
        return best
    return ""
