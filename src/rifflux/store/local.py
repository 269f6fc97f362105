"""The protocol of what only an index that is a file on this machine has: derived files, and copies of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from rifflux.store.records import Record
from rifflux.types import Notice, Progress

__all__ = ["LocalFiles"]


class LocalFiles(Protocol):
    """The files of an index. What concerns the whole index raises `OutOfScope` for a named owner's view."""

    @property
    def state(self) -> str:
        """Return the file of users' data if it is separate from the contents, which are then read-only; else empty."""

    def build(self) -> None:
        """Build or update the derived files of a large index, and wait for completion."""

    def leave_building(self) -> None:
        """Build nothing in the background from now on, because another process runs `keep_up`."""

    def keep_up(self, stop: threading.Event) -> Iterator[str]:
        """Update the derived files as other processes change the index, until stopped; yield failures."""

    def backup(self, target: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        """Copy a snapshot of the store to a file, which appears when it is complete.

        A separate state file is copied beside it, with `.state` appended to the name. Raises InvalidArgument for an
        existing file unless `force`, and OutOfScope for a named owner's view.
        """

    def extract(
        self,
        target: Path,
        owners: Sequence[str],
        records: Sequence[Record],
        *,
        settings: Collection[str],
        may_leave: Callable[[str, str | None], bool],
        model: str | None,
        progress: Progress | None = None,
    ) -> int:
        """Copy the documents of some owners to a new file, with these records and nothing else.

        It contains nothing of other owners, no other records, and no files and their paths: documents remain, without a
        file. Only the named settings are copied. Documents whose namespace and
        license `may_leave` rejects are omitted, and their number is returned. `model` is the spec of the model in the
        copy, None for no vectors. Raises OutOfScope as `backup` does.
        """

    def troubles(self) -> list[Notice]:
        """Return why answers are slower than possible: derived files that cannot be used."""

    def notices(self) -> list[Notice]:
        """Return notices on chosen settings that have no effect, with the reason, and on copies of earlier versions."""
