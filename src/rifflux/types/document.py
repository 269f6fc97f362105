"""What is indexed: documents and their passages, and the report of a run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, Protocol

from rifflux.errors import Cure, RiffluxError, Unreadable
from rifflux.types.notice import Notice

__all__ = [
    "LONGEST_TITLE",
    "UNTOLD",
    "Block",
    "Chunk",
    "Document",
    "Failure",
    "Identifier",
    "IndexReport",
    "LeftOut",
    "Lines",
    "Link",
    "Parsed",
    "Part",
    "Progress",
    "Span",
    "Tag",
    "bounded_title",
    "of_owner",
    "parted",
    "together",
    "visible_namespace",
]

#: Marks fields that are no keys of a noun in JSON.
UNTOLD: Mapping[str, bool] = {"untold": True}
#: Where a passage stands in its document's text: first character, and one past the last.
Span = tuple[int, int]
#: The first and the last line of a passage in its file, counted from 1.
Lines = tuple[int, int]
#: The characters of a title at most: it comes with every result.
LONGEST_TITLE = 1_000
#: Stands between a namespace and its owner where several owners are read as one; no name of either holds it.
_OWNED = "\x1e"


@dataclass(frozen=True, slots=True)
class Link:
    """A reference from a document to another, such as a citation.

    `key` is an identifier of the target as `scheme:value`, or the key of a document in the same namespace. It may
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
        """Return the identifier as links write it: `doi:10.1000/182`."""
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
    `page` is the page that it begins on, None where the document has no pages.
    """

    kind: str
    span: Span
    headings: tuple[str, ...] = ()
    label: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One thing to be found: a file, a record, a message, a work.

    Dates are ISO 8601 strings (`2024-05-01` or `2024-05-01T12:00:00+00:00`), or None. `license` None means that none
    is known. `withheld` says that its text is not shown, for want of one that permits it. `language` names the analyzer
    of its terms (see `rifflux.text.analyzer`); empty means that of the index.
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
    withheld: bool = field(default=False, metadata=UNTOLD)
    language: str = field(default="", metadata=UNTOLD)


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document's text that reads as one: `text[start:end]`.

    `kind` is `paragraph`, `item`, `code`, `table` or `heading`. Blocks come in reading order and never
    overlap. `headings` is the breadcrumb that the block stands under, outermost first. `header` is what a
    continued piece repeats when the block is split: the header rows of a table. `page` is the page, or the slide, that
    it begins on, counted from 1; None where the document has no pages.
    """

    start: int
    end: int
    kind: str = "paragraph"
    headings: tuple[str, ...] = ()
    header: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reader made of (a part of) a file: a document and the blocks of its text."""

    document: Document
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrievable passage of a document.

    `text` is what is shown and searched: the document's text at `span`, with the table header in front
    where a table was split. `headings` is the breadcrumb, `page` the page or slide that it begins on.
    """

    id: int
    position: int
    text: str
    span: Span
    headings: tuple[str, ...] = ()
    page: int | None = None

    @property
    def chunk_id(self) -> str:
        """Return the stable public identifier: sixteen hexadecimal digits that sort as `id` does."""
        return f"{self.id:016x}"


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was not indexed, and why, in words for its owner; `code`, `cure` and `data` are as of a `Notice`."""

    path: str
    reason: str
    code: str = Unreadable.code
    cure: Cure | None = None
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, path: str, error: RiffluxError) -> Failure:
        """Return the failure of a file with the code, message and cure of the error that it was."""
        return cls(path, str(error), error.code, error.cure, error.data)

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> Failure:
        """Return the failure that `asdict` gave to another process."""
        cure = record["cure"]
        return cls(**{**record, "cure": Cure(cure) if cure else None})

    def __str__(self) -> str:
        """Return the reason."""
        return self.reason

    def within(self, folder: Path) -> Failure:
        """Return the same, with the files of a folder named without saying where that is."""
        path, reason = (text.replace(f"{folder}{os.sep}", "") for text in (self.path, self.reason))
        return replace(self, path=path, reason=reason)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that was left out on purpose, and why."""

    path: str
    reason: str
    #: What the file is (`image`, `archive`, `ebook`, `document`, `binary` ...), or what keeps it out (`size`, `link`,
    #: `name`).
    kind: str


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a run of indexing did.

    Every file that was found is accounted for: `found_files` are `indexed_files`, `unchanged_files`, `failed_files` and
    those left out on purpose, which `skipped_kinds` counts by their kind: too large, an image, written by a program for
    programs (`lock`, `minified`, `dump` ...), or named by a rule (`hidden`, `ignored`, `excluded`, `tool`; a folder
    counts once). Those that no rule names are listed in `skipped` with the reason. `skipped_files` are those unchanged
    or left out. `failed` lists with the reason what could not be read, parts of files too. `waited_for` names which
    other processes were at the same work and had to finish first. `degraded` says why chunks that were stored have no
    vector yet: they are found by words. `remarks` name files of very many passages and pages without text, and what
    else was done, such as analyzing files in another language.
    """

    found_files: int = 0
    indexed_files: int = 0
    unchanged_files: int = 0
    skipped_files: int = 0
    failed_files: int = 0
    deleted_files: int = 0
    failed: tuple[Failure, ...] = ()
    skipped: tuple[LeftOut, ...] = ()
    skipped_kinds: Mapping[str, int] = field(default_factory=dict)
    chunks: int = 0
    embedded_chunks: int = 0
    indexed_paths: tuple[str, ...] = ()
    embedding_model: str = ""
    embedding_backend: str = ""
    seconds: float = 0.0
    waited_for: tuple[str, ...] = ()
    degraded: tuple[Notice, ...] = ()
    remarks: tuple[Notice, ...] = ()


def together(reports: Sequence[IndexReport]) -> IndexReport:
    """Return one report of what was done in several collections."""
    first, *others = reports
    if not others:
        return first
    summed: dict[str, Any] = {}
    for each in fields(first):
        values = [getattr(report, each.name) for report in reports]
        if isinstance(values[0], tuple):
            summed[each.name] = tuple(dict.fromkeys(chain.from_iterable(values)))
        elif isinstance(values[0], Mapping):
            counts: Counter[str] = Counter()
            for value in values:
                counts.update(value)
            summed[each.name] = dict(counts)
        elif not isinstance(values[0], str):
            summed[each.name] = sum(values)
    return replace(first, **summed)


class Progress(Protocol):
    """What a long run calls with its stage (`read`, `embed`), how much is done, and of how much (None if unknown)."""

    def __call__(self, stage: str, done: int, total: int | None, /) -> None:
        """Note how far it is."""


def of_owner(namespace: str, owner: str | None) -> str:
    """Return a namespace as a view of several owners names it; without an owner, as everybody's own view does."""
    if owner is None:
        return namespace
    return f"{namespace}{_OWNED}{owner}"


def parted(namespace: str) -> tuple[str, str | None]:
    """Return a namespace and its owner, as far as the name says whose it is."""
    name, owned, owner = namespace.partition(_OWNED)
    return name, owner if owned else None


def visible_namespace(namespace: str, *, owned: bool) -> str:
    """Return a namespace, or a root, for a caller: of what is another's, a folder by its name alone."""
    place = PurePath(namespace)
    if place.is_absolute() and not owned:
        return place.name
    return namespace


def bounded_title(title: str) -> str:
    """Return a title, cut between words where it is longer than `LONGEST_TITLE`."""
    if len(title) <= LONGEST_TITLE:
        return title
    return title[: LONGEST_TITLE - 1].rsplit(" ", 1)[0] + "…"
