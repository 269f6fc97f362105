"""Intents of questions about research works, and their consequences.

An intent is a row of `INTENTS`: how the six components are weighed, which works are left out, which citations are
followed how far, how evidence is chosen, and what becomes of a work that the question names. Nothing else in the code
asks which intent it is. How a question is taken for one is in `asked`.
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
#: What becomes of a work that a question names: it comes first, or what is looked for is like it.
FIRST = "first"
ABOUT = "about"
GENERIC = "generic"
#: Words without a sentence, as people type them who know what the text says.
KEYWORDS = "keywords"
#: Kinds of publications that nobody learns a field from, as OpenAlex, Crossref and CSL call them.
NOTICES = ("correction", "corrigendum", "editorial", "erratum", "errata", "paratext", "peer-review", "retraction")
#: The weights of the components of a work's score, unless an intent has others.
WEIGHTS = Weights(
    {"lexical": 0.35, "semantic": 0.5, "citation": 0.1, "field_match": 0.3, "freshness": 0.0, "authority": 0.1}
)
#: How evidence is chosen, unless an intent has other limits: few works of one author or venue.
LIMITS = Limits(caps={"authors": 3, "venues": 5}, noun="works", min_relevance=0.3, min_share=0.6)
_SINGLE = replace(LIMITS, per_document=1)
_SEVERAL = replace(LIMITS, per_document=1, least=6, always=6)
#: Who looks for one thing is done when it is there, and what comes far behind it is another thing; of a comparison,
#: either side is weighed by itself.
_ONE = replace(LIMITS, always=1, min_share=0.7)
_SIDES = replace(LIMITS, min_share=0.0)

#: What is told where citations join none with the work that is asked about.
NONE_JOINED = {
    OUT: "no work here is known to be cited by it: these are works like it",
    IN: "no work here is known to cite it: these are works like it",
}
#: The most works that citations join with one that are found.
MOST_JOINED = 100


@dataclass(frozen=True, slots=True)
class Intent:
    """The needs of a sort of question.

    Works of `not_kinds` are left out. Citations are followed in the directions of `follow` from so many of the best
    candidates (`seeds`), and so many `neighbours` become candidates. `naming` says if a work that the question names
    comes first or others like it do; where the question is about such a work, `about` are the weights, if any.
    Where it is `joined`, only works are found that citations join with that one. `about` and `joined` hold only if
    citations of that work are known: those of the most similar works are no evidence of what it cites.
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

    def directed(self, way: str) -> Intent:
        """Return the intent of a question that asks for what a work cites (`out`), or for what cites it (`in`).

        Each of these works is an answer, however little its text has in common with the other's.
        """
        weights = self.weights.but(lexical=0.1, semantic=0.15, citation=0.6, field_match=0.05, authority=0.1)
        limits = replace(self.limits, min_share=0.0)
        return replace(self, about=weights, follow=(way,), neighbours=MOST_JOINED, joined=True, limits=limits)


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
            # What the best works cite is what a field is built on; to cite them makes nothing canonical.
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
#: What a caller may ask for by name.
MODES = tuple(sorted(INTENTS, key=(GENERIC, KEYWORDS).__contains__))


# Intents as an index was tuned, and as a user wants them


def fitted_intents(fitted: Mapping[str, float]) -> Mapping[str, Intent]:
    """Return the intents with each component weighed up or down as `fitted` differs from `WEIGHTS`.

    An intent keeps what sets it apart: a component that it weighs twice as much as others do stays so. One that
    nothing weighs by default has the same share in every intent.
    """
    if not fitted:
        return INTENTS
    shares = WEIGHTS.but(**fitted).shares()
    return {
        name: replace(each, weights=_moved(each.weights, shares), about=each.about and _moved(each.about, shares))
        for name, each in INTENTS.items()
    }


def _moved(own: Weights, fitted: Mapping[str, float]) -> Weights:
    """Return the weights of an intent times what became of the default ones, with the sum that they had."""
    before = WEIGHTS.shares()
    total = sum(own.values())
    moved = {
        name: own[name] * fitted[name] / share if share else total * fitted[name] for name, share in before.items()
    }
    if not any(moved.values()):
        return own
    return Weights({name: weight * total / sum(moved.values()) for name, weight in moved.items()})


def adjusted_intents(
    changes: Mapping[str, Any], where: str = "intents", *, intents: Mapping[str, Intent] = INTENTS
) -> Mapping[str, Intent]:
    """Return the intents with these changes, by intent and by setting; what is not named stays as it is.

    A setting is a component of the score with its weight (only proportions matter), `not_kinds` (kinds of works that
    are left out), `follow` (any of `out`, `in`), `seeds`, `neighbours`, `per_work`, `least_works`, `per_author`,
    `per_venue`, `spread`, `min_relevance` or `min_share`. `where` begins the place that an error names. Raises
    `InvalidArgument` for what is unknown or cannot be meant.
    """
    if not changes:
        return intents
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
