"""The registry in SQLite: settings, events and claims of an owner; tokens, spendings and questions of the index.

Collections, their readers and groups of users are the registry's `sharing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

from rifflux.errors import OutOfScope
from rifflux.store.registry import (
    EVERYONE,
    CollectionRecord,
    Erased,
    Event,
    Grant,
    JobRecord,
    LogEntry,
    QuestionDigest,
    Reaction,
    RecordedAnswer,
    Registry,
    Sharing,
    Spending,
    SpendingSum,
    Token,
)
from rifflux.store.sqlite.connection.connect import MEMORY
from rifflux.store.sqlite.connection.locks import file_lock
from rifflux.store.sqlite.connection.view import OwnerView
from rifflux.store.sqlite.registry.admin_log import append
from rifflux.store.sqlite.registry.erase import drop_collection, erase
from rifflux.text.dates import timestamp
from rifflux.types.nouns import iso_time

#: The columns of a job.
JOB = tuple(each.name for each in fields(JobRecord))

PUT_EVENT = """
insert into event (owner, time, kind, query, namespace, key, chunk, grade, user)
values (:owner, :created_at, :kind, :query, :namespace, :key, :chunk, :grade, :user)"""

EVENTS = """
select kind, query, namespace, key, chunk, grade, user, time
from event where owner = :owner and (:kind is null or kind = :kind) order by id"""

# An owner's own settings; those of owner 0 apply to the whole index.
OWN_SETTING = """
select value from owner_setting where owner = (select id from owner where name = :owner) and name = :name"""

PUT_OWN_SETTING = "insert or replace into owner_setting (owner, name, value) values (:owner, :name, :value)"

SETTING = "select value from setting where name = :name"

PUT_SETTING = "insert or replace into setting (name, value) values (:name, :value)"

_PUT_TOKEN = """
insert into token (id, user, role, label, created_at, used_at, revoked_at, expires_at, digest)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)"""

_TOKEN = "select id, user, role, label, created_at, used_at, revoked_at, expires_at, digest from token where id = :id"

_TOKENS = """
select id, user, role, label, created_at, used_at, revoked_at, expires_at from token
where :user is null or user = :user order by created_at, id"""

# Users who may create tokens for themselves must not fill the file with useless ones.
_FORGET_TOKENS = """
delete from token where id in (
    select id from token where user = :user and (revoked_at is not null or expires_at <= :now)
    order by created_at desc, id desc limit -1 offset 100
)"""

_VALID_TOKENS = """
select count(*) from token
where user = :user and revoked_at is null and (expires_at is null or expires_at > :now)"""

_MARK_USED = "update token set used_at = ? where id = ?"

_REVOKE = "update token set revoked_at = ? where id = ? and revoked_at is null"

_SPEND = "insert into usage (user, feature, model, tokens, cost, time) values (?, ?, ?, ?, ?, ?)"

# The spent amount is a sum of fractions: rounding must not cause a refusal.
_RESERVE = """
insert into usage (user, feature, model, tokens, cost, time)
select :user, :feature, :model, :tokens, :cost, :time
where (select coalesce(sum(cost), 0.0) from usage where user = :user and time >= :since) + :cost
    <= :budget * (1 + 1e-9)"""

_SETTLE = "update usage set tokens = :tokens, cost = :cost where id = :id"

_TAKE_BACK = "delete from usage where id = :id"

_SPENT = """
select date(time, 'unixepoch') as day, user, feature, model, count(*), sum(tokens), sum(cost)
from usage
where (:user is null or user = :user) and time >= :since and (:until is null or time < :until)
group by day, user, feature, model order by day, user, feature, model"""


_FORGET_ANSWERS = "delete from answer where time < ?"

_BEGIN_ANSWER = "insert or ignore into answer (user, key, request, time, status, body) values (?, ?, ?, ?, ?, ?)"

_ANSWER = "select user, key, request, time, status, body from answer where user = ? and key = ?"

_END_ANSWER = "update answer set status = ?, body = ? where user = ? and key = ?"

_FORGET_ANSWER = "delete from answer where user = ? and key = ?"

_FORGET_JOBS = "delete from job where seen_at < ?"

_RUNNING_JOBS = "select count(*) from job where user = ? and state = 'running' and seen_at >= ?"

_PUT_JOB = f"insert into job ({', '.join(JOB)}) values ({', '.join(f':{name}' for name in JOB)})"

_UPDATE_JOB = """
update job set
    state = :state, stage = :stage, done = :done, total = :total, seen_at = :seen_at, ended_at = :ended_at,
    status = :status, report = :report, error = :error
where id = :id returning stop"""

_STOP_JOBS = "update job set stop = true where user = ? and state = 'running' and coalesce(?, id) = id"

_JOB = f"select {', '.join(JOB)} from job where id = :id"

_JOBS = f"select {', '.join(JOB)} from job where :user is null or user = :user order by created_at desc, id"

_ASK = "insert into question (user, digest, time, sketch) values (?, ?, ?, ?)"

_FORGET_QUESTIONS = "delete from question where time < ?"

_QUESTIONS = """
select user, digest, time, sketch from question
where time >= :since and (:until is null or time < :until) order by time, id"""

# For all owners: only used for the service's statistics, which are counts by day.
_REACTIONS = """
select owner.name, event.kind, event.query, event.time
from event join owner on owner.id = event.owner
where event.kind in ('click', 'save', 'export', 'not_relevant')
    and event.time >= :since and (:until is null or event.time < :until)
order by event.time, event.id"""


_ENTRIES = """
select user, action, done_at, target, owner, who, detail, id from admin_log
where :before is null or id < :before order by id desc limit :limit"""

_COLLECTIONS_OF = "select owner, user, name, description, created_at from collection where user = :user order by name"

_ALL_COLLECTIONS = "select owner, user, name, description, created_at from collection order by user, name"

# A reader is a user, a group of theirs, or everyone; the most permissive of these applies.
_SHARED_WITH = f"""
select collection.owner, collection.user, collection.name, collection.description, collection.created_at,
    max(reader.may_write)
from reader join collection on collection.owner = reader.collection
where collection.user <> :user and reader.who in (
    select :user union all select '{EVERYONE}' union all select user_group from member where user = :user
)
group by collection.owner order by collection.user, collection.name"""

_PUT_COLLECTION = """
insert into collection (owner, user, name, description, created_at) values (?, ?, ?, ?, ?)
on conflict (owner) do update set name = excluded.name, description = excluded.description"""

_GRANTS = "select who, may_write from reader where collection = :collection order by who"

_SHARE = "insert or replace into reader (who, collection, may_write) values (?, ?, ?)"

_UNSHARE = "delete from reader where who = ? and collection = ?"

_GROUPS = """
select user_group.name, member.user
from user_group left join member on member.user_group = user_group.name
order by user_group.name, member.user"""

_PUT_GROUP = "insert or ignore into user_group (name) values (?)"

_EMPTY_GROUP = "delete from member where user_group = ?"

_MEMBERS = "select user from member where user_group = ?"

_PUT_MEMBER = "insert or ignore into member (user, user_group) values (?, ?)"

_DROP_GROUP = "delete from user_group where name = ?"

_UNSHARE_ALL = "delete from reader where who = ?"

# The name of an owner is a user's up to the separator of a part.
_USERS = """
select user from token union select user from member union select user from collection
union select iif(instr(name, char(31)), substr(name, 1, instr(name, char(31)) - 1), name) from owner"""


def _moment(seconds: float) -> str:
    return iso_time(seconds, "auto")


def _token(row: Sequence[Any]) -> Token:
    """Return a token from a row, whose times are seconds since 1970."""
    id, user, role, label, created_at, *ends = row
    used_at, revoked_at, expires_at = (None if each is None else _moment(each) for each in ends)
    return Token(id, user, role, label, _moment(created_at), used_at, revoked_at, expires_at)


def _token_row(token: Token) -> tuple[object, ...]:
    times = (timestamp(each) for each in (token.used_at, token.revoked_at, token.expires_at))
    return (token.id, token.user, token.role, token.label, timestamp(token.created_at) or 0.0, *times)


@dataclass(frozen=True, slots=True)
class SqliteRegistry(Registry):
    """Settings, events and claims of one owner. Data of the whole index is refused to a named one."""

    view: OwnerView

    @property
    def _whole(self) -> OwnerView:
        """Return the view, for data of the whole index. Raises OutOfScope for a named owner."""
        if self.view.owner:
            raise OutOfScope("tokens and spendings are the whole index's: ask who looks after it")
        return self.view

    @property
    def read_only(self) -> bool:
        return self.view.engine.read_only

    @property
    def sharing(self) -> Sharing:
        return SqliteSharing(self._whole if self.view.owner else self.view)

    @contextmanager
    def claim(self, task: str, waiting: Callable[[str], None] | None = None) -> Iterator[bool]:
        """Claim a task until the block or the process ends; an index in memory has no other users."""
        engine = self.view.engine
        if engine.location == MEMORY:
            yield True
            return
        path = Path(engine.location).expanduser()
        with file_lock(path.with_name(f"{path.name}.{task}.lock"), waiting) as mine:
            if mine:
                with engine.long_task():
                    yield True
            else:
                yield False

    def setting(self, name: str) -> str | None:
        own = {"owner": self.view.owner} if self.view.owner else {}
        rows = self.view.known(OWN_SETTING if own else SETTING, name=name, **own)
        return rows[0][0] if rows else None

    def policy(self, name: str) -> str | None:
        rows = self.view.known(SETTING, name=name)
        return rows[0][0] if rows else None

    def set(self, name: str, value: str, *, content: bool = True, entry: LogEntry | None = None) -> None:
        view = self._whole if entry else self.view
        with view.writing(content=content) as (connection, owner):
            if owner:
                statement = PUT_OWN_SETTING
            else:
                statement = PUT_SETTING
            connection.execute(statement, {"owner": owner, "name": name, "value": value})
            if entry:
                append(connection, entry)

    def record(self, event: Event) -> None:
        with self.view.writing(content=False) as (connection, owner):
            connection.execute(
                PUT_EVENT, asdict(event) | {"owner": owner, "created_at": timestamp(event.created_at) or 0.0}
            )

    def events(self, kind: str | None = None) -> list[Event]:
        return [
            Event(kind, query, namespace, key, chunk, grade, user, _moment(time))
            for kind, query, namespace, key, chunk, grade, user, time in self.view.rows(EVENTS, {"kind": kind})
        ]

    def put_token(self, token: Token, digest: bytes, entry: LogEntry | None = None, *, most: int | None = None) -> bool:
        with self._whole.writing(content=False) as (connection, _):
            now = timestamp(token.created_at) or 0.0
            valid: Any = connection.execute(_VALID_TOKENS, {"user": token.user, "now": now}).get
            if most is not None and valid >= most:
                return False
            connection.execute(_PUT_TOKEN, (*_token_row(token), digest))
            connection.execute(_FORGET_TOKENS, {"user": token.user, "now": now})
            append(connection, entry)
            return True

    def token(self, id: str) -> tuple[Token, bytes] | None:
        return next(((_token(row[:-1]), row[-1]) for row in self._whole.rows(_TOKEN, {"id": id})), None)

    def tokens(self, user: str | None = None) -> list[Token]:
        return [_token(row) for row in self._whole.rows(_TOKENS, {"user": user})]

    def mark_used(self, id: str, time: float) -> None:
        with self._whole.writing(content=False) as (connection, _):
            connection.execute(_MARK_USED, (time, id))

    def revoke(self, id: str, time: float, entry: LogEntry | None = None) -> bool:
        with self._whole.writing(content=False) as (connection, _):
            connection.execute(_REVOKE, (time, id))
            revoked = connection.changes() > 0
            append(connection, entry if revoked else None)
            return revoked

    def erase(self, user: str, entry: LogEntry | None = None) -> Erased:
        return erase(self._whole, user, entry)

    def log(self, before: int | None = None, limit: int = 100) -> list[LogEntry]:
        rows = self._whole.rows(_ENTRIES, {"before": before, "limit": limit})
        return [LogEntry(user, action, _moment(done_at), *about) for user, action, done_at, *about in rows]

    def spend(self, spendings: Sequence[Spending]) -> None:
        with self._whole.writing(content=False) as (connection, _):
            connection.executemany(_SPEND, [astuple(each) for each in spendings])

    def reserve(self, spending: Spending, budget: float, since: float) -> int | None:
        with self._whole.writing(content=False) as (connection, _):
            connection.execute(_RESERVE, {**asdict(spending), "budget": budget, "since": since})
            if connection.changes():
                return connection.last_insert_rowid()
            return None

    def settle(self, id: int, spending: Spending | None) -> None:
        with self._whole.writing(content=False) as (connection, _):
            if spending is None:
                connection.execute(_TAKE_BACK, {"id": id})
            else:
                connection.execute(_SETTLE, {"id": id, "tokens": spending.tokens, "cost": spending.cost})

    def spent(self, user: str | None = None, since: float = 0.0, until: float | None = None) -> list[SpendingSum]:
        rows = self._whole.rows(_SPENT, {"user": user, "since": since, "until": until})
        return [SpendingSum(*row) for row in rows]

    def begin_answer(self, answer: RecordedAnswer, forget_before: float) -> RecordedAnswer | None:
        with self._whole.writing(content=False) as (connection, _):
            connection.execute(_FORGET_ANSWERS, (forget_before,))
            connection.execute(_BEGIN_ANSWER, astuple(answer))
            if connection.changes():
                return None
            (row,) = connection.execute(_ANSWER, (answer.user, answer.key))
        return RecordedAnswer(*row)

    def end_answer(self, user: str, key: str, status: int, body: bytes) -> None:
        with self._whole.writing(content=False) as (connection, _):
            if status:
                connection.execute(_END_ANSWER, (status, body, user, key))
            else:
                connection.execute(_FORGET_ANSWER, (user, key))

    def begin_job(self, job: JobRecord, most: int, seen_after: float, forget_before: float) -> bool:
        with self._whole.writing(content=False) as (connection, _):
            connection.execute(_FORGET_JOBS, (forget_before,))
            running: Any = connection.execute(_RUNNING_JOBS, (job.user, seen_after)).get
            if running >= most:
                return False
            connection.execute(_PUT_JOB, asdict(job))
            return True

    def put_jobs(self, jobs: Sequence[JobRecord]) -> Sequence[str]:
        stopped = []
        with self._whole.writing(content=False) as (connection, _):
            for job in jobs:
                stop: Any = connection.execute(_UPDATE_JOB, asdict(job)).get
                if stop is None or stop:
                    stopped.append(job.id)
        return stopped

    def stop_jobs(self, user: str, id: str | None = None) -> None:
        with self._whole.writing(content=False) as (connection, _):
            connection.execute(_STOP_JOBS, (user, id))

    def job(self, id: str) -> JobRecord | None:
        return next((_job(each) for each in self._whole.rows(_JOB, {"id": id})), None)

    def jobs(self, user: str | None = None) -> list[JobRecord]:
        return [_job(row) for row in self._whole.rows(_JOBS, {"user": user})]

    def ask(self, questions: Sequence[QuestionDigest], forget_before: float) -> None:
        with self._whole.writing(content=False) as (connection, _):
            connection.executemany(_ASK, [astuple(each) for each in questions])
            connection.execute(_FORGET_QUESTIONS, (forget_before,))

    def questions(self, since: float = 0.0, until: float | None = None) -> list[QuestionDigest]:
        return [QuestionDigest(*row) for row in self._whole.rows(_QUESTIONS, {"since": since, "until": until})]

    def reactions(self, since: float = 0.0, until: float | None = None) -> list[Reaction]:
        return [Reaction(*row) for row in self._whole.rows(_REACTIONS, {"since": since, "until": until})]


@dataclass(frozen=True, slots=True)
class SqliteSharing(Sharing):
    """Collections and their readers. Nothing here changes the content of a collection."""

    view: OwnerView

    def of(self, user: str) -> list[CollectionRecord]:
        return [CollectionRecord(*row) for row in self.view.known(_COLLECTIONS_OF, user=user)]

    def all(self) -> list[CollectionRecord]:
        return [CollectionRecord(*row) for row in self.view.rows(_ALL_COLLECTIONS)]

    def shared_with(self, user: str) -> list[tuple[CollectionRecord, bool]]:
        return [(CollectionRecord(*row), bool(write)) for *row, write in self.view.known(_SHARED_WITH, user=user)]

    def put(self, record: CollectionRecord, entry: LogEntry | None = None) -> None:
        with self.view.writing(content=False) as (connection, _):
            connection.execute(_PUT_COLLECTION, astuple(record))
            append(connection, entry)

    def drop(self, owner: str, entry: LogEntry | None = None) -> Erased:
        return drop_collection(self.view, owner, entry)

    def grants(self, owner: str) -> list[Grant]:
        return [Grant(who, bool(write)) for who, write in self.view.rows(_GRANTS, {"collection": owner})]

    def share(self, owner: str, grant: Grant, entry: LogEntry | None = None) -> None:
        with self.view.writing(content=False) as (connection, _):
            connection.execute(_SHARE, (grant.who, owner, grant.write))
            append(connection, entry)

    def unshare(self, owner: str, who: str, entry: LogEntry | None = None) -> bool:
        with self.view.writing(content=False) as (connection, _):
            connection.execute(_UNSHARE, (who, owner))
            ended = connection.changes() > 0
            append(connection, entry if ended else None)
            return ended

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        members: dict[str, list[str]] = {}
        for name, user in self.view.rows(_GROUPS):
            members.setdefault(name, []).extend([] if user is None else [user])
        return {name: tuple(users) for name, users in members.items()}

    def put_group(self, name: str, members: Sequence[str], entry: LogEntry | None = None) -> None:
        with self.view.writing(content=False) as (connection, _):
            connection.execute(_PUT_GROUP, (name,))
            new = connection.changes() > 0
            before = {str(user) for (user,) in connection.execute(_MEMBERS, (name,))}
            connection.execute(_EMPTY_GROUP, (name,))
            connection.executemany(_PUT_MEMBER, [(user, name) for user in members])
            if entry:
                for user in sorted(before ^ {*members}):
                    append(connection, replace(entry, who=user, detail="left" if user in before else "joined"))
                append(connection, entry if new and not members else None)

    def drop_group(self, name: str, entry: LogEntry | None = None) -> bool:
        with self.view.writing(content=False) as (connection, _):
            connection.execute(_UNSHARE_ALL, (name,))
            connection.execute(_DROP_GROUP, (name,))
            dropped = connection.changes() > 0
            append(connection, entry if dropped else None)
            return dropped

    def users(self) -> frozenset[str]:
        return frozenset(user for (user,) in self.view.rows(_USERS) if user)


def _job(row: Any) -> JobRecord:
    found = JobRecord(*row)
    return replace(found, stop=bool(found.stop))
