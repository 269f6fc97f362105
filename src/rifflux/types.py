"""The nouns of Rifflux: frozen values that travel between the steps of both journeys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from rifflux.errors import InvalidArgument

__all__ = [
    "Block",
    "Bound",
    "Change",
    "Chunk",
    "Clause",
    "Document",
    "Failure",
    "Filter",
    "Freshness",
    "Hit",
    "Identifier",
    "Ids",
    "IndexReport",
    "Link",
    "Parsed",
    "Part",
    "Progress",
    "Query",
    "QueryTerm",
    "Ranking",
    "Results",
    "Scope",
    "Scores",
    "Span",
    "Tag",
    "TermStatistics",
    "Trace",
    "Understanding",
    "Vectors",
    "Verdict",
    "Why",
]

Ids = NDArray[np.int64]
Scores = NDArray[np.float64]
Vectors = NDArray[np.float32]

#: Characters that a user's id may have.
LONGEST_USER = 256

#: Adjacent terms; mostly a single one.
Clause = tuple[str, ...]
#: Where a chunk stands in its document's text: first character, and one past the last.
Span = tuple[int, int]
#: Collections whose names begin so hold works, which without a license record are shown by title and identifiers only.
LICENSED = "works/"


def is_withheld(collection: str, license: str | None) -> bool:
    """Return whether only title and identifiers of a document may be shown, for want of a license record."""
    return license is None and collection.startswith(LICENSED)


# Journey one: what is indexed


@dataclass(frozen=True, slots=True)
class Link:
    """A reference from a document to another, such as a citation.

    `key` is an identifier of the target as `scheme:value`, or the key of a document in the same collection. It may
    name nothing that is stored: a work cites more than an index holds.
    """

    key: str
    kind: str = "cites"
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name that one document has in a scheme: `doi`, `arxiv`, `openalex`, or the name of a list that holds it."""

    scheme: str
    value: str

    def __str__(self) -> str:
        """As links write it: `doi:10.1000/182`."""
        return f"{self.scheme}:{self.value}"


@dataclass(frozen=True, slots=True, order=True)
class Tag:
    """A subject in a scheme: `math.AG` of `arxiv`, `14F05` of `msc`."""

    scheme: str
    value: str


@dataclass(frozen=True, slots=True)
class Part:
    """A span of a document's text that has a role: its abstract, a section, a theorem, a proof.

    `headings` is the breadcrumb it stands under, its own last; `label` is what references inside the document call it.
    """

    kind: str
    span: Span
    headings: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One thing to be found: a file, a record, a message, a work.

    Dates are ISO 8601 strings (`2024-05-01` or `2024-05-01T12:00:00+00:00`), or None. `license` None means that none
    is known.
    """

    key: str
    text: str
    title: str = ""
    kind: str = ""
    created_at: str | None = None
    updated_at: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    links: Sequence[Link] = ()
    license: str | None = None
    identifiers: Sequence[Identifier] = ()
    tags: Sequence[Tag] = ()
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document's text that reads as one: `text[start:end]`.

    `kind` is `paragraph`, `item`, `code`, `table` or `heading`. Blocks come in reading order and never
    overlap. `headings` is the breadcrumb that the block stands under, outermost first. `header` is what a
    continued piece repeats when the block is split: the header rows of a table.
    """

    start: int
    end: int
    kind: str = "paragraph"
    headings: tuple[str, ...] = ()
    header: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reader made of (a part of) a file: a document and the blocks of its text."""

    document: Document
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrievable passage of a document.

    `text` is what is shown and searched: the document's text at `span`, with the table header in front
    where a table was split. `headings` is the breadcrumb.
    """

    id: int
    position: int
    text: str
    span: Span
    headings: tuple[str, ...] = ()

    @property
    def chunk_id(self) -> str:
        """The stable public identifier: sixteen hexadecimal digits that sort as `id` does."""
        return f"{self.id:016x}"


# Who asks


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose content a call may see and change: one user's. It comes from who is signed in, never from a request."""

    user_id: str

    def __post_init__(self) -> None:
        name = self.user_id
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_USER or not name.isprintable():
            raise InvalidArgument(
                f"a scope needs a user's id: a string of 1 to {LONGEST_USER} printable characters, not {name!r}"
            )


# Journey two: what is asked and found


@dataclass(frozen=True, slots=True)
class Bound:
    """A number in a document's metadata from `least` to `most`, both inclusive; `missing` is whether it may lack."""

    field: str
    least: float | None = None
    most: float | None = None
    missing: bool = True


@dataclass(frozen=True, slots=True)
class Filter:
    """What a hit must satisfy; empty parts are not asked. All parts must hold, one value of each suffices.

    `paths` are globs over the document's path (`notes/**`, `*.md`; a star crosses folders too). `since` and `until`
    are ISO 8601 dates, both inclusive, compared with `created_at`, or `updated_at` where that is missing; a day means
    the whole day. A metadata value may be a scalar or a sequence of alternatives; a list in a document's metadata
    matches by any of its items. `documents` are keys; `collections` are what a document's key is unique within: a root,
    a file of records, a conversation.
    `bounds` are on numbers in the metadata, `without` are fields that it must not have (or only as null), and
    `not_kinds` are kinds that are left out. `tags` are subjects, as `scheme:value` or by their value alone.
    """

    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    without: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Understanding:
    """A question classified: `kind` is `identifier`, `mixed` or `conceptual`, and `reasons` say why.

    `specificity` is the share of its meaningful words that name one thing, in [0, 1].
    """

    kind: str
    specificity: float
    identifiers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """How common terms are in what is visible: all chunks, those with a vector, and those that hold a term."""

    chunks: int
    embedded_chunks: int
    frequencies: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Query:
    """A question that was read: what every step after it works with, so that nobody looks at the text again.

    `asked` is the text without its exclusions and facets, which `limits` holds as they were typed. `semantic_text` is
    what is embedded, and `terms` are its terms in order. `understanding` is the sort of question, `notes` say what is
    searched for besides, `statistics` how common its terms were when it was read.
    `clauses` are alternatives, each a sequence of adjacent terms (mostly of length one; longer for a quoted
    phrase); `required` clauses must all match, `excluded` ones must not; `prefixes` match any term that starts so.
    `variants` are further alternatives that were not asked for: other spellings and synonyms. `beside` are for each of
    them the terms of the question that it may stand for.
    `anchors` are what the question names to the letter, `specificity` the share of its words that do so.
    `model` is the fingerprint of the model that made `vector`, where that is known.
    `deadline` is a moment of `time.perf_counter()` after which no stage may still be waited for. `exact` asks for the
    scores of SQLite's bm25() to the last digit, whatever is faster. `limit` candidates are wanted of each channel; as
    many as `enough` suffice where finding all of them takes longer (0: `limit` of them).
    """

    text: str
    clauses: tuple[Clause, ...] = ()
    required: tuple[Clause, ...] = ()
    excluded: tuple[Clause, ...] = ()
    prefixes: tuple[str, ...] = ()
    variants: tuple[Clause, ...] = ()
    beside: tuple[Clause, ...] = ()
    anchors: tuple[Clause, ...] = ()
    specificity: float = 0.0
    semantic_text: str = ""
    vector: Vectors | None = None
    model: str | None = None
    filter: Filter = field(default_factory=Filter)
    limit: int = 20
    enough: int = 0
    deadline: float | None = None
    exact: bool = False
    asked: str = ""
    limits: str = ""
    terms: tuple[str, ...] = ()
    understanding: Understanding | None = None
    notes: tuple[str, ...] = ()
    statistics: TermStatistics | None = None

    def sufficient(self, limit: int) -> int:
        """How many candidates a channel may stop at where so many are wanted of it."""
        return min(self.enough or limit, limit)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunk ids and their scores, best first; nothing fetched. Two arrays of equal length, no id twice."""

    ids: Ids
    scores: Scores

    @classmethod
    def empty(cls) -> Ranking:
        """A ranking of nothing."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float64))

    def __len__(self) -> int:
        return len(self.ids)

    def head(self, limit: int) -> Ranking:
        """The best `limit` entries."""
        return Ranking(self.ids[:limit], self.scores[:limit])


@dataclass(frozen=True, slots=True)
class Why:
    """What one stage had to say about a hit. `rank` counts from 1; both are None where the stage did not see it."""

    stage: str
    rank: int | None = None
    score: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def adding(self, detail: Mapping[str, Any]) -> Why:
        """Return the same with more details."""
        return Why(self.stage, self.rank, self.score, {**self.detail, **detail})


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that answers a query, with the trail of how it got its place.

    `score` compares the hits of one search; `relevance`, in [0, 1], means the same in every search, and `quality` is
    its level: `high`, `medium` or `low`. Both are None where nothing was calibrated.
    """

    chunk_id: str
    document: str
    path: str
    title: str
    heading_path: str
    chunk_index: int
    content: str
    span: Span
    score: float = 0.0
    why: tuple[Why, ...] = ()
    kind: str = ""
    created_at: str | None = None
    updated_at: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    license: str | None = None
    collection: str = ""
    relevance: float | None = None
    quality: str | None = None

    @property
    def place(self) -> tuple[str, str]:
        """Return the collection and the key of its document."""
        return self.collection, self.document

    @property
    def withheld(self) -> bool:
        """Return whether only title and identifiers may be shown, for want of a license record."""
        return is_withheld(self.collection, self.license)

    def retold(
        self, score: float, why: tuple[Why, ...], relevance: float | None = None, quality: str | None = None
    ) -> Hit:
        """Return the hit with another score and explanation, and with a relevance if one is given."""
        if relevance is None:
            return self._but(score=score, why=why)
        return self._but(score=score, why=why, relevance=relevance, quality=quality)

    def _but(self, **changes: Any) -> Hit:
        """The hit with other values of some fields: a third of the time that `dataclasses.replace` takes."""
        changed = object.__new__(Hit)
        for name in Hit.__slots__:
            object.__setattr__(changed, name, changes[name] if name in changes else getattr(self, name))
        return changed

    def because(self, stage: str) -> Why | None:
        """What `stage` said about this hit last, or None."""
        return next((why for why in reversed(self.why) if why.stage == stage), None)


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far an index may be behind its files, by a sample of them.

    Of its `files`, `sampled_files` were looked at; `changed_files` says how many of all may have changed or be gone,
    and is exact where all were looked at. In `changed_folders` of the sample, something came or went since `synced_at`:
    when a root was last looked at as a whole, ISO 8601, for the root where that is longest ago. Nothing is said of the
    files of `missing_roots`: those are gone as a whole, such as a disk that is not mounted.
    """

    files: int
    sampled_files: int
    changed_files: int
    changed_folders: int
    synced_at: str | None
    missing_roots: tuple[str, ...] = ()

    @property
    def note(self) -> str | None:
        """What to tell about it, None if the index may well be up to date."""
        if self.changed_files:
            about = "" if self.sampled_files == self.files else "about "
            return f"{about}{self.changed_files} of {self.files} files changed since they were read"
        if self.changed_folders:
            return f"files may have come or gone in {self.changed_folders} folders"
        return None


@dataclass(frozen=True, slots=True)
class Trace:
    """What the pipeline did: milliseconds by stage, hits by channel, what was dropped, what degraded and why.

    `reranker` is what reordered the hits; None where nothing did, even if that was asked for. `notes` tell what was
    left out on purpose, `understanding` what the question was taken for, `freshness` how up to date the index is.
    """

    mode: str
    effective_mode: str
    fusion: str | None = None
    reranker: str | None = None
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    understanding: Understanding | None = None
    freshness: Freshness | None = None


@dataclass(frozen=True, slots=True)
class Results(Sequence[Hit]):
    """The hits of a search, best first, with the trace of how they were found."""

    query: str
    hits: tuple[Hit, ...]
    trace: Trace

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)


# Why a document stands where it does


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term (or phrase) of a query: in how many chunks it occurs, its idf, and whether the chunk in question holds it.

    `term` is as indexed, `word` as it was typed. `variant` says that it was not asked for: it is another spelling or a
    synonym.
    """

    term: str
    word: str
    frequency: int
    idf: float
    held: bool
    variant: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What would bring a chunk onto the page, and the rank it would have there.

    `size` is relative to what is changed: 0.4 is 40 % more results, one of two and a half words, a weight moved by 40 %
    of the way it can go.
    """

    what: str
    rank: int
    size: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a document is among the first `top_k` for a query, or is not.

    `hit` is its best chunk with the trail of all stages, of `chunks` that it has; None if it has none. In the trail,
    channels tell the exact rank also below what a search reads. `rank` is the chunk's place in the whole list of
    candidates, None if it did not become one. `stage` placed or lost it, `reason` says how. `contributions` add up to
    the score. `changes` are what would bring it onto the page, the smallest first; empty where it is there already, or
    where nothing that was tried would do.
    """

    query: str
    document: str
    collection: str
    hit: Hit | None
    chunks: int
    top_k: int
    candidates: int
    rank: int | None
    stage: str
    reason: str
    terms: tuple[QueryTerm, ...]
    contributions: Mapping[str, float]
    changes: tuple[Change, ...]
    trace: Trace

    @property
    def found(self) -> bool:
        """Whether it is among the first `top_k`."""
        return self.rank is not None and self.rank <= self.top_k

    @property
    def score(self) -> float | None:
        """The score that decided its rank; None where it has no rank."""
        return self.hit.score if self.hit and self.rank else None

    @property
    def change(self) -> Change | None:
        """The smallest change that would bring it onto the page."""
        return self.changes[0] if self.changes else None


# What a run of indexing tells


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was not indexed, and why, in words for its owner."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a run of indexing did.

    `skipped_files` counts the unchanged files and those left out on purpose (too large, binary); the latter are
    listed in `skipped` with the reason. `failed` lists the files that could not be read. `waited_for` tells which other
    processes were at the same work and had to finish first.
    """

    indexed_files: int = 0
    skipped_files: int = 0
    deleted_files: int = 0
    failed: tuple[Failure, ...] = ()
    skipped: tuple[Failure, ...] = ()
    chunks: int = 0
    embedded_chunks: int = 0
    indexed_paths: tuple[str, ...] = ()
    embedding_model: str = ""
    embedding_backend: str = ""
    seconds: float = 0.0
    waited_for: tuple[str, ...] = ()


class Progress(Protocol):
    """What a long run calls with its stage (`read`, `embed`), how much is done, and of how much (None if unknown)."""

    def __call__(self, stage: str, done: int, total: int | None, /) -> None:
        """Note how far it is."""
