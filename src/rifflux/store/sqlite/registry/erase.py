"""Deleting all that is kept of a user, in every table, of every part of what they have; or one collection."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rifflux.store.registry import Erased
from rifflux.store.sqlite.connection.derived import forget
from rifflux.store.sqlite.query import POSTINGS, Terms
from rifflux.store.store import PART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rifflux.store.sqlite.connection.view import View

__all__ = ["drop_collection", "erase"]

#: The user and all parts of what they have.
_OWNERS = "select id from owner where name = :user or substr(name, 1, length(:part)) = :part"

_KINDS = """
select iif(kind = '', 'document', kind), count(*) from document
where owner in (select value from json_each(:owners)) group by 1 order by 1"""

# Chunks, terms, vectors, texts, links, names, tags, parts, records and uses go with their documents.
_DOCUMENTS = "delete from document where owner in (select value from json_each(:owners))"
_FILES = "delete from file where owner in (select value from json_each(:owners))"
_EVENTS = "delete from event where owner in (select value from json_each(:owners)) or user = :user"
_SETTINGS = "delete from owner_setting where owner in (select value from json_each(:owners))"
_TOKENS = "delete from token where user = :user"
_USAGE = "delete from usage where user = :user"
_QUESTIONS = "delete from question where user = :user"
_COLLECTIONS = "delete from collection where user = :user"
# Of readers and members no record is kept: they say of a user only what others let them do.
_READERS = "delete from reader where who = :user"
# What was answered tells of what is gone.
_ANSWERS = "delete from answer where user = :user"
_MEMBERS = "delete from member where user = :user"
_OWNER = "select id from owner where name = :owner"
_COLLECTION = "delete from collection where owner = :owner"
_NAMES = "delete from owner where id in (select value from json_each(:owners))"
# A negative number of pages begins with all segments at once.
_MERGE = "insert into owned_terms (owned_terms, rank) values ('merge', ?)"
#: Pages that a step of merging writes: a few megabytes.
PAGES = 1000
_LOG = "delete from touched where what = ?"


def erase(view: View, user: str) -> Erased:
    """Delete a user in one transaction, and return what there was. A part of what somebody has is no user."""
    if PART in user:
        return Erased({})
    bound = {"user": user, "part": user + PART}
    return _erased(view, _OWNERS, bound, (_TOKENS, _USAGE, _QUESTIONS, _COLLECTIONS), (_READERS, _MEMBERS, _ANSWERS))


def drop_collection(view: View, owner: str) -> Erased:
    """Delete a collection in one transaction, and return what it held."""
    # The events are those of its readers: what they did stays theirs.
    return _erased(view, _OWNER, {"owner": owner, "user": None}, (), (_COLLECTION,))


def _erased(view: View, whose: str, bound: dict[str, Any], counted: Sequence[str], uncounted: Sequence[str]) -> Erased:
    """Delete all rows of the owners that a statement names, and what more is said of them."""
    with view.writing(content=False) as (connection, _):
        found: list[Any] = connection.execute(whose, bound).fetchall()
        owners = [owner for (owner,) in found]
        bound = bound | {"owners": json.dumps(owners)}

        def deleted(statement: str) -> int:
            connection.execute(statement, bound)
            return connection.changes()

        kinds: list[Any] = connection.execute(_KINDS, bound).fetchall()
        deleted(_DOCUMENTS)
        erased = Erased(dict(kinds), *map(deleted, (_FILES, _EVENTS, _SETTINGS, *counted)))
        for statement in uncounted:
            deleted(statement)
        for owner in owners:
            view.engine.touched.add(owner)
            forget(connection, Terms(owner).index)
            connection.execute(_LOG, (Terms(owner).index,))
        forget(connection, POSTINGS)
        deleted(_NAMES)
    if erased.documents:
        _merge(view)
    for follower in view.engine.followers:
        follower.erased(owners, documents=bool(erased.documents))
    return erased


def _merge(view: View) -> None:
    """Merge the segments of the owners' words, which keep what was deleted until then.

    A step at a time, so that others may write between; what an interruption leaves goes with later merges.
    """
    pages = -PAGES
    while True:
        with view.writing(content=False) as (connection, _):
            before = connection.total_changes()
            connection.execute(_MERGE, (pages,))
            if connection.total_changes() - before < 2:
                break
        pages = PAGES
    with view.engine.lock:
        # The log of writes holds them too; where somebody reads from it now, it is emptied later.
        view.engine.connection.pragma("wal_checkpoint", "truncate")
