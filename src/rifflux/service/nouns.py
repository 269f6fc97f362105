"""The nouns of a service: tokens, collections, usage, events, jobs and decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

#: The kind of event that records how well a document answers a query.
JUDGEMENT = "judgement"
#: Stands for all users among the readers of a collection.
EVERYONE = "everyone"


@dataclass(frozen=True, slots=True)
class Event:
    """A user's action on a document that a query found, such as judging it.

    `chunk` is a public chunk id, empty for the whole document; `grade` is 0 for irrelevant and grows with relevance,
    None for kinds of events without a grade; `created_at` is ISO 8601.
    """

    kind: str
    query: str
    namespace: str
    key: str
    chunk: str = ""
    grade: int | None = None
    user: str = ""
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A service token, without its secret. Times are ISO 8601, or None for events that have not happened."""

    id: str
    user: str
    role: str
    label: str = ""
    created_at: str = ""
    used_at: str | None = None
    revoked_at: str | None = None
    expires_at: str | None = None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An administrative decision about accounts, sharing or settings, without contents or secrets.

    `user` made it, empty for the command line; `action` is a word such as `token.create`, `target` the token,
    collection, group or setting concerned, `owner` the user it belongs to, and `who` the user or group that it is
    shared with or who joins a group. `done_at` is ISO 8601; `id` grows.
    """

    user: str
    action: str
    done_at: str
    target: str = ""
    owner: str = ""
    who: str = ""
    detail: str = ""
    id: int = 0

    def renamed(self, user: str, alias: str) -> LogEntry:
        """Return the entry with another name for a user, and without the things that belonged to them."""
        entry = self
        if entry.owner == user:
            entry = replace(entry, owner=alias, target="", detail="")
        if entry.user == user:
            entry = replace(entry, user=alias)
        if entry.who == user:
            entry = replace(entry, who=alias)
        return entry


@dataclass(frozen=True, slots=True)
class Erased:
    """The counts of a user's deleted data: documents by kind (messages and memories are documents), and the rest.

    `events` are judgements and other feedback, `calls` recorded model calls, `questions` digests of queries,
    `collections` those with a name of their own, or readers, `log` entries that no longer name the user.
    """

    documents: Mapping[str, int]
    files: int = 0
    events: int = 0
    settings: int = 0
    tokens: int = 0
    calls: int = 0
    questions: int = 0
    collections: int = 0
    log: int = 0

    def __bool__(self) -> bool:
        """Return True if anything was deleted."""
        return any(getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True, slots=True)
class Spending:
    """One model call: the user who caused it, its feature, its tokens read or written, and its cost."""

    user: str
    feature: str
    model: str
    tokens: int
    cost: float
    time: float


@dataclass(frozen=True, slots=True)
class SpendingSum:
    """The calls of one day (UTC), user, feature and model, summed up."""

    day: str
    user: str
    feature: str
    model: str
    calls: int
    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class QuestionDigest:
    """A query of a user: a digest of its words, its time in seconds since 1970, and a sketch.

    The sketches of two queries indicate how similar their words are.
    """

    user: str
    digest: bytes
    time: float
    sketch: bytes = b""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """The answer to a request that a user sent with an idempotency key, for sending it again.

    `request` is a digest of the request, `time` in seconds since 1970, `status` 0 while it is being answered.
    """

    user: str
    key: str
    request: bytes
    time: float
    status: int = 0
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A background job: its kind and name, its progress, and its result.

    `state` is `running`, `done`, `failed` or `cancelled`; `stage` is the current stage, with `done` of `total` steps.
    `report` and `error` are JSON, empty until available; `status` is the HTTP status of the result, 0 until then. Times
    are in seconds since 1970; `seen_at` is the last update by the process that runs it, `ended_at` is 0.0 until it
    ends. `stop` is True if its end was requested.
    """

    id: str
    user: str
    kind: str
    name: str = ""
    state: str = "running"
    stage: str = ""
    done: int = 0
    total: int | None = None
    created_at: float = 0.0
    seen_at: float = 0.0
    ended_at: float = 0.0
    status: int = 0
    report: str = ""
    error: str = ""
    stop: bool = False


@dataclass(frozen=True, slots=True)
class Reaction:
    """A user's reaction to a result of a query: `click`, `save`, `export` or `not_relevant`."""

    user: str
    kind: str
    query: str
    time: float


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """A collection of a user: the owner of its rows in the store, and its name, which may change.

    `created_at` is in seconds since 1970.
    """

    owner: str
    user: str
    name: str
    description: str = ""
    created_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Grant:
    """A permission to read a collection for a user, a group or `EVERYONE`; with `write` also to change it."""

    who: str
    write: bool = False
