"""The pairs of works that may be one, and the decisions on them; kept in the setting `doubts`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from rifflux.store import Store
from rifflux.works.report import Doubt

__all__ = ["Doubts"]

_SETTING = "doubts"

Pair = tuple[str, str]


@dataclass
class Doubts:
    """The open pairs and the decided ones; `save` keeps them in the store."""

    store: Store
    open: dict[Pair, Doubt] = field(default_factory=dict)
    apart: set[Pair] = field(default_factory=set)

    @classmethod
    def of(cls, store: Store) -> Doubts:
        """Return the doubts that a store holds."""
        kept = json.loads(store.registry.setting(_SETTING) or '{"open": [], "apart": []}')
        found = [Doubt(*each) for each in kept["open"]]
        return cls(
            store, {_pair(each.one, each.other): each for each in found}, {_pair(*each) for each in kept["apart"]}
        )

    def are_apart(self, one: str, other: str) -> bool:
        """Return True if somebody said that they are two works."""
        return _pair(one, other) in self.apart

    def add(self, doubts: Iterable[Doubt]) -> list[Doubt]:
        """Open the doubts that are new; returns those."""
        new = {_pair(each.one, each.other): each for each in doubts}
        fresh = {pair: doubt for pair, doubt in new.items() if pair not in self.open and pair not in self.apart}
        self.open |= fresh
        return list(fresh.values())

    def close(self, one: str, other: str, *, apart: bool) -> None:
        """Record what was decided of a pair."""
        pair = _pair(one, other)
        self.open.pop(pair, None)
        if apart:
            self.apart.add(pair)
        else:
            self.apart.discard(pair)

    def save(self) -> None:
        """Keep everything, if it changed."""
        doubts = sorted((each.one, each.other, each.reason) for each in self.open.values())
        text = json.dumps({"open": doubts, "apart": sorted(self.apart)}, ensure_ascii=False)
        if text != (self.store.registry.setting(_SETTING) or '{"open": [], "apart": []}'):
            self.store.registry.set(_SETTING, text)


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)
