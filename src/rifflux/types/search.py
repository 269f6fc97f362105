"""What is asked and found: by whom, the question that was read, and the hits with the trace of their search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rifflux.errors import InvalidArgument
from rifflux.types.document import UNTOLD, Lines, Span, of_owner, visible_namespace
from rifflux.types.filter import Filter
from rifflux.types.notice import Notice

__all__ = [
    "AUTHORS",
    "CREDITS",
    "LICENSED",
    "REST_WITHHELD",
    "VENUE",
    "WITHHELD",
    "Clause",
    "Credit",
    "Execution",
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

#: Characters that a user's id may have.
LONGEST_USER = 256
#: Adjacent terms; mostly a single one.
Clause = tuple[str, ...]
#: Namespaces whose names begin so hold works, of which only what a license permits is shown.
LICENSED = "works/"
#: The metadata that are names of people, and of journals and the like.
AUTHORS = "authors"
VENUE = "venue"
CREDITS = (AUTHORS, VENUE)
#: Characters of a hit that is printed.
LINE = 120
#: Stands for the text that is not shown, and for what follows an abstract.
WITHHELD = "[the text of this work is not shown: no license is recorded that permits it]"
REST_WITHHELD = "[only the abstract is shown: no license is recorded that permits more]"


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose content a call may see and change: one user's. It comes from who is signed in, never from a request.

    To an `administrator` belongs besides what belongs to nobody.
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
class Moment:
    """A time that a question names: its words, first and last day; a `yearly` one is that of any year."""

    words: str
    since: date
    until: date
    yearly: bool = False

    def covers(self, since: date, until: date) -> bool:
        """Return True if a time from one day to another lies within this one."""
        if self.yearly:
            first, last = ((each.month, each.day) for each in (self.since, self.until))
            return since.year == until.year and first <= (since.month, since.day) <= (until.month, until.day) <= last
        return self.since <= since and until <= self.until

    @property
    def span(self) -> str:
        """Return the days for people, as in `until 2020-01-31`."""
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
    """An author, a venue or a year that a question names.

    `role` is `authors`, `venue` or `year`, `said` the words of the question, `names` the spellings that works have.
    `sure` says that nothing else can be meant by them, `why` what speaks for it.
    """

    role: str
    said: str
    names: tuple[str, ...]
    sure: bool = False
    why: tuple[str, ...] = ()

    @property
    def filter(self) -> Filter:
        """Return the filter that lets their works through."""
        if self.role == "year":
            return Filter(since=self.names[0], until=self.names[0], metadata={"year": (int(self.names[0]),)})
        return Filter(metadata={self.role: self.names})

    @property
    def label(self) -> str:
        """Return the words for people: `by: Dijkstra`."""
        return f"{_TOLD[self.role]}: {self.said}"


_TOLD = {"authors": "by", "venue": "in", "year": "of"}


@dataclass(frozen=True, slots=True)
class Phrasing:
    """The parts of a question by their purpose.

    `body` is the text without its exclusions and facets, and `limits` are those, as they were typed. `interrogative`
    are the words that make it a question, which are not searched for.
    """

    body: str = ""
    limits: str = ""
    interrogative: str = ""


@dataclass(frozen=True, slots=True)
class QueryLanguages:
    """What the words of a question are in the languages of the content.

    The question was read in `query`. `forms` are the forms that its clauses have in the other languages: one of a
    required clause must match. `stands_for` has, by language, the terms of the question that other terms stand for.
    """

    query: str = ""
    forms: Mapping[Clause, tuple[Clause, ...]] = field(default_factory=dict)
    stands_for: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Query:
    """A question, parsed and analyzed once: every step works with it, so that nothing looks at the text again.

    `semantic_text` is what is embedded, `tokens` are its tokens in order, each with its terms. `words` has the terms of
    each word that was typed, and of any part of the question that is looked up. `understanding` is the kind of
    question.
    `clauses` are alternatives, each a sequence of adjacent terms (mostly of length one; longer for a quoted
    phrase); what the question says of a word more than once counts more by its `worths`, all others 1.
    `required` clauses must all match, `excluded` ones must not; `prefixes` match any term that starts so.
    `variants` are further alternatives that the question does not hold: other spellings and synonyms. `beside` are for
    each of them the terms of the question that it may stand for.
    `anchors` are what the question names to the letter, `specificity` the share of its words that do so. `times` are
    the times that it names, `credits` the authors, venues and years of works; with `credits_only` it wants nothing but
    their works.
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
        """Return the terms of all tokens, in order."""
        return tuple(term for _, terms in self.tokens for term in terms)


@dataclass(frozen=True, slots=True)
class Execution:
    """How one search runs: what its channels and steps need in addition to the query.

    `vector` is that of the question, `model` the fingerprint of the model that made it, where that is known. Each
    channel ranks at most `limit` chunks; `enough` of them suffice where finding all takes longer (0: `limit`). The
    first `pool` of each ranking become candidates. `deadline` is a moment of `time.perf_counter()` after which no stage
    is waited for. `statistics` say how common the terms were when the question was read, `notes` what is searched for
    besides its words.
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
        """Return the number of candidates that a channel may stop at."""
        return min(self.enough or self.limit, self.limit)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunk ids and their scores, best first; nothing fetched. Two arrays of equal length, no id twice."""

    ids: Ids
    scores: Scores

    @classmethod
    def empty(cls) -> Ranking:
        """Return a ranking of nothing."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float64))

    def __len__(self) -> int:
        return len(self.ids)

    def head(self, limit: int) -> Ranking:
        """Return the best `limit` entries."""
        return Ranking(self.ids[:limit], self.scores[:limit])


@dataclass(frozen=True, slots=True)
class Why:
    """What one stage had to say about a hit. `rank` counts from 1; both are None where the stage did not see it."""

    stage: str
    rank: int | None = None
    score: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that answers a query, with the trail of how it got its place.

    `score` compares the hits of one search; `relevance`, in [0, 1], means the same in every search, and `quality` is
    its level: `high`, `medium` or `low`. Both are None where nothing was calibrated. `lines` are the first and the last
    line of its file, counted from 1, None for files whose text is not their own, of which `page` may be known.
    `withheld` says that its text is not shown, for want of a license; `collection` is what the caller calls the
    collection that it is in, `owned` says that this is the caller's own, `owner` whose it is, of several read as one.
    `language` is that of its document, empty for that of the index.
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
        """Return the namespace and the key of its document."""
        return self.namespace if self.owner is None else of_owner(self.namespace, self.owner), self.key

    @property
    def root(self) -> str | None:
        """Return the folder that `path` is relative to; None where the document is no file.

        Where others keep what they share is theirs to know: of that it is the folder's name alone.
        """
        if PurePath(self.namespace).is_absolute():
            return self.home
        return None

    @property
    def home(self) -> str:
        """Return the namespace for the caller: of what others share, a root goes by its folder's name."""
        return visible_namespace(self.namespace, owned=self.owned)

    def is_of(self, home: str, document: str) -> bool:
        """Return True for a chunk of a document whose namespace has this name, for its owner or for a reader."""
        return document == self.key and home in (
            self.namespace,
            visible_namespace(self.namespace, owned=False),
        )

    def retold(
        self, score: float, why: tuple[Why, ...], relevance: float | None = None, quality: str | None = None
    ) -> Hit:
        """Return the hit with another score and explanation; in a third of the time of `dataclasses.replace`."""
        changes: dict[str, Any] = {"score": score, "why": why}
        if relevance is not None:
            changes |= {"relevance": relevance, "quality": quality}
        changed = object.__new__(Hit)
        for name in Hit.__slots__:
            object.__setattr__(changed, name, changes[name] if name in changes else getattr(self, name))
        return changed

    def because(self, stage: str) -> Why | None:
        """Return the last word of `stage` on this hit, or None."""
        return next((why for why in reversed(self.why) if why.stage == stage), None)

    def __str__(self) -> str:
        """Return the hit in a line: its place, its headings, its relevance and how it begins."""
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
    """Return text on one line and cut to its width, without what controls a terminal."""
    shown = "".join(each if each.isprintable() else " " for each in text)
    if len(shown) <= LINE:
        return shown
    return f"{shown[: LINE - 1]}…"


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
        """Return a sentence on it, None if the index may well be up to date."""
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
    degraded: tuple[Notice, ...] = ()
    notes: tuple[Notice, ...] = ()
    understanding: Understanding | None = None
    freshness: Freshness | None = None
