"""Intents of questions about research works, and their consequences.

An intent is a row of `INTENTS`: the weights of the six components, the kinds of works to leave out, the citations to
follow and how far, how evidence is chosen, and what happens to a work that the question names. No other code depends on
which intent it is. `classify` decides on the intent of a question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rifflux.errors import InvalidArgument
from rifflux.evidence.choose import Limits
from rifflux.retrieve.fuse.base import Weights
from rifflux.session.arguments import checked_share

#: Directions of citations: to what is cited, and to what cites.
OUT = "out"
IN = "in"
#: A work that a question names comes first, or the question looks for works like it.
FIRST = "first"
ABOUT = "about"
GENERIC = "generic"
#: Words without a sentence, as typed by people who know what the text says.
KEYWORDS = "keywords"
#: Kinds of publications from which nobody learns a field, as named by OpenAlex, Crossref and CSL.
NOTICES = ("correction", "corrigendum", "editorial", "erratum", "errata", "paratext", "peer-review", "retraction")
#: The weights of the components of a work's score, unless an intent has others.
WEIGHTS = Weights(
    {"lexical": 0.35, "semantic": 0.5, "citation": 0.1, "field_match": 0.3, "freshness": 0.0, "authority": 0.1}
)
#: How evidence is chosen, unless an intent has other limits: few works of one author or venue.
LIMITS = Limits(caps={"authors": 3, "venues": 5}, noun="works", min_relevance=0.3, min_share=0.6)
_SINGLE = replace(LIMITS, per_document=1)
_SEVERAL = replace(LIMITS, per_document=1, least=6, always=6)
#: A search for one thing ends when it is found, and what ranks far behind it is something else. The two sides of a
#: comparison are weighed separately.
_ONE = replace(LIMITS, always=1, min_share=0.7)
_SIDES = replace(LIMITS, min_share=0.0)

#: Notes for a question about a work that citations join with no other.
NONE_JOINED = {
    OUT: "no work here is known to be cited by it: these are works like it",
    IN: "no work here is known to cite it: these are works like it",
}
#: The most works that are found by citations of one.
MOST_JOINED = 100


@dataclass(frozen=True, slots=True)
class Intent:
    """How to answer one kind of question.

    Works of `not_kinds` are left out. Citations are followed in the directions of `follow` from the best `seeds`
    candidates, and at most `neighbours` works become candidates. `naming` says whether a work that the question names
    comes first or others like it do; `about` are the weights for questions about such a work, if any. With `joined`,
    only works joined with that one by citations are found. `about` and `joined` apply only if citations of that work
    are known: those of the most similar works are no evidence of what it cites.
    """

    name: str
    weights: Weights = WEIGHTS
    not_kinds: tuple[str, ...] = ()
    follow: tuple[str, ...] = (OUT, IN)
    seeds: int = 10
    neighbours: int = 30
    limits: Limits = LIMITS
    naming: str = ""
    about: Weights | None = None
    both_sides: bool = False
    joined: bool = False

    def directed(self, direction: str) -> Intent:
        """Return the intent for a question that asks what a work cites (`out`), or what cites it (`in`).

        Each of these works is an answer, however little its text has in common with the other's.
        """
        weights = self.weights.but(lexical=0.1, semantic=0.15, citation=0.6, field_match=0.05, authority=0.1)
        limits = replace(self.limits, min_share=0.0)
        return replace(self, about=weights, follow=(direction,), neighbours=MOST_JOINED, joined=True, limits=limits)


INTENTS: Mapping[str, Intent] = {
    each.name: each
    for each in (
        Intent(GENERIC),
        Intent(KEYWORDS, WEIGHTS.but(lexical=0.5, semantic=0.15, citation=0.0), limits=_ONE),
        Intent(
            "lookup",
            WEIGHTS.but(lexical=0.6, semantic=0.4, citation=0.0, field_match=0.2, authority=0.05),
            follow=(),
            limits=_ONE,
            naming=FIRST,
        ),
        Intent(
            "survey",
            WEIGHTS.but(lexical=0.3, semantic=0.4, citation=0.15, field_match=0.25, authority=0.15),
            NOTICES,
            # A field is built on what its best works cite; citing them does not make a work canonical.
            follow=(OUT,),
            limits=replace(_SEVERAL, spread=True),
        ),
        Intent("compare", limits=_SIDES, both_sides=True),
        Intent(
            "prereq",
            WEIGHTS.but(citation=0.3, authority=0.15),
            NOTICES,
            follow=(OUT,),
            limits=_SEVERAL,
            naming=ABOUT,
            about=WEIGHTS.but(lexical=0.15, semantic=0.2, citation=0.6, field_match=0.15, authority=0.15),
        ),
        Intent("related", WEIGHTS.but(lexical=0.25, citation=0.25), limits=_SINGLE, naming=ABOUT),
    )
}
#: The intents that a caller may choose by name.
MODES = tuple(sorted(INTENTS, key=(GENERIC, KEYWORDS).__contains__))


# Intents as tuned for an index, and as configured by a user


def fitted_intents(fitted: Mapping[str, float]) -> Mapping[str, Intent]:
    """Return the intents with each component's weight scaled as `fitted` differs from `WEIGHTS`.

    An intent keeps its character: a component with twice the default weight still has twice the fitted one. A component
    without a default weight gets the same share in every intent.
    """
    shares = WEIGHTS.but(**fitted).shares()
    return {
        name: replace(each, weights=_scaled(each.weights, shares), about=each.about and _scaled(each.about, shares))
        for name, each in INTENTS.items()
    }


def _scaled(own: Weights, fitted: Mapping[str, float]) -> Weights:
    """Scale the weights of an intent as the default weights changed, with the same sum."""
    before = WEIGHTS.shares()
    total = sum(own.values())
    scaled = {
        name: own[name] * fitted[name] / share if share else total * fitted[name] for name, share in before.items()
    }
    if not any(scaled.values()):
        return own
    return Weights({name: weight * total / sum(scaled.values()) for name, weight in scaled.items()})


def adjusted_intents(
    changes: Mapping[str, Any], where: str = "intents", *, intents: Mapping[str, Intent] = INTENTS
) -> Mapping[str, Intent]:
    """Apply changes to intents, by intent and setting; everything else stays as it is.

    A setting is a component of the score with its weight (only proportions matter), `not_kinds` (kinds of works to
    leave out), `follow` (any of `out`, `in`), `seeds`, `neighbours`, `per_work`, `least_works`, `per_author`,
    `per_venue`, `spread`, `min_relevance` or `min_share`. `where` is the prefix of the place that an error names.
    Raises `InvalidArgument` for an unknown name or an invalid value.
    """
    if not isinstance(changes, Mapping):
        raise InvalidArgument(f"{where} must be a table of intents, not {changes!r}")
    if unknown := sorted(set(changes) - set(INTENTS)):
        raise InvalidArgument(f"{where}: no intent {unknown[0]!r}; choose from {', '.join(INTENTS)}")
    return {name: _changed(each, changes.get(name, {}), f"{where}.{name}") for name, each in intents.items()}


def _changed(intent: Intent, changes: object, where: str) -> Intent:
    if not isinstance(changes, Mapping):
        raise InvalidArgument(f"{where} must be a table of settings, not {changes!r}")
    if unknown := sorted(set(changes) - set(_CHECKS)):
        raise InvalidArgument(f"{where}: no setting {unknown[0]!r}; choose from {', '.join(_CHECKS)}")
    values = {name: _CHECKS[name](value, f"{where}.{name}") for name, value in changes.items()}
    weights = {name: values.pop(name) for name in WEIGHTS if name in values}
    if not any({**intent.weights, **weights}.values()):
        raise InvalidArgument(f"{where}: all weights are 0: give one of {', '.join(WEIGHTS)} more than that")
    caps = {_CAPS[name]: values.pop(name) for name in _CAPS if name in values}
    limits = {_LIMITS[name]: values.pop(name) for name in _LIMITS if name in values}
    return replace(
        intent,
        weights=intent.weights.but(**weights),
        about=intent.about and intent.about.but(**weights),
        limits=replace(intent.limits, caps={**intent.limits.caps, **caps}, **limits),
        **values,
    )


def _weight(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InvalidArgument(f"{where} must be a weight, a number of 0 or more, not {value!r}")
    return float(value)


def _share(value: object, where: str) -> float:
    checked_share(where, value)
    return float(value)  # type: ignore[arg-type]


def _limit(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidArgument(f"{where} must be a whole number of 1 or more, not {value!r}")
    return value


def _switch(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidArgument(f"{where} must be true or false, not {value!r}")
    return value


def _directions(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(each in (OUT, IN) for each in value):
        raise InvalidArgument(
            f"{where} must be a list of {OUT!r} (what is cited) and {IN!r} (what cites), not {value!r}"
        )
    return tuple(dict.fromkeys(value))


def _kinds(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each.strip() for each in value):
        raise InvalidArgument(f"{where} must be a list of kinds of works, such as 'erratum', not {value!r}")
    return tuple(dict.fromkeys(each.strip().lower() for each in value))


#: The settings that are fields of `Limits`, and those that are caps in it.
_LIMITS = {
    "per_work": "per_document",
    "least_works": "least",
    "spread": "spread",
    "min_relevance": "min_relevance",
    "min_share": "min_share",
}
_CAPS = {"per_author": "authors", "per_venue": "venues"}
_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(WEIGHTS, _weight),
    "not_kinds": _kinds,
    "follow": _directions,
    **dict.fromkeys(("seeds", "neighbours", "per_work", "least_works", *_CAPS), _limit),
    "spread": _switch,
    **dict.fromkeys(("min_relevance", "min_share"), _share),
}
