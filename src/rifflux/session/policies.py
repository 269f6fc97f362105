"""Policies: what an administrator decides for everybody who uses an index, kept in the index.

Everybody may read them. Only who opened the index, not who has a scope of it, can change one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rifflux.errors import InvalidArgument, OutOfScope
from rifflux.store import Store

__all__ = ["HYBRID_SEARCH", "POLICIES", "Policies", "Policy"]

_WORDS = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Policy:
    """Something that is on or off, and what it is about."""

    name: str
    default: bool
    help: str


HYBRID_SEARCH = "hybrid_search"
#: All policies by name.
POLICIES: Mapping[str, Policy] = {
    each.name: each
    for each in (Policy(HYBRID_SEARCH, False, "search conversations by meaning too, not by words alone"),)
}


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of an index, by name; those that were never set have their defaults."""

    store: Store

    def get(self, name: str) -> bool:
        """Return True if a policy is on. A value of another version that this one cannot read counts as not set."""
        policy = _known(name)
        return _WORDS.get(self.store.registry.policy(_key(name)) or "", policy.default)

    def set(self, name: str, value: bool | str) -> None:
        """Turn a policy on or off, for everybody. Raises `OutOfScope` in a scope."""
        _known(name)
        wanted = _WORDS.get(str(value).strip().lower())
        if wanted is None:
            raise InvalidArgument(f"{name} is on or off, not {value!r}")
        if self.store.owner:
            raise OutOfScope(f"{name} is for everybody: only an administrator changes it, with 'rifflux config set'")
        self.store.registry.set(_key(name), "on" if wanted else "off")

    def all(self) -> dict[str, bool]:
        """Return every policy by its name."""
        return {name: self.get(name) for name in POLICIES}


def _known(name: str) -> Policy:
    if name not in POLICIES:
        raise InvalidArgument(f"no setting {name!r}; choose one of {', '.join(POLICIES)}")
    return POLICIES[name]


def _key(name: str) -> str:
    return f"policy {name}"
