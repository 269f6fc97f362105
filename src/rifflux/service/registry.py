"""The registry of an index: tokens, usage, questions, answers, jobs, events and the log of decisions, as records.

The rules are the same for every engine. A decision and its entry in the log are written together. Only digests of
secrets and queries are ever stored.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from uuid import uuid4

from rifflux.errors import OutOfScope
from rifflux.service.collections import COLLECTION, GRANT, GROUP, MEMBER, Sharing
from rifflux.service.copies import check_is_complete
from rifflux.service.log import LOG, entry_of, put_entries, rename_user, trim
from rifflux.service.nouns import (
    Erased,
    Event,
    JobRecord,
    LogEntry,
    QuestionDigest,
    Reaction,
    RecordedAnswer,
    Spending,
    SpendingSum,
    Token,
)
from rifflux.store import (
    ABSENT,
    ALWAYS,
    KEY,
    PART,
    TOKEN,
    Delete,
    ErasedContent,
    Put,
    Record,
    Records,
    Store,
    Where,
    changed,
    open_store,
)
from rifflux.text.dates import parse_time, timestamp, whole_day_end
from rifflux.types.nouns import iso_time

#: The revoked and expired tokens of a user that are retained: users who create tokens must not fill the index.
MOST_ENDED_TOKENS = 100
#: Reactions to results, the kinds of events that the measures of a service count.
REACTIONS = frozenset({"click", "save", "export", "not_relevant"})

_ANSWER = "answer"
_EVENT = "event"
_JOB = "job"
_QUESTION = "question"
_SPENDING = "spending"
#: What each kind of records is called where parts of an index are listed.
PARTS: Mapping[str, str] = {
    TOKEN: "tokens",
    **dict.fromkeys((COLLECTION, GRANT, GROUP, MEMBER), "collections"),
    _EVENT: "feedback",
    **dict.fromkeys((_SPENDING, _QUESTION), "usage"),
    LOG: "log",
    _ANSWER: "answers",
    _JOB: "jobs",
}


@dataclass(frozen=True, slots=True)
class Registry:
    """The records of an owner's view of an index. What concerns the whole index raises OutOfScope for a named owner."""

    store: Store

    @property
    def _records(self) -> Records:
        """Return the records of the whole index. Raises OutOfScope for a named owner."""
        if self.store.owner:
            raise OutOfScope("tokens and spendings are the whole index's: ask who looks after it")
        return self.store.records

    @property
    def read_only(self) -> bool:
        """Return True if nothing can be recorded: no tokens, usage, questions or events."""
        return self.store.records.read_only

    @property
    def sharing(self) -> Sharing:
        """Return the collections of all users with their readers. Raises OutOfScope for a named owner's view."""
        return Sharing(self.store, self._records)

    def set(self, name: str, value: str, *, content: bool = True, entry: LogEntry | None = None) -> None:
        """Store a setting, with an entry in the log; see `Records.set`."""
        records = self._records if entry else self.store.records
        records.set(name, value, *put_entries(entry), content=content)
        trim(self.store.records, entry)

    # Events

    def record(self, event: Event) -> None:
        """Record an event; its document need not exist."""
        value = asdict(event)
        del value["user"], value["created_at"]
        time = timestamp(event.created_at) or 0.0
        key = f"{event.kind}{KEY}{uuid4().hex}"
        self.store.records.write(Put(Record(_EVENT, key, value, event.user, time)))

    def events(self, kind: str | None = None) -> list[Event]:
        """Return the recorded events of a kind, or all, in the order of recording."""
        prefix = "" if kind is None else kind + KEY
        found = self.store.records.scan(Where(_EVENT, prefix=prefix))
        return [Event(**each.value, user=each.user, created_at=iso_time(each.time, "auto")) for each in found]

    def reactions(self, since: float = 0.0, until: float | None = None) -> list[Reaction]:
        """Return the reactions of all users in a period, by time."""
        found = self._records.scan(replace(_period(_EVENT, since, until), everybody=True))
        reactions = [
            Reaction(each.owner, each.value["kind"], each.value["query"], each.time)
            for each in found
            if each.value["kind"] in REACTIONS
        ]
        return sorted(reactions, key=lambda each: each.time)

    # Tokens

    def put_token(self, token: Token, digest: bytes, entry: LogEntry | None = None, *, most: int | None = None) -> bool:
        """Store a new token with the digest of its secret; return False if its user has `most` valid ones already.

        Of the user's revoked and expired tokens, only the newest hundred remain.
        """
        records = self._records
        now = timestamp(token.created_at) or 0.0
        record = _token_record(token, digest)
        theirs = Where(TOKEN, users=(token.user,))
        if most is None:
            records.write(Put(record), *put_entries(entry))
        else:
            with self.store.transaction():
                valid = replace(theirs, since=math.nextafter(now, math.inf))
                if not records.reserve(record, valid, most):
                    return False
                records.write(*put_entries(entry))
        ended = [each for each in records.scan(theirs) if each.time <= now]
        ended.sort(key=lambda each: (each.value["created_at"], each.key))
        records.write(*(Delete(TOKEN, each.key) for each in ended[:-MOST_ENDED_TOKENS]))
        trim(records, entry)
        return True

    def token(self, id: str) -> tuple[Token, bytes] | None:
        """Return a token and the digest of its secret, or None."""
        found = self._records.get(TOKEN, id, recent=True)
        if found is None:
            return None
        return _token(found), bytes.fromhex(found.value["digest"])

    def tokens(self, user: str | None = None) -> list[Token]:
        """Return the tokens of a user, or all, in the order of creation, including revoked ones."""
        found = [*self._records.scan(Where(TOKEN, users=_users(user)))]
        found.sort(key=lambda each: (each.value["created_at"], each.key))
        return [_token(each) for each in found]

    def mark_used(self, id: str, time: float) -> None:
        """Record when a token was last used."""
        changed(self._records, TOKEN, id, lambda each: replace(each, value={**each.value, "used_at": time}))

    def revoke(self, id: str, time: float, entry: LogEntry | None = None) -> bool:
        """Revoke a token permanently; return False if there is no valid one."""

        def revoked(record: Record) -> Record | None:
            if record.value["revoked_at"] is not None:
                return None
            return replace(record, value={**record.value, "revoked_at": time}, time=min(time, record.time))

        is_done = changed(self._records, TOKEN, id, revoked, *put_entries(entry))
        if is_done:
            trim(self._records, entry)
        return is_done

    # The log, and the end of a user

    def log(self, before: int | None = None, limit: int = 100) -> list[LogEntry]:
        """Return the newest entries of the log, or those before an entry id, newest first."""
        if before is not None and before <= 0:
            return []
        found = self._records.scan(Where(LOG), after=before or 0, most=limit, newest=True)
        return [entry_of(each) for each in found]

    def erase(self, user: str, entry: LogEntry | None = None) -> Erased:
        """Delete all data of a user in one transaction: content, tokens and activity.

        The log then refers to the user by the entry's number and no longer names their possessions. A part of a user's
        content is not a user.
        """
        records = self._records
        if PART in user:
            return Erased({})
        erased = Erased({})

        def finish(content: ErasedContent) -> bool:
            nonlocal erased
            theirs = (user,)
            erased = Erased(
                content.documents,
                content.files,
                content.records + records.drop(Where(_EVENT, users=theirs, everybody=True)),
                content.settings,
                tokens=records.drop(Where(TOKEN, users=theirs)),
                calls=records.drop(Where(_SPENDING, users=theirs)),
                questions=records.drop(Where(_QUESTION, users=theirs)),
                collections=self.sharing.forget(user),
            )
            # Answers reveal deleted content.
            records.drop(Where(_ANSWER, users=theirs))
            records.drop(Where(_JOB, users=theirs))
            erased = replace(erased, log=rename_user(records, user, entry, is_erased=bool(erased)))
            return bool(erased)

        self.store.erase(user, finish)
        return erased

    # Usage

    def spend(self, spendings: Sequence[Spending]) -> None:
        """Record spendings."""
        self._records.write(*(Put(_spending_record(each, uuid4().hex)) for each in spendings))

    def reserve(self, spending: Spending, budget: float, since: float) -> str | None:
        """Record a spending and return its id, or None if it exceeds the user's budget since a time.

        No process records another one of the user in between.
        """
        records = self._records
        record = _spending_record(spending, uuid4().hex)
        if records.reserve(record, Where(_SPENDING, users=(spending.user,), since=since), budget):
            return record.key
        return None

    def settle(self, id: str, spending: Spending | None) -> None:
        """Replace a reserved spending, or cancel it."""
        records = self._records
        if spending is None:
            records.write(Delete(_SPENDING, id))
        else:
            record = _spending_record(spending, id)
            changed(records, _SPENDING, id, lambda _: record)

    def spent(self, user: str | None = None, since: float = 0.0, until: float | None = None) -> list[SpendingSum]:
        """Return the spendings of a user, or all, summed by day, user, feature and model, in that order."""
        where = replace(_period(_SPENDING, since, until), users=_users(user))
        sums = self._records.sum(where, ("day", "user", "feature", "model"), ("tokens", "amount"))
        found = []
        for each in sums:
            day, by, feature, model = each.keys
            tokens, cost = each.totals
            found.append(SpendingSum(day, by, feature, model, each.count, int(tokens), cost))
        return found

    # Answers

    def begin_answer(self, answer: RecordedAnswer, forget_before: float) -> RecordedAnswer | None:
        """Record that a request is being answered; return the existing record if its key is in use.

        Records before `forget_before` are dropped first.
        """
        records = self._records
        records.drop(Where(_ANSWER, until=forget_before))
        value = {"request": answer.request.hex(), "status": answer.status, "body": answer.body.hex()}
        record = Record(_ANSWER, answer.user + KEY + answer.key, value, answer.user, answer.time)
        while not records.write(Put(record, ABSENT)):
            known = records.get(_ANSWER, record.key)
            if known:
                request, body = (bytes.fromhex(known.value[name]) for name in ("request", "body"))
                return RecordedAnswer(answer.user, answer.key, request, known.time, known.value["status"], body)
        return None

    def end_answer(self, user: str, key: str, status: int, body: bytes) -> None:
        """Store the answer to a request; with a status of 0, forget the request."""
        name = user + KEY + key
        if not status:
            self._records.write(Delete(_ANSWER, name))
            return
        changed(
            self._records,
            _ANSWER,
            name,
            lambda each: replace(each, value={**each.value, "status": status, "body": body.hex()}),
        )

    # Jobs

    def begin_job(self, job: JobRecord, most: int, seen_after: float, forget_before: float) -> bool:
        """Store a new job; return False if its user has `most` running jobs that were seen since `seen_after`.

        Jobs last seen before `forget_before` are dropped.
        """
        self._records.drop(Where(_JOB, until=forget_before))
        running = Where(_JOB, users=(job.user,), since=seen_after)
        return self._records.reserve(_job_record(job), running, most)

    def put_jobs(self, jobs: Sequence[JobRecord]) -> Sequence[str]:
        """Store the progress of jobs; return the ids of those that should stop or are unknown."""
        records = self._records
        stopped = []
        for job in jobs:
            stop = True

            def progressed(known: Record, job: JobRecord = job) -> Record:
                nonlocal stop
                stop = known.value["stop"]
                return _job_record(replace(job, stop=stop))

            changed(records, _JOB, job.id, progressed)
            if stop:
                stopped.append(job.id)
        return stopped

    def stop_jobs(self, user: str, id: str | None = None) -> None:
        """Request the end of a running job of a user, or of all their jobs."""

        def to_stop(known: Record) -> Record | None:
            if known.value["state"] != "running":
                return None
            return replace(known, value={**known.value, "stop": True})

        for each in self._records.scan(Where(_JOB, users=(user,), keys=None if id is None else (id,))):
            changed(self._records, _JOB, each.key, to_stop)

    def job(self, id: str) -> JobRecord | None:
        """Return a job, or None."""
        found = self._records.get(_JOB, id)
        return _job(found) if found else None

    def jobs(self, user: str | None = None) -> list[JobRecord]:
        """Return the jobs of a user, or all, newest first."""
        found = [_job(each) for each in self._records.scan(Where(_JOB, users=_users(user)))]
        return sorted(found, key=lambda each: (-each.created_at, each.id))

    # Questions

    def ask(self, questions: Sequence[QuestionDigest], forget_before: float) -> None:
        """Record queries, and drop those before `forget_before`."""
        records = self._records
        puts = []
        for each in questions:
            value = {"digest": each.digest.hex(), "sketch": each.sketch.hex()}
            puts.append(Put(Record(_QUESTION, uuid4().hex, value, each.user, each.time)))
        records.write(*puts)
        records.drop(Where(_QUESTION, until=forget_before))

    def questions(self, since: float = 0.0, until: float | None = None) -> list[QuestionDigest]:
        """Return the queries of all users in a period, by time."""
        found = []
        for each in self._records.scan(_period(_QUESTION, since, until)):
            digest, sketch = (bytes.fromhex(each.value[name]) for name in ("digest", "sketch"))
            found.append(QuestionDigest(each.user, digest, each.time, sketch))
        return sorted(found, key=lambda each: each.time)


def _users(user: str | None) -> Collection[str] | None:
    return None if user is None else (user,)


def _period(kind: str, since: float, until: float | None) -> Where:
    return Where(kind, since=since, until=math.inf if until is None else until)


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else iso_time(seconds, "auto")


def _token_record(token: Token, digest: bytes) -> Record:
    """Return the record of a token; its time is the end of the token's validity."""
    ends = [timestamp(each) for each in (token.revoked_at, token.expires_at)]
    value = {
        "role": token.role,
        "label": token.label,
        "created_at": timestamp(token.created_at) or 0.0,
        "used_at": timestamp(token.used_at),
        "revoked_at": ends[0],
        "expires_at": ends[1],
        "digest": digest.hex(),
    }
    end = min((each for each in ends if each is not None), default=ALWAYS)
    return Record(TOKEN, token.id, value, token.user, end, amount=1)


def _token(record: Record) -> Token:
    value = record.value
    used_at, revoked_at, expires_at = (_moment(value[name]) for name in ("used_at", "revoked_at", "expires_at"))
    created_at = iso_time(value["created_at"], "auto")
    return Token(
        record.key, record.user, value["role"], value["label"], created_at, used_at, revoked_at, expires_at
    )  # fmt: skip


def _spending_record(spending: Spending, key: str) -> Record:
    day = iso_time(spending.time, "auto")[:10]
    value = {"feature": spending.feature, "model": spending.model, "tokens": spending.tokens, "day": day}
    return Record(_SPENDING, key, value, spending.user, spending.time, spending.cost)


def _job_record(job: JobRecord) -> Record:
    """Return the record of a job; its time is when it was last seen, and its amount 1 while it runs."""
    value = asdict(job)
    for name in ("id", "user", "seen_at"):
        del value[name]
    return Record(_JOB, job.id, value, job.user, job.seen_at, float(job.state == "running"))


def _job(record: Record) -> JobRecord:
    return JobRecord(id=record.key, user=record.user, seen_at=record.time, **record.value)


@contextmanager
def open_registry(path: str | Path, *, create: bool = False, state: str | Path = "") -> Iterator[Registry]:
    """Open the registry of the index at `path`, with its `state` file if it has one. Raises as `rifflux.open` does.

    It needs no documents and no model.
    """
    with closing(open_store(path, create=create, state=state)) as store:
        check_is_complete(store, path)
        yield Registry(store)


def period(since: str | None, until: str | None) -> tuple[float, float | None]:
    """Return the first moment of a date and the last of another, in seconds since 1970. Raises `InvalidArgument`."""
    return parse_time(since).timestamp() if since else 0.0, whole_day_end(until) if until else None
