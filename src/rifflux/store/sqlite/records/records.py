"""Records and settings in SQLite."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import apsw

from rifflux.errors import OutOfScope
from rifflux.store.records import ABSENT, RECORDS, Delete, Put, Record, Records, Sum, Where
from rifflux.store.sqlite.connection.connect import MEMORY
from rifflux.store.sqlite.connection.engine import OwnerView
from rifflux.store.sqlite.connection.locks import file_lock

# An owner's own settings; those of owner 0 apply to the whole index.
OWN_SETTING = """
select value from owner_setting where owner = (select id from owner where name = :owner) and name = :name"""

PUT_OWN_SETTING = "insert or replace into owner_setting (owner, name, value) values (:owner, :name, :value)"

SETTING = "select value from setting where name = :name"

PUT_SETTING = "insert or replace into setting (name, value) values (:name, :value)"

SETTINGS = "select name, value from setting where name not in ('generation', 'last_dropped_chunk')"

OWN_SETTINGS = "select name, value from owner_setting where owner = (select id from owner where name = :owner)"

_KINDS = "select distinct kind from service_record where owner = :owner"

# Numbers are never used again, so a record that was deleted and is back has another version.
_COLUMNS = "id, key, user, time, amount, id || '.' || version, value"

_GET = f"select {_COLUMNS} from service_record where owner = :owner and kind = :kind and key = :key"

_VERSION = "select id || '.' || version from service_record where owner = :owner and kind = :kind and key = :key"

_PUT = """
insert into service_record (owner, kind, key, user, time, amount, value)
values (:owner, :kind, :key, :user, :time, :amount, :value)
on conflict (owner, kind, key) do update set
    user = excluded.user, time = excluded.time, amount = excluded.amount, value = excluded.value,
    version = version + 1"""

_DELETE = "delete from service_record where owner = :owner and kind = :kind and key = :key"

_SCAN = f"""
select {_COLUMNS} from service_record
where owner = :owner and kind = :kind and id > :after {{conditions}} order by id limit :limit"""

_NEWEST = f"""
select {_COLUMNS} from service_record
where owner = :owner and kind = :kind and id < :after {{conditions}} order by id desc limit :limit"""

_DROP = "delete from service_record where owner = :owner and kind = :kind {conditions}"

_SUMS = """
select {fields}, count(*) {totals} from service_record
where owner = :owner and kind = :kind {conditions} group by {fields} order by {fields}"""

_AMOUNT = """
select coalesce(sum(amount), 0.0) from service_record where owner = :owner and kind = :kind {conditions}"""

# Those of all owners: only for the view of the whole index.
_OF_EVERYBODY = f"""
select {_COLUMNS}, (select name from owner where owner.id = service_record.owner) from service_record
where kind = :kind and id > :after {{conditions}} order by id limit :limit"""

_DROP_EVERYBODYS = "delete from service_record where kind = :kind {conditions}"

_CONDITIONS: Mapping[str, str] = {
    "prefix": "key >= :prefix and key < :beyond",
    "keys": "key in (select value from json_each(:keys))",
    "users": "user in (select value from json_each(:users))",
    # Of one value, the list would take as long as the rest of a statement.
    "key": "key = :key",
    "user": "user = :user",
    "since": "time >= :since",
    "until": "time < :until",
}
_LAST = 1 << 62


@dataclass(frozen=True, slots=True)
class SqliteRecords(Records):
    """The records and settings of one owner."""

    view: OwnerView

    @property
    def read_only(self) -> bool:
        return self.view.engine.read_only

    def get(self, kind: str, key: str, *, recent: bool = False) -> Record | None:
        return next((_record(kind, row) for row in self.view.rows(_GET, {"kind": kind, "key": key})), None)

    def write(self, *changes: Put | Delete) -> bool:
        if not changes:
            return True
        with self.view.writing(content=False) as (connection, owner):
            return written(connection, owner, changes)

    def scan(self, where: Where, *, after: int = 0, most: int | None = None, newest: bool = False) -> Iterator[Record]:
        if newest:
            statement, bound = self._selected(where, _NEWEST)
            after = after or _LAST
        else:
            statement, bound = self._selected(where, _OF_EVERYBODY if where.everybody else _SCAN)
        left = inf if most is None else most
        while left > 0:
            limit = int(min(left, RECORDS))
            values = {**bound, "after": after, "limit": limit}
            if self.view.several:
                rows = self.view.rows(statement, values)
            else:
                with self.view.reading() as (connection, (owner,)):
                    rows = self.view.engine.known(connection, statement, **values, owner=owner)
            yield from (_record(where.kind, row) for row in rows)
            if len(rows) < limit:
                return
            after = rows[-1][0]
            left -= limit

    def sum(self, where: Where, by: Sequence[str], of: Sequence[str] = ()) -> Sequence[Sum]:
        fields = ", ".join(_field(each) for each in by)
        totals = "".join(f", sum({_field(each)})" for each in of)
        statement, bound = self._selected(where, _SUMS.replace("{fields}", fields).replace("{totals}", totals))
        rows = self.view.rows(statement, bound)
        return [Sum(tuple(row[: len(by)]), row[len(by)], tuple(row[len(by) + 1 :])) for row in rows]

    def reserve(self, record: Record, where: Where, limit: float) -> bool:
        statement, bound = self._selected(where, _AMOUNT)
        with self.view.writing(content=False) as (connection, owner):
            ((amount,),) = self.view.rows(statement, bound)
            # The amount is a sum of fractions: rounding must not cause a refusal.
            if amount + record.amount > limit * (1 + 1e-9):
                return False
            return written(connection, owner, [Put(record, ABSENT)])

    def drop(self, where: Where) -> int:
        statement, bound = self._selected(where, _DROP_EVERYBODYS if where.everybody else _DROP)
        with self.view.writing(content=False) as (connection, _):
            self.view.rows(statement, bound)
            return connection.changes()

    def _selected(self, where: Where, statement: str) -> tuple[str, dict[str, Any]]:
        """Return a statement with the conditions of a selection, and their values. Raises OutOfScope."""
        if where.everybody and (self.view.owner or self.view.several):
            raise OutOfScope("this concerns the whole index: ask who looks after it")
        bound: dict[str, Any] = {"kind": where.kind}
        names = []
        if where.prefix:
            names.append("prefix")
            bound |= {"prefix": where.prefix, "beyond": f"{where.prefix}\U0010ffff"}
        for name, values in (("key", where.keys), ("user", where.users)):
            if values is None:
                continue
            if len(values) == 1:
                names.append(name)
                (bound[name],) = values
            else:
                names.append(f"{name}s")
                bound[f"{name}s"] = json.dumps(sorted(values), ensure_ascii=False)
        for name, time in (("since", where.since), ("until", where.until)):
            if abs(time) < inf:
                names.append(name)
                bound[name] = time
        conditions = "".join(f" and {_CONDITIONS[name]}" for name in names)
        return statement.replace("{conditions}", conditions), bound

    def kinds(self) -> set[str]:
        return {kind for (kind,) in self.view.rows(_KINDS)}

    def settings(self) -> Mapping[str, str]:
        own = {"owner": self.view.owner} if self.view.owner else {}
        return dict(self.view.known(OWN_SETTINGS if own else SETTINGS, **own))

    @contextmanager
    def lease(self, task: str, waiting: Callable[[str], None] | None = None) -> Iterator[bool]:
        """Hold a task until the block or the process ends; an index in memory has no other users."""
        engine = self.view.engine
        if engine.location == MEMORY:
            yield True
            return
        path = Path(engine.location).expanduser()
        with file_lock(path.with_name(f"{path.name}.{task}.lock"), waiting) as mine:
            if mine:
                with engine.long_task():
                    yield True
            else:
                yield False

    def setting(self, name: str, *, of_index: bool = False) -> str | None:
        if self.view.owner and not of_index:
            rows = self.view.known(OWN_SETTING, name=name, owner=self.view.owner)
        else:
            rows = self.view.known(SETTING, name=name)
        return rows[0][0] if rows else None

    def set(self, name: str, value: str, *changes: Put | Delete, content: bool = True) -> None:
        with self.view.writing(content=content) as (connection, owner):
            statement = PUT_OWN_SETTING if owner else PUT_SETTING
            connection.execute(statement, {"owner": owner, "name": name, "value": value})
            if changes:
                written(connection, owner, changes)


def written(connection: apsw.Connection, owner: int, changes: Sequence[Put | Delete]) -> bool:
    """Carry out changes of an owner's records within the open transaction; return False if the first conflicts."""
    for change in changes:
        if isinstance(change, Delete):
            connection.execute(_DELETE, {"owner": owner, "kind": change.kind, "key": change.key})
            continue
        record = change.record
        if change.expects is not None:
            bound = {"owner": owner, "kind": record.kind, "key": record.key}
            version: Any = connection.execute(_VERSION, bound).get
            if change.expects != (version or ABSENT):
                return False
        connection.execute(
            _PUT,
            {
                "owner": owner,
                "kind": record.kind,
                "key": record.key,
                "user": record.user,
                "time": record.time,
                "amount": record.amount,
                "value": json.dumps(record.value, ensure_ascii=False),
            },
        )
    return True


def _field(name: str) -> str:
    """Return the column of a field, or the place of a field of the value. Names of fields are ours, never users'."""
    if name in ("user", "amount"):
        return name
    return f"json_extract(value, '$.{name}')"


def _record(kind: str, row: Sequence[Any]) -> Record:
    number, key, user, time, amount, version, value, *owner = row
    return Record(kind, key, json.loads(value), user, time, amount, number, version, *(each or "" for each in owner))
