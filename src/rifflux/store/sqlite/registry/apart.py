"""The registry of an index that is only read: what users do is kept in another file, the state.

That is an index as well, without documents: it is checked, copied and brought to the tables of today as any other.
What the contents depend on, and who may read them, stays with them: settings, collections, groups. So no transaction
ever spans both files, and each may be replaced by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rifflux.errors import InvalidArgument, ReadOnlyIndex
from rifflux.store.registry import Erased, LogEntry, Sharing
from rifflux.store.sqlite.connection.connect import MEMORY
from rifflux.store.sqlite.connection.engine import Engine
from rifflux.store.sqlite.connection.view import OwnerView
from rifflux.store.sqlite.registry.registry import SqliteRegistry, SqliteSharing

#: The setting of a state that has the tokens it begins with.
_BEGUN = "state"
_HOLDS_DOCUMENTS = "select exists (select 1 from document)"


@dataclass(frozen=True, slots=True)
class ApartRegistry(SqliteRegistry):
    """The registry of one owner in two files: `view` is that of the state, `index` the registry that is only read."""

    index: SqliteRegistry

    def begin(self) -> None:
        """Give a new state the valid tokens of the index: what comes later of either is not the other's.

        An index that is handed on can bring its first tokens so.
        """
        if self.read_only or SqliteRegistry.setting(self, _BEGUN):
            return
        with self.view.writing(content=False):
            if SqliteRegistry.setting(self, _BEGUN):  # another process was faster
                return
            for token in self.index.tokens():
                found = self.index.token(token.id)
                if found and token.revoked_at is None:
                    self.put_token(*found)
            SqliteRegistry.set(self, _BEGUN, "begun", content=False)

    @property
    def sharing(self) -> Sharing:
        return ApartSharing(self.index.view, self._whole)

    @contextmanager
    def claim(self, task: str, waiting: Callable[[str], None] | None = None) -> Iterator[bool]:
        with self.index.claim(task, waiting) as mine:
            yield mine

    def setting(self, name: str) -> str | None:
        return self.index.setting(name)

    def policy(self, name: str) -> str | None:
        return self.index.policy(name)

    def set(self, name: str, value: str, *, content: bool = True, entry: LogEntry | None = None) -> None:
        self.index.set(name, value, content=content, entry=entry)

    def erase(self, user: str, entry: LogEntry | None = None) -> Erased:
        """Delete what the state keeps of a user. Raises `ReadOnlyIndex` if the index has something, too."""
        if user in self.index.sharing.users():
            raise ReadOnlyIndex(
                f"the index has something of {user} and is only read beside a state file: delete {user} where it can "
                "be written, without a state file, then here again"
            )
        return SqliteRegistry.erase(self, user, entry)


@dataclass(frozen=True, slots=True)
class ApartSharing(SqliteSharing):
    """Who has and reads which collection of an index that is only read; users may be in its `state` alone."""

    state: OwnerView

    def users(self) -> frozenset[str]:
        return SqliteSharing.users(self) | SqliteSharing(self.state).users()


def open_state(location: str, index: str) -> Engine:
    """Open the state file beside an index, or make it. Raises `InvalidArgument` for one that is no state."""
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
