"""The records of a read-only index: users' data is stored in another file, the state.

The state is an index as well, without documents: it is checked, copied and migrated like any other. Settings,
collections and groups, which determine the contents and who may read them, stay with the contents. So no transaction
ever spans both files, and each may be replaced by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rifflux.errors import InvalidArgument, ReadOnlyIndex
from rifflux.store.records import OF_CONTENTS, TOKEN, Delete, Put, Record, Sum, Where
from rifflux.store.sqlite.connection.connect import MEMORY
from rifflux.store.sqlite.connection.engine import Engine, OwnerView
from rifflux.store.sqlite.records.records import SqliteRecords

#: The setting of a state that records that its initial tokens were copied.
_STATE_KEY = "state"
_HOLDS_DOCUMENTS = "select exists (select 1 from document)"
_MENTIONS = """
select exists (select 1 from service_record where user = :user)
    or exists (select 1 from owner where name = :user or substr(name, 1, length(:part)) = :part)"""


@dataclass(frozen=True, slots=True)
class ApartRecords(SqliteRecords):
    """The records of one owner in two files: `view` is that of the state, `index` has those of the read-only index."""

    index: SqliteRecords

    def begin(self) -> None:
        """Copy the valid tokens of the index to a new state; later ones of either are not shared.

        This allows an index that is handed on to include its first tokens.
        """
        if self.read_only or SqliteRecords.setting(self, _STATE_KEY):
            return
        with self.view.writing(content=False):
            if SqliteRecords.setting(self, _STATE_KEY):  # another process was faster
                return
            valid = self.index.scan(Where(TOKEN, since=time.time()))
            SqliteRecords.set(self, _STATE_KEY, "begun", *(Put(each) for each in valid), content=False)

    def get(self, kind: str, key: str, *, recent: bool = False) -> Record | None:
        if kind in OF_CONTENTS:
            return self.index.get(kind, key, recent=recent)
        return SqliteRecords.get(self, kind, key, recent=recent)

    def write(self, *changes: Put | Delete) -> bool:
        if any((each.record.kind if isinstance(each, Put) else each.kind) in OF_CONTENTS for each in changes):
            return self.index.write(*changes)
        return SqliteRecords.write(self, *changes)

    def scan(self, where: Where, *, after: int = 0, most: int | None = None, newest: bool = False) -> Iterator[Record]:
        if where.kind in OF_CONTENTS:
            return self.index.scan(where, after=after, most=most, newest=newest)
        return SqliteRecords.scan(self, where, after=after, most=most, newest=newest)

    def sum(self, where: Where, by: Sequence[str], of: Sequence[str] = ()) -> Sequence[Sum]:
        if where.kind in OF_CONTENTS:
            return self.index.sum(where, by, of)
        return SqliteRecords.sum(self, where, by, of)

    def drop(self, where: Where) -> int:
        if where.kind in OF_CONTENTS:
            # Nothing is written where there is nothing to delete.
            if next(self.index.scan(where, most=1), None) is None:
                return 0
            return self.index.drop(where)
        return SqliteRecords.drop(self, where)

    def kinds(self) -> set[str]:
        return (self.index.kinds() & OF_CONTENTS) | (SqliteRecords.kinds(self) - OF_CONTENTS)

    def settings(self) -> Mapping[str, str]:
        return self.index.settings()

    @contextmanager
    def lease(self, task: str, waiting: Callable[[str], None] | None = None) -> Iterator[bool]:
        with self.index.lease(task, waiting) as mine:
            yield mine

    def setting(self, name: str, *, of_index: bool = False) -> str | None:
        return self.index.setting(name, of_index=of_index)

    def set(self, name: str, value: str, *changes: Put | Delete, content: bool = True) -> None:
        self.index.set(name, value, *changes, content=content)


def check_unmentioned(index: OwnerView, user: str, part: str) -> None:
    """Raise `ReadOnlyIndex` if a read-only index has something of a user."""
    ((mentions,),) = index.rows(_MENTIONS, {"user": user, "part": part})
    if mentions:
        raise ReadOnlyIndex(
            f"the index has something of {user} and is only read beside a state file: delete {user} where it can "
            "be written, without a state file, then here again"
        )


def open_state(location: str, index: str) -> Engine:
    """Open the state file beside an index, or create it. Raises `InvalidArgument` for a file that is not a state."""
    path = Path(location).expanduser()
    beside = Path(index).expanduser()
    if MEMORY in (location, index):
        raise InvalidArgument("a state file goes with an index file: neither can be in memory")
    if path.exists() and path.samefile(beside):
        raise InvalidArgument(f"{location} is the index itself: name another file for the state")
    engine = Engine(location)
    if engine.connection.execute(_HOLDS_DOCUMENTS).get:
        engine.close()
        raise InvalidArgument(f"{location} is an index with documents, no state file: name another file")
    return engine
