"""Records and settings on a cluster: a record is a row, settings are in the row of their owner.

There are no transactions: the decisive change goes first, and what follows it can be repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from rifflux.errors import OutOfScope
from rifflux.store.opensearch.engine import PAGE, RIGHTS, WORLD, Action, OwnedRows, row_id
from rifflux.store.opensearch.filters import JSON, all_of, terms
from rifflux.store.opensearch.leases import Lease
from rifflux.store.records import ABSENT, OF_CONTENTS, Delete, Put, Record, Records, Sum, Where, summed

#: The types of rows that are no records, and those of records that only coordinate processes.
NOT_RECORDS = frozenset({"document", "chunk", "file", "owner"})
_COORDINATING = frozenset({"models", RIGHTS, "lease"})
_BY_NUMBER = ["added"]
_NEWEST = [{"added": "desc"}]


@dataclass(frozen=True, slots=True)
class OpenSearchRecords(Records):
    """The records and settings of an owner; those of the view that was opened belong to no owner."""

    own: OwnedRows

    @property
    def read_only(self) -> bool:
        return False

    @property
    def rows(self) -> OwnedRows:
        """Return the rows of the records."""
        owners = tuple(owner or WORLD for owner in self.own.owners)
        return OwnedRows(self.own.engine, owners)

    def get(self, kind: str, key: str, *, recent: bool = False) -> Record | None:
        rows = self.rows
        ids = [row_id(owner, kind, key) for owner in rows.owners]

        def read() -> Record | None:
            found = rows.get(ids)
            return next((_record(kind, found[id]) for id in ids if id in found), None)

        if recent:
            return rows.engine.recently(" ".join(ids), read)
        return read()

    def write(self, *changes: Put | Delete) -> bool:
        rest = [*changes]
        if rest and isinstance(rest[0], Put) and rest[0].expects is not None:
            if not self._put_if(rest[0]):
                return False
            del rest[0]
        if rest:
            actions = [self._action(each) for each in rest]
            self.rows.write([*actions, *self._owner_exists()])
        self._changed(each.record.kind if isinstance(each, Put) else each.kind for each in changes)
        return True

    def _changed(self, kinds: Iterable[str]) -> None:
        """Have this process, and if need be all others, read anew what was recent, after records were written."""
        self.rows.engine.recent.clear()
        if not OF_CONTENTS.isdisjoint(kinds):
            self.rows.engine.change_rights()

    def _owner_exists(self) -> list[Action]:
        """Return the action that makes the row of a named owner, by which the owner's end finds all rows."""
        if self.own.owner:
            return [self.own.change(content=False)]
        return []

    def _action(self, change: Put | Delete) -> Action:
        owner = self.rows.owner
        if isinstance(change, Delete):
            return "delete", row_id(owner, change.kind, change.key), None
        return "index", row_id(owner, change.record.kind, change.record.key), self._row(change.record)

    def _row(self, record: Record) -> JSON:
        return {
            "type": record.kind,
            "name": record.key,
            "value": json.dumps(record.value),
            "user": record.user,
            "order": record.time,
            "cost": record.amount,
            "added": record.number or self.rows.engine.next_number(),
        }

    def _put_if(self, put: Put) -> bool:
        """Store a record if it has still the expected version; return False if not."""
        version: tuple[int, int] | None = None
        if put.expects:
            number, _, term = put.expects.partition(".")
            version = int(number), int(term)
        id = row_id(self.rows.owner, put.record.kind, put.record.key)
        if not self.rows.put_if(id, self._row(put.record), version):
            return False
        if self.own.owner:
            self.own.write(self._owner_exists())
        return True

    def scan(self, where: Where, *, after: int = 0, most: int | None = None, newest: bool = False) -> Iterator[Record]:
        conditions = _conditions(where)
        if after:
            conditions.append({"range": {"added": {"lt" if newest else "gt": after}}})
        order: list[Any] = _NEWEST if newest else _BY_NUMBER
        rows = self._of(where)
        found = rows.scan(where.kind, conditions, True, order, most)
        records = (_record(where.kind, row) for row in found)
        if where.recent and where.kind in OF_CONTENTS:
            key = repr((rows.owners, where, after, most, newest))
            return iter(rows.engine.by_rights(key, lambda: [*records]))
        return records

    def _of(self, where: Where) -> OwnedRows:
        if not where.everybody:
            return self.rows
        if self.own.owners != ("",):
            raise OutOfScope("this concerns the whole index: ask who looks after it")
        engine = self.rows.engine
        return OwnedRows(engine, (WORLD, *engine.owners_like("")))

    def sum(self, where: Where, by: Sequence[str], of: Sequence[str] = ()) -> Sequence[Sum]:
        found = self._of(where).scan(where.kind, _conditions(where), True, _BY_NUMBER)
        return summed((_record(where.kind, row) for row in found), by, of)

    def reserve(self, record: Record, where: Where, limit: float) -> bool:
        with self._locked(f"{record.kind} {record.user}"):
            totals = {"amount": {"sum": {"field": "cost"}}}
            found = self.rows.search(where.kind, _conditions(where), size=0, aggs=totals)
            # The amount is a sum of fractions: rounding must not cause a refusal.
            if found["aggregations"]["amount"]["value"] + record.amount > limit * (1 + 1e-9):
                return False
            self.write(Put(record))
            # The next one who holds the lock may be another process, and counts what is searched.
            self.rows.engine.refresh()
            return True

    def drop(self, where: Where) -> int:
        conditions = [terms("owner", self.rows.owners), {"term": {"type": where.kind}}, *_conditions(where)]
        if where.everybody:
            self._of(where)
            del conditions[0]
        engine = self.rows.engine
        number = engine.change_everywhere(conditions, None)
        self._changed([where.kind])
        return number

    def kinds(self) -> set[str]:
        rows = self.rows
        body = {
            "size": 0,
            "track_total_hits": False,
            "query": all_of([terms("owner", rows.owners)]),
            "aggs": {"types": {"terms": {"field": "type", "size": PAGE}}},
        }
        (found,) = rows.search_all([body])
        return {each["key"] for each in found["aggregations"]["types"]["buckets"]} - NOT_RECORDS - _COORDINATING

    def settings(self) -> Mapping[str, str]:
        if self.own.several:
            return {}
        return dict(self.own.state.settings[self.own.owner])

    def lease(self, task: str, waiting: Callable[[str], None] | None = None) -> AbstractContextManager[bool]:
        return self._lease(task).hold(patience=inf if waiting else 0.0, waiting=waiting)

    def _locked(self, name: str) -> AbstractContextManager[bool]:
        """Exclude everybody else who takes this lock, for a short while."""
        return self._lease(f"lock {name}").hold(patience=inf)

    def _lease(self, task: str) -> Lease:
        return Lease(OpenSearchRecords(OwnedRows(self.rows.engine, ("",))), task)

    # Settings

    def setting(self, name: str, *, of_index: bool = False) -> str | None:
        settings = self.own.state.settings
        owners = ("",) if of_index else self.own.owners
        return next((settings[each][name] for each in owners if name in settings[each]), None)

    def set(self, name: str, value: str, *changes: Put | Delete, content: bool = True) -> None:
        statement = "ctx._source.settings[params.name] = params.value"
        self.own.write([self.own.change(statement, {"name": name, "value": value}, content=content)])
        self.write(*changes)


def _conditions(where: Where) -> list[JSON]:
    """Return the conditions of a selection, other than kind and owner."""
    found: list[JSON] = []
    if where.prefix:
        found.append({"prefix": {"name": where.prefix}})
    if where.keys is not None:
        found.append(terms("name", sorted(where.keys)))
    if where.users is not None:
        found.append(terms("user", sorted(where.users)))
    ends = {"gte": where.since, "lt": where.until}
    ends = {name: end for name, end in ends.items() if abs(end) < inf}
    if ends:
        found.append({"range": {"order": ends}})
    return found


def _record(kind: str, row: Mapping[str, Any]) -> Record:
    owner = row["owner"]
    record = Record(kind, row["name"], json.loads(row["value"]), row["user"], row["order"], row["cost"], row["added"])
    version = ".".join(map(str, row["_seq"])) if "_seq" in row else ABSENT
    return replace(record, version=version, owner="" if owner == WORLD else owner)
