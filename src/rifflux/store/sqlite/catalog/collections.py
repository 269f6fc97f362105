"""Collections as wholes: their documents in order, and how many there are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rifflux.store.sqlite.connection.view import View
from rifflux.types import Document

__all__ = ["Collections"]

COLLECTIONS = "select collection, count(*) from document where owner = :owner group by collection"

PLACE = """
select coalesce(time, 9e18), id from document
where owner = :owner and collection = :collection and key = :key"""

ONE = """
select key, document_text.text, title, kind, created_at, updated_at, metadata, licence
from document join document_text on document_text.document = document.id
where owner = :owner and collection = :collection and key = :key"""

FROM = """
select key, document_text.text, title, kind, created_at, updated_at, metadata, licence
from document join document_text on document_text.document = document.id
where owner = :owner and collection = :collection and coalesce(time, 9e18) >= :time
    and (coalesce(time, 9e18) > :time or id >= :id)
order by coalesce(time, 9e18), id limit :limit"""

BEFORE = """
select key, document_text.text, title, kind, created_at, updated_at, metadata, licence
from document join document_text on document_text.document = document.id
where owner = :owner and collection = :collection and coalesce(time, 9e18) <= :time
    and (coalesce(time, 9e18) < :time or id < :id)
order by coalesce(time, 9e18) desc, id desc limit :limit"""


class Collections(View):
    """Reads whole collections."""

    def collections(self) -> Mapping[str, int]:
        """How many documents each collection has."""
        return dict(self._rows(COLLECTIONS))

    def in_order(
        self, collection: str, key: str | None = None, *, before: int = 0, after: int | None = None
    ) -> list[Document]:
        """The documents of a collection by date, what has none last, and among equals as they were added."""
        if key is not None and not before and after == 0:
            return [_document(row) for row in self._rows(ONE, {"collection": collection, "key": key})]
        time, id = float("-inf"), 0
        if key is not None:
            places = self._rows(PLACE, {"collection": collection, "key": key})
            if not places:
                return []
            ((time, id),) = places
        bound = {"collection": collection, "time": time, "id": id}
        earlier = self._rows(BEFORE, {**bound, "limit": before}) if before else []
        rows = [*reversed(earlier), *self._rows(FROM, {**bound, "limit": -1 if after is None else after + 1})]
        return [_document(row) for row in rows]


def _document(row: Sequence[Any]) -> Document:
    key, text, title, kind, created, updated, metadata, licence = row
    return Document(key, text, title, kind, created, updated, json.loads(metadata), (), licence)
