"""What answers are taken from: documents and works, and in a scope what was said and is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rifflux.answer import Answerer, Source
from rifflux.session.session import IndexView
from rifflux.works.export import CITING


def answerer(view: IndexView) -> Answerer:
    """Return what answers questions from all that the caller of a view may read."""
    return Answerer((*_sources(view),), CITING, view.session.chat)


def _sources(view: IndexView) -> Iterator[Source]:
    yield Source("documents", view)
    if view.scope is None:
        return
    from rifflux.conversations.profile import CONVERSATIONS
    from rifflux.memories import Memories
    from rifflux.memories.profile import MEMORIES
    from rifflux.requests import HYBRID
    from rifflux.retrieve.table import LEXICAL
    from rifflux.session.policies import HYBRID_SEARCH, Policies

    policies = Policies(view.store)
    said = view.part(CONVERSATIONS.name, CONVERSATIONS)
    yield Source("conversations", said, lambda: HYBRID if policies.get(HYBRID_SEARCH) else LEXICAL)
    remembered = view.part(MEMORIES.name, MEMORIES)
    yield Source("memories", remembered, filter=partial(Memories.in_force, Memories(remembered)))
