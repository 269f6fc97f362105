"""The registry of a read-only index: users' data is stored in another file, the state.

The state is an index as well, without documents: it is checked, copied and migrated like any other. Settings,
collections and groups, which determine the contents and who may read them, stay with the contents. So no transaction
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

#: The setting of a state that records that its initial tokens were copied.
_STATE_KEY = "state"
_HOLDS_DOCUMENTS = "select exists (select 1 from document)"


@dataclass(frozen=True, slots=True)
class ApartRegistry(SqliteRegistry):
    """The registry of one owner in two files: `view` is that of the state, `index` the read-only registry."""

    index: SqliteRegistry

    def begin(self) -> None:
        """Copy the valid tokens of the index to a new state; later ones of either are not shared.

        This allows an index that is handed on to include its first tokens.
        """
        if self.read_only or SqliteRegistry.setting(self, _STATE_KEY):
            return
        with self.view.writing(content=False):
            if SqliteRegistry.setting(self, _STATE_KEY):  # another process was faster
                return
            for token in self.index.tokens():
                found = self.index.token(token.id)
                if found and token.revoked_at is None:
                    self.put_token(*found)
            SqliteRegistry.set(self, _STATE_KEY, "begun", content=False)

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
        """Delete a user's data in the state. Raises `ReadOnlyIndex` if the index has data of the user, too."""
        if user in self.index.sharing.users():
            raise ReadOnlyIndex(
                f"the index has something of {user} and is only read beside a state file: delete {user} where it can "
                "be written, without a state file, then here again"
            )
        return SqliteRegistry.erase(self, user, entry)


@dataclass(frozen=True, slots=True)
class ApartSharing(SqliteSharing):
    """Collections and their readers in a read-only index; some users may only be in its `state`."""

    state: OwnerView

    def users(self) -> frozenset[str]:
        return SqliteSharing.users(self) | SqliteSharing(self.state).users()


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
