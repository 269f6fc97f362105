"""Deletion of all data of a user, in every table and part of their content; or of one collection."""

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

#: The user and all parts of their content.
_OWNERS = "select id from owner where name = :user or substr(name, 1, length(:part)) = :part"

_KINDS = """
select iif(kind = '', 'document', kind), count(*) from document
where owner in (select value from json_each(:owners)) group by 1 order by 1"""

# Chunks, terms, vectors, texts, links, names, tags, parts, records and uses are deleted with their documents.
_DOCUMENTS = "delete from document where owner in (select value from json_each(:owners))"
_FILES = "delete from file where owner in (select value from json_each(:owners))"
_EVENTS = "delete from event where owner in (select value from json_each(:owners)) or user = :user"
_SETTINGS = "delete from owner_setting where owner in (select value from json_each(:owners))"
_TOKENS = "delete from token where user = :user"
_USAGE = "delete from usage where user = :user"
_QUESTIONS = "delete from question where user = :user"
_COLLECTIONS = "delete from collection where user = :user"
# No record of readers and members is retained: they only say what others allowed a user.
_READERS = "delete from reader where who = :user"
# Answers reveal deleted content.
_ANSWERS = "delete from answer where user = :user"
_JOBS = "delete from job where user = :user"
_MEMBERS = "delete from member where user = :user"
_OWNER = "select id from owner where name = :owner"
_COLLECTION = "delete from collection where owner = :owner"
_NAMES = "delete from owner where id in (select value from json_each(:owners))"
# A negative number of pages starts with all segments at once.
_MERGE = "insert into owned_terms (owned_terms, rank) values ('merge', ?)"
#: The pages that a merge step writes: a few megabytes.
PAGES = 1000
# A user's possessions may also be named after the user.
_FORGET = """
update admin_log set
    user = iif(user = :name, :alias, user), who = iif(who = :name, :alias, who),
    owner = iif(owner = :name, :alias, owner), target = iif(owner = :name, '', target),
    detail = iif(owner = :name, '', detail)
where :name in (user, who, owner)"""

_NAMING = "select count(*) from admin_log where :name in (user, who, owner)"

_TELL = "update admin_log set owner = :alias where id = :id"


def erase(view: OwnerView, user: str, entry: LogEntry | None = None) -> Erased:
    """Delete a user in one transaction, and return the counts. A part of a user's content is not a user."""
    if PART in user:
        return Erased({})
    bound = {"user": user, "part": user + PART}
    return _erased(
        view, _OWNERS, bound, (_TOKENS, _USAGE, _QUESTIONS, _COLLECTIONS), (_READERS, _MEMBERS, _ANSWERS, _JOBS),
        lambda connection, erased: _forget_name(connection, user, entry, erased),
    )  # fmt: skip


def drop_collection(view: OwnerView, owner: str, entry: LogEntry | None = None) -> Erased:
    """Delete a collection in one transaction, and return the counts."""
    # The events belong to the collection's readers and stay.
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
    """Delete all rows of the selected owners and of the given statements, then write the log."""
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
            # The write-ahead log contains the data too; while somebody reads from it, it is emptied later.
            view.engine.connection.pragma("wal_checkpoint", "truncate")
    for follower in view.engine.followers:
        follower.erased(owners, documents=bool(erased.documents))
    return erased


def _merge(view: OwnerView) -> None:
    """Merge the segments of the owners' words, which retain deleted terms until then.

    In steps, so that others may write in between; what an interruption leaves is merged later.
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
    """Rename a user in the log to the number of the erasure's entry, and return the number of other mentions.

    If nothing was erased and nobody mentioned the user, no entry is written.
    """
    named: Any = connection.execute(_NAMING, {"name": name}).get
    if named or erased:
        append(connection, entry)
        id = connection.last_insert_rowid() if entry else 0
        connection.execute(_FORGET, {"name": name, "alias": f"deleted user {id}"})
        connection.execute(_TELL, {"alias": f"deleted user {id}", "id": id})
    return int(named)
