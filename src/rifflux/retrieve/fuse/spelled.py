"""Fusions as users write them: a name, then settings after colons, such as `rrf:k=10:semantic=2`.

rrf, rrf:10, rrf:k=10, rrf:lexical=1:semantic=2
linear, linear:0.5, linear:alpha=0.5, linear:by-specificity
balanced, balanced:0.4, balanced:weight=0.4
adaptive, adaptive:0.5, adaptive:prior=0.5
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from rifflux.errors import InvalidArgument
from rifflux.retrieve.fuse.base import Fuse
from rifflux.retrieve.fuse.fusions import BY_SPECIFICITY, FUSIONS
from rifflux.retrieve.table import LEXICAL, SEMANTIC


@dataclass(frozen=True, slots=True)
class _Spelling:
    """The settings that text may change: the parameter of a bare number, the channels' weights, and special words."""

    knob: str
    channels: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


#: The default weight of each channel.
_EVEN = {LEXICAL: 1.0, SEMANTIC: 1.0}
_SPELLINGS: Mapping[str, _Spelling] = {
    "rrf": _Spelling("k", (LEXICAL, SEMANTIC)),
    "linear": _Spelling("alpha", words=(BY_SPECIFICITY,)),
    "balanced": _Spelling("weight"),
    "adaptive": _Spelling("prior"),
}


def fusion_of(choice: str | Fuse) -> Fuse:
    """Return the fusion that a text describes, such as `rrf:k=10`; a fusion is returned unchanged.

    Raises `InvalidArgument` for an unknown name or parameter and for an invalid value.
    """
    if isinstance(choice, Fuse):
        return choice
    name, *parts = str(choice).split(":")
    if name not in FUSIONS:
        raise InvalidArgument(f"no fusion {choice!r}; choose one of {', '.join(FUSIONS)}, or linear:{BY_SPECIFICITY}")
    knobs: dict[str, Any] = {}
    for part in parts:
        _set(knobs, _SPELLINGS[name], part.strip(), str(choice))
    return cast(Fuse, replace(cast(Any, FUSIONS[name]()), **knobs))


def _set(knobs: dict[str, Any], spelling: _Spelling, part: str, choice: str) -> None:
    """Set the parameter that a part of the text names."""
    knob, equals, value = part.partition("=")
    if not equals and part in spelling.words:
        knobs["weights"] = part
        return
    if not equals:
        knob = spelling.knob
        value = part
    if knob == spelling.knob:
        knobs[knob] = _number(value, choice)
    elif knob in spelling.channels:
        knobs["weights"] = {**_EVEN, **knobs.get("weights", {}), knob: _number(value, choice)}
    else:
        allowed = ", ".join(
            (*spelling.words, f"{spelling.knob}=NUMBER", *(f"{each}=NUMBER" for each in spelling.channels))
        )
        raise InvalidArgument(f"fusion {choice!r}: unknown setting {part!r}; choose from {allowed}")


def _number(text: str, choice: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidArgument(f"fusion {choice!r}: {text!r} is not a number") from None
