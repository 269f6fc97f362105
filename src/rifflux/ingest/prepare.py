"""Preparation of files and documents for the store: the part of indexing that can run in any process.

A job is a file to read, or a document given by a program. Files are read and documents cut into chunks, with their
terms and a hash of the text to embed.
"""

from __future__ import annotations

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import chain, pairwise
from typing import TypeVar

from rifflux.errors import RiffluxError, Unreadable
from rifflux.ingest.chunking import Chunker, blocks_of, chunk_id, embedding_text, hash_of, identity_of
from rifflux.ingest.read import READER_VERSION, read, read_lines, reader_for
from rifflux.ingest.read.base import File
from rifflux.ingest.read.jsonl import JsonLines
from rifflux.ingest.read.machine_made import machine_made
from rifflux.ingest.read.unread import kind_of, reason_of
from rifflux.ingest.walk.find import FoundFile
from rifflux.ingest.walk.inside import Place
from rifflux.store import NAMING, Analysis, AnalyzedChunk, DocumentChange, FileState, StoredChunk
from rifflux.text.analyzer import Analyzer
from rifflux.text.properties import SearchableProperties, key_names, searchable_properties
from rifflux.types import Block, Chunk, Document, Failure, LeftOut, Parsed

#: The number of bytes examined to decide whether any reader takes a file.
HEAD_BYTES = 8192
#: The maximum number of chunks per document of a file: a book has some thousands.
MOST_CHUNKS = 25_000
#: The hash of a file that is only partly stored, so that an interrupted run is noticed.
UNFINISHED = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Consecutive whole lines of a JSON Lines file; the first has the number `first`.

    A line that is `too_long` to be read is on its own, without its data.
    """

    first: int
    data: bytes
    last: bool
    too_long: bool = False


@dataclass(frozen=True, slots=True)
class ReadJob:
    """A file to read; it is not parsed if its content has the hash `known`, and not even opened if `unchanged`.

    With `lines`, only those are read, and `known` is the hash to store for the file. `name` identifies it in messages;
    `size` is the number of bytes to read. Its documents are analyzed in `language`, or the index's if empty. With
    `all_files` it is read even if it is machine-made.
    """

    root: str
    found: FoundFile
    known: str = ""
    unchanged: bool = False
    lines: Lines | None = None
    language: str = ""
    all_files: bool = False

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
    """A document given by a program, to prepare for a namespace; it has a name and size like a file."""

    namespace: str
    document: Document

    @property
    def name(self) -> str:
        return f"{self.namespace}/{self.document.key}"

    @property
    def size(self) -> int:
        return len(self.document.text)


#: The parts of a file, each with its line number, or 0 if the file is read as a whole.
NumberedParts = Sequence[tuple[int, Parsed | Failure]]
#: A job: a file to read, or a document to prepare.
Task = TypeVar("Task", bound=ReadJob | Given)


@dataclass(frozen=True, slots=True)
class FileChange:
    """The state to record for a file, and its documents to store, each with its namespace.

    `keep` are the keys of all documents that the file should have; None leaves the stored ones.
    """

    state: FileState
    documents: Sequence[tuple[str, DocumentChange]] = ()
    keep: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job. `change` is None if nothing is to be stored; `numbers` are the documents' lines.

    `prepared` is a given document, `left_out` a file that no reader takes. `parts` are documents that remain to be
    prepared by a process that can.
    """

    change: FileChange | None = None
    failures: tuple[Failure, ...] = ()
    numbers: tuple[int, ...] = ()
    prepared: DocumentChange | None = None
    left_out: LeftOut | None = None
    parts: NumberedParts | None = None


def do(job: ReadJob | Given, prepare: Preparer | None) -> JobResult:
    """Read, chunk and analyze the file or document of a job; without `prepare`, only read it."""
    if isinstance(job, Given):
        if prepare is None:
            return JobResult()
        document = job.document
        return JobResult(prepared=prepare(job.namespace, document, blocks_of(document), document.key))
    if job.lines is None:
        return _file(job, prepare)
    return _lines(job, job.lines, prepare)


def fingerprint(digest: str, language: str = "") -> str:
    """Return the fingerprint of content read by the current readers and analyzed in a language.

    A file whose fingerprint differs is read again.
    """
    how = f"{READER_VERSION}-{language}" if language else READER_VERSION
    return f"{how}:{digest}"


def is_current(hash: str, language: str = "") -> bool:
    """Return True if a fingerprint is by the current readers and in the given language."""
    return hash.startswith(fingerprint("", language))


def given_up(job: ReadJob | Given, reason: str, kind: str, limits: str = "") -> JobResult:
    """Return the result of a job that could not be finished, with the reason and its kind.

    If it exceeded `limits`, the file is not tried again until it or they change.
    """
    if isinstance(job, Given):
        return JobResult(failures=(Failure(job.name, reason, kind=kind),))
    if job.lines:
        failure = Failure(f"{job.name}:{job.lines.first}", reason, kind=kind)
        return JobResult(FileChange(job.found.state(UNFINISHED)), (failure,))
    failures = (Failure(job.name, reason, kind=kind),)
    if not limits:
        return JobResult(failures=failures)
    return JobResult(FileChange(job.found.state(fingerprint(limits, job.language), reason, kind)), failures)


def exceeded(hash: str) -> str:
    """Return the limits that a file with this fingerprint exceeded, or an empty string if it was read."""
    content = hash.partition(":")[2]
    if content.startswith("limits "):
        return content
    return ""


def finished(job: ReadJob | Given, outcome: JobResult, prepare: Preparer) -> JobResult:
    """Return a result with its remaining parts prepared."""
    if isinstance(job, Given) or outcome.parts is None:
        return outcome
    assert outcome.change
    return _result(job, outcome.change.state, outcome.parts, prepare)


def _file(job: ReadJob, prepare: Preparer | None) -> JobResult:
    found = job.found
    if job.unchanged:
        return JobResult(FileChange(found.state(job.known)))
    try:
        with found.place.open() as file:
            head = file.read(HEAD_BYTES)
            if reader_for(found.path, head) is None:
                kind = kind_of(found.path, head)
                return JobResult(left_out=LeftOut(job.name, reason_of(kind), kind))
            data = head + file.read()
            if not job.all_files and (kind := machine_made(found.path, data)):
                return JobResult(left_out=LeftOut(job.name, reason_of(kind), kind))
    except OSError as error:
        return JobResult(failures=(Failure(job.name, f"cannot be read: {error.strerror}", kind="permission"),))
    hash = fingerprint(blake2b(data, digest_size=16).hexdigest(), job.language)
    state = found.state(hash)
    if job.known == hash:
        return JobResult(FileChange(state))
    try:
        parts = read(File(found.path, data, found.created_at, found.updated_at))
    except MemoryError:
        raise
    except Exception as error:
        # Content from an earlier, readable state of the file stays findable until the file is repaired or removed.
        failure = failure_of(job.name, error)
        return JobResult(FileChange(found.state(hash, failure.reason, failure.kind)), (failure,))
    return _result(job, state, [(0, part) for part in parts], prepare)


def _lines(job: ReadJob, lines: Lines, prepare: Preparer | None) -> JobResult:
    found = job.found
    file = File(found.path, lines.data, found.created_at, found.updated_at)
    parts: list[tuple[int, Parsed | Failure]]
    if lines.too_long:
        reason = f"is longer than the limit of {LONGEST_LINE // 2**20} MB per line: split it"
        parts = [(lines.first, Failure(f"{found.path}:{lines.first}", reason, kind="large"))]
    else:
        try:
            parts = read_lines(file, lines.first)
        except MemoryError:
            raise
        except Exception as error:
            parts = [(lines.first, failure_of(f"{found.path}:{lines.first}", error))]
    return _result(job, found.state(UNFINISHED), parts, prepare)


def _result(job: ReadJob, state: FileState, parts: NumberedParts, prepare: Preparer | None) -> JobResult:
    """Return the result of reading; without `prepare`, with the parts that remain to be prepared.

    The namespace of a document is its root, that of a record its file.
    """
    if prepare is None:
        return JobResult(FileChange(state), parts=parts)
    path = job.found.path
    documents = []
    failures = []
    numbers = []
    for number, part in parts:
        if isinstance(part, Failure):
            failures.append(replace(part, path=f"{job.root}/{part.path}"))
            continue
        if part.document.key == path:
            namespace = job.root
        else:
            namespace = f"{job.root}/{path}"
        if job.language:
            document = replace(part.document, language=job.language)
        else:
            document = part.document
        try:
            documents.append((namespace, prepare(namespace, document, part.blocks, path, most=MOST_CHUNKS)))
            numbers.append(number)
        except MemoryError:
            raise
        except Exception as error:
            failures.append(failure_of(f"{job.name}:{number}" if number else job.name, error))
    if job.lines:
        return JobResult(FileChange(state, documents), tuple(failures), tuple(numbers))
    if failures and not documents:
        first = failures[0]
        return JobResult(FileChange(replace(state, problem=first.reason, problem_kind=first.kind)), tuple(failures))
    keys = [change.document.key for _, change in documents]
    return JobResult(FileChange(state, documents, keys), tuple(failures))


def failure_of(path: str, error: Exception) -> Failure:
    """Return the failure of a file for an error of any kind."""
    if isinstance(error, RiffluxError):
        return Failure.of(path, error)
    return Failure(path, f"it cannot be indexed: {type(error).__name__}: {error}", kind="error")


# JSON Lines files too large for memory: their lines in stretches


#: Files up to this many bytes are read as a whole.
WHOLE = 2**20
#: Bytes per stretch of lines: some hundred records, and little compared with their prepared form.
STRETCH = 2**18
#: The maximum number of bytes of a line.
LONGEST_LINE = 16 * 2**20
_BLOCK = 2**20


def jobs_of(job: ReadJob) -> Iterator[ReadJob]:
    """Yield the jobs for reading a file: one, or many for a long file of lines."""
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
    """Return the fingerprint of a file, and True if its lines can be split without decoding it as a whole.

    That requires UTF-8 with line feeds as the only line ends. Raises `OSError`.
    """
    digest = blake2b(digest_size=16)
    decode = getincrementaldecoder("utf-8")().decode
    plain = True
    ends = b""
    with place.open() as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            if plain:
                joined = ends + block
                ends = b"\r" if block.endswith(b"\r") else b""
                joined = joined.removesuffix(ends)
                plain = b"\0" not in block and joined.count(b"\r") == joined.count(b"\r\n")
                try:
                    decode(block)
                except UnicodeDecodeError:
                    plain = False
    try:
        decode(b"", final=True)
    except UnicodeDecodeError:
        plain = False
    return fingerprint(digest.hexdigest(), language), plain and not ends


def lines_of(place: Place) -> Iterator[Lines]:
    """Yield the lines of a file in stretches."""
    first = 1
    for (data, too_long), (following, _) in pairwise(chain(_stretches(place), [(b"", False)])):
        yield Lines(first, b"" if too_long else data, last=not following, too_long=too_long)
        first += 1 if too_long else data.count(b"\n")


def _stretches(place: Place) -> Iterator[tuple[bytes, bool]]:
    """Yield the content in stretches of whole lines, and the beginning of each overlong line with True."""
    with place.open() as file:
        while data := file.read(STRETCH):
            rest = file.readline(LONGEST_LINE)
            if len(rest) < STRETCH:
                yield data + rest, False
                continue
            # A long line is on its own, so that a failure to read it does not affect the lines before it.
            whole = data.rfind(b"\n") + 1
            if whole:
                yield data[:whole], False
            too_long = len(rest) == LONGEST_LINE and not rest.endswith(b"\n")
            yield data[whole:] if too_long else data[whole:] + rest, too_long
            while too_long and rest and not rest.endswith(b"\n"):
                rest = file.readline(_BLOCK)


def assembled(records: JsonLines, job: ReadJob, outcome: JobResult) -> JobResult:
    """Return the result to store for some lines; after the last, with the file's hash and all failures."""
    assert job.lines
    change = outcome.change
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
        state = replace(state, problem=str(error), problem_kind=error.kind)
        return JobResult(FileChange(state), (Failure.of(job.name, error),))
    return JobResult(replace(change, state=state, keep=records.lines.keys()), tuple(failures))


# A document


_NUMBER = re.compile(r"\b[\d_]+\b")


@dataclass(frozen=True, slots=True)
class Preparer:
    """Chunks and analyzes documents of an owner. `count` returns the embedder's number of tokens of a text."""

    analyzer: Analyzer
    chunker: Chunker
    count: Callable[[str], int]
    owner: str = ""

    def __call__(
        self, namespace: str, document: Document, blocks: Sequence[Block], path: str, *, most: int | None = None
    ) -> DocumentChange:
        """Prepare a document of `namespace` for the store; one without text is found by its title alone.

        Raises `Unreadable` for a document of more than `most` chunks.
        """
        document = replace(document, kind=guess_kind(document))
        identity = identity_of(self.owner, namespace, document.key)
        chunks = self.chunker(document, blocks, self.count, identity=identity, most=most)
        if not chunks and document.title:
            chunks = [Chunk(chunk_id(identity, (), document.title, 0), 0, document.title, (0, 0))]
        return DocumentChange(document, path, analyzed(self.analyzer, document, path, chunks))


def analyzed(analyzer: Analyzer, document: Document, path: str, chunks: Sequence[Chunk]) -> tuple[AnalyzedChunk, ...]:
    """Return the chunks of a document with their terms and hashes."""
    properties = searchable_properties(document.kind, document.metadata)
    analyzer = analyzer.of(document.language)
    # The key of a record is data, and identifiers name a document better than its key.
    key = "" if document.identifiers or document.key != path else document.key
    by_key = _by_key(analyzer, document.kind, key, document.title)
    # In the order in which a store returns them, so that terms that are made again are the same.
    in_order = sorted(document.identifiers, key=lambda each: (each.scheme, each.value))
    identifiers = [each.value for each in in_order if each.scheme in NAMING or each.value == document.key]
    subjects = tuple(dict.fromkeys([*(tag.value for tag in sorted(document.tags)), *identifiers]))
    names = _Names(subjects, properties, by_key)
    title = analyzer.joined(" \n".join([document.title, *properties.names]))
    found = []
    for chunk in chunks:
        text = "" if chunk.span == (0, 0) else chunk.text
        headings = _heading_terms(analyzer, document.title, chunk.headings, names.at(chunk.position))
        embedded = embedding_text(document.title, chunk.headings, text)
        if chunk.position == 0:
            # Between the other names of the document and its remarks.
            parts = (", ".join(properties.names), embedded, ". ".join(properties.at(0)))
            embedded_text = "\n".join(filter(None, parts))
        else:
            embedded_text = embedded
        hash = hash_of(embedded_text)
        # The searchable names may change while the embedded text stays the same.
        more = [*properties.names, *names.at(chunk.position)]
        if document.language:
            more.append(f"\0{document.language}")
        if more:
            words = hash_of("\n".join([str(hash), *more]))
        else:
            words = None
        own_text = embedded_text if embedded_text != embedded else None
        found.append(AnalyzedChunk(chunk, title, headings, analyzer.joined(text), hash, own_text, words))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Names:
    """The searchable names of a document: subjects and labels for all chunks, key and remarks for the first."""

    subjects: Sequence[str]
    properties: SearchableProperties
    key: Sequence[str]

    def at(self, position: int) -> tuple[str, ...]:
        """Return the names of the chunk at `position`; the key's names belong to the first, like a heading."""
        return (*self.subjects, *(() if position else self.key), *self.properties.at(position))


def _by_key(analyzer: Analyzer, kind: str, key: str, title: str) -> tuple[str, ...]:
    """Return the name in a key if it adds a term to the title; messages and memories have numbers, not names.

    Numbers are removed: they would match like those of any text, although they mean a date or a position.
    """
    if kind not in (MESSAGE, "memory"):
        name = tuple(map(partial(_NUMBER.sub, " "), key_names(key)[-1:]))
    else:
        name = ()
    if {*analyzer.terms(title)}.issuperset(analyzer.terms(*name or ("",))):
        return ()
    return name


def analysis_of(analyzer: Analyzer) -> Analysis:
    """Return functions that recompute the terms and hashes of stored chunks, equal to the original ones."""
    return Analysis(partial(_terms, analyzer), _hash_of, analyzer.revision)


def _terms(analyzer: Analyzer, stored: StoredChunk) -> tuple[str, str, str]:
    """Return the terms of title, headings with subjects, and body."""
    analyzer = analyzer.of(stored.language)
    properties = searchable_properties(stored.kind, stored.metadata)
    names = _Names(stored.subjects, properties, _by_key(analyzer, stored.kind, stored.key, stored.title))
    headings = _heading_terms(analyzer, stored.title, stored.headings, names.at(stored.position))
    title = analyzer.joined(" \n".join([stored.title, *properties.names]))
    return title, headings, analyzer.joined(stored.text)


def _heading_terms(analyzer: Analyzer, title: str, headings: Sequence[str], names: Sequence[str]) -> str:
    # A breadcrumb that starts with the title would only repeat it.
    if headings[:1] == (title,):
        headings = headings[1:]
    return analyzer.joined(" \n".join([*headings, *names]))


def _hash_of(stored: StoredChunk) -> int:
    return hash_of(embedding_text(stored.title, stored.headings, stored.text))


# Whether a document given by a program is already stored


def is_same(given: Document, stored: Document | None) -> bool:
    """Return True if storing `given` would change nothing."""
    return stored is not None and _as_stored(replace(given, kind=guess_kind(given))) == _as_stored(stored)


def _as_stored(document: Document) -> Document:
    """Return a document as the store would return it: sorted where order is irrelevant, metadata as JSON."""
    links = {(link.key, link.kind): link for link in document.links}
    return replace(
        document,
        metadata=json.loads(json.dumps(dict(document.metadata), default=str)),
        links=tuple(links[name] for name in sorted(links)),
        identifiers=tuple(sorted(set(document.identifiers), key=str)),
        tags=tuple(sorted(set(document.tags))),
        parts=tuple(document.parts),
    )


# The kind of a text whose source does not specify it: code, a message, or neither


CODE = "code"
MESSAGE = "message"

#: The number of characters examined: enough to decide, and cheap for a long text.
LOOKED_AT = 1000
#: The minimum signs of code per 100 characters of code; prose with some names stays below.
CODE_SIGNS = 1.6

#: A sentence may contain a sign or two.
FEWEST_SIGNS = 3

_CODE = re.compile(
    r"""
      \b\w+\(                                   # a call
    | [=!<>]=|[-+*/|&]=|->|=>|::|&&|\|\||\+\+    # operators that prose has not
    | [;{}]\s*$                                 # ends of statements and blocks
    | ^\s*(?:def|class|return|import|from|func|fn|public|private|static|void|var|let|const|if|for|while|elif|else)\b
    | \w\.\w+\(                                 # a method
    | \b(?:self|this|None|null|nil|True|False|elif|endif|printf|println|struct|typedef|lambda)\b
    | \b\w+\s=\s                                # an assignment
    """,
    re.VERBOSE | re.MULTILINE,
)
_LATEX = re.compile(r"\\[A-Za-z]+\s*[{\[$_^]|\$[^$]+\$")
_SPOKEN = re.compile(r"\A[A-Z][\w.'-]*(?: [A-Z][\w.'-]*){0,2}(?: \([^)]{1,40}\))?: \S")
_SPEAKERS = frozenset({"speaker", "role", "sender", "from", "user"})
_TALKS = frozenset({"conversation", "conversation_id", "channel", "thread", "thread_id", "dialog", "dialogue", "chat"})
_LONGEST_TURN = 1500


def guess_kind(document: Document) -> str:
    """Return the kind of a document, guessing `code` or `message` if its source did not specify one."""
    if document.kind not in ("", "record"):
        return document.kind
    if _is_message(document.text, document.metadata):
        return MESSAGE
    if _is_code(document.text[:LOOKED_AT]):
        return CODE
    return document.kind


def _is_message(text: str, metadata: Mapping[str, object]) -> bool:
    if len(text) > _LONGEST_TURN:
        return False
    fields = {name.lower() for name in metadata}
    return bool(fields & _TALKS and fields & _SPEAKERS) or bool(_SPOKEN.match(text) and fields & (_TALKS | _SPEAKERS))


def _is_code(text: str) -> bool:
    if len(text) < 20 or _LATEX.search(text):
        return False
    signs = len(_CODE.findall(text))
    return signs >= FEWEST_SIGNS and 100 * signs / len(text) >= CODE_SIGNS
