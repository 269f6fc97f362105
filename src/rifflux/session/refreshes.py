"""How available refreshing is: attempts to bring an index up to date with its files, and whether it is now."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from rifflux.errors import RiffluxError
from rifflux.session.freshness import look
from rifflux.store import Store

_REFRESHES = "refreshes"
#: Files of a collection that are looked at to tell whether it is fresh.
SAMPLE = 50


@dataclass(frozen=True, slots=True)
class Refreshes:
    """Attempts to bring collections up to date with their files, since the index was made.

    An attempt fails if its root is gone or could not be read as a whole; a file that no reader understands is reported
    as failed by itself, and its attempt succeeds.
    """

    succeeded: int = 0
    failed: int = 0


def record_refresh(store: Store, *, succeeded: bool) -> None:
    """Count an attempt to bring a collection up to date; an index that cannot be written counts none."""
    if store.read_only:
        return
    with suppress(RiffluxError), store.transaction():
        counts = json.loads(store.registry.setting(_REFRESHES) or "{}")
        outcome = "succeeded" if succeeded else "failed"
        counts[outcome] = counts.get(outcome, 0) + 1
        store.registry.set(_REFRESHES, json.dumps(counts), content=False)


def refreshes_of(stores: Iterable[Store]) -> Refreshes:
    """Return the attempts of several collections together."""
    counts = [json.loads(store.registry.setting(_REFRESHES) or "{}") for store in stores]
    return Refreshes(
        sum(each.get("succeeded", 0) for each in counts),
        sum(each.get("failed", 0) for each in counts),
    )


def is_fresh(stores: Iterable[Store]) -> bool:
    """Return True if no collection is behind its files, as far as a sample of them tells, and no root is gone."""
    for store in stores:
        found = look(store, SAMPLE)
        if found.note or found.missing_roots:
            return False
    return True
