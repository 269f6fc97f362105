"""What an engine must do for Rifflux, and the values that travel to and from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rifflux.store.registry import Register
from rifflux.types import (
    Chunk,
    Clause,
    Document,
    Filter,
    Hit,
    Identifier,
    Ids,
    Progress,
    Query,
    Ranking,
    Scores,
    Tag,
    Vectors,
    Why,
)

if TYPE_CHECKING:
    from rifflux.store.generations import Generations
    from rifflux.store.mending import Analysis, Mended

__all__ = [
    "JUDGEMENT",
    "LONGEST_NAME",
    "PART",
    "VARIANT",
    "AnalyzedChunk",
    "DocumentChange",
    "Edge",
    "Event",
    "FieldWeights",
    "FileState",
    "ModelInfo",
    "Pending",
    "Placed",
    "Problem",
    "Store",
]

#: A title of more different terms is no name that anybody types whole.
LONGEST_NAME = 8
#: Stands between an owner and a part in the name of the part's own view; no name of a user holds it.
PART = "\x1f"
#: What a query's variants count, beside the words that were asked for: a guess may be wrong, and a rare word that was
#: guessed would weigh more than the common one that is meant.
VARIANT = 0.75
#: The kind of event that says how well a document answers a query.
JUDGEMENT = "judgement"


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """How much a term counts by where it stands, for BM25 over fields."""

    title: float = 2.0
    headings: float = 1.0
    body: float = 1.0


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
    """A link between the documents of two chunks: the one asked about, and the first chunk of the other document."""

    asked: int
    chunk: int
    kind: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Placed:
    """A document as it shall be, with the collection it belongs to and the (root, path) of the file it is from."""

    collection: str
    change: DocumentChange
    file: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class FileState:
    """What is remembered of a file, to see later whether it changed. `problem` says why it could not be read."""

    path: str
    size: int
    mtime_ns: int
    hash: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The embedding model whose vectors an index holds. `spec` is what loads it again."""

    name: str
    backend: str
    dimension: int
    fingerprint: str
    spec: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A chunk that waits for its vector, with what the embedded text is made of.

    `text` is empty for a document that has only a title. `embedded` is the whole where it is not made of these.
    """

    id: int
    hash: int
    title: str
    headings: tuple[str, ...]
    text: str
    embedded: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something `doctor` found wrong, and what mends it. `unreadable` says that parts of the file cannot be read."""

    what: str
    cure: str
    unreadable: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """What somebody did with a document that a query found, such as judging it.

    `chunk` is a public chunk id, empty where the whole document is meant; `grade` is 0 for irrelevant and grows with
    relevance, None for a kind of event that has no grade; `time` is in seconds since 1970.
    """

    kind: str
    query: str
    collection: str
    key: str
    chunk: str = ""
    grade: int | None = None
    user: str = ""
    time: float = 0.0


class Store(Protocol):
    """Documents, chunks, terms and vectors in one place, with transactions: one owner's view of them.

    What is opened is the view of the owner without a name; `of` gives those of others. No method sees or touches rows
    of another owner, whatever it is given; chunk ids are unique among all. The embedding model and policies are the
    whole index's. Ids are the integers of `Chunk.id`. Rankings come best first, ties by id. `testing.StoreContract`
    says the rest.
    """

    @property
    def owner(self) -> str:
        """Whose rows these are; empty for the owner without a name."""
        ...

    def of(self, owner: str) -> Store:
        """The view of an owner, on the same database. Raises OutOfScope from a named owner's to another's."""
        ...

    def part(self, name: str) -> Store:
        """The view of a part of what this owner has, such as messages: with terms and statistics of its own."""
        ...

    def views(self) -> Sequence[Store]:
        """This view and all that it leads to: those of every owner and part, or of a named owner's own parts."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Group the writes inside: all of them happen, or none."""
        ...

    def claim(self, task: str, waiting: Callable[[str], None] | None = None) -> AbstractContextManager[bool]:
        """Have a task to oneself, such as `embed`, until the block or the process ends.

        If another process has it, `waiting` is told which and it is waited for; without `waiting`, the block gets
        False at once. Nothing else is kept out by it.
        """
        ...

    # Writing

    def put(self, collection: str, change: DocumentChange, file: tuple[str, str] | None = None) -> None:
        """Add or replace one document; unchanged chunks keep their rows and vectors. `file` is its (root, path)."""
        ...

    def put_all(self, documents: Iterable[Placed]) -> None:
        """Add or replace documents as `put` does, but many at once; of two with the same name the later counts."""
        ...

    def remove(self, collection: str, keys: Sequence[str]) -> int:
        """Remove documents by key and return how many there were."""
        ...

    def put_file(self, root: str, state: FileState, keep: Collection[str] | None) -> int:
        """Remember a file's state and drop its documents that are not in `keep` (None: all stay); returns how many."""
        ...

    def remove_files(self, root: str, paths: Sequence[str]) -> int:
        """Forget files and all their documents; returns how many documents went."""
        ...

    def put_vectors(self, ids: Sequence[int], hashes: Sequence[int], vectors: Vectors, model: str | None = None) -> int:
        """Store vectors for chunks that still have the given hash; returns how many did.

        `model` is as in `pending`; raises ModelMismatch where vectors of that one are neither in use nor built.
        """
        ...

    def use_model(self, model: ModelInfo) -> None:
        """Record the embedding model; raises ModelMismatch when vectors of another one are stored."""
        ...

    def keep_records(self, collection: str, key: str, records: Mapping[str, str]) -> None:
        """Keep what each source told of a document, by their names, instead of what was kept."""
        ...

    def record(self, event: Event) -> None:
        """Append an event to the record; its document need not exist."""
        ...

    # Ranking

    def match(self, query: Query, limit: int, weights: FieldWeights) -> Ranking:
        """Rank chunks by BM25 over the query's terms; scores are positive, higher is better. Variants add `VARIANT`.

        Of at most `limit` chunks, those that are `enough` for the query are always found.
        """
        ...

    def nearest(self, query: Query, limit: int) -> Ranking:
        """Rank chunks by cosine with the query's vector; none, or one of length zero, ranks nothing.

        Of at most `limit` chunks, those that are `enough` for the query are always found.
        """
        ...

    # Reading

    def bm25_of(self, query: Query, ids: Ids, weights: FieldWeights) -> Scores:
        """The BM25 of some chunks, by what is stored: `match` may answer from what is derived, and round.

        0 where a chunk has no term of the query, whose filter is not looked at.
        """
        ...

    def cosines_of(self, query: Query, ids: Ids) -> Scores:
        """The cosine of some chunks with a query's vector, by what is stored; NaN where there is none."""
        ...

    def hydrate(self, ranking: Ranking, trails: Sequence[tuple[Why, ...]] = ()) -> list[Hit]:
        """Read the rows of a ranking, in its order, with its scores; ids that are gone are left out.

        `trails` gives the trail of each entry; without it, they are empty.
        """
        ...

    def chunk(self, chunk_id: str) -> Hit | None:
        """One chunk by its public id."""
        ...

    def find_documents(self, key: str) -> list[tuple[str, str]]:
        """The (collection, key) of every document with this key, path or absolute path."""
        ...

    def document(self, collection: str, key: str) -> Document | None:
        """One document with its whole text."""
        ...

    def documents_at(self, places: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Document]:
        """Return several documents, with their whole texts, by (collection, key); what is gone is left out."""
        ...

    def outlines(self, prefix: str) -> list[tuple[str, Document]]:
        """Return the documents of the collections whose names begin so, by collection and key.

        Only title, metadata, license and identifiers are read.
        """
        ...

    def chunks_of(self, collection: str, key: str) -> list[Hit]:
        """All chunks of a document in reading order."""
        ...

    def collections(self) -> Mapping[str, int]:
        """How many documents each collection has."""
        ...

    def in_order(
        self, collection: str, key: str | None = None, *, before: int = 0, after: int | None = None
    ) -> list[Document]:
        """The documents of a collection by date, what has none last, and among equals as they were added.

        With a `key`, only that one and so many before and after it (all after it where that is None); nothing if there
        is no such document. Links, identifiers, tags and parts are left out.
        """
        ...

    def files(self, root: str, *, below: str = "") -> dict[str, FileState]:
        """What is remembered of a root's files, by path; with `below`, only of this one or those in this folder."""
        ...

    def some_files(self, number: int) -> tuple[int, list[tuple[str, FileState]]]:
        """How many files there are, and up to `number` of them with their roots: all, or others each time."""
        ...

    def roots(self) -> list[str]:
        """The folders that were synced."""
        ...

    def pending(self, batch: int, model: str | None = None) -> Iterator[list[Pending]]:
        """The chunks without a vector, in batches; safe to write to the store meanwhile.

        `model` is the fingerprint of the model in use or of the one that is built; without it, the one in use is meant.
        """
        ...

    def vectors_by_hash(self, hashes: Sequence[int], model: str | None = None) -> Mapping[int, Vectors]:
        """Vectors already stored for the same embedded text."""
        ...

    def vectors_of(self, ids: Ids, *, exact: bool = False) -> Mapping[int, Vectors]:
        """The vector of each chunk, by its id; chunks without one are left out.

        With `exact`, to the last digit, whatever is faster.
        """
        ...

    def model(self) -> ModelInfo | None:
        """The model whose vectors are stored, or None while there are none."""
        ...

    def kinds(self, ids: Ids) -> Mapping[int, str]:
        """The kind of each chunk's document; chunks that are gone are left out."""
        ...

    def names(self, ids: Ids) -> Mapping[int, tuple[str, tuple[str, ...]]]:
        """The title and the headings of each chunk; chunks that are gone are left out."""
        ...

    def titled(self, terms: Collection[str], ids: Ids) -> Ids:
        """Those of the chunks whose document's title has these terms and no others, at most `LONGEST_NAME`."""
        ...

    def passing(self, filter: Filter, ids: Ids) -> Ids:
        """Those of the chunks whose document a filter lets through."""
        ...

    def any_passes(self, filter: Filter) -> bool:
        """Whether a filter lets any document through."""
        ...

    def identified(self, names: Sequence[str]) -> Mapping[str, list[tuple[str, str]]]:
        """The (collection, key) of the documents that each `scheme:value` identifies; unknown ones are left out."""
        ...

    def linked(self, ids: Ids, *, incoming: bool = False) -> list[Edge]:
        """The documents that those of some chunks link to, or are linked from, each by its first chunk.

        A link's key is an identifier of its target, or a key of its own collection. Links of a document to itself,
        and those that lead nowhere, are left out.
        """
        ...

    def citations(self, ids: Ids, kind: str = "cites") -> Mapping[int, int]:
        """How many documents link to that of each chunk; chunks whose document has no such link are left out."""
        ...

    def tags_of(self, ids: Ids) -> Mapping[int, list[Tag]]:
        """The subject tags of each chunk's document; chunks without any are left out."""
        ...

    def identifiers_of(self, ids: Ids) -> Mapping[int, list[Identifier]]:
        """The identifiers of each chunk's document; chunks without any are left out."""
        ...

    def records(self, collection: str, key: str) -> Mapping[str, str]:
        """What was kept of a document's sources, by their names; it goes when the document does."""
        ...

    def holding(self, clause: Clause, ids: Ids) -> Ids:
        """Those of the chunks that hold a term, or a phrase of adjacent terms."""
        ...

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        """In how many chunks each term occurs; terms that occur in none may be left out."""
        ...

    def vocabulary(self, start: str, shortest: int, longest: int) -> Mapping[str, int]:
        """The terms that begin with `start` and have so many characters, with the number of chunks that hold each.

        Terms that occur no more may be among them, with 0.
        """
        ...

    def documents(self, collection: str, filter: Filter) -> list[Document]:
        """The documents of a collection that a filter lets through, with their whole text, by key."""
        ...

    def note_uses(self, collection: str, keys: Sequence[str], time: float) -> None:
        """Count one more use of each document; what is found does not change by it."""
        ...

    def uses(self, collection: str, keys: Sequence[str]) -> Mapping[str, tuple[int, float]]:
        """How often each document was used, and when last (seconds since 1970); those never used are left out."""
        ...

    def counts(self) -> Mapping[str, int]:
        """How many `documents`, `chunks`, `embedded_chunks` and `files` there are."""
        ...

    def setting(self, name: str) -> str | None:
        """A setting's value, or None. Each owner has its own; those of the owner without a name are policies."""
        ...

    def policy(self, name: str) -> str | None:
        """A setting of the whole index, which every owner may read; None where it is not set."""
        ...

    def set(self, name: str, value: str, *, content: bool = True) -> None:
        """Store a setting; without `content`, one that changes nothing of what is found."""
        ...

    def events(self, kind: str | None = None) -> list[Event]:
        """The recorded events of a kind, or all, in the order of recording."""
        ...

    def accelerate(self) -> None:
        """Build or bring up to date what makes a large index fast, if the engine has such; returns when it is there."""
        ...

    def backup(self, target: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        """Copy all of the store as it is at this moment to a file, which appears when it is whole.

        Raises InvalidArgument where something is there that `force` does not allow to be replaced, and OutOfScope for
        the view of a named owner.
        """
        ...

    def troubles(self) -> list[str]:
        """Why answers take longer than they could: what was built by `accelerate` and cannot be used."""
        ...

    def check(self, analysis: Analysis | None = None) -> list[Problem]:
        """Look for damage: what `rifflux doctor` prints. Raises OutOfScope for the view of a named owner.

        With `analysis` it is looked too whether the texts are those that were indexed.
        """
        ...

    def mend(self, analysis: Analysis) -> Mended:
        """Mend what can be made anew from the rest; vectors are only dropped. Raises OutOfScope as `check` does."""
        ...

    @property
    def generations(self) -> Generations:
        """The models whose vectors the index holds. Raises OutOfScope for the view of a named owner."""
        ...

    @property
    def register(self) -> Register:
        """Who may ask, and what asking cost. Raises OutOfScope for the view of a named owner."""
        ...

    @property
    def schema_version(self) -> int:
        """The version of the stored schema."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written."""
        ...

    def close(self) -> None:
        """Release the engine; the store cannot be used afterwards."""
        ...
