"""Records: small values of a kind under a key, with versions and leases, for whatever is kept beside documents.

What they mean (tokens, collections, usage, events, jobs) and the rules for them are in `rifflux.service`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

__all__ = [
    "ABSENT",
    "ALWAYS",
    "KEY",
    "OF_CONTENTS",
    "RECORDS",
    "TOKEN",
    "Delete",
    "Put",
    "Record",
    "Records",
    "Sum",
    "Where",
    "changed",
    "summed",
]

#: Separates the parts of a key; no name contains it.
KEY = "\x1e"
#: The version of a record that does not exist.
ABSENT = ""
#: The time of a record that does not end, in seconds since 1970.
ALWAYS = 1e15
#: The number of records in a page of a scan.
RECORDS = 1_000
#: The kind of tokens; those that are valid begin a state file.
TOKEN = "token"
#: The kinds that decide who reads the contents, and remain with these where all other records are in a state file.
OF_CONTENTS = frozenset({"collection", "grant", "group", "member"})


@dataclass(frozen=True, slots=True)
class Record:
    """A record: its kind and key, a JSON object, and what records are selected and summed by.

    `user` is whom it concerns, `time` is in seconds since 1970. `number` grows in the order of creation and is never
    used again, `version` changes with every write, `owner` is the name of the owner; these three are the engine's.
    """

    kind: str
    key: str
    value: Mapping[str, Any] = field(default_factory=dict)
    user: str = ""
    time: float = 0.0
    amount: float = 0.0
    number: int = 0
    version: str = ABSENT
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Where:
    """A selection of records of a kind: all conditions hold. `since` is included, `until` is not.

    `everybody` selects from all owners, which only the view of the whole index may do. With `recent`, what another
    process changed in the last second may be missing.
    """

    kind: str
    prefix: str = ""
    keys: Collection[str] | None = None
    users: Collection[str] | None = None
    since: float = -inf
    until: float = inf
    everybody: bool = False
    recent: bool = False


@dataclass(frozen=True, slots=True)
class Put:
    """A record to store, if it has still the version `expects`: `ABSENT` for a new one, None for any."""

    record: Record
    expects: str | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """A record to delete."""

    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class Sum:
    """The records that agree in some fields: the values of these, the number of records, and totals."""

    keys: tuple[str, ...]
    count: int
    totals: tuple[float, ...]


class Records(Protocol):
    """The records of one owner; those of the unnamed owner concern the whole index.

    Further specified by `testing.RecordsContract`. Writing through a view of several owners raises OutOfScope.
    """

    @property
    def read_only(self) -> bool:
        """Return True if nothing can be recorded."""

    def get(self, kind: str, key: str, *, recent: bool = False) -> Record | None:
        """Return a record, or None; with `recent`, as it was in the last second."""

    def write(self, *changes: Put | Delete) -> bool:
        """Carry out all changes; return False, and change nothing, if a record has another version than expected.

        Only the first change may expect a version. Without `Capability.TRANSACTIONS` it is carried out before the
        others, so an interruption may leave out some of these.
        """

    def scan(self, where: Where, *, after: int = 0, most: int | None = None, newest: bool = False) -> Iterator[Record]:
        """Yield records by number from behind the number `after`, at most `most`; with `newest`, in reverse.

        They are read in pages of `RECORDS`.
        """

    def sum(self, where: Where, by: Sequence[str], of: Sequence[str] = ()) -> Sequence[Sum]:
        """Return the sums of records by fields, which are `user` or fields of the value, sorted.

        `of` are the fields to total: `amount` or fields of the value.
        """

    def reserve(self, record: Record, where: Where, limit: float) -> bool:
        """Store a new record unless its amount, with those of other records, exceeds a limit; return False if it does.

        No process stores another such record of the same user in between.
        """

    def drop(self, where: Where) -> int:
        """Delete records; return their number."""

    def kinds(self) -> Collection[str]:
        """Return the kinds of the records, without those that only coordinate processes."""

    def settings(self) -> Mapping[str, str]:
        """Return the owner's settings by name; those of several owners together are none."""

    def lease(self, task: str, waiting: Callable[[str], None] | None = None) -> AbstractContextManager[bool]:
        """Hold a task exclusively, such as `embed`, until the block or the process ends.

        If another process has it, `waiting` is called with that process's name and this one waits; without `waiting`,
        the block gets False at once. Nothing else is excluded.
        """

    def setting(self, name: str, *, of_index: bool = False) -> str | None:
        """Return a setting's value, or None. Each owner has its own; those `of_index` every owner may read."""

    def set(self, name: str, value: str, *changes: Put | Delete, content: bool = True) -> None:
        """Store a setting, and carry out changes of records with it, as `write` does.

        Without `content`, it does not affect search results.
        """


def changed(
    records: Records, kind: str, key: str, change: Callable[[Record], Record | None], *also: Put | Delete
) -> bool:
    """Change a record, and what else belongs to that, whoever else changes it meanwhile.

    `change` gets the record as it is, and returns None to leave it so. Returns False for that, or without a record.
    """
    while (known := records.get(kind, key)) is not None:
        new = change(known)
        if new is None:
            return False
        if records.write(Put(new, known.version), *also):
            return True
    return False


def summed(records: Iterable[Record], by: Sequence[str], of: Sequence[str]) -> list[Sum]:
    """Return the sums of records that were read, as `Records.sum` does."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for each in records:
        groups.setdefault(tuple(_field(each, name) for name in by), []).append(each)
    return [
        Sum(keys, len(groups[keys]), tuple(sum(_field(each, name) for each in groups[keys]) for name in of))
        for keys in sorted(groups)
    ]


def _field(record: Record, name: str) -> Any:
    if name == "user":
        return record.user
    if name == "amount":
        return record.amount
    return record.value[name]
