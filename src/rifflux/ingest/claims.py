"""Taking turns: what two processes should not do to one index at the same time, and telling who is waited for."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rifflux.store import Store

__all__ = ["EMBED", "READ", "SWITCH", "Turns"]

#: Bringing roots up to date, and making vectors: two that do it at once would do the same work twice.
READ, EMBED = "read", "embed"
#: Making vectors of another model, for a switch to it.
SWITCH = "switch"
_DOING = {READ: "reads files into", EMBED: "makes vectors for", SWITCH: "switches the model of"}

_log = logging.getLogger("rifflux")


@dataclass(slots=True)
class Turns:
    """Takes tasks of a store, one process at a time; `waited_for` lists who had them first.

    Who waits is told so by a warning of the logger `rifflux`: on stderr, unless the program does otherwise.
    """

    store: Store
    waited_for: list[str] = field(default_factory=list)

    @contextmanager
    def __call__(self, task: str) -> Iterator[bool]:
        """Have the task to oneself, after those who were first."""

        def tell(owner: str) -> None:
            reason = f"{owner} {_DOING[task]} this index"
            self.waited_for.append(reason)
            _log.warning("%s: waiting for it to finish", reason)

        with self.store.registry.claim(task, tell) as mine:
            yield mine
