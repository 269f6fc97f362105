"""Limits on files and texts sent by users."""

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

    The file is read inside the context that `place` returns, which is left before anything is stored: a service limits
    the number of files read concurrently. `document_chunks` and `request_chunks` limit the chunks of one document and
    of the whole import; None is no limit. `progress` is called with each stage and may raise to cancel the import;
    inside the storing transaction it receives how much is stored.
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
                f"{name!r} has {chunks:,} chunks; the limit of a document here is {self.document_chunks:,}: split it"
            )

    def check_request(self, chunks: int) -> None:
        """Raise `InvalidArgument` for more chunks than one import may add."""
        if self.request_chunks is not None and chunks > self.request_chunks:
            raise InvalidArgument(
                f"it has more than {self.request_chunks:,} chunks, the limit of one import here: send it in parts"
            )

    def check(self, documents: Iterable[tuple[str, int]]) -> None:
        """Raise `InvalidArgument` for too many chunks in one document or in total, given names and counts."""
        total = 0
        for name, chunks in documents:
            self.check_document(name, chunks)
            total += chunks
        self.check_request(total)

    def may_be_too_long(self, characters: int) -> bool:
        """Return True if a text of that many characters may have too many chunks: all but one contain a character."""
        return self.document_chunks is not None and characters >= self.document_chunks

    def may_exceed(self, documents: int, characters: int) -> bool:
        """Return True if documents of that total size may have too many chunks: all but one contain a character."""
        return self.request_chunks is not None and documents + characters > self.request_chunks


#: For the caller's own files: no limits.
UNBOUNDED = Intake()
