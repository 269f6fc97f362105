"""Limits on files and texts that somebody sends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rifflux.errors import InvalidArgument

if TYPE_CHECKING:
    from rifflux.types import Progress


@dataclass(frozen=True, slots=True)
class Intake:
    """Limits and progress of one import.

    The file is read inside the context that `place` returns, which is left before anything is stored: a service lets
    only so many files be read at a time. `document_chunks` and `request_chunks` bound the chunks of one document and of
    the whole import; None is no bound. `progress` is called with each stage, and may raise to end the import. It learns
    how much is stored within the transaction that stores it.
    """

    place: Callable[[], AbstractContextManager[object]] = nullcontext
    document_chunks: int | None = None
    request_chunks: int | None = None
    progress: Progress | None = None

    def report(self, stage: str, done: int, total: int | None) -> None:
        """Report `done` of `total` of a stage."""
        if self.progress:
            self.progress(stage, done, total)

    def check_document(self, name: str, chunks: int) -> None:
        """Raise `InvalidArgument` for a document with too many chunks."""
        if self.document_chunks is not None and chunks > self.document_chunks:
            raise InvalidArgument(
                f"{name!r} has {chunks:,} chunks, and a document may have {self.document_chunks:,} here: split it"
            )

    def check_request(self, chunks: int) -> None:
        """Raise `InvalidArgument` for more chunks than one import may bring."""
        if self.request_chunks is not None and chunks > self.request_chunks:
            raise InvalidArgument(
                f"it brings more than {self.request_chunks:,} chunks, the limit of one import here: send it in parts"
            )

    def check(self, documents: Iterable[tuple[str, int]]) -> None:
        """Raise `InvalidArgument` for more chunks than are taken, in a document or in all, by names and counts."""
        total = 0
        for name, chunks in documents:
            self.check_document(name, chunks)
            total += chunks
        self.check_request(total)

    def may_be_too_long(self, characters: int) -> bool:
        """Return True if a text of that size may have too many chunks: each chunk but one holds a character."""
        return self.document_chunks is not None and characters >= self.document_chunks

    def may_exceed(self, documents: int, characters: int) -> bool:
        """Return True if texts of that size may bring too many chunks: each chunk but one holds a character."""
        return self.request_chunks is not None and documents + characters > self.request_chunks


#: For one's own files: without limits.
UNBOUNDED = Intake()
