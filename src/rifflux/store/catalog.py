"""The catalog: documents, chunks, files, links and tags, and the values that travel to and from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rifflux.types import Chunk, Document, Filter, Hit, Identifier, Ids, Ranking, Tag, Why

__all__ = [
    "EARLIEST_NS",
    "LATEST_NS",
    "AnalyzedChunk",
    "Catalog",
    "ChunkFacts",
    "CodePiece",
    "Credited",
    "DocumentChange",
    "Edge",
    "FileState",
    "Listed",
    "Placed",
]


@dataclass(frozen=True, slots=True)
class AnalyzedChunk:
    """A chunk with its terms, space-separated by field, and `hash`: 63 bits of what is embedded.

    `embedded` is what is embedded where that is not title, headings and text; `words` are 63 bits of the terms, needed
    where they may change while what is embedded stays.
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
    """A document as it shall be from now on. `path` is where it was read from; for one given by a program, its key."""

    document: Document
    path: str
    chunks: tuple[AnalyzedChunk, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two documents, as a given chunk of one and the first chunk of the other."""

    asked: int
    chunk: int
    kind: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Credited:
    """An author's or a venue's name as works of a namespace under one license have it, and how many there are."""

    key: str
    name: str
    namespace: str
    license: str | None
    works: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A document as it shall be, with the namespace it belongs to and the (root, path) of the file it is from."""

    namespace: str
    change: DocumentChange
    file: tuple[str, str] | None = None


#: Times of files are remembered within the years 1970 to 2261, in nanoseconds since 1970: 64 bits hold hardly more.
EARLIEST_NS = 0
LATEST_NS = 9_214_646_400 * 10**9 - 1


@dataclass(frozen=True, slots=True)
class FileState:
    """What is remembered of a file, to see later whether it changed.

    `inode` and `ctime_ns` change where size and modification time do not: another file took its place, or it was
    written and dated back. `problem` says why it could not be read, and `problem_kind` is the sort of reason.
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
class ChunkFacts:
    """What a chunk is and is called: its document's title, other names, key, kind and identifiers, and its headings.

    `is_path` tells that the key is where the document is, and nothing that a list has it by. Within `namespace` the key
    is that of one document. `language` is the document's, empty for that of the index.
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


@dataclass(frozen=True, slots=True)
class CodePiece:
    """A passage of source code: the path of its file, the names it stands under, its text and its place in the file."""

    path: str
    headings: tuple[str, ...]
    text: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """A document in a list: without its text, links and parts, but with the number of its chunks."""

    namespace: str
    path: str
    document: Document
    chunks: int


class Catalog(Protocol):
    """The documents of one owner. `testing.CatalogContract` says the rest.

    Writing a document hands over its analyzed terms too: an engine of another role follows from here. Ids are the
    integers of `Chunk.id`; they are unique among all owners.
    """

    def put(self, namespace: str, change: DocumentChange, file: tuple[str, str] | None = None) -> None:
        """Add or replace one document; unchanged chunks keep their rows and vectors. `file` is its (root, path)."""

    def put_all(self, documents: Iterable[Placed]) -> None:
        """Add or replace documents as `put` does, but many at once; of two with the same name the later counts."""

    def remove(self, namespace: str, keys: Sequence[str]) -> int:
        """Remove documents by key and return how many there were."""

    def put_file(self, root: str, state: FileState, keep: Collection[str] | None) -> int:
        """Remember a file's state and drop its documents that are not in `keep` (None: all stay); returns how many."""

    def remove_files(self, root: str, paths: Sequence[str]) -> int:
        """Forget files and all their documents; returns how many documents went."""

    def keep_records(self, namespace: str, key: str, records: Mapping[str, str]) -> None:
        """Replace the records of a document: what each source says of it, by the names of the sources."""

    def note_uses(self, namespace: str, keys: Sequence[str], time: float) -> None:
        """Count one more use of each document; what is found does not change by it."""

    def hydrate(self, ranking: Ranking, trails: Sequence[tuple[Why, ...]] = ()) -> list[Hit]:
        """Read the rows of a ranking, in its order, with its scores; ids that are gone are left out.

        `trails` gives the trail of each entry; without it, they are empty.
        """

    def chunk(self, chunk_id: str) -> Hit | None:
        """Return one chunk by its public id."""

    def chunks_of(self, namespace: str, key: str) -> list[Hit]:
        """Return all chunks of a document in reading order."""

    def document(self, namespace: str, key: str) -> Document | None:
        """Return one document with its whole text."""

    def documents(self, namespace: str, filter: Filter) -> list[Document]:
        """Return the documents of a namespace that a filter lets through, with their whole text, by key."""

    def documents_at(self, places: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Document]:
        """Return several documents, with their whole texts, by (namespace, key); what is gone is left out."""

    def around(self, places: Sequence[tuple[str, str]], number: int) -> Mapping[tuple[str, str], Sequence[Document]]:
        """Return several documents by (namespace, key), each among up to `number` before and after it.

        They are in the order of `in_order`; what is gone is left out.
        """

    def texts(self, places: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return the texts of several documents by (namespace, key); what is gone is left out."""

    def bearing(self, words: str, limit: int) -> list[tuple[str, str, str]]:
        """Return the (namespace, key, path) of documents whose path or title holds these words, whatever their case.

        At most `limit` of them, by path.
        """

    def outlines(self, prefix: str) -> list[tuple[str, Document]]:
        """Return the documents of the namespaces whose names begin so, by namespace and key.

        Only title, metadata, license and identifiers are read.
        """

    def listed(self, after: tuple[str, str], limit: int) -> list[Listed]:
        """Return so many documents, by namespace and key, from the first that comes after such a place."""

    def find_documents(self, key: str) -> list[tuple[str, str]]:
        """Return the (namespace, key) of every document with this key, path or absolute path."""

    def namespaces(self) -> Mapping[str, int]:
        """Count the documents of each namespace."""

    def in_order(
        self, namespace: str, key: str | None = None, *, before: int = 0, after: int | None = None
    ) -> list[Document]:
        """Return the documents of a namespace by date, undated ones last, equals as they were added.

        With a `key`, only that one and so many before and after it (all after it where that is None); nothing if there
        is no such document. With `before` alone, only so many that come last. Links, identifiers, tags and parts are
        left out.
        """

    def files(self, root: str, *, below: str = "") -> dict[str, FileState]:
        """Return what is remembered of a root's files, by path; with `below`, only of this one or this folder's."""

    def some_files(self, number: int) -> tuple[int, list[tuple[str, FileState]]]:
        """Count the files, and return up to `number` of them with their roots: all, or others each time."""

    def roots(self) -> list[str]:
        """Return the folders that were synced."""

    def facts(self, ids: Ids) -> Mapping[int, ChunkFacts]:
        """Return what each chunk is and is called; chunks that are gone are left out."""

    def code_of(self, ids: Ids) -> Mapping[int, CodePiece]:
        """Return those of the chunks that are source code."""

    def passing(self, filter: Filter, ids: Ids) -> Ids:
        """Return those of the chunks whose document a filter lets through."""

    def any_passes(self, filter: Filter) -> bool:
        """Return whether a filter lets any document through."""

    def identified(self, names: Sequence[str], most: int = -1) -> Mapping[str, list[tuple[str, str]]]:
        """Return the (namespace, key) of the documents that each `scheme:value` identifies, without unknown ones.

        At most so many of each are read, whichever; all without a limit.
        """

    def credited(self, role: str, keys: Collection[str]) -> list[Credited]:
        """Return the names in a role that works give under some keys: `rifflux.text.people` says what these are."""

    def first_of(self, filter: Filter, limit: int) -> Ids:
        """Return the first chunks of documents that a filter lets through, the newest first, ties by chunk id."""

    def linked(self, ids: Ids, *, incoming: bool = False) -> list[Edge]:
        """Return the documents that those of some chunks link to, or are linked from, each by its first chunk.

        A link's key is an identifier of its target, or a key of its own namespace. Links of a document to itself,
        and those that lead nowhere, are left out.
        """

    def citations(self, ids: Ids, kind: str = "cites") -> Mapping[int, int]:
        """Count the documents that link to that of each chunk; chunks whose document has no such link are left out."""

    def tags_of(self, ids: Ids) -> Mapping[int, list[Tag]]:
        """Return the subject tags of each chunk's document; chunks without any are left out."""

    def records(self, namespace: str, key: str) -> Mapping[str, str]:
        """Return the records of a document by the names of their sources; they are deleted with the document."""

    def uses(self, namespace: str, keys: Sequence[str]) -> Mapping[str, tuple[int, float]]:
        """Count the uses of each document, with the time of the last (seconds since 1970); unused ones are left out."""

    def values(self, field: str, limit: int) -> list[tuple[str | int | float | bool, int]]:
        """Return the values of a field with the number of documents that have each: the most frequent, then by value.

        `field` is `kind` or a field of the metadata, of which lists count with each of their items. Works are left
        out: a license decides what is told of them.
        """

    def folders(self, limit: int) -> list[tuple[str, str, int]]:
        """Return each namespace and folder (the first part of a path that has several) with its number of documents.

        Those with the most documents come first. Works are left out. In a filter, `namespace/folder` names one.
        """

    def languages(self) -> tuple[str, ...]:
        """Return the languages of the documents, sorted; the empty name stands for that of the index.

        Without any document it is that one alone.
        """
