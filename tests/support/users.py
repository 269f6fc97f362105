"""Users who have much in common: what one of them is told must not depend on the others."""

from __future__ import annotations

import re

from rifflux import Document, Index, Scope
from rifflux.conversations import Conversation, Message, Thread

__all__ = ["CANARY", "KEYS", "QUESTIONS", "SECRETS", "TEXTS", "fill", "ids_of"]

#: Only others have any of these, and what ann asks for is taken out of her answers before they are looked for.
CANARY = re.compile("kestrel|zanzibar|quokka|bobs", re.IGNORECASE)
TEXTS = ("the cache expires after ten minutes", "rivers and cached banks", "a heron in the river", "cachng heron")
SECRETS = ("kestrel cache in zanzibar", "the river of quokka kestrels", "cache cache kestrel")
QUESTIONS = ("cache river", "kestrel", "kestrl", "zanzibr cache", "heron", "quok*", '"kestrel cache"', "cache -kestrel")
KEYS = ("n0", "n1", "bobs-n0", "documents/bobs-n0", "talk", "bobs-talk", "m0", "bobs-m0")


def fill(index: Index, user: str, texts: tuple[str, ...], prefix: str = "") -> None:
    """Give a user documents, a judgement, a setting and conversations, under keys that others have too."""
    mine = index.scoped(Scope(user)) if user else index
    for number, text in enumerate(texts):
        mine.add(Document(f"{prefix}n{number}", text, f"{prefix}title", "note", metadata={"tags": prefix or "own"}))
        mine.add(Document(f"n{number}", text, "title", created_at=f"2024-05-0{number + 1}"))
    mine.judge("cache river", "n0", 2)
    if user:
        mine.admin.declare_facets(f"{prefix.strip('-')}tags")
        messages = tuple(
            Message(f"{prefix}m{n}", "talk", text, created_at="2024-05-01") for n, text in enumerate(texts)
        )
        mine.conversations.put(Thread(Conversation("talk", f"{prefix}talk", prefix), messages), embed=True)
        mine.conversations.put(Thread(Conversation(f"{prefix}talk"), messages[:1]), embed=True)
    if prefix:
        mine.memories.add(f"{prefix} drinks {texts[0]}")


def ids_of(index: Index) -> list[str]:
    """The chunks of all owners."""
    return [
        hit.chunk_id
        for store in index.admin.store.views()
        for name in store.catalog.namespaces()
        for row in store.catalog.in_order(name)
        for hit in store.catalog.chunks_of(name, row.key)
    ]
