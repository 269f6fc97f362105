"""Delete all data of a user, in every table and every part of their content; or one collection."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rifflux.store.registry import Erased, LogEntry
from rifflux.store.sqlite.connection.derived import forget
from rifflux.store.sqlite.query import WORDS
from rifflux.store.sqlite.registry.admin_log import append
from rifflux.store.store import PART

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from rifflux.store.sqlite.connection.view import OwnerView

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
_JOBS = "delete from job where user = :user"
_MEMBERS = "delete from member where user = :user"
_OWNER = "select id from owner where name = :owner"
_COLLECTION = "delete from collection where owner = :owner"
_NAMES = "delete from owner where id in (select value from json_each(:owners))"
# A negative number of pages begins with all segments at once.
_MERGE = "insert into owned_terms (owned_terms, rank) values ('merge', ?)"
#: Pages that a step of merging writes: a few megabytes.
PAGES = 1000
# What a user had may be called by their name too.
_FORGET = """
update admin_log set
    user = iif(user = :name, :alias, user), who = iif(who = :name, :alias, who),
    owner = iif(owner = :name, :alias, owner), target = iif(owner = :name, '', target),
    detail = iif(owner = :name, '', detail)
where :name in (user, who, owner)"""

_NAMING = "select count(*) from admin_log where :name in (user, who, owner)"

_TELL = "update admin_log set owner = :alias where id = :id"


def erase(view: OwnerView, user: str, entry: LogEntry | None = None) -> Erased:
    """Delete a user in one transaction, and return what there was. A part of what somebody has is no user."""
    if PART in user:
        return Erased({})
    bound = {"user": user, "part": user + PART}
    return _erased(
        view, _OWNERS, bound, (_TOKENS, _USAGE, _QUESTIONS, _COLLECTIONS), (_READERS, _MEMBERS, _ANSWERS, _JOBS),
        lambda connection, erased: _forget_name(connection, user, entry, erased),
    )  # fmt: skip


def drop_collection(view: OwnerView, owner: str, entry: LogEntry | None = None) -> Erased:
    """Delete a collection in one transaction, and return the counts of what was deleted."""
    # The events are those of its readers: what they did stays theirs.
    bound = {"owner": owner, "user": None}
    return _erased(view, _OWNER, bound, (), (_COLLECTION,), lambda connection, _: append(connection, entry))


def _erased(
    view: OwnerView,
    whose: str,
    bound: dict[str, Any],
    counted: Sequence[str],
    uncounted: Sequence[str],
    log: Callable[[apsw.Connection, Erased], int | None],
) -> Erased:
    """Delete all rows of the owners that a statement selects and of what else is named, then write the log."""
    with view.writing(content=False) as (connection, _):
        found: list[Any] = connection.execute(whose, bound).fetchall()
        owners = [owner for (owner,) in found]
        bound = bound | {"owners": json.dumps(owners)}

        def deleted(statement: str) -> int:
            connection.execute(statement, bound)
            return connection.changes()

        kinds: list[Any] = connection.execute(_KINDS, bound).fetchall()
        deleted(_DOCUMENTS)
        erased = Erased(dict(kinds), *(deleted(each) for each in (_FILES, _EVENTS, _SETTINGS, *counted)))
        for statement in uncounted:
            deleted(statement)
        for owner in owners:
            view.engine.touched.add(owner)
        forget(connection, WORDS)
        deleted(_NAMES)
        erased = replace(erased, log=log(connection, erased) or 0)
    if erased.documents:
        _merge(view)
    if erased:
        with view.engine.lock:
            # The log of writes holds all of it too; where somebody reads from it now, it is emptied later.
            view.engine.connection.pragma("wal_checkpoint", "truncate")
    for follower in view.engine.followers:
        follower.erased(owners, documents=bool(erased.documents))
    return erased


def _merge(view: OwnerView) -> None:
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


def _forget_name(connection: apsw.Connection, name: str, entry: LogEntry | None, erased: Erased) -> int:
    """Call a user by the number of the entry that tells of their erasure, and return how many others named them.

    Where nothing was erased and nobody named, there is nothing to tell.
    """
    named: Any = connection.execute(_NAMING, {"name": name}).get
    if named or erased:
        append(connection, entry)
        id = connection.last_insert_rowid() if entry else 0
        connection.execute(_FORGET, {"name": name, "alias": f"deleted user {id}"})
        connection.execute(_TELL, {"alias": f"deleted user {id}", "id": id})
    return int(named)
