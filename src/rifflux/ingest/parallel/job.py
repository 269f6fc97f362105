"""From a file to what the store keeps of it: all of indexing that needs nothing but the file, wherever it is done."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from rifflux.errors import Unreadable
from rifflux.ingest.chunking.chunker import blocks_of
from rifflux.ingest.prepare import Preparer
from rifflux.ingest.read import READER_VERSION, read, read_lines, reader_for
from rifflux.ingest.read.base import File
from rifflux.ingest.walk.find import Found
from rifflux.store import DocumentChange, FileState
from rifflux.types import Document, Failure, Parsed

__all__ = ["UNFINISHED", "FileChange", "Given", "Job", "Lines", "Outcome", "do", "fingerprint", "is_current"]

#: How much of a file is looked at to tell whether any reader takes it.
HEAD_BYTES = 8192
#: Stands for the hash of a file of which not all is stored yet, so that an interrupted run is noticed.
UNFINISHED = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Some whole lines of a JSON Lines file, the first of which has the number `first`."""

    first: int
    data: bytes
    last: bool


@dataclass(frozen=True, slots=True)
class Job:
    """A file to read; it is not parsed if its content has the hash `known`, and not even opened if it is `unchanged`.

    With `lines`, only those are meant, and `known` is the hash that the file will be remembered by.
    """

    root: str
    found: Found
    known: str = ""
    unchanged: bool = False
    lines: Lines | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.root}/{self.found.path}"

    @property
    def size(self) -> int:
        """Bytes to read."""
        return len(self.lines.data) if self.lines else self.found.size


@dataclass(frozen=True, slots=True)
class Given:
    """A document that a program gives, to prepare for a collection."""

    collection: str
    document: Document

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.collection}/{self.document.key}"

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        return len(self.document.text)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file as it shall be remembered, and documents of it to store, each with its collection.

    `keep` are the keys of all documents that it shall have; None leaves those it has.
    """

    state: FileState
    documents: Sequence[tuple[str, DocumentChange]] = ()
    keep: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job. `change` is None where nothing is to be stored; `numbers` are the documents' lines.

    `prepared` is a document that was given.
    """

    change: FileChange | None = None
    failures: tuple[Failure, ...] = ()
    numbers: tuple[int, ...] = ()
    prepared: DocumentChange | None = None


def do(job: Job | Given, prepare: Preparer) -> Outcome:
    """Read, chunk and analyze what a job is about."""
    if isinstance(job, Given):
        document = job.document
        return Outcome(prepared=prepare(job.collection, document, blocks_of(document), document.key))
    return _file(job, prepare) if job.lines is None else _lines(job, job.lines, prepare)


def fingerprint(digest: str) -> str:
    """Identifies what was read and by which version of the readers, so that better ones read a file anew."""
    return f"{READER_VERSION}:{digest}"


def is_current(hash: str) -> bool:
    """Whether what was read is what the readers of today would read."""
    return hash.startswith(fingerprint(""))


def _file(job: Job, prepare: Preparer) -> Outcome:
    found = job.found
    if job.unchanged:
        return Outcome(FileChange(FileState(found.path, found.size, found.mtime_ns, job.known)))
    try:
        data = _bytes(found.absolute, found.path)
    except OSError as error:
        return Outcome(failures=(_failure(job, found.path, f"cannot be read: {error.strerror}"),))
    if data is None:
        return Outcome()
    hash = fingerprint(blake2b(data, digest_size=16).hexdigest())
    state = FileState(found.path, found.size, found.mtime_ns, hash)
    if job.known == hash:
        return Outcome(FileChange(state))
    try:
        parts = read(File(found.path, data, found.created_at, found.updated_at))
    except Unreadable as error:
        # What an earlier, readable state of the file gave stays findable until the file is mended or gone.
        return Outcome(FileChange(replace(state, problem=str(error))), (_failure(job, found.path, str(error)),))
    documents = [_prepared(job, part, prepare) for part in parts if isinstance(part, Parsed)]
    failures = tuple(_failure(job, part.path, part.reason) for part in parts if isinstance(part, Failure))
    return Outcome(FileChange(state, documents, [document.document.key for _, document in documents]), failures)


def _lines(job: Job, lines: Lines, prepare: Preparer) -> Outcome:
    found = job.found
    file = File(found.path, lines.data, found.created_at, found.updated_at)
    try:
        parts = read_lines(file, lines.first)
    except Unreadable as error:
        parts = [(lines.first, Failure(f"{found.path}:{lines.first}", str(error)))]
    good = [(number, part) for number, part in parts if isinstance(part, Parsed)]
    failures = tuple(_failure(job, part.path, part.reason) for _, part in parts if isinstance(part, Failure))
    state = FileState(found.path, found.size, found.mtime_ns, UNFINISHED)
    change = FileChange(state, [_prepared(job, part, prepare) for _, part in good])
    return Outcome(change, failures, tuple(number for number, _ in good))


def _prepared(job: Job, part: Parsed, prepare: Preparer) -> tuple[str, DocumentChange]:
    """A document with the collection it belongs to: its own is the root's, a record's is its file."""
    key, path = part.document.key, job.found.path
    collection = job.root if key == path else f"{job.root}/{path}"
    return collection, prepare(collection, part.document, part.blocks, path)


def _bytes(absolute: Path, path: str) -> bytes | None:
    """The file's content, or None for one that no reader takes: only its first bytes were read then."""
    with absolute.open("rb") as file:
        head = file.read(HEAD_BYTES)
        return head + file.read() if reader_for(path, head) else None


def _failure(job: Job, path: str, reason: str) -> Failure:
    return Failure(f"{job.root}/{path}", reason)
