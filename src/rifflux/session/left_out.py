"""How many files of each root were left out when all of it was last looked at, by their kind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from rifflux.store import Store
from rifflux.types import LeftOut

_LEFT_OUT = "left_out"


def note_left_out(store: Store, root: str, found: Iterable[LeftOut]) -> None:
    """Record what was left out of a root."""
    known = _recorded(store)
    kinds = dict(Counter(each.kind for each in found))
    if known.get(root, {}) == kinds:
        return
    current = {each: counts for each, counts in known.items() if Path(each).exists()}
    current[root] = kinds
    store.registry.set(_LEFT_OUT, json.dumps(current, ensure_ascii=False), content=False)


def left_out_kinds(stores: Iterable[Store]) -> Mapping[str, int]:
    """Return the number of files of each kind that were left out of the roots that the stores still hold."""
    from rifflux.ingest.sync import folders

    total: Counter[str] = Counter()
    for store in stores:
        # A folder of which nothing is read is no root of any file.
        held = {*store.catalog.roots(), *folders(store)}
        for root, counts in _recorded(store).items():
            if root in held:
                total.update(counts)
    return dict(total)


def _recorded(store: Store) -> dict[str, dict[str, int]]:
    recorded: dict[str, dict[str, int]] = json.loads(store.registry.setting(_LEFT_OUT) or "{}")
    return recorded
