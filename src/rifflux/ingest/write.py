"""Storing files in small groups: a commit costs about as much as writing a hundred chunks, so files share one.

A file is always whole within its transaction. (A thread for writing would be slower: the engine gives up the
interpreter's lock at every row, and waits its turn to get it back.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from rifflux.store.base import DocumentChange, FileState, Placed, Store

__all__ = ["FileChange", "Writer"]

#: Chunks that share a transaction: what an interruption may cost, about a third of a second.
GROUP = 1024


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file as it shall be remembered, with its documents by collection; None leaves those it has."""

    state: FileState
    documents: Sequence[tuple[str, DocumentChange]] | None = None


@dataclass(slots=True)
class Writer:
    """Stores the changes of a root's files; leaving the block stores what still waits, unless an error ends it."""

    store: Store
    root: str
    _waiting: list[FileChange] = field(default_factory=list)
    _chunks: int = 0

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.flush()

    def add(self, change: FileChange) -> None:
        """Store a change, now or together with the next ones."""
        self._waiting.append(change)
        self._chunks += sum(len(document.chunks) for _, document in change.documents or ()) + 1
        if self._chunks >= GROUP:
            self.flush()

    def flush(self) -> None:
        """Store what waits, in one transaction."""
        waiting, self._waiting, self._chunks = self._waiting, [], 0
        if waiting:
            with self.store.transaction():
                for change in waiting:
                    documents = change.documents
                    keep = None if documents is None else [document.document.key for _, document in documents]
                    self.store.put_file(self.root, change.state, keep)
                self.store.put_all(placed for change in waiting for placed in self._placed(change))

    def _placed(self, change: FileChange) -> Iterator[Placed]:
        for collection, document in change.documents or ():
            yield Placed(collection, document, (self.root, change.state.path))
