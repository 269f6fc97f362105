"""Storing files in small groups: a commit costs about as much as writing a hundred chunks, so files share one.

A document is always whole within its transaction, and so is a file, unless it is a long one of many records. (A thread
for writing would be slower: the engine gives up the interpreter's lock at every row and waits to get it back.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType

from rifflux.ingest.parallel.job import FileChange
from rifflux.store import Placed, Store

__all__ = ["BatchWriter"]

#: Chunks that share a transaction: what an interruption may cost, about a third of a second.
GROUP = 1024


@dataclass(slots=True)
class BatchWriter:
    """Stores the changes of a root's files; leaving the block stores what still waits, unless an error ends it."""

    store: Store
    root: str
    _waiting: list[FileChange] = field(default_factory=list)
    _chunks: int = 0

    def __enter__(self) -> BatchWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.flush()

    def add(self, change: FileChange) -> None:
        """Store a change, now or together with the next ones."""
        self._waiting.append(change)
        self._chunks += sum(len(document.chunks) for _, document in change.documents) + 1
        if self._chunks >= GROUP:
            self.flush()

    def flush(self) -> None:
        """Store what waits, in one transaction."""
        waiting, self._waiting, self._chunks = self._waiting, [], 0
        if waiting:
            with self.store.transaction():
                for change in waiting:
                    self.store.catalog.put_file(self.root, change.state, change.keep)
                self.store.catalog.put_all(placed for change in waiting for placed in self._placed(change))

    def _placed(self, change: FileChange) -> Iterator[Placed]:
        for collection, document in change.documents:
            yield Placed(collection, document, (self.root, change.state.path))
