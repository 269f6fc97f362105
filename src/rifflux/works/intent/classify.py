"""Classify a question about works: its intent and why, the sides of a comparison, a direction of citations.

Rules of wording (`rules`) and similarity to examples (`similarity`) decide together. Each intent has the probability
that the examples near the question give it; the odds of an intent that a rule states are multiplied. A question that
asks for something, or mentions publications, gets the most probable intent; one that only states or names something
needs more certainty. A text of many words is not a question: only sentences in it that ask are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rifflux.errors import InvalidArgument, ModelError
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.query.reading import Words
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import Store
from rifflux.text.analyzer import analyzer
from rifflux.text.moments import YEAR_OF_WORK
from rifflux.text.schemes import SCHEMES, parse_identifier
from rifflux.types import AUTHORS, Clause, Notice, Query, Understanding
from rifflux.works.intent.intents import ABOUT, FIRST, GENERIC, IN, INTENTS, KEYWORDS, MODES, OUT, WEIGHTS, Intent
from rifflux.works.intent.named import NamedWork, is_only_name, named_work, work_of_author
from rifflux.works.intent.rules import (
    CALLED,
    CITING,
    FOUNDATIONAL,
    RECENT,
    asks,
    citation_direction,
    footnote_reference,
    has_request_word,
    identifier_in,
    is_bare,
    is_broad,
    lone_title,
    named_result,
    stated_intent,
    works_of,
)
from rifflux.works.intent.sides import comparison_in, sides_in
from rifflux.works.intent.similarity import Similarity, untitled

#: Compares a question with the examples; None where that is impossible. Raises `ModelError`.
Compare = Callable[[str], Similarity | None]
#: A rule multiplies the odds of its intent by this factor.
RULE = 8.0
#: The cost of misreading a question about content, relative to missing a request.
COST = 0.6
#: The least probability of an intent, for a question that asks for something and for one that does not.
ENOUGH = 0.3
SURE = 0.55
#: A text of more words is not a question, but may contain one.
MOST_WORDS = 32
#: From this probability on, a question similar to one about citations is one.
DIRECTED = 0.5

_YEAR_LAST = re.compile(r"\b(?:1[4-9]|20)\d\d\W*\Z")
_EDGES = " .,;!?()[]\"'“”"
_SENTENCE = re.compile(r"[^.?!]+(?:[.?!]+(?=\s|$)|$|[.?!])+")


@dataclass(frozen=True, slots=True)
class IntentDecision:
    """The intent of a question, the reason for it, and the two sides of a comparison.

    `cited` is the direction of citations that a question about a work asks for: `out` for the works that it cites, `in`
    for those that cite it, empty for any. `notes` are for the reader.
    """

    intent: Intent
    reason: str
    sides: tuple[str, ...] = ()
    cited: str = ""
    notes: tuple[Notice, ...] = ()


def classify(
    text: str,
    mode: str | None = None,
    understanding: Understanding | None = None,
    intents: Mapping[str, Intent] = INTENTS,
    words: Mapping[str, Clause] | None = None,
    *,
    reference: str = "",
    compare: Compare = lambda _: None,
) -> IntentDecision:
    """Return the intent of a question: that of `mode`, else the most probable one. Raises `InvalidArgument`.

    `text` is the question without its filters. `words` maps each of its words to its terms, function words to none; by
    default they are English. `reference` describes the question if it only refers to a work. Rules alone decide where
    `compare` returns None or its model fails.
    """
    if mode is not None and mode not in MODES:
        raise InvalidArgument(f"no mode {mode!r}; choose one of {', '.join(MODES)}, or none: the wording decides then")
    if words is None:
        words = Words(analyzer())
    part = question_part(text)
    similarity = None
    notes: tuple[Notice, ...] = ()
    if mode:
        name = mode
        reason = "asked for by name"
        part = part or text
    elif not part:
        name = GENERIC
        reason = f"a text of {len(text.split())} words that asks for nothing"
    elif reference:
        name = "lookup"
        reason = f"it is {reference}"
    else:
        rules = _rules(part, words)
        single = _single_work(part, understanding, stated=bool(rules))
        identifier = identifier_in(part)
        bare = is_bare(part, words) and not identifier
        # Keywords without a sentence have no wording that examples could share.
        if not single and (not bare or rules or has_request_word(part)):
            try:
                similarity = compare(part)
            except ModelError as error:
                reason = f"its wording was read by rules alone: {error}"
                notes = (Notice.of(error, "intent.by_rules", reason),)
        if single:
            name = "lookup"
            reason = single
        else:
            name, reason = _most_probable(part, rules, similarity, identifier, bare=bare)
    intent, emphasis = _emphasized(part, intents[name])
    reason += emphasis
    sides: tuple[str, ...] = ()
    if intent.both_sides:
        sides = sides_in(part) or ()
        if sides:
            reason += f"; searched for {sides[0]!r} and for {sides[1]!r}"
        else:
            reason += "; no two sides were found: searched as one question"
    cited = ""
    if name == "related":
        cited = citation_direction(part) or _similar_direction(similarity)
    if cited:
        reason += f"; {_DIRECTIONS[cited]}"
    named = understanding and (understanding.identifiers or understanding.names)
    spread = intent.limits.spread or named
    if intent.name in (GENERIC, KEYWORDS) and not spread and is_broad(text, words):
        intent = replace(intent, limits=replace(intent.limits, spread=True))
        reason += "; so few words are broad: evidence is spread over subjects"
    return IntentDecision(intent, reason, sides, cited, notes)


_DIRECTIONS = {OUT: "asked for is what the work cites", IN: "asked for is what cites the work"}


def question_part(text: str) -> str:
    """Return the part of a text that may ask: all of a short one, the last sentence that asks of a long one, or ""."""
    if len(text.split()) <= MOST_WORDS:
        return text
    sentences = [each for each in (each.strip() for each in _SENTENCE.findall(text)) if len(each.split()) <= MOST_WORDS]
    return next((each for each in reversed(sentences) if asks(each, alone=False)), "")


def _single_work(text: str, understanding: Understanding | None, *, stated: bool) -> str:
    """Return the reason why a question can only mean one work, or ""; `stated` says that a rule states its intent."""
    identifier = parse_identifier(text.strip(_EDGES))
    if identifier and identifier.scheme in SCHEMES:
        return "it is an identifier"
    title, is_certain = lone_title(text)
    if is_certain:
        return f"it is a title: {title!r}"
    if stated or not understanding or understanding.kind != "identifier":
        return ""
    if understanding.names and not understanding.identifiers:
        return f"few texts here say {understanding.names[0]!r}"
    return "it is an identifier"


def _most_probable(
    text: str, rules: Mapping[str, str], similarity: Similarity | None, identifier: str, *, bare: bool
) -> tuple[str, str]:
    """Return the most probable intent and the reason; `bare` says that the question is keywords without a sentence."""
    odds = _odds(rules, similarity, identifier)
    name = max(odds, key=odds.__getitem__, default=GENERIC)
    if odds and odds[name] < (ENOUGH if identifier or asks(text) else SURE) * sum(odds.values()):
        name = GENERIC
    # An author nobody knows here, a subject and a year are those of an event as well.
    if name == GENERIC or (name == "lookup" and bare and not rules and _YEAR_LAST.search(text)):
        if bare:
            return KEYWORDS, "bare words, no sentence: the words count most"
        return GENERIC, "no rule holds: searched by words, meaning and citations"
    reasons = [rules[name]] if name in rules else []
    if identifier and name == "lookup":
        reasons.append(f"it has the identifier {identifier!r}")
    if similarity and (not reasons or similarity.shares[name] >= ENOUGH):
        reasons.append(f"it is worded like {similarity.nearest[name]!r}")
    return name, ", and ".join(reasons)


def _rules(text: str, words: Mapping[str, Clause]) -> Mapping[str, str]:
    """Return the intent that a rule states, if any, with the reason."""
    outside = untitled(text, other=" This Work ")
    comparison = comparison_in(text)
    if comparison and comparison.says in outside:
        return {"compare": f"it says {comparison.says!r}"}
    # Words about citations may mean something else, unless they are of no other sense or beside a name of a work.
    if citation_direction(text) and (CITING.search(text) or CALLED.search(text)):
        return {"related": "it asks for citations"}
    if note := footnote_reference(text):
        return {"lookup": f"it refers to a work as notes do: {note!r}"}
    if stated := stated_intent(outside):
        name, says = stated
        return {name: f"it names one thing: {says!r}" if name == "lookup" else f"it says {says!r}"}
    if single := named_result(text, words) or lone_title(text)[0]:
        return {"lookup": f"it names one thing: {single!r}"}
    return {}


def _odds(rules: Mapping[str, str], similarity: Similarity | None, identifier: str) -> Mapping[str, float]:
    """Return the odds of all intents but keywords; with an identifier, a lookup gets those of intents for content."""
    if similarity is None:
        return dict.fromkeys(rules, 1.0) or ({"lookup": 1.0} if identifier else {})
    odds = {name: similarity.shares[name] for name in INTENTS if name in similarity.shares}
    odds[GENERIC] *= COST
    for name in rules:
        odds[name] *= RULE
    if identifier:
        odds["lookup"] += odds.pop(GENERIC) + odds.pop("survey")
    return odds


def _emphasized(text: str, intent: Intent) -> tuple[Intent, str]:
    """Weigh citations more and age less for foundational works, and new works more where the question asks for them."""
    weights = intent.weights
    if found := FOUNDATIONAL.search(text):
        cited = weights["citation"] or WEIGHTS["citation"]
        authority = max(weights["authority"], WEIGHTS["authority"])
        more = weights.but(freshness=0.0, citation=2 * cited, authority=2 * authority)
        # To be cited by what is relevant makes a work foundational; to cite does not.
        intent = replace(intent, weights=more, follow=(OUT,))
        return intent, f"; {found[0].strip()!r}: citations count more, and age nothing"
    if found := RECENT.search(text):
        return replace(intent, weights=weights.but(freshness=0.15)), f"; {found[0].strip()!r}: recent works count more"
    return intent, ""


def _similar_direction(similarity: Similarity | None) -> str:
    """Return the direction of citations that similar examples ask for, or ""."""
    if not similarity or not similarity.directions:
        return ""
    best = max(similarity.directions, key=similarity.directions.__getitem__)
    return best if similarity.directions[best] >= DIRECTED else ""


# The question read: its intent, and the works that it names


@dataclass(frozen=True, slots=True)
class Question:
    """A question about works as typed and as read, with the decision on its intent.

    `first` is the work that it looks for, which comes first; `about` is a work that it asks about, such as that whose
    prerequisites are wanted, for which others are the answer.
    """

    text: str
    plan: Plan
    decision: IntentDecision
    first: NamedWork | None = None
    about: NamedWork | None = None
    notes: tuple[Notice, ...] = ()


def read_question(
    text: str,
    plan: Plan,
    mode: str | None,
    intents: Mapping[str, Intent],
    store: Store,
    visible: LicensePolicy,
    compare: Compare = lambda _: None,
) -> Question:
    """Decide on the intent of a question and the works that it names, by its wording and by the contents of the index.

    `compare` compares it with examples. Raises `InvalidArgument` for an unknown mode.
    """
    query = plan.query
    named, doubt = named_work(query.phrasing.body, store, visible)
    if not named and not doubt:
        named, doubt = work_of_author(text, query, store, visible)
    name = f"the name of a work here: {named.display_name}" if named else ""
    reference = name if named and named.alone else _reference(query)
    known = query.understanding
    decision = classify(query.phrasing.body, mode, known, intents, query.words, reference=reference, compare=compare)
    undecided = named and not mode and decision.intent.name == GENERIC
    # "What is tag 06Z4?": words that ask are no part of the name.
    if named and undecided and is_only_name(query.semantic_text, named.name, named.hit.title):
        again = classify(query.phrasing.body, mode, known, intents, query.words, reference=name)
        decision = replace(again, notes=decision.notes)
    summary = f"{decision.intent.name}: {decision.reason}"
    notes = [Notice("works.intent", summary, data={"intent": decision.intent.name})]
    first = named if decision.intent.naming == FIRST else None
    about = named if decision.intent.naming == ABOUT else None
    if about:
        text_about = f"it is about {about.display_name}, which is left out itself"
        notes.append(Notice("works.about", text_about, data={"work": about.name}))
        if decision.cited:
            decision = replace(decision, intent=decision.intent.directed(decision.cited))
    elif decision.intent.naming == ABOUT and doubt:
        notes.append(Notice("works.ambiguous", doubt))
    return Question(text, plan, decision, first, about, (*notes, *decision.notes))


def _reference(query: Query) -> str:
    """Describe a question that only refers to works by an author, or "".

    It asks for all works of a person, or refers to one as in a footnote: by an author known here, then a year and a few
    bare words. Without the author it would be an event: `Chile earthquake 1960`.
    """
    people = [credit.wording for credit in query.credits if credit.role == AUTHORS]
    typed = query.phrasing.body.strip()
    year = YEAR_OF_WORK.search(query.phrasing.body)
    if year and not query.credits_only and is_bare(typed, query.words):
        for person in people:
            if typed.startswith(person):
                return f"an author, a subject and a year: {person!r}, {year[0]}"
    name = works_of(query.phrasing.body, people if query.credits_only else ())
    if name:
        return f"a question for the works of {name!r}"
    return ""
