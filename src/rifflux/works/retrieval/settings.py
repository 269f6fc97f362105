"""Intents as a user wants them: other weights, other limits of a pack, other citations followed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from rifflux.errors import InvalidArgument
from rifflux.works.retrieval.intent import IN, INTENTS, OUT, ComponentWeights, Expanding, Intent, Leaving, Packing

__all__ = ["adjusted"]

Part = TypeVar("Part", ComponentWeights, Leaving, Expanding, Packing)
_WEIGHTS = tuple(each.name for each in fields(ComponentWeights))
_LIMITS = tuple(each.name for each in fields(Packing) if each.name != "spread")


def adjusted(changes: Mapping[str, Any], where: str = "intents") -> Mapping[str, Intent]:
    """Return the intents with these changes, by intent and by setting; what is not named stays as it is.

    A setting is a component of the score with its weight (only proportions matter), `not_kinds` (kinds of works that
    are left out), `follow` (any of `out`, `in`), `seeds`, `neighbours`, `per_work`, `least_works`, `per_author`,
    `per_venue` or `spread`. Raises `InvalidArgument`, naming the place, for
    what is unknown or cannot be meant; `where` is what the place begins with.
    """
    if not changes:
        return INTENTS
    if unknown := sorted(set(changes) - set(INTENTS)):
        raise InvalidArgument(f"{where}: no intent {unknown[0]!r}; choose from {', '.join(INTENTS)}")
    return {name: _changed(each, changes.get(name, {}), f"{where}.{name}") for name, each in INTENTS.items()}


def _changed(intent: Intent, changes: Any, where: str) -> Intent:
    if not isinstance(changes, Mapping):
        raise InvalidArgument(f"{where} must be a table of settings, not {changes!r}")
    if unknown := sorted(set(changes) - set(_CHECKS)):
        raise InvalidArgument(f"{where}: no setting {unknown[0]!r}; choose from {', '.join(_CHECKS)}")
    told = {name: _CHECKS[name](value, f"{where}.{name}") for name, value in changes.items()}
    weights = _but(intent.weights, told)
    if not sum(getattr(weights, name) for name in _WEIGHTS):
        raise InvalidArgument(f"{where}: all weights are 0: give one of {', '.join(_WEIGHTS)} more than that")
    return replace(
        intent,
        weights=weights,
        about=intent.about and _but(intent.about, told),
        leaving=_but(intent.leaving, told),
        expansion=_but(intent.expansion, told),
        packing=_but(intent.packing, told),
    )


def _but(part: Part, told: Mapping[str, Any]) -> Part:
    """Return a part of an intent with what is told of its settings."""
    return replace(part, **{each.name: told[each.name] for each in fields(part) if each.name in told})


def _weight(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InvalidArgument(f"{where} must be a weight, a number of 0 or more, not {value!r}")
    return float(value)


def _limit(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidArgument(f"{where} must be a whole number of 1 or more, not {value!r}")
    return value


def _switch(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidArgument(f"{where} must be true or false, not {value!r}")
    return value


def _directions(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(each in (OUT, IN) for each in value):
        raise InvalidArgument(
            f"{where} must be a list of {OUT!r} (what is cited) and {IN!r} (what cites), not {value!r}"
        )
    return tuple(dict.fromkeys(value))


def _kinds(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each.strip() for each in value):
        raise InvalidArgument(f"{where} must be a list of kinds of works, such as 'erratum', not {value!r}")
    return tuple(dict.fromkeys(each.strip().lower() for each in value))


_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(_WEIGHTS, _weight),
    "not_kinds": _kinds,
    "follow": _directions,
    **dict.fromkeys(("seeds", "neighbours"), _limit),
    **dict.fromkeys(_LIMITS, _limit),
    "spread": _switch,
}
