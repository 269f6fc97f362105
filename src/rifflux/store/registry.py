"""The registry: settings, events and claims of an owner; tokens, spendings and questions of the whole index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import Protocol

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

#: The kind of event that says how well a document answers a query.
JUDGEMENT = "judgement"
#: Stands for all users among the readers of a collection.
EVERYONE = "everyone"


@dataclass(frozen=True, slots=True)
class Event:
    """What somebody did with a document that a query found, such as judging it.

    `chunk` is a public chunk id, empty where the whole document is meant; `grade` is 0 for irrelevant and grows with
    relevance, None for a kind of event that has no grade; `created_at` is ISO 8601.
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
    """A key to the service, without its secret. Times are ISO 8601; None where that has not happened."""

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
    """A decision about accounts, sharing or settings, never a content or a secret.

    `user` made it, empty for whoever has the file of the index; `action` is a word such as `token.create`, `target` the
    token, collection, group or setting that it is about, `owner` the user whose that is, `who` the user or group that
    something is shared with or who joins a group. `done_at` is ISO 8601; `id` grows.
    """

    user: str
    action: str
    done_at: str
    target: str = ""
    owner: str = ""
    who: str = ""
    detail: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class Erased:
    """What was deleted of a user: documents by their kind (messages and memories are documents), and the rest.

    `events` are judgements and other feedback, `calls` recorded calls of models, `questions` digests of what was asked,
    `collections` those that had a name of their own, or readers, `log` entries that no longer name the user.
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
        """Return whether there was anything."""
        return any(getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True, slots=True)
class Spending:
    """One call of a model: who caused it, for what, how many tokens it read or wrote, what it cost."""

    user: str
    feature: str
    model: str
    tokens: int
    cost: float
    time: float


@dataclass(frozen=True, slots=True)
class SpendingSum:
    """The calls of one day (UTC), user, feature and model together."""

    day: str
    user: str
    feature: str
    model: str
    calls: int
    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class QuestionDigest:
    """A question of a user: a digest of its words, its time in seconds since 1970, and a sketch.

    Sketches of two questions tell how similar their words are.
    """

    user: str
    digest: bytes
    time: float
    sketch: bytes = b""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """The answer to a request that a user sent with a key, so that it can be sent again.

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
    """Work that goes on after the request that began it: what it is, how far it is, and what came of it.

    `state` is `running`, `done`, `failed` or `cancelled`; `stage` is what it does now, with `done` of `total` of that.
    `report` and `error` are JSON, empty until there is one; `status` is the HTTP status of what came of it, 0 until
    then. Times are in seconds since 1970; `seen_at` is when the process that does it last wrote, `ended_at` 0.0 until
    it ended. `stop` says that somebody wants it to end.
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
    """What a user did with what a query found: `click`, `save`, `export` or `not_relevant`."""

    user: str
    kind: str
    query: str
    time: float


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """A collection of a user: the owner of its rows in the store, and what people call it, which may change.

    `created_at` is in seconds since 1970.
    """

    owner: str
    user: str
    name: str
    description: str = ""
    created_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Grant:
    """That somebody may read a collection: a user, a group or `EVERYONE`; with `write` they may change it too."""

    who: str
    write: bool = False


class Sharing(Protocol):
    """Collections, who may read them, and groups of users. `testing.SharingContract` says the rest.

    It keeps what it is told: who may tell it is for `service.collections` to say. An `entry` is written to the log in
    the same transaction, if there was something to do.
    """

    def of(self, user: str) -> list[CollectionRecord]:
        """Return the collections of a user of which there is a record, by name."""

    def all(self) -> list[CollectionRecord]:
        """Return the collections of all users of which there is a record, by user and name."""

    def shared_with(self, user: str) -> list[tuple[CollectionRecord, bool]]:
        """Return others' collections that a user may read, as one, in a group or as everyone; True: and write."""

    def put(self, record: CollectionRecord, entry: LogEntry | None = None) -> None:
        """Add a collection, or give that of this owner another name or description."""

    def drop(self, owner: str, entry: LogEntry | None = None) -> Erased:
        """Delete a collection with all that it holds, in one transaction."""

    def grants(self, owner: str) -> list[Grant]:
        """Return the readers of a collection, by name."""

    def share(self, owner: str, grant: Grant, entry: LogEntry | None = None) -> None:
        """Let somebody read a collection, instead of what they were let before."""

    def unshare(self, owner: str, who: str, entry: LogEntry | None = None) -> bool:
        """End that somebody may read a collection; False if they might not."""

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Return the members of each group, both by name."""

    def put_group(self, name: str, members: Sequence[str], entry: LogEntry | None = None) -> None:
        """Make a group of these users, instead of those that it had.

        An entry is written for each user who came or went, as its `who`, or one for a new group without users.
        """

    def drop_group(self, name: str, entry: LogEntry | None = None) -> bool:
        """Delete a group, and what was shared with it is so no more; False if there is none."""

    def users(self) -> frozenset[str]:
        """Return the names of users who have a token, are in a group, or have any record."""


class Registry(Protocol):
    """Settings, events, claims, and who may ask. `testing.RegistryContract` says the rest.

    Tokens, spendings, questions and reactions are the whole index's: a named owner's view raises OutOfScope. Only
    digests of secrets and of questions are ever given to it. An `entry` is written to the log in the same transaction,
    if there was something to do.
    """

    @property
    def read_only(self) -> bool:
        """Return whether nothing can be recorded: no tokens, usage, questions or events."""

    @property
    def sharing(self) -> Sharing:
        """Return the collections of all users, with their readers. Raises OutOfScope for the view of a named owner."""

    def setting(self, name: str) -> str | None:
        """Return a setting's value, or None. Each owner has its own; those of the owner without a name are policies."""

    def policy(self, name: str) -> str | None:
        """Return a setting of the whole index, which every owner may read; None where it is not set."""

    def set(self, name: str, value: str, *, content: bool = True, entry: LogEntry | None = None) -> None:
        """Store a setting; without `content`, one that changes nothing of what is found.

        A named owner's have no `entry`.
        """

    def record(self, event: Event) -> None:
        """Append an event to the record; its document need not exist."""

    def events(self, kind: str | None = None) -> list[Event]:
        """Return the recorded events of a kind, or all, in the order of recording."""

    def claim(self, task: str, waiting: Callable[[str], None] | None = None) -> AbstractContextManager[bool]:
        """Have a task to oneself, such as `embed`, until the block or the process ends.

        If another process has it, `waiting` is called with which and it is waited for; without `waiting`, the block
        gets False at once. Nothing else is kept out by it.
        """

    def put_token(self, token: Token, digest: bytes, entry: LogEntry | None = None, *, most: int | None = None) -> bool:
        """Store a new token with the digest of its secret; False if its user has `most` valid ones already.

        Of the user's tokens that are revoked or expired by then, the newest hundred are kept.
        """

    def token(self, id: str) -> tuple[Token, bytes] | None:
        """Return a token and the digest of its secret, or None."""

    def tokens(self, user: str | None = None) -> list[Token]:
        """Return the tokens of a user, or all, in the order of their making, the revoked ones too."""

    def mark_used(self, id: str, time: float) -> None:
        """Remember when a token was last used."""

    def revoke(self, id: str, time: float, entry: LogEntry | None = None) -> bool:
        """Make a token useless for ever; False if there is none that is valid."""

    def erase(self, user: str, entry: LogEntry | None = None) -> Erased:
        """Delete all data of a user in one transaction: content, tokens and activity.

        The log calls them by a number from then on, that of the entry, and no longer names what they had.
        """

    def log(self, before: int | None = None, limit: int = 100) -> list[LogEntry]:
        """Return the newest entries of the log, or those before the entry of an id, the newest first."""

    def spend(self, spendings: Sequence[Spending]) -> None:
        """Append to the record of spendings."""

    def reserve(self, spending: Spending, budget: float, since: float) -> int | None:
        """Append a spending and return its number, if the user's since a moment stay within the budget with it.

        Nothing else is written meanwhile, by any process.
        """

    def settle(self, id: int, spending: Spending | None) -> None:
        """Put another spending in the place of a reserved one, or take it back."""

    def spent(self, user: str | None = None, since: float = 0.0, until: float | None = None) -> list[SpendingSum]:
        """Sum up spendings by day, user, feature and model, in that order; of one user, or of all."""

    def cost(self, user: str, since: float) -> float:
        """Sum up what a user has spent since a moment."""

    def begin_answer(self, answer: RecordedAnswer, forget_before: float) -> RecordedAnswer | None:
        """Record that a request is being answered; return the record that exists if its key is in use.

        What is older than a moment is dropped before.
        """

    def end_answer(self, user: str, key: str, status: int, body: bytes) -> None:
        """Keep how a request was answered; with a status of 0, forget it."""

    def begin_job(self, job: JobRecord, most: int, seen_after: float, forget_before: float) -> bool:
        """Store a new job; False if its user has `most` already that are running and were seen after a moment.

        Jobs that were last seen before another moment are dropped.
        """

    def put_jobs(self, jobs: Sequence[JobRecord]) -> Sequence[str]:
        """Store how far jobs are; returns the ids of those that are to stop, or that are not known any more."""

    def stop_jobs(self, user: str, id: str | None = None) -> None:
        """Ask for the end of a running job of a user, or of all of them."""

    def job(self, id: str) -> JobRecord | None:
        """Return a job, or None."""

    def jobs(self, user: str | None = None) -> list[JobRecord]:
        """Return the jobs of a user, or of all, the newest first."""

    def ask(self, questions: Sequence[QuestionDigest], forget_before: float) -> None:
        """Append to the record of questions, and drop what is older than a moment."""

    def questions(self, since: float = 0.0, until: float | None = None) -> list[QuestionDigest]:
        """Return the questions of all users in a span of time, in its order."""

    def reactions(self, since: float = 0.0, until: float | None = None) -> list[Reaction]:
        """Return what all users did with what they found, in a span of time and in its order."""
