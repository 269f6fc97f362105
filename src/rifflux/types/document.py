"""Documents, their passages, and the report of an indexing run."""

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

#: Marks fields that are left out of a noun's JSON.
UNTOLD: Mapping[str, bool] = {"untold": True}
#: A passage's position in the text of its document: first character and one past the last.
Span = tuple[int, int]
#: The first and last line of a passage in its file, counted from 1.
Lines = tuple[int, int]
#: The maximum length of a title in characters, since every result carries one.
LONGEST_TITLE = 1_000
#: Separates a namespace from its owner where several owners are read as one; neither name contains it.
_OWNED = "\x1e"


@dataclass(frozen=True, slots=True)
class Link:
    """A reference from one document to another, such as a citation.

    `key` identifies the target as `scheme:value`, or is the key of a document in the same namespace. The target need
    not be stored: a work cites more than an index holds.
    """

    key: str
    kind: str = "cites"
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Identifier:
    """A document's name in one scheme: `doi`, `arxiv`, `openalex`, or the name of a list that contains it."""

    scheme: str
    value: str

    def __str__(self) -> str:
        """Return the identifier as `scheme:value`, such as `doi:10.1000/182`."""
        return f"{self.scheme}:{self.value}"


@dataclass(frozen=True, slots=True, order=True)
class Tag:
    """A subject in a scheme, such as `math.AG` in `arxiv` or `14F05` in `msc`."""

    scheme: str
    value: str


@dataclass(frozen=True, slots=True)
class Part:
    """A span of a document's text with a role: abstract, section, theorem or proof.

    `headings` is its breadcrumb, ending with its own heading; `label` is the name that references inside the document
    use. `page` is the page on which it begins, or None where the document has no pages.
    """

    kind: str
    span: Span
    headings: tuple[str, ...] = ()
    label: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One thing to be found: a file, a record, a message or a work.

    Dates are ISO 8601 strings (`2024-05-01` or `2024-05-01T12:00:00+00:00`), or None. `license` is None if no license
    is known. `withheld` means that the text is hidden because no license permits displaying it. `language` names the
    analyzer of its terms (see `rifflux.text.analyzer`); empty means the index's default.
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
    """A piece of a document's text that reads as a unit: `text[start:end]`.

    `kind` is `paragraph`, `item`, `code`, `table` or `heading`. Blocks come in reading order and never overlap.
    `headings` is the block's breadcrumb, outermost first. `header` is repeated in front of each continuation when the
    block is split, such as a table's header rows. `page` is the page or slide on which it begins, counted from 1, or
    None where the document has no pages.
    """

    start: int
    end: int
    kind: str = "paragraph"
    headings: tuple[str, ...] = ()
    header: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """The result of reading a file or part of one: a document and the blocks of its text."""

    document: Document
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrievable passage of a document.

    `text` is what is searched and displayed: the document's text at `span`, preceded by the table header where a table
    was split. `headings` is the breadcrumb; `page` is the page or slide on which it begins.
    """

    id: int
    position: int
    text: str
    span: Span
    headings: tuple[str, ...] = ()
    page: int | None = None

    @property
    def chunk_id(self) -> str:
        """Return the stable public identifier: sixteen hexadecimal digits that sort like `id`."""
        return f"{self.id:016x}"


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was not indexed, with the reason for its owner; `code`, `cure` and `data` are those of a `Notice`.

    `kind` is the kind of reason: one of `Unreadable`, `permission`, `gone`, `lost` (its folder seems to have lost its
    files by accident), or `error` for anything unexpected.
    """

    path: str
    reason: str
    code: str = Unreadable.code
    cure: Cure | None = None
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    kind: str = "broken"

    @classmethod
    def of(cls, path: str, error: RiffluxError) -> Failure:
        """Return a failure with the code, message and cure of an error."""
        kind = error.kind if isinstance(error, Unreadable) else "error"
        return cls(path, str(error), error.code, error.cure, error.data, kind)

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> Failure:
        """Rebuild a failure from the `asdict` form that another process sent."""
        cure = record["cure"]
        return cls(**{**record, "cure": Cure(cure) if cure else None})

    def __str__(self) -> str:
        """Return the reason."""
        return self.reason

    def within(self, folder: Path) -> Failure:
        """Return a copy that names the files of a folder by their relative paths only."""
        path, reason = (text.replace(f"{folder}{os.sep}", "") for text in (self.path, self.reason))
        return replace(self, path=path, reason=reason)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that was left out on purpose, with the reason."""

    path: str
    reason: str
    #: The type of file (`image`, `archive`, `ebook`, `document`, `binary` ...), or the rule that excludes it (`size`,
    #: `link`, `name`).
    kind: str


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The outcome of an indexing run.

    Every file found is accounted for: `found_files` are `indexed_files`, `unchanged_files`, `failed_files` and those
    left out on purpose. `skipped_kinds` counts the last by kind: too large, an image, generated (`lock`, `minified`,
    `dump` ...), or matched by a rule (`hidden`, `ignored`, `excluded`, `tool`; a folder counts once). Those that match
    no rule are listed in `skipped` with the reason. `skipped_files` are those unchanged or left out. `failed` lists
    what could not be read, with the reason, including parts of files; `failed_kinds` counts the failed files by the
    kind of reason (see `Failure`). `waited_for` names the other processes whose work on the same index had to finish
    first. `degraded` says why stored chunks have no vector yet, so that only word search finds them. `remarks` name
    files with very many passages, pages without text, and other actions such as analyzing files in another language.
    """

    found_files: int = 0
    indexed_files: int = 0
    unchanged_files: int = 0
    skipped_files: int = 0
    failed_files: int = 0
    deleted_files: int = 0
    failed: tuple[Failure, ...] = ()
    failed_kinds: Mapping[str, int] = field(default_factory=dict)
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
    """Merge the reports of several collections into one."""
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
    """A callback for long runs: the stage (`read`, `embed`), how much is done, and the total (None if unknown)."""

    def __call__(self, stage: str, done: int, total: int | None, /) -> None:
        """Record the progress of a stage."""


def of_owner(namespace: str, owner: str | None) -> str:
    """Return a namespace as a view of several owners names it; without an owner, as the default view does."""
    if owner is None:
        return namespace
    return f"{namespace}{_OWNED}{owner}"


def parted(namespace: str) -> tuple[str, str | None]:
    """Split a namespace into its own name and its owner, if it names one."""
    name, owned, owner = namespace.partition(_OWNED)
    return name, owner if owned else None


def visible_namespace(namespace: str, *, owned: bool) -> str:
    """Return a namespace or root as the caller may see it: another owner's folder is reduced to its name."""
    place = PurePath(namespace)
    if place.is_absolute() and not owned:
        return place.name
    return namespace


def bounded_title(title: str) -> str:
    """Cut a title longer than `LONGEST_TITLE` between words."""
    if len(title) <= LONGEST_TITLE:
        return title
    return title[: LONGEST_TITLE - 1].rsplit(" ", 1)[0] + "…"
