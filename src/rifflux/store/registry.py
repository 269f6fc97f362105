"""The registry: settings, events and claims of an owner; tokens, spendings and questions of the whole index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import Protocol

from rifflux.text.dates import timestamp

__all__ = [
    "EVERYONE",
    "JUDGEMENT",
    "CollectionRecord",
    "Erased",
    "Event",
    "Grant",
    "JobRecord",
    "LogEntry",
    "QuestionDigest",
    "Reaction",
    "RecordedAnswer",
    "Registry",
    "Sharing",
    "Spending",
    "SpendingSum",
    "Token",
]

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

    def is_valid(self, now: float) -> bool:
        """Return True if the token is neither revoked nor expired at a time, in seconds since 1970."""
        if self.revoked_at is not None:
            return False
        return self.expires_at is None or (timestamp(self.expires_at) or 0.0) > now


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


class Sharing(Protocol):
    """Collections, their readers, and groups of users, further specified by `testing.SharingContract`.

    It does not check permissions: `service.collections` does. An `entry` is written to the log in the same transaction,
    if anything changed.
    """

    def of(self, user: str) -> list[CollectionRecord]:
        """Return the recorded collections of a user, by name."""

    def all(self) -> list[CollectionRecord]:
        """Return the recorded collections of all users, by user and name."""

    def shared_with(self, user: str) -> list[tuple[CollectionRecord, bool]]:
        """Return others' collections that a user may read, by name, group or as everyone, and whether to write."""

    def put(self, record: CollectionRecord, entry: LogEntry | None = None) -> None:
        """Add a collection, or change the name or description of this owner's."""

    def drop(self, owner: str, entry: LogEntry | None = None) -> Erased:
        """Delete a collection with its content in one transaction."""

    def grants(self, owner: str) -> list[Grant]:
        """Return the readers of a collection, by name."""

    def share(self, owner: str, grant: Grant, entry: LogEntry | None = None) -> None:
        """Grant a permission on a collection, replacing an earlier one."""

    def unshare(self, owner: str, who: str, entry: LogEntry | None = None) -> bool:
        """Revoke a reader's permission; return False if there was none."""

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Return the members of each group, sorted by name."""

    def put_group(self, name: str, members: Sequence[str], entry: LogEntry | None = None) -> None:
        """Create or replace a group with these users.

        An entry is written for each user who joined or left, as its `who`, or one for a new group without users.
        """

    def drop_group(self, name: str, entry: LogEntry | None = None) -> bool:
        """Delete a group and the permissions granted to it; return False if there is none."""

    def users(self) -> frozenset[str]:
        """Return the names of users who have a token, are in a group, or have any record."""


class Registry(Protocol):
    """Settings, events, claims and accounts, further specified by `testing.RegistryContract`.

    Tokens, spendings, questions and reactions belong to the whole index: a named owner's view raises OutOfScope. Only
    digests of secrets and queries are ever passed to it. An `entry` is written to the log in the same transaction, if
    anything changed.
    """

    @property
    def read_only(self) -> bool:
        """Return True if nothing can be recorded: no tokens, usage, questions or events."""

    @property
    def sharing(self) -> Sharing:
        """Return the collections of all users with their readers. Raises OutOfScope for a named owner's view."""

    def setting(self, name: str) -> str | None:
        """Return a setting's value, or None. Each owner has its own; those of the unnamed owner are policies."""

    def policy(self, name: str) -> str | None:
        """Return a setting of the whole index, which every owner may read, or None."""

    def set(self, name: str, value: str, *, content: bool = True, entry: LogEntry | None = None) -> None:
        """Store a setting; without `content`, one that does not affect search results.

        Those of a named owner have no `entry`.
        """

    def record(self, event: Event) -> None:
        """Record an event; its document need not exist."""

    def events(self, kind: str | None = None) -> list[Event]:
        """Return the recorded events of a kind, or all, in the order of recording."""

    def claim(self, task: str, waiting: Callable[[str], None] | None = None) -> AbstractContextManager[bool]:
        """Claim a task exclusively, such as `embed`, until the block or the process ends.

        If another process has it, `waiting` is called with that process's name and this one waits; without `waiting`,
        the block gets False at once. Nothing else is excluded.
        """

    def put_token(self, token: Token, digest: bytes, entry: LogEntry | None = None, *, most: int | None = None) -> bool:
        """Store a new token with the digest of its secret; return False if its user has `most` valid ones already.

        Of the user's revoked and expired tokens, only the newest hundred remain.
        """

    def token(self, id: str) -> tuple[Token, bytes] | None:
        """Return a token and the digest of its secret, or None."""

    def tokens(self, user: str | None = None) -> list[Token]:
        """Return the tokens of a user, or all, in the order of creation, including revoked ones."""

    def mark_used(self, id: str, time: float) -> None:
        """Record when a token was last used."""

    def revoke(self, id: str, time: float, entry: LogEntry | None = None) -> bool:
        """Revoke a token permanently; return False if there is no valid one."""

    def erase(self, user: str, entry: LogEntry | None = None) -> Erased:
        """Delete all data of a user in one transaction: content, tokens and activity.

        The log then refers to the user by the entry's number and no longer names their possessions.
        """

    def log(self, before: int | None = None, limit: int = 100) -> list[LogEntry]:
        """Return the newest entries of the log, or those before an entry id, newest first."""

    def spend(self, spendings: Sequence[Spending]) -> None:
        """Record spendings."""

    def reserve(self, spending: Spending, budget: float, since: float) -> int | None:
        """Record a spending and return its number, or None if it exceeds the user's budget since a time.

        No process writes anything else in between.
        """

    def settle(self, id: int, spending: Spending | None) -> None:
        """Replace a reserved spending, or cancel it."""

    def spent(self, user: str | None = None, since: float = 0.0, until: float | None = None) -> list[SpendingSum]:
        """Return the spendings of a user, or all, summed by day, user, feature and model, in that order."""

    def begin_answer(self, answer: RecordedAnswer, forget_before: float) -> RecordedAnswer | None:
        """Record that a request is being answered; return the existing record if its key is in use.

        Records before `forget_before` are dropped first.
        """

    def end_answer(self, user: str, key: str, status: int, body: bytes) -> None:
        """Store the answer to a request; with a status of 0, forget the request."""

    def begin_job(self, job: JobRecord, most: int, seen_after: float, forget_before: float) -> bool:
        """Store a new job; return False if its user has `most` running jobs that were seen since `seen_after`.

        Jobs last seen before `forget_before` are dropped.
        """

    def put_jobs(self, jobs: Sequence[JobRecord]) -> Sequence[str]:
        """Store the progress of jobs; return the ids of those that should stop or are unknown."""

    def stop_jobs(self, user: str, id: str | None = None) -> None:
        """Request the end of a running job of a user, or of all their jobs."""

    def job(self, id: str) -> JobRecord | None:
        """Return a job, or None."""

    def jobs(self, user: str | None = None) -> list[JobRecord]:
        """Return the jobs of a user, or all, newest first."""

    def ask(self, questions: Sequence[QuestionDigest], forget_before: float) -> None:
        """Record queries, and drop those before `forget_before`."""

    def questions(self, since: float = 0.0, until: float | None = None) -> list[QuestionDigest]:
        """Return the queries of all users in a period, by time."""

    def reactions(self, since: float = 0.0, until: float | None = None) -> list[Reaction]:
        """Return the reactions of all users in a period, by time."""
