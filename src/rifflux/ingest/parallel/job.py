"""Turn a file into what the store holds: the part of indexing that needs the file alone, in any process."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, pairwise
from typing import TypeVar

from rifflux.errors import Unreadable
from rifflux.ingest.chunking import blocks_of
from rifflux.ingest.prepare import Preparer
from rifflux.ingest.read import READER_VERSION, read, read_lines, reader_for
from rifflux.ingest.read.base import File
from rifflux.ingest.read.jsonl import Records
from rifflux.ingest.read.unread import kind_of, reason_of
from rifflux.ingest.walk.find import FoundFile
from rifflux.ingest.walk.inside import Place
from rifflux.store import DocumentChange, FileState
from rifflux.types import Document, Failure, LeftOut, Parsed

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
class ReadJob:
    """A file to read; it is not parsed if its content has the hash `known`, and not even opened if it is `unchanged`.

    With `lines`, only those are meant, and `known` is the hash that the file will be remembered by. Messages call it by
    its `name`; its `size` is the number of bytes to read. Its documents are analyzed in `language`, empty for that of
    the index.
    """

    root: str
    found: FoundFile
    known: str = ""
    unchanged: bool = False
    lines: Lines | None = None
    language: str = ""

    @property
    def name(self) -> str:
        return f"{self.root}/{self.found.path}"

    @property
    def size(self) -> int:
        if self.lines:
            return len(self.lines.data)
        return self.found.size


@dataclass(frozen=True, slots=True)
class Given:
    """A document that a program gives, to prepare for a namespace; named and measured as a file is."""

    namespace: str
    document: Document

    @property
    def name(self) -> str:
        return f"{self.namespace}/{self.document.key}"

    @property
    def size(self) -> int:
        return len(self.document.text)


#: What is to be done: files to read, or documents to prepare.
Task = TypeVar("Task", bound=ReadJob | Given)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file as it shall be remembered, and documents of it to store, each with its namespace.

    `keep` are the keys of all documents that it shall have; None leaves those it has.
    """

    state: FileState
    documents: Sequence[tuple[str, DocumentChange]] = ()
    keep: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job. `change` is None if nothing is to be stored; `numbers` are the documents' lines.

    `prepared` is a document that was given, `left_out` a file that no reader takes.
    """

    change: FileChange | None = None
    failures: tuple[Failure, ...] = ()
    numbers: tuple[int, ...] = ()
    prepared: DocumentChange | None = None
    left_out: LeftOut | None = None


def do(job: ReadJob | Given, prepare: Preparer) -> JobResult:
    """Read, chunk and analyze the file or document of a job."""
    if isinstance(job, Given):
        document = job.document
        return JobResult(prepared=prepare(job.namespace, document, blocks_of(document), document.key))
    if job.lines is None:
        return _file(job, prepare)
    return _lines(job, job.lines, prepare)


def fingerprint(digest: str, language: str = "") -> str:
    """Identify what was read, by which version of the readers and in which language it was analyzed.

    A file whose fingerprint differs is read again.
    """
    how = f"{READER_VERSION}-{language}" if language else READER_VERSION
    return f"{how}:{digest}"


def is_current(hash: str, language: str = "") -> bool:
    """Return True if today's readers would read and analyze a file as it was when it got this fingerprint."""
    return hash.startswith(fingerprint("", language))


def _file(job: ReadJob, prepare: Preparer) -> JobResult:
    found = job.found
    if job.unchanged:
        return JobResult(FileChange(FileState(found.path, found.size, found.mtime_ns, job.known)))
    try:
        head, data = _bytes(found)
    except OSError as error:
        return JobResult(failures=(_failure(job, found.path, f"cannot be read: {error.strerror}"),))
    if data is None:
        kind = kind_of(found.path, head)
        return JobResult(left_out=LeftOut(job.name, reason_of(kind), kind))
    hash = fingerprint(blake2b(data, digest_size=16).hexdigest(), job.language)
    state = FileState(found.path, found.size, found.mtime_ns, hash)
    if job.known == hash:
        return JobResult(FileChange(state))
    try:
        parts = read(File(found.path, data, found.created_at, found.updated_at))
    except Unreadable as error:
        # What an earlier, readable state of the file gave stays findable until the file is mended or gone.
        return JobResult(FileChange(replace(state, problem=str(error))), (_failure(job, found.path, str(error)),))
    documents, failures = _prepared(job, parts, prepare)
    return JobResult(FileChange(state, documents, [change.document.key for _, change in documents]), failures)


def _lines(job: ReadJob, lines: Lines, prepare: Preparer) -> JobResult:
    found = job.found
    file = File(found.path, lines.data, found.created_at, found.updated_at)
    try:
        parts = read_lines(file, lines.first)
    except Unreadable as error:
        parts = [(lines.first, Failure(f"{found.path}:{lines.first}", str(error)))]
    documents, failures = _prepared(job, [part for _, part in parts], prepare)
    state = FileState(found.path, found.size, found.mtime_ns, UNFINISHED)
    numbers = tuple(number for number, part in parts if isinstance(part, Parsed))
    return JobResult(FileChange(state, documents), failures, numbers)


def _prepared(
    job: ReadJob, parts: Sequence[Parsed | Failure], prepare: Preparer
) -> tuple[list[tuple[str, DocumentChange]], tuple[Failure, ...]]:
    """Return the documents, each with the namespace it belongs to, and the failures of a file.

    The namespace of a document is the root's, of a record its file.
    """
    path = job.found.path
    documents = []
    failures = []
    for part in parts:
        if isinstance(part, Failure):
            failures.append(_failure(job, part.path, part.reason))
        else:
            if part.document.key == path:
                namespace = job.root
            else:
                namespace = f"{job.root}/{path}"
            if job.language:
                document = replace(part.document, language=job.language)
            else:
                document = part.document
            documents.append((namespace, prepare(namespace, document, part.blocks, path)))
    return documents, tuple(failures)


def _bytes(found: FoundFile) -> tuple[bytes, bytes | None]:
    """Return the first bytes of a file, and its content; None for a file that no reader takes, which is not read on."""
    with found.place.open() as file:
        head = file.read(HEAD_BYTES)
        return head, head + file.read() if reader_for(found.path, head) else None


def _failure(job: ReadJob, path: str, reason: str) -> Failure:
    return Failure(f"{job.root}/{path}", reason)


# JSON Lines files too large to hold: their lines, some at a time


#: Files up to this many bytes are read as a whole.
WHOLE = 2**20
#: Bytes of a stretch of lines: some hundred records, and little next to what is made of them.
STRETCH = 2**18
_BLOCK = 2**20


def jobs_of(job: ReadJob) -> Iterator[ReadJob]:
    """Yield the jobs that reading a file takes: one, or for a long file of lines many."""
    found = job.found
    if found.size <= WHOLE or not found.path.lower().endswith((".jsonl", ".ndjson")):
        yield job
        return
    try:
        hash, plain = scan(found.place, job.language)
        if hash == job.known or not plain:
            yield replace(job, unchanged=hash == job.known)
        else:
            yield from (replace(job, known=hash, lines=lines) for lines in lines_of(found.place))
    except OSError:
        yield job  # which will tell why it cannot be read


def scan(place: Place, language: str = "") -> tuple[str, bool]:
    """Return the fingerprint of a file, and whether its lines can be parted without decoding it as a whole.

    They can in UTF-8 where only line feeds end lines. Raises `OSError`.
    """
    digest = blake2b(digest_size=16)
    plain = True
    for block in _blocks(place, _BLOCK):
        digest.update(block)
        plain = plain and _is_plain(block)
    return fingerprint(digest.hexdigest(), language), plain


def _is_plain(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in block and block.count(b"\r") == block.count(b"\r\n")


def lines_of(place: Place) -> Iterator[Lines]:
    """Yield the lines of a file, some at a time."""
    first = 1
    for data, following in pairwise(chain(_blocks(place, STRETCH), [b""])):
        yield Lines(first, data, last=not following)
        first += data.count(b"\n")


def _blocks(place: Place, size: int) -> Iterator[bytes]:
    """Yield the content in blocks of about `size` bytes that end with a line."""
    with place.open() as file:
        while block := file.read(size):
            yield block + file.readline()


def assembled(records: Records, job: ReadJob, outcome: JobResult) -> JobResult:
    """Return the outcome to store for some lines; after the last, with the file's hash and all failures."""
    change = outcome.change
    assert job.lines
    assert change
    for (_, document), number in zip(change.documents, outcome.numbers, strict=True):
        records.add(document.document.key, number)
    for failure in outcome.failures:
        records.fail(failure)
    if not job.lines.last:
        return JobResult(change)
    state = replace(change.state, hash=job.known)
    try:
        failures = records.all_failures()
    except Unreadable as error:
        return JobResult(FileChange(replace(state, problem=str(error))), (Failure(job.name, str(error)),))
    return JobResult(replace(change, state=state, keep=records.lines.keys()), tuple(failures))
