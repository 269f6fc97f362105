"""Records of the whole index: rows of no owner, each of a kind, with a name, and its value as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rifflux.errors import Conflict
from rifflux.store.opensearch.engine import WORLD, ClusterIndex, OwnedRows, row_id
from rifflux.store.opensearch.filters import JSON, terms

#: How often a change is tried again that somebody else's interferes with.
TRIES = 50


@dataclass(frozen=True, slots=True)
class WorldRows:
    """The records of an index. A change of one record is one write, and fails if somebody else changed it meanwhile."""

    engine: ClusterIndex

    @property
    def rows(self) -> OwnedRows:
        """Return the rows that belong to no owner."""
        return OwnedRows(self.engine, (WORLD,))

    def id(self, kind: str, name: str) -> str:
        """Return the id of a record."""
        return row_id(WORLD, kind, name)

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return a record as it is now, or None."""
        found = self.read(kind, name)
        return found[0] if found else None

    def read(self, kind: str, name: str) -> tuple[dict[str, Any], tuple[int, int]] | None:
        """Return a record with its version, or None."""
        id = self.id(kind, name)
        row = self.rows.get([id]).get(id)
        return (json.loads(row["value"]), row["_seq"]) if row else None

    def all(self, kind: str, *conditions: JSON, order: Sequence[Any] = (), most: int | None = None) -> Iterator[Any]:
        """Yield the records of a kind that meet conditions."""
        for row in self.rows.scan(kind, conditions, ("value",), order, most):
            yield json.loads(row["value"])

    def names(self, kind: str, *conditions: JSON) -> list[str]:
        """Return the names of the records of a kind that meet conditions."""
        return [row["name"] for row in self.rows.scan(kind, conditions, ("name",))]

    def row(self, kind: str, name: str, value: Mapping[str, Any], *, user: str, time: float) -> JSON:
        """Return the row of a record."""
        return {"type": kind, "name": name, "value": json.dumps(value), "user": user, "order": time}

    def put(self, kind: str, name: str, value: Mapping[str, Any], *, user: str = "", time: float = 0.0) -> None:
        """Store a record."""
        row = self.row(kind, name, value, user=user, time=time)
        self.rows.write([("index", self.id(kind, name), row)])

    def put_if(
        self,
        kind: str,
        name: str,
        value: Mapping[str, Any],
        version: tuple[int, int] | None,
        *,
        user: str = "",
        time: float = 0.0,
    ) -> bool:
        """Store a record if it has still this version, or is still missing; return False if not."""
        row = self.row(kind, name, value, user=user, time=time)
        return self.put_row(self.id(kind, name), row, version)

    def put_row(self, id: str, row: JSON, version: tuple[int, int] | None) -> bool:
        """Store a row if it has still this version, or is still missing; return False if not."""
        parameters: JSON = {"routing": self.rows.routing}
        if version is None:
            parameters["op_type"] = "create"
        else:
            parameters |= {"if_seq_no": version[0], "if_primary_term": version[1]}
        body = {**row, "owner": WORLD, "row": id}
        client = self.engine.client
        try:
            self.engine.call(client.index, index=self.engine.address.name, id=id, body=body, params=parameters)
        except Conflict:
            return False
        self.engine.unrefreshed.add("")
        self.engine.recent.clear()
        return True

    def delete(self, kind: str, names: Iterable[str]) -> int:
        """Delete records by name; return how many there were."""
        answers = self.rows.write([("delete", self.id(kind, name), None) for name in names])
        return sum(each["status"] == 200 for each in answers)

    def delete_where(self, kind: str, *conditions: JSON) -> int:
        """Delete the records of a kind that meet conditions; return how many."""
        return self.delete(kind, self.names(kind, *conditions))


def of_user(user: str | None) -> list[JSON]:
    """Return the conditions for the records of a user, or for all."""
    return [] if user is None else [terms("user", [user])]


def between(since: float, until: float | None) -> JSON:
    """Return a condition for the records of a period."""
    ends = {"gte": since}
    if until is not None:
        ends["lt"] = until
    return {"range": {"order": ends}}
