"""What names documents and joins them: identifiers, subject tags, parts, and links followed in both directions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import apsw

from rifflux.store.base import Edge
from rifflux.store.sqlite.connection.view import View
from rifflux.types import Document, Identifier, Ids, Tag

__all__ = ["Graph", "drop_names", "put_names"]

Value = TypeVar("Value")

IDENTIFIED = """
select wanted.value, document.collection, document.key
from json_each(:names) as wanted
    cross join identifier on identifier.scheme || ':' || identifier.value = wanted.value
    join document on document.id = identifier.document and document.owner = :owner
order by 1, 2, 3"""

# A link names an identifier of its target, or a key of its own collection. The cross joins keep the order: from the
# few chunks that are asked about to the links, never through a table as a whole. The plus keeps an owner's or a
# collection's rows from being gone through one by one.
LINKED_FROM = """
with asked as (
    select chunk.uid, document.id, document.collection
    from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and chunk.owner = :owner
        join document on document.id = chunk.document
)
select asked.uid, first.uid, link.kind, max(link.confidence)
from asked cross join link on link.document = asked.id
    cross join identifier on identifier.scheme || ':' || identifier.value = +link.key
    cross join chunk as first on first.document = identifier.document and first.position = 0 and first.owner = :owner
where identifier.document <> asked.id group by 1, 2, 3
union
select asked.uid, first.uid, link.kind, max(link.confidence)
from asked cross join link on link.document = asked.id
    cross join document as target
        on target.owner = :owner and target.collection = asked.collection and target.key = link.key
    cross join chunk as first on first.document = target.id and first.position = 0
where target.id <> asked.id group by 1, 2, 3
order by 1, 2, 3"""

LINKED_TO = """
with asked as (
    select chunk.uid, document.id, document.collection, document.key
    from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and chunk.owner = :owner
        join document on document.id = chunk.document
)
select asked.uid, first.uid, link.kind, max(link.confidence)
from asked cross join identifier on identifier.document = asked.id
    cross join link on link.key = identifier.scheme || ':' || identifier.value
    cross join chunk as first on first.document = link.document and first.position = 0 and first.owner = :owner
where link.document <> asked.id group by 1, 2, 3
union
select asked.uid, first.uid, link.kind, max(link.confidence)
from asked cross join link on link.key = asked.key
    join document as source
        on source.id = link.document and +source.owner = :owner and +source.collection = asked.collection
    cross join chunk as first on first.document = source.id and first.position = 0
where source.id <> asked.id group by 1, 2, 3
order by 1, 2, 3"""

CITATIONS = """
select uid, count(distinct source) from (
    select chunk.uid as uid, link.document as source
    from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and chunk.owner = :owner
        cross join identifier on identifier.document = chunk.document
        cross join link on link.key = identifier.scheme || ':' || identifier.value
        join document as source on source.id = link.document and +source.owner = :owner
    where link.kind = :kind and link.document <> chunk.document
    union
    select chunk.uid, link.document
    from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and chunk.owner = :owner
        join document on document.id = chunk.document
        cross join link on link.key = document.key
        join document as source
            on source.id = link.document and +source.owner = :owner and +source.collection = document.collection
    where link.kind = :kind and link.document <> chunk.document
)
group by uid"""

TAGS_OF = """
select chunk.uid, tag.scheme, tag.value
from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and chunk.owner = :owner
    cross join tag on tag.document = chunk.document
order by 1, 2, 3"""

IDENTIFIERS_OF = """
select chunk.uid, identifier.scheme, identifier.value
from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and chunk.owner = :owner
    cross join identifier on identifier.document = chunk.document
order by 1, 2, 3"""

RECORDS = """
select record.name, record.data from record join document on document.id = record.document
where document.owner = :owner and document.collection = :collection and document.key = :key order by record.name"""

DROP_RECORDS = """
delete from record where document in (select id from document where owner = ? and collection = ? and key = ?)"""

PUT_RECORD = """
insert into record (document, name, data)
select id, ?, ? from document where owner = ? and collection = ? and key = ?"""

PUT_IDENTIFIER = "insert or ignore into identifier values (?, ?, ?)"
PUT_TAG = "insert or ignore into tag values (?, ?, ?)"
PUT_PART = "insert into part values (?, ?, ?, ?, ?, ?, ?)"


class Graph(View):
    """Finds documents by what names them, and follows links."""

    def identified(self, names: Sequence[str]) -> Mapping[str, list[tuple[str, str]]]:
        """The (collection, key) of the documents that each identifier names; unknown ones are left out."""
        found: dict[str, list[tuple[str, str]]] = {}
        for name, collection, key in self._rows(IDENTIFIED, {"names": json.dumps(list(names))}):
            found.setdefault(name, []).append((collection, key))
        return found

    def linked(self, ids: Ids, *, incoming: bool = False) -> list[Edge]:
        """The documents that those of some chunks link to, or are linked from, each by its first chunk."""
        statement = LINKED_TO if incoming else LINKED_FROM
        return [Edge(*row) for row in self._rows(statement, {"ids": json.dumps(ids.tolist())})]

    def citations(self, ids: Ids, kind: str = "cites") -> Mapping[int, int]:
        """How many documents link to that of each chunk; chunks whose document has no such link are left out."""
        return dict(self._rows(CITATIONS, {"ids": json.dumps(ids.tolist()), "kind": kind}))

    def tags_of(self, ids: Ids) -> Mapping[int, list[Tag]]:
        """The subject tags of each chunk's document; chunks without any are left out."""
        return self._grouped(TAGS_OF, ids, Tag)

    def identifiers_of(self, ids: Ids) -> Mapping[int, list[Identifier]]:
        """The identifiers of each chunk's document; chunks without any are left out."""
        return self._grouped(IDENTIFIERS_OF, ids, Identifier)

    def _grouped(self, statement: str, ids: Ids, make: Callable[[str, str], Value]) -> Mapping[int, list[Value]]:
        """What is made of each chunk's schemes and values."""
        found: dict[int, list[Value]] = {}
        for id, scheme, value in self._rows(statement, {"ids": json.dumps(ids.tolist())}):
            found.setdefault(id, []).append(make(scheme, value))
        return found

    def records(self, collection: str, key: str) -> Mapping[str, str]:
        """What was kept of a document's sources, by their names."""
        return dict(self._rows(RECORDS, {"collection": collection, "key": key}))

    def keep_records(self, collection: str, key: str, records: Mapping[str, str]) -> None:
        """Keep what each source told of a document, by their names, instead of what was kept."""
        with self._writing(content=False) as (connection, owner):
            connection.execute(DROP_RECORDS, (owner, collection, key))
            connection.executemany(PUT_RECORD, [(*each, owner, collection, key) for each in records.items()])


def put_names(connection: apsw.Connection, documents: Sequence[tuple[int, Document]]) -> None:
    """Store the identifiers, tags and parts of documents that have none stored, each with its row number."""
    identifiers = [(id, each.scheme, each.value) for id, document in documents for each in document.identifiers]
    tags = [(id, each.scheme, each.value) for id, document in documents for each in document.tags]
    parts = [
        (id, position, part.kind, json.dumps(part.headings, ensure_ascii=False), part.label, *part.span)
        for id, document in documents
        for position, part in enumerate(document.parts)
    ]
    connection.executemany(PUT_IDENTIFIER, identifiers)
    connection.executemany(PUT_TAG, tags)
    connection.executemany(PUT_PART, parts)


def drop_names(connection: apsw.Connection, document: int) -> None:
    """Forget the identifiers, tags and parts of a document."""
    for table in ("identifier", "tag", "part"):
        connection.execute(f"delete from {table} where document = ?", (document,))
