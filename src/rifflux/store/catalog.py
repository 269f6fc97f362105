"""The catalog: documents, chunks, files, links and tags, and its values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rifflux.types import LINED, Chunk, Document, Filter, Hit, Identifier, Ids, Lines, Ranking, Span, Tag, Why

__all__ = [
    "EARLIEST_NS",
    "LATEST_NS",
    "MOST_COUNTED",
    "MOST_CREDITED",
    "MOST_IDENTIFIED",
    "MOST_LINKED",
    "STORED_BITS",
    "AnalyzedChunk",
    "Catalog",
    "ChunkFacts",
    "ChunkNames",
    "CodePiece",
    "Credited",
    "DocumentChange",
    "DocumentUses",
    "Edge",
    "FactTable",
    "FieldValue",
    "FileRemoval",
    "FileState",
    "FileUpdate",
    "Listed",
    "NameTable",
    "Order",
    "Placed",
    "Removal",
    "Selection",
    "SourceData",
    "StoredDocument",
    "Write",
    "chunk_at",
    "find_documents",
    "has_file",
    "line_ranges",
    "lines_in_file",
    "most_credited",
]


@dataclass(frozen=True, slots=True)
class AnalyzedChunk:
    """A chunk with its space-separated terms per field, and `hash`, 63 bits of the embedded text.

    `embedded` is the embedded text if it differs from title, headings and text; `words` are 63 bits of the terms,
    needed if these may change while the embedded text stays the same.
    """

    chunk: Chunk
    title: str
    headings: str
    body: str
    hash: int
    embedded: str | None = None
    words: int | None = None


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """The new state of a document. `path` is where it was read; for a document given by a program, its key."""

    document: Document
    path: str
    chunks: tuple[AnalyzedChunk, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two documents, as a given chunk of one and the first chunk of the other."""

    requested: int
    chunk: int
    kind: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Credited:
    """A spelling of an author or venue in the works of a namespace under one license, with their number."""

    key: str
    name: str
    namespace: str
    license: str | None
    works: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A document to add or replace, with its namespace and the (root, path) of its file.

    Unchanged chunks retain their rows and vectors.
    """

    namespace: str
    change: DocumentChange
    file: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """Documents to remove, by key."""

    namespace: str
    keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class SourceData:
    """The new records of a document: the data of each source, by the source's name. Searches do not see them."""

    namespace: str
    key: str
    data: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DocumentUses:
    """So many more uses of each document, the last at a time in seconds since 1970. Searches do not see it."""

    namespace: str
    keys: Sequence[str]
    time: float
    number: int = 1


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document with all that is stored of it.

    The terms of its chunks are left out, since they are made of the texts; `lengths` are their numbers by chunk.
    `number` grows in the order of addition. `records` are the data of its sources, `uses` their number and the time of
    the last.
    """

    number: int
    placed: Placed
    lengths: tuple[int, ...]
    records: Mapping[str, str]
    uses: tuple[int, float] | None


#: The range of file times that can be stored, 1970 to 2261, in nanoseconds since 1970: 64 bits allow hardly more.
EARLIEST_NS = 0
LATEST_NS = 9_214_646_400 * 10**9 - 1
#: The bits of an inode or a change time that can be stored.
STORED_BITS = 2**63 - 1
#: The maximum number of values of a field that are counted.
MOST_COUNTED = 10_000
#: The maximum number of names that lookup keys are resolved to.
MOST_CREDITED = 10_000
#: The maximum number of documents of an owner that are returned for an identifier.
MOST_IDENTIFIED = 1_000
#: The maximum number of documents that are returned as linked from a document, or linking to it.
MOST_LINKED = 1_000

#: A value of a field of documents.
FieldValue = str | int | float | bool


@dataclass(frozen=True, slots=True)
class FileState:
    """The recorded state of a file, for detecting changes.

    `inode` and `ctime_ns` detect changes that size and modification time do not: another file in its place, or one that
    was written and dated back. `problem` is why it could not be read, and `problem_kind` its category.
    """

    path: str
    size: int
    mtime_ns: int
    hash: str
    problem: str | None = None
    problem_kind: str = ""
    inode: int = 0
    ctime_ns: int = 0


@dataclass(frozen=True, slots=True)
class FileUpdate:
    """The new state of a file. Its documents that are not in `keep` are removed (None: none are)."""

    root: str
    state: FileState
    keep: Collection[str] | None


@dataclass(frozen=True, slots=True)
class FileRemoval:
    """Files to remove with all their documents."""

    root: str
    paths: Sequence[str]


#: A change of a catalog.
Write = Placed | Removal | FileUpdate | FileRemoval | SourceData | DocumentUses


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """The names and facts of a chunk: its document's title, aliases, key, kind and identifiers, and its headings.

    `is_path` is True if the key is the document's path rather than an arbitrary identifier. The key is unique within
    `namespace`. `language` is the document's, empty for the index's.
    """

    title: str
    headings: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    key: str = ""
    is_path: bool = True
    namespace: str = field(default="", compare=False)
    language: str = ""
    kind: str = ""
    identifiers: tuple[Identifier, ...] = ()


class NameTable(Protocol):
    """The names of an index by number, as sequences of numbered pieces: words, numbers, and what stands between them.

    `derived` is what a search made of them.
    """

    derived: dict[Hashable, Any]

    @property
    def pieces(self) -> int:
        """Return the number of pieces."""
        ...

    @property
    def lettered(self) -> NDArray[np.bool_]:
        """Return which pieces may begin with a letter."""
        ...

    def gathered(self, names: Ids) -> tuple[Ids, Ids]:
        """Return the pieces of some names, one after another, and how many each has."""

    def spellings(self, pieces: Sequence[int]) -> list[str]:
        """Return the texts of some pieces."""

    #: The text of a name.
    text: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class ChunkNames:
    """The names of some chunks by their numbers in a table.

    `titles`, `keys` and `kinds` are those of their documents, `headings` their last headings, -1 for none; `aliases`
    are further names by the position of the chunk. `marks` are those of the first words of title and key (see
    `text.analyzer.first_mark`), and 0 unless there are further names. `in_language` and `by_path` are True if a
    document has a language of its own, or a key that is its path. `titled` returns the positions of those whose title
    begins with one of some terms.
    """

    table: NameTable
    titles: Ids
    keys: Ids
    kinds: Ids
    headings: Ids
    aliases: Mapping[int, Sequence[int]]
    marks: Ids
    in_language: bool
    by_path: bool
    titled: Callable[[Collection[str]], Collection[int]]


@dataclass(eq=False)
class FactTable:
    """The facts of chunks by number, the number of each chunk, and `columns` that a search derived of the facts.

    Numbers let a search look at many chunks as arrays. A table may be shared between threads, and grow: `lock` is held
    meanwhile. `names` returns the names of some chunks without their facts, with the same result, or None if the engine
    does not have those of all of them as numbers. `kinds` are those of some chunks by id.
    """

    every: list[ChunkFacts] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    columns: dict[Hashable, tuple[NDArray[np.int64], NDArray[np.bool_]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    names: Callable[[Ids], ChunkNames | None] | None = None
    kinds: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Mapping[int, ChunkFacts]) -> FactTable:
        """Return a table of the facts of chunks by id."""
        return cls([*facts.values()], {id: number for number, id in enumerate(facts)})

    def add(self, facts: Mapping[int, ChunkFacts]) -> None:
        """Add the facts of chunks by id."""
        with self.lock:
            for id, each in facts.items():
                if id not in self.numbers:
                    self.every.append(each)
                    self.numbers[id] = len(self.every) - 1

    def facts(self) -> Mapping[int, ChunkFacts]:
        """Return all facts by id."""
        with self.lock:
            return {id: self.every[number] for id, number in self.numbers.items()}


@dataclass(frozen=True, slots=True)
class CodePiece:
    """A passage of source code: the path of its file, the names around it, its text and its position in the file."""

    path: str
    headings: tuple[str, ...]
    text: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """A document in a list, with the number of its chunks. Its links, tags and parts are omitted."""

    namespace: str
    path: str
    document: Document
    chunks: int


class Order(StrEnum):
    """The order of documents: by namespace, key and owner; or by date, undated ones last, ties as they were added."""

    PLACE = "place"
    OLDEST = "oldest"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Selection:
    """The documents that meet all given conditions.

    `namespace` is theirs, `prefix` begins theirs, `name` is their key, path or absolute path, and their path or title
    contains `words`, ignoring case. Without `works`, documents of works are excluded.
    """

    namespace: str | None = None
    prefix: str = ""
    name: str | None = None
    words: str = ""
    filter: Filter | None = None
    works: bool = True


class Catalog(Protocol):
    """The documents of one owner, further specified by `testing.CatalogContract`.

    Writing a document also passes its analyzed terms, from which engines of other roles are updated. Ids are the
    integers of `Chunk.id`, unique among all owners.
    """

    def write(self, *changes: Write) -> int:
        """Carry out changes in order; return the number of documents that were removed.

        Of two adjacent documents with the same name the later counts.
        """

    def hydrate(self, ranking: Ranking, trails: Sequence[tuple[Why, ...]] = ()) -> list[Hit]:
        """Return the stored chunks of a ranking, in its order and with its scores, without missing ids.

        Chunks have lines where `lines_in_file` gave them some when they were written.
        `trails` are the explanations of the entries, empty by default.
        """

    def chunks_of(self, namespace: str, key: str, most: int | None = None) -> list[Hit]:
        """Return the chunks of a document in reading order: all, or the first `most`."""

    def document(self, namespace: str, key: str) -> Document | None:
        """Return a document with its whole text, or None."""
        return self.documents_at([(namespace, key)]).get((namespace, key))

    def documents(
        self,
        where: Selection,
        order: Order = Order.PLACE,
        *,
        after: tuple[str, str] | None = None,
        most: int | None = None,
        with_text: bool = False,
    ) -> Iterator[Listed]:
        """Yield documents, at most `most`, following the place `after`: a namespace and key.

        Texts are read only `with_text`. They are read in pages. By date nothing follows a document that is gone.
        """

    def documents_at(self, places: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Document]:
        """Return documents with their whole texts by (namespace, key), without missing ones."""

    def around(
        self, places: Sequence[tuple[str, str]], before: int, after: int
    ) -> Mapping[tuple[str, str], Sequence[Document]]:
        """Return documents by (namespace, key), each with as many of its namespace `before` and `after` it by date.

        Missing ones are omitted, and of all of them links, identifiers, tags and parts.
        """

    def stored(self, after: int = 0) -> Iterator[StoredDocument]:
        """Yield the documents in the order of their addition, following the number `after`, with all that is stored.

        They are read some at a time; the store may be written meanwhile, which the rest need not show. Raises
        OutOfScope for several owners.
        """

    def files(self, root: str, *, below: str = "") -> Iterator[FileState]:
        """Yield the recorded states of a root's files; with `below`, only of this file or folder.

        They are read in pages. Of two owners' files with the same path, both are yielded.
        """

    def some_files(self, number: int) -> tuple[int, list[tuple[str, FileState]]]:
        """Return the number of files and up to `number` of them with their roots: all, or a random sample."""

    def roots(self) -> list[str]:
        """Return the synced folders."""

    def facts(self, ids: Ids) -> Mapping[int, ChunkFacts]:
        """Return the names and facts of each chunk, without missing chunks."""

    def code_of(self, ids: Ids, beside: Ids | None = None) -> Mapping[int, CodePiece]:
        """Return the source code details of those chunks that are code.

        `beside` are chunks that are probably hydrated next: an engine on other machines may read them in one request.
        """

    def passing(self, filter: Filter, ids: Ids) -> Ids:
        """Return the chunks whose document passes a filter."""

    def any_passes(self, filter: Filter) -> bool:
        """Return True if any document passes a filter."""

    def identified(self, names: Sequence[str], most: int = MOST_IDENTIFIED) -> Mapping[str, list[tuple[str, str]]]:
        """Return the (namespace, key) of the documents identified by each `scheme:value`, without unknown ones.

        Some of each owner's, if they are more than `most`.
        """

    def credited(self, role: str, keys: Collection[str], most: int = MOST_CREDITED) -> list[Credited]:
        """Return the names that works have in a role under lookup keys (see `rifflux.text.names`).

        At most `most`, those of the most works, in the order of their fields.
        """

    def first_of(self, filter: Filter, limit: int) -> Ids:
        """Return the first chunks of documents that pass a filter, newest first, ties by chunk id."""

    def linked(self, ids: Ids, *, incoming: bool = False, most: int = MOST_LINKED) -> list[Edge]:
        """Return the documents linked from those of some chunks, or with `incoming` to them, by first chunk.

        A link's key is an identifier of its target, or a key of its own namespace. Links of a document to itself and
        links without a target are omitted. At most `most` documents a chunk, those whose first chunks have the lowest
        ids.
        """

    def citations(self, ids: Ids, kind: str = "cites") -> Mapping[int, int]:
        """Return the number of documents that link to each chunk's document, without chunks that have none."""

    def tags_of(self, ids: Ids) -> Mapping[int, list[Tag]]:
        """Return the subject tags of each chunk's document, without chunks that have none."""

    def records(self, namespace: str, key: str) -> Mapping[str, str]:
        """Return the records of a document by source; they are deleted with the document."""

    def uses(self, namespace: str, keys: Sequence[str]) -> Mapping[str, tuple[int, float]]:
        """Return the uses of each document and the time of the last (seconds since 1970), without unused ones."""

    def values(self, field: str, where: Selection, most: int = MOST_COUNTED) -> list[tuple[FieldValue, int]]:
        """Return the values of a field with their numbers of documents, most frequent first, then by value.

        `field` is `kind`, `namespace`, `folder` (as in a filter), or a metadata field, whose lists count with each
        item. Namespaces are without their owners. Documents without a kind or a folder do not count.
        """


def most_credited(works: Mapping[tuple[str, str, str, str | None], int], most: int) -> list[Credited]:
    """Return the names of the most works, in the order of their fields, given the numbers of works by the others."""
    best = sorted(works, key=lambda each: (-works[each], repr(each)))[:most]
    return [Credited(*each, works[each]) for each in sorted(best, key=repr)]


def find_documents(catalog: Catalog, name: str) -> list[tuple[str, str]]:
    """Return the (namespace, key) of every document with this key, path or absolute path."""
    return sorted((row.namespace, row.document.key) for row in catalog.documents(Selection(name=name)))


def has_file(catalog: Catalog, root: str, path: str) -> bool:
    """Return True if a file of a root is recorded."""
    return any(file.path == path for file in catalog.files(root, below=path))


def line_ranges(text: str, spans: Collection[Span]) -> Mapping[Span, Lines]:
    """Return the first and last line, counted from 1, of each part of a text; empty parts are omitted."""
    found: dict[Span, Lines] = {}
    begin = 0
    line = 1
    for start, end in sorted(spans):
        if end:
            line += text.count("\n", begin, start)
            begin = start
            found[start, end] = line, line + text.count("\n", start, end)
    return found


def lines_in_file(change: DocumentChange) -> Mapping[Span, Lines]:
    """Return the lines of a document's chunks by span, or nothing if its text is not that of its file."""
    document = change.document
    if document.kind not in LINED or document.key != change.path:
        return {}
    return line_ranges(document.text, [each.chunk.span for each in change.chunks])


def chunk_at(catalog: Catalog, chunk_id: str) -> Hit | None:
    """Return a chunk by its public id, 16 hexadecimal digits; None for any other text."""
    try:
        id = int(chunk_id, 16)
    except ValueError:
        return None
    if len(chunk_id) != 16 or not 0 <= id < 1 << 63:
        return None
    return next(iter(catalog.hydrate(Ranking(np.array([id]), np.zeros(1)))), None)
