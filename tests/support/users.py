"""Users who have much in common: what one of them is told must not depend on the others."""

from __future__ import annotations

import re
from contextlib import suppress

from rifflux import Document, Index, InvalidArgument, Scope
from rifflux.conversations import Conversation, Message, Thread
from rifflux.store import Selection

__all__ = ["CANARY", "KEYS", "QUESTIONS", "SECRETS", "SHARED", "TEXTS", "fill", "hide", "ids_of", "share"]

#: Only others have any of these, and what ann asks for is taken out of her answers before they are looked for.
CANARY = re.compile("kestrel|zanzibar|quokka|bobs", re.IGNORECASE)
TEXTS = ("the cache expires after ten minutes", "rivers and cached banks", "a heron in the river", "cachng heron")
#: What others let ann read, about what she and they write about too.
SHARED = ("the cache of the shared river", "banks of heron and cache", "rivers rise")
SECRETS = ("kestrel cache in zanzibar", "the river of quokka kestrels", "cache cache kestrel")
QUESTIONS = ("cache river", "kestrel", "kestrl", "zanzibr cache", "heron", "quok*", '"kestrel cache"', "cache -kestrel")
KEYS = ("n0", "n1", "bobs-n0", "documents/bobs-n0", "talk", "bobs-talk", "m0", "bobs-m0")


def fill(index: Index, user: str, texts: tuple[str, ...], prefix: str = "") -> None:
    """Give a user documents, a judgement, a setting and conversations, under keys that others have too."""
    mine = index.scoped(Scope(user)) if user else index
    for number, text in enumerate(texts):
        mine.add(Document(f"{prefix}n{number}", text, f"{prefix}title", "note", metadata={"tags": prefix or "own"}))
        mine.add(Document(f"n{number}", text, "title", created_at=f"2024-05-0{number + 1}"))
    # What is made anew was judged before; meanwhile something else may have got the name, too.
    with suppress(InvalidArgument):
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


def share(index: Index) -> None:
    """Let ann read collections: carl's as herself, dora's in a group, nobody's as everyone."""
    admin = index.collections
    for user, collection, who in (("carl", "wiki", "ann"), ("dora", "plans", "birders"), ("", "atlas", "everyone")):
        mine = index.scoped(Scope(user)) if user else index
        mine.add(*(Document(f"s{n}", text, collection, "note") for n, text in enumerate(SHARED)), collection=collection)
        mine.add(Document("n0", f"{collection} of the river", "title"), collection=collection)
        mine.collections.describe(collection, f"what {user or 'nobody'} knows")
        if who == "birders":
            admin.set_group(who, ["dora"])
            index.scoped(Scope("ann")).add(Document("n0", TEXTS[0], "title"))
            admin.set_group(who, ["ann", "dora"])
        mine.collections.share(collection, who)


def hide(index: Index) -> None:
    """Give those who share something what ann may not read, under names that she may know."""
    for user, collection in (("carl", "bobs"), ("carl", "plans"), ("dora", "wiki"), ("bob", "wiki"), ("", "bobs-wiki")):
        mine = index.scoped(Scope(user)) if user else index
        keys = ("s0", "bobs-n0", "s1")
        mine.add(*(Document(key, text) for key, text in zip(keys, SECRETS, strict=True)), collection=collection)
        mine.collections.describe(collection, "about kestrels")
    index.collections.set_group("quokkas", ["bob"])
    index.scoped(Scope("bob")).collections.share("wiki", "quokkas", write=True)
    index.scoped(Scope("carl")).collections.share("plans", "bob", write=True)
    index.scoped(Scope("carl")).collections.share("wiki", "quokkas", write=True)


def ids_of(index: Index) -> list[str]:
    """The chunks of all owners."""
    return [
        hit.id
        for store in index.admin.store.views()
        for row in store.catalog.documents(Selection())
        for hit in store.catalog.chunks_of(row.namespace, row.document.key)
    ]
