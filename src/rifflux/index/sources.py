"""The sources of an index for answers and for a search of everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from rifflux.session.federation import Source
from rifflux.session.session import IndexView
from rifflux.types import Filter

_KINDS = ("knowledge", "note", "task", "message")
#: The sources of a search of everything: name, weight and filter of each. The first is searched before the others.
_EVERYTHING = (
    ("knowledge", 1.5, partial(Filter, kinds=("knowledge",))),
    ("files", 1.2, partial(Filter, not_kinds=(*_KINDS, "memory"))),
    ("notes", 1.0, partial(Filter, kinds=("note",))),
    ("tasks", 1.0, partial(Filter, kinds=("task",))),
)


def of_everything(view: IndexView) -> Iterator[Source]:
    """Yield knowledge, files, notes, tasks and conversations; in a scope, the last are the user's own."""
    for name, weight, filter in _EVERYTHING:
        yield Source(name, view, filter, weight=weight)
    yield _conversations(view, partial(Filter, kinds=("message",)), weight=0.8)


def of_answers(view: IndexView) -> Iterator[Source]:
    """Yield documents and works, and in a scope the user's messages and memories."""
    yield Source("documents", view)
    if view.scope is None:
        return
    from rifflux.memories import Memories
    from rifflux.memories.profile import MEMORIES

    yield _conversations(view, Filter)
    remembered = view.part(MEMORIES.name, MEMORIES)
    yield Source("memories", remembered, Memories(remembered).in_force)


def _conversations(view: IndexView, filter: Callable[[], Filter], weight: float = 1.0) -> Source:
    """Return the user's conversations; without a scope, the messages among the documents."""
    from rifflux.conversations.profile import CONVERSATIONS
    from rifflux.session.policies import Policies

    name = CONVERSATIONS.name
    if view.scope is None:
        return Source(name, view, filter, weight=weight)
    mode = Policies(view.store).message_mode
    return Source(name, view.part(name, CONVERSATIONS), filter, mode, weight)
