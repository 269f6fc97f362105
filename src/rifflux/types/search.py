"""Search values: scopes, filters, parsed queries, hits and traces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from operator import attrgetter
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rifflux.errors import InvalidArgument
from rifflux.types.document import UNTOLD, Lines, Span, of_owner, visible_namespace
from rifflux.types.notice import Notice

__all__ = [
    "AUTHORS",
    "CREDITS",
    "LICENSED",
    "LINED",
    "REST_WITHHELD",
    "VENUE",
    "WITHHELD",
    "Bound",
    "Clause",
    "Credit",
    "Execution",
    "Filter",
    "Freshness",
    "Hit",
    "Ids",
    "Moment",
    "Phrasing",
    "Query",
    "QueryLanguages",
    "Ranking",
    "Scope",
    "Scores",
    "TermStatistics",
    "Trace",
    "Understanding",
    "Vectors",
    "Why",
]

Ids = NDArray[np.int64]
Scores = NDArray[np.float64]
Vectors = NDArray[np.float32]

#: Maximum length of a user id in characters.
LONGEST_USER = 256
#: Adjacent terms, usually a single one.
Clause = tuple[str, ...]
#: Prefix of the namespaces that hold works, whose text is displayed only as far as a license permits.
LICENSED = "works/"
#: Kinds whose text is that of their file, line by line, unlike records and web pages.
LINED = frozenset({"code", "markdown", "rst", "table", "text"})
#: The metadata fields that hold names of people and of venues.
AUTHORS = "authors"
VENUE = "venue"
CREDITS = (AUTHORS, VENUE)
#: Maximum width in characters of a hit printed on one line.
LINE = 120
#: Replace a withheld text, and the rest of a text after its abstract.
WITHHELD = "[the text of this work is not shown: no license is recorded that permits it]"
REST_WITHHELD = "[only the abstract is shown: no license is recorded that permits more]"


@dataclass(frozen=True, slots=True)
class Scope:
    """The user whose content a call may read and change. It comes from authentication, never from the request.

    An `administrator` also has access to content without an owner.
    """

    user_id: str
    administrator: bool = False

    def __post_init__(self) -> None:
        name = self.user_id
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_USER or not name.isprintable():
            raise InvalidArgument(
                f"a scope needs a user's id: a string of 1 to {LONGEST_USER} printable characters, not {name!r}"
            )


@dataclass(frozen=True, slots=True)
class Bound:
    """A range of a numeric metadata field, both ends inclusive; `missing` also accepts documents without the field."""

    field: str
    least: float | None = None
    most: float | None = None
    missing: bool = True


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that a hit must satisfy.

    Empty parts restrict nothing. All parts must match; within a part, one value suffices. `paths` are globs over the
    document's path (`notes/**`, `*.md`; a star also crosses folders). `since` and `until` are ISO 8601 dates, both
    inclusive, compared with `created_at`, or with `updated_at` where that is missing; a day means the whole day. A
    metadata value may be a scalar or a sequence of alternatives; a list in a document's metadata matches if any of its
    items does. `collections` use the caller's names, such as `wiki` or `bob/wiki`; content outside them is ignored
    entirely. `documents` are keys; `namespaces` are what a document's key is unique within: a root, a file of records
    or a conversation. `folders` are leading path components (`src`), preceded by the name of the root (`guide/src`) if
    another root has a folder of that name. `bounds` are ranges of numeric metadata; `without` lists fields that must be
    absent or null; `not_kinds` lists kinds to exclude. `tags` are subjects, as `scheme:value` or as the value alone.
    """

    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    without: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(_CONDITIONS(self))

    def of_works(
        self, authors: str | Iterable[str] = (), venues: str | Iterable[str] = (), year: str | int | None = None
    ) -> Filter:
        """Return this filter restricted to works by one of the authors, in one of the venues, from the given years.

        Names may have any spelling: `Dijkstra`, `Dijkstra, E. W.`, `Acta Math.`, an ORCID iD. `year` is one or several:
        `1974`, `1970-1979`, `1970-`, `-1979`; it narrows the dates. Raises `InvalidArgument`.
        """
        named = {"authors": _names("authors", authors), "venue": _names("venues", venues)}
        first, last = _years(year)
        return self.narrowed(
            Filter(since=first, until=last, metadata={role: names for role, names in named.items() if names})
        )

    def narrowed(self, other: Filter) -> Filter:
        """Return this filter intersected with the dates of another; its values win for metadata that both set.

        A year or a month covers all of its days, so of two dates with a common prefix the shorter one is the later.
        """
        return replace(
            self,
            since=max(self.since or "", other.since or "") or None,
            until=min(filter(None, (self.until, other.until)), key="{}~".format, default=None),
            metadata={**self.metadata, **other.metadata},
        )


def _names(what: str, value: str | Iterable[str]) -> list[str]:
    if isinstance(value, str):
        names = [value]
    else:
        names = [*value]
    if not all(isinstance(each, str) and each.strip() for each in names):
        raise InvalidArgument(f"{what} must be names such as 'Dijkstra, E. W.', not {value!r}")
    return [*dict.fromkeys(name.strip() for name in names)]


def _years(value: str | int | None) -> tuple[str, str]:
    """Return the first and last year of a range; an open end is empty."""
    text = "" if value is None else str(value).strip()
    found = _YEARS.fullmatch(text)
    if isinstance(value, bool) or not found or (text and not (found["first"] or found["last"])):
        raise InvalidArgument(f"year must be one or several, such as 1974, 1970-1979 or 1970-, not {value!r}")
    first = found["first"] or ""
    between = found["to"]
    last = found["last"] or ""
    if first and last and last < first:
        raise InvalidArgument(f"no year is from {first} to {last}: give the earlier one first")
    return first, last if between else first


_YEARS = re.compile(r"(?P<first>\d{4})?(?:\s*(?P<to>-|–|\.\.)\s*(?P<last>\d{4})?)?")
_CONDITIONS = attrgetter(*Filter.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Understanding:
    """The classification of a question: `identifier`, `mixed` or `conceptual`, with the reasons.

    `specificity` is the share of meaningful words that name one particular thing, in [0, 1].
    """

    kind: str
    specificity: float
    identifiers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Counts over the visible content: all chunks, chunks with a vector, and chunks that contain each term."""

    chunks: int
    embedded_chunks: int
    frequencies: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Moment:
    """A time named in a question: its words, first and last day; a `yearly` one applies to any year."""

    words: str
    since: date
    until: date
    yearly: bool = False

    def covers(self, since: date, until: date) -> bool:
        """Return True if the days from `since` to `until` lie within this time."""
        if self.yearly:
            first, last = ((each.month, each.day) for each in (self.since, self.until))
            return since.year == until.year and first <= (since.month, since.day) <= (until.month, until.day) <= last
        return self.since <= since and until <= self.until

    @property
    def span(self) -> str:
        """Return a readable date range, such as `until 2020-01-31`."""
        first, last = (day.isoformat()[5 * self.yearly :] for day in (self.since, self.until))
        if self.since == date.min:
            days = f"until {last}"
        elif first == last:
            days = first
        else:
            days = f"{first} to {last}"
        return days + " of any year" * self.yearly


@dataclass(frozen=True, slots=True)
class Credit:
    """An author, venue or year named in a question.

    `role` is `authors`, `venue` or `year`; `wording` is the question's; `names` are the spellings found in
    works. `sure` means that the words cannot mean anything else; `why` gives the evidence.
    """

    role: str
    wording: str
    names: tuple[str, ...]
    sure: bool = False
    why: tuple[str, ...] = ()

    @property
    def filter(self) -> Filter:
        """Return the filter that matches the works of this author, venue or year."""
        if self.role == "year":
            return Filter(since=self.names[0], until=self.names[0], metadata={"year": (int(self.names[0]),)})
        return Filter(metadata={self.role: self.names})

    @property
    def label(self) -> str:
        """Return a readable label, such as `by: Dijkstra`."""
        return f"{_PREPOSITIONS[self.role]}: {self.wording}"


_PREPOSITIONS = {"authors": "by", "venue": "in", "year": "of"}


@dataclass(frozen=True, slots=True)
class Phrasing:
    """The parts of a question by purpose.

    `body` is the text without exclusions and facets; `limits` are those, as typed. `interrogative` are question words,
    which are not searched for.
    """

    body: str = ""
    limits: str = ""
    interrogative: str = ""


@dataclass(frozen=True, slots=True)
class QueryLanguages:
    """A question's words in the languages of the content.

    The question was parsed in `query`. `forms` are the forms of its clauses in the other languages; one form of each
    required clause must match. `stands_for` maps, per language, substitute terms to the terms of the question.
    """

    query: str = ""
    forms: Mapping[Clause, tuple[Clause, ...]] = field(default_factory=dict)
    stands_for: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Query:
    """A question, parsed and analyzed once; every step reads this and never the raw text.

    `semantic_text` is the text to embed; `tokens` are its tokens in order, each with its terms. `words` maps each typed
    word, and each part of the question that is looked up, to its terms. `understanding` is the kind of question.
    `clauses` are alternatives, each a sequence of adjacent terms (usually one; more for a quoted phrase); a clause that
    the question repeats weighs more, as given in `worths`, all others 1. `required` clauses must all match, `excluded`
    ones must not; `prefixes` match any term with that beginning. `variants` are further alternatives that the question
    does not contain: other spellings and synonyms; `beside` gives for each the terms of the question that it may
    replace. `anchors` are names that must match to the letter; `specificity` is the share of words that are part of
    one. `times` are the times, `credits` the authors, venues and years that the question names; with `credits_only` it
    asks for nothing but their works.
    """

    text: str
    clauses: tuple[Clause, ...] = ()
    worths: Mapping[Clause, float] = field(default_factory=dict)
    required: tuple[Clause, ...] = ()
    excluded: tuple[Clause, ...] = ()
    prefixes: tuple[str, ...] = ()
    variants: tuple[Clause, ...] = ()
    beside: tuple[Clause, ...] = ()
    anchors: tuple[Clause, ...] = ()
    specificity: float = 0.0
    times: tuple[Moment, ...] = ()
    credits: tuple[Credit, ...] = ()
    credits_only: bool = False
    semantic_text: str = ""
    filter: Filter = field(default_factory=Filter)
    phrasing: Phrasing = Phrasing()
    languages: QueryLanguages = field(default_factory=QueryLanguages)
    tokens: tuple[tuple[str, Clause], ...] = ()
    words: Mapping[str, Clause] = field(default_factory=dict, repr=False, compare=False)
    understanding: Understanding | None = None

    @property
    def terms(self) -> Clause:
        """Return the terms of all tokens in order."""
        return tuple(term for _, terms in self.tokens for term in terms)


@dataclass(frozen=True, slots=True)
class Execution:
    """The parameters of one search beyond the query.

    `vector` is the question's embedding; `model` is the fingerprint of the model that made it, if known. Words rank at
    most `limit` chunks, meaning at most `enough` (0 means `limit`). The first `pool` entries of each ranking become
    candidates. `deadline` is a `time.perf_counter()` moment after which no stage is awaited. `statistics` are the term
    counts at the time the question was parsed; `notes` describe search terms beyond its words.
    """

    vector: Vectors | None = None
    model: str | None = None
    limit: int = 20
    enough: int = 0
    pool: int = 20
    deadline: float | None = None
    statistics: TermStatistics | None = None
    notes: tuple[Notice, ...] = ()

    @property
    def sufficient(self) -> int:
        """Return the number of chunks that are ranked by meaning."""
        return min(self.enough or self.limit, self.limit)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunk ids with their scores, best first: two arrays of equal length without duplicate ids."""

    ids: Ids
    scores: Scores

    @classmethod
    def empty(cls) -> Ranking:
        """Return an empty ranking."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float64))

    def __len__(self) -> int:
        return len(self.ids)

    def head(self, limit: int) -> Ranking:
        """Return the best `limit` entries."""
        return Ranking(self.ids[:limit], self.scores[:limit])


@dataclass(frozen=True, slots=True)
class Why:
    """One stage's contribution to a hit. `rank` counts from 1; both are None if the stage did not see the hit."""

    stage: str
    rank: int | None = None
    score: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Hit:
    """A chunk that matches a query, with an explanation of its rank.

    `score` compares hits within one search; `relevance`, in [0, 1], is comparable across searches, and `quality` is its
    level: `high`, `medium` or `low`. Both are None without calibration. `lines` are the first and last line in its
    file, counted from 1; None for files whose text was extracted, of which `page` may be known. `withheld` means that
    no license permits displaying the text. `collection` is the caller's name for the collection, `owned` says whether
    the content is the caller's own, and `owner` names the owner where several are read together. `language` is that of
    the document; empty means the index's default.
    """

    id: str
    key: str
    path: str
    title: str
    heading_path: str
    chunk_index: int
    text: str
    span: Span
    score: float = 0.0
    why: tuple[Why, ...] = ()
    kind: str = ""
    created_at: str | None = None
    updated_at: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    license: str | None = None
    namespace: str = field(default="", metadata=UNTOLD)
    relevance: float | None = None
    quality: str | None = None
    lines: Lines | None = None
    page: int | None = None
    withheld: bool = field(default=False, metadata=UNTOLD)
    collection: str = ""
    owner: str | None = field(default=None, metadata=UNTOLD)
    owned: bool = field(default=True, metadata=UNTOLD)
    language: str = field(default="", metadata=UNTOLD)

    @property
    def place(self) -> tuple[str, str]:
        """Return the namespace and key of the document."""
        return self.namespace if self.owner is None else of_owner(self.namespace, self.owner), self.key

    @property
    def root(self) -> str | None:
        """Return the folder that `path` is relative to, or None if the document is not a file.

        For content shared by others this is the folder's name alone, since its location is private to them.
        """
        if PurePath(self.namespace).is_absolute():
            return self.home
        return None

    @property
    def home(self) -> str:
        """Return the namespace as the caller may see it: for shared content, a root is reduced to its folder's name."""
        return visible_namespace(self.namespace, owned=self.owned)

    def is_of(self, home: str, document: str) -> bool:
        """Return True if the document's namespace has this name, for its owner or for a reader."""
        return document == self.key and home in (
            self.namespace,
            visible_namespace(self.namespace, owned=False),
        )

    def retold(self, **changes: Any) -> Hit:
        """Return a copy with other values, much faster than `dataclasses.replace` does."""
        hit = object.__new__(Hit)
        hit.__dict__.update(self.__dict__, **changes)
        return hit

    def because(self, stage: str) -> Why | None:
        """Return the last explanation that `stage` gave for this hit, or None."""
        return next((why for why in reversed(self.why) if why.stage == stage), None)

    def __str__(self) -> str:
        """Return the hit on one line: place, headings, relevance and the beginning of its text."""
        place = self.path or self.key
        if self.lines or self.page is not None:
            place += f":{self.lines[0]}" if self.lines else f" p. {self.page}"
        if self.relevance is None:
            rated = f"{self.score:.4f}"
        else:
            rated = f"{self.quality} {self.relevance:.2f}"
        begins = " ".join(self.text[:LINE].split())
        return _line(f"{place}  {self.heading_path or self.title}  {rated}  {begins}")


def _line(text: str) -> str:
    """Return text on one line, cut to `LINE` characters, without terminal control characters."""
    printable = "".join(each if each.isprintable() else " " for each in text)
    if len(printable) <= LINE:
        return printable
    return f"{printable[: LINE - 1]}…"


@dataclass(frozen=True, slots=True)
class Freshness:
    """A sampled estimate of how far an index is behind its files.

    `sampled_files` of all `files` were examined. `changed_files` estimates how many of all have changed or disappeared;
    it is exact if all were examined. In `changed_folders` of the sample, files were added or removed since `synced_at`:
    the ISO 8601 time of the last complete scan, of the root where that is longest ago. Files in `missing_roots`, such
    as an unmounted disk, are not counted.
    """

    files: int
    sampled_files: int
    changed_files: int
    changed_folders: int
    synced_at: str | None
    missing_roots: tuple[str, ...] = ()

    @property
    def note(self) -> str | None:
        """Return a sentence about the estimate, or None if the index may well be up to date."""
        if self.changed_files:
            if self.sampled_files == self.files:
                about = ""
            else:
                about = "about "
            return f"{about}{self.changed_files} of {self.files} files changed since they were read"
        if self.changed_folders:
            return f"files may have come or gone in {self.changed_folders} folders"
        return None


@dataclass(frozen=True, slots=True)
class Trace:
    """A record of what a search did: times, hits per channel, dropped rows, and degradations with reasons.

    Times are milliseconds per stage. `reranker` names what reordered the hits; None if nothing did, even if one was
    requested. `notes` describe deliberate omissions, `understanding` the classification of the question, `freshness`
    how up to date the index is.
    """

    mode: str
    effective_mode: str
    fusion: str | None = None
    reranker: str | None = None
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    degraded: tuple[Notice, ...] = ()
    notes: tuple[Notice, ...] = ()
    understanding: Understanding | None = None
    freshness: Freshness | None = None
