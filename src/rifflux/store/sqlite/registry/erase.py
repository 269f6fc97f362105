"""Deleting all that is kept of a user: in every table, of every part of what they have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rifflux.store.registry import Erased
from rifflux.store.sqlite.connection.derived import forget
from rifflux.store.sqlite.query import POSTINGS, Terms
from rifflux.store.store import PART

if TYPE_CHECKING:
    from rifflux.store.sqlite.connection.view import View

__all__ = ["erase"]

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
    with view.writing(content=False) as (connection, _):
        found: list[Any] = connection.execute(_OWNERS, {"user": user, "part": user + PART}).fetchall()
        owners = [owner for (owner,) in found]
        bound = {"user": user, "owners": json.dumps(owners)}

        def deleted(statement: str) -> int:
            connection.execute(statement, bound)
            return connection.changes()

        kinds: list[Any] = connection.execute(_KINDS, bound).fetchall()
        deleted(_DOCUMENTS)
        erased = Erased(
            dict(kinds),
            *map(deleted, (_FILES, _EVENTS, _SETTINGS, _TOKENS, _USAGE, _QUESTIONS)),
        )
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
