"""Facts of candidates that another search may have read meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from rifflux.retrieve.fuse.base import IndexFacts, Unplanned
from rifflux.store import ChunkFacts, FactTable


def test_kinds_are_of_the_facts_that_are_read_for_them() -> None:
    read = {1: ChunkFacts("one", (), kind="note"), 2: ChunkFacts("two", (), kind="code")}
    store: Any = SimpleNamespace(
        catalog=SimpleNamespace(facts=lambda ids: {id: read[id] for id in ids.tolist() if id in read})
    )
    facts = IndexFacts(Unplanned(), store, chunks=FactTable.of({7: ChunkFacts("seven", (), kind="mail")}))
    # What is read stands in a table of its own if the one that is shared is of another state.
    assert facts.kinds(np.array([1, 7, 3, 2])) == ["note", "mail", "", "code"]
    assert facts.kinds(np.array([2, 1])) == ["code", "note"]
