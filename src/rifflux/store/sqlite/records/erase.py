"""Deletion of all content of owners."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rifflux.store.sqlite.connection.derived import forget
from rifflux.store.sqlite.query import WORDS
from rifflux.store.store import PART, ErasedContent

if TYPE_CHECKING:
    from collections.abc import Callable

    from rifflux.store.sqlite.connection.engine import OwnerView

_OWNER = "select id from owner where name = :name"
# The owner and all parts of their content.
_OWNERS = f"{_OWNER} or substr(name, 1, length(:part)) = :part"

_KINDS = """
select iif(kind = '', 'document', kind), count(*) from document
where owner in (select value from json_each(:owners)) group by 1 order by 1"""

# Chunks, terms, vectors, texts, links, names, tags, parts and uses are deleted with their documents.
_DOCUMENTS = "delete from document where owner in (select value from json_each(:owners))"
_FILES = "delete from file where owner in (select value from json_each(:owners))"
_SETTINGS = "delete from owner_setting where owner in (select value from json_each(:owners))"
_RECORDS = "delete from service_record where owner in (select value from json_each(:owners))"
_NAMES = "delete from owner where id in (select value from json_each(:owners))"
# A negative number of pages starts with all segments at once.
_MERGE = "insert into owned_terms (owned_terms, rank) values ('merge', ?)"
#: The pages that a merge step writes: a few megabytes.
PAGES = 1000


def erase(view: OwnerView, name: str, finish: Callable[[ErasedContent], bool], *, parts: bool) -> None:
    """Delete the content of an owner in one transaction with what `finish` does; see `Store.erase`."""
    with view.writing(content=False) as (connection, _):
        found: list[Any] = connection.execute(
            _OWNERS if parts else _OWNER, {"name": name, "part": name + PART}
        ).fetchall()
        owners = [owner for (owner,) in found]
        bound = {"owners": json.dumps(owners)}
        kinds: list[Any] = connection.execute(_KINDS, bound).fetchall()
        counts = []
        for statement in (_DOCUMENTS, _FILES, _RECORDS, _SETTINGS):
            connection.execute(statement, bound)
            counts.append(connection.changes())
        for owner in owners:
            view.engine.touched.add(owner)
        forget(connection, WORDS)
        connection.execute(_NAMES, bound)
        is_any = finish(ErasedContent(dict(kinds), *counts[1:]))
    if kinds:
        _merge(view)
    if is_any:
        with view.engine.lock:
            # The write-ahead log contains the data too; while somebody reads from it, it is emptied later.
            view.engine.connection.pragma("wal_checkpoint", "truncate")
    for follower in view.engine.followers:
        follower.erased(owners, documents=bool(kinds))


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
