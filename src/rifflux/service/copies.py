"""The state of a copy of an index, kept in the copy: where it comes from, how far it is, and what it held in the end.

An index that is a copy and not complete answers nobody: half of it would be taken for the whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from rifflux.errors import Cure, UnusableIndex
from rifflux.store import Store

#: The setting of a copy that holds its state; it is never copied.
COPY = "copy"


@dataclass(frozen=True, slots=True)
class CopyState:
    """The state of a copy of the index at `source`.

    Until everything was taken once (`is_filled`), the documents up to the number `after` of an owner are there, and all
    of the owners before. A complete copy has the `hashes` of its parts.
    """

    source: str
    owner: str = ""
    after: int = 0
    is_filled: bool = False
    hashes: Mapping[str, str] | None = None


def copy_state(store: Store) -> CopyState | None:
    """Return the state of a copy; None for an index that is no copy."""
    known = store.records.setting(COPY, of_index=True)
    return CopyState(**json.loads(known)) if known else None


def keep_copy_state(store: Store, state: CopyState) -> None:
    """Store the state of a copy."""
    store.records.set(COPY, json.dumps(asdict(state), ensure_ascii=False), content=False)


def check_is_complete(store: Store, place: object) -> None:
    """Raise `UnusableIndex` for a copy that is not complete; `place` is where it is."""
    state = copy_state(store)
    if state and state.hashes is None:
        raise UnusableIndex(
            f"{place} is a copy of {state.source} that is not complete",
            cure=Cure.COPY,
            source=state.source,
            target=str(place),
        )
