"""The registry on a cluster: settings and events are rows of their owner, all else rows of the whole index.

There are no transactions: what consists of several writes does the decisive one first, and can be repeated.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

from rifflux.errors import OutOfScope
from rifflux.store.opensearch.engine import Action, OwnedRows, row_id
from rifflux.store.opensearch.filters import JSON, keyword, none_of, terms
from rifflux.store.opensearch.leases import Lease, locked
from rifflux.store.opensearch.sharing import OpenSearchSharing, erase_owners, log_row, write_log
from rifflux.store.opensearch.world import WorldRows, between, of_user
from rifflux.store.registry import (
    JUDGEMENT,
    Erased,
    Event,
    JobRecord,
    LogEntry,
    QuestionDigest,
    Reaction,
    RecordedAnswer,
    Registry,
    Spending,
    SpendingSum,
    Token,
)
from rifflux.store.store import PART
from rifflux.text.dates import timestamp
from rifflux.types.nouns import iso_time

#: Tokens of a user that ended and are remembered.
ENDED_TOKENS = 100
_DAY = 86_400


def _coded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _event(value: Mapping[str, Any]) -> Event:
    return Event(**value)


@dataclass(frozen=True, slots=True)
class OpenSearchRegistry(Registry):
    """Settings and events of an owner; tokens, usage, questions and answers of the whole index."""

    rows: OwnedRows

    @property
    def read_only(self) -> bool:
        return False

    @property
    def world(self) -> WorldRows:
        """Return the records of the whole index. Raises `OutOfScope` for all but the view that was opened."""
        if self.rows.owners != ("",):
            raise OutOfScope("this concerns the whole index: ask who looks after it")
        return WorldRows(self.rows.engine)

    @property
    def sharing(self) -> OpenSearchSharing:
        return OpenSearchSharing(self.world)

    # Settings and events

    def setting(self, name: str) -> str | None:
        settings = self.rows.state.settings
        return next((settings[each][name] for each in self.rows.owners if name in settings[each]), None)

    def policy(self, name: str) -> str | None:
        return self.rows.state.settings[""].get(name)

    def set(self, name: str, value: str, *, content: bool = True, entry: LogEntry | None = None) -> None:
        statement = "ctx._source.settings[params.name] = params.value"
        self.rows.write([self.rows.change(statement, {"name": name, "value": value}, content=content)])
        write_log(WorldRows(self.rows.engine), entry)

    def record(self, event: Event) -> None:
        number = self.rows.engine.next_number()
        row: JSON = {"type": "event", "added": number, "user": event.user, "kind": event.kind, "event": asdict(event)}
        row["order"] = timestamp(event.created_at) or 0.0
        id = row_id(self.rows.owner, "event", str(number), event.query)
        self.rows.write([("create", id, row), self.rows.change(content=False)])

    def events(self, kind: str | None = None) -> list[Event]:
        narrow = [] if kind is None else [terms("kind", [kind])]
        return [_event(row["event"]) for row in self.rows.scan("event", narrow, ("event",), ["owner", "added"])]

    def claim(self, task: str, waiting: Callable[[str], None] | None = None) -> AbstractContextManager[bool]:
        lease = Lease(WorldRows(self.rows.engine), task)
        return lease.hold(patience=inf if waiting else 0.0, waiting=waiting)

    # Tokens

    def put_token(self, token: Token, digest: bytes, entry: LogEntry | None = None, *, most: int | None = None) -> bool:
        world = self.world
        with locked(world, f"tokens {token.user}"):
            now = timestamp(token.created_at) or 0.0
            own = self.tokens(token.user)
            ended = [each for each in own if not each.is_valid(now)]
            if most is not None and len(own) - len(ended) >= most:
                return False
            self._put_token(world, token, digest)
            world.delete("token", [each.id for each in ended[:-ENDED_TOKENS]])
        write_log(world, entry)
        return True

    def _put_token(self, world: WorldRows, token: Token, digest: bytes) -> None:
        value = {"token": asdict(token), "digest": _coded(digest)}
        world.put("token", token.id, value, user=token.user, time=timestamp(token.created_at) or 0.0)

    def token(self, id: str) -> tuple[Token, bytes] | None:
        found = self.world.get("token", id)
        if found is None:
            return None
        return Token(**found["token"]), base64.b64decode(found["digest"])

    def tokens(self, user: str | None = None) -> list[Token]:
        return [Token(**each["token"]) for each in self.world.all("token", *of_user(user), order=["order"])]

    def _change_token(self, id: str, change: Callable[[Token], Token | None]) -> bool:
        world = self.world
        for_all = world.read("token", id)
        while for_all is not None:
            value, version = for_all
            token = change(Token(**value["token"]))
            if token is None:
                return False
            time = timestamp(token.created_at) or 0.0
            if world.put_if("token", id, {**value, "token": asdict(token)}, version, user=token.user, time=time):
                return True
            for_all = world.read("token", id)
        return False

    def mark_used(self, id: str, time: float) -> None:
        self._change_token(id, lambda token: replace(token, used_at=iso_time(time, "auto")))

    def revoke(self, id: str, time: float, entry: LogEntry | None = None) -> bool:
        def revoked(token: Token) -> Token | None:
            return None if token.revoked_at else replace(token, revoked_at=iso_time(time, "auto"))

        is_done = self._change_token(id, revoked)
        if is_done:
            write_log(self.world, entry)
        return is_done

    # The log, and the end of a user

    def log(self, before: int | None = None, limit: int = 100) -> list[LogEntry]:
        narrow = [] if before is None else [{"range": {"added": {"lt": before}}}]
        rows = self.world.rows.scan("log", narrow, ("entry",), [{"added": "desc"}], limit)
        return [LogEntry(**row["entry"]) for row in rows]

    def erase(self, user: str, entry: LogEntry | None = None) -> Erased:
        world = self.world
        engine = self.rows.engine
        names = [name for name in engine.owners_like(user) if name == user or name.startswith(user + PART)]
        kinds, files, events, settings = erase_owners(world, names)
        theirs: list[JSON] = [{"term": {"type": "event"}}, terms("user", [user])]
        events += engine.change_everywhere(theirs, None)
        narrow = of_user(user)
        owned = [each["owner"] for each in world.all("collection", *narrow)]
        mentions = terms("field", [keyword(user)])
        entries = [LogEntry(**row["entry"]) for row in world.rows.scan("log", [mentions], ("entry",))]
        erased = Erased(
            kinds,
            files,
            events,
            settings,
            tokens=world.delete_where("token", *narrow),
            calls=world.delete_where("spending", *narrow),
            questions=world.delete_where("question", *narrow),
            collections=world.delete("collection", owned),
            log=len(entries),
        )
        world.delete_where("answer", *narrow)
        world.delete_where("job", *narrow)
        world.delete_where("grant", terms("user", [user]))
        for name, members in self.sharing.groups().items():
            if user in members:
                world.put("group", name, {"name": name, "members": [each for each in members if each != user]})
        if erased:
            number = write_log(world, entry)
            if entry:
                entries.append(replace(entry, id=number))
            renamed = [each.renamed(user, f"deleted user {number}") for each in entries]
            world.rows.write([("index", world.id("log", str(each.id)), log_row(each)) for each in renamed])
        return erased

    # Usage

    def spend(self, spendings: Sequence[Spending]) -> None:
        world = self.world
        world.rows.write([self._spending(world, world.engine.next_number(), each) for each in spendings])

    def _spending(self, world: WorldRows, number: int, spending: Spending) -> Action:
        name = str(number)
        row = world.row("spending", name, asdict(spending), user=spending.user, time=spending.time)
        return "index", world.id("spending", name), {**row, "cost": spending.cost}

    def reserve(self, spending: Spending, budget: float, since: float) -> int | None:
        world = self.world
        with locked(world, f"budget {spending.user}"):
            narrow = [*of_user(spending.user), between(since, None)]
            found = world.rows.search("spending", narrow, size=0, aggs={"cost": {"sum": {"field": "cost"}}})
            if found["aggregations"]["cost"]["value"] + spending.cost > budget:
                return None
            number = world.engine.next_number()
            world.rows.write([self._spending(world, number, spending)])
            # The next one who holds the lock may be another process, and counts what is searched.
            world.engine.refresh()
            return number

    def settle(self, id: int, spending: Spending | None) -> None:
        world = self.world
        if spending is None:
            world.delete("spending", [str(id)])
        else:
            world.rows.write([self._spending(world, id, spending)])

    def spent(self, user: str | None = None, since: float = 0.0, until: float | None = None) -> list[SpendingSum]:
        sums: dict[tuple[str, str, str, str], tuple[int, int, float]] = {}
        for value in self.world.all("spending", *of_user(user), between(since, until), order=["order"]):
            each = Spending(**value)
            key = (iso_time(each.time // _DAY * _DAY, "auto")[:10], each.user, each.feature, each.model)
            calls, tokens, cost = sums.get(key, (0, 0, 0.0))
            sums[key] = (calls + 1, tokens + each.tokens, cost + each.cost)
        return [SpendingSum(*key, *total) for key, total in sorted(sums.items())]

    # Answers and jobs

    def begin_answer(self, answer: RecordedAnswer, forget_before: float) -> RecordedAnswer | None:
        world = self.world
        name = f"{answer.user}\0{answer.key}"
        world.delete_where("answer", {"range": {"order": {"lt": forget_before}}})
        while not world.put_if("answer", name, _answer_value(answer), None, user=answer.user, time=answer.time):
            found = world.get("answer", name)
            if found is not None:
                coded = {field: base64.b64decode(found[field]) for field in ("request", "body")}
                return RecordedAnswer(**{**found, **coded})
        return None

    def end_answer(self, user: str, key: str, status: int, body: bytes) -> None:
        world = self.world
        name = f"{user}\0{key}"
        found = world.get("answer", name)
        if not status:
            world.delete("answer", [name])
        elif found:
            value = {**found, "status": status, "body": _coded(body)}
            world.put("answer", name, value, user=user, time=found["time"])

    def begin_job(self, job: JobRecord, most: int, seen_after: float, forget_before: float) -> bool:
        world = self.world
        world.delete_where("job", {"range": {"order": {"lt": forget_before}}})
        with locked(world, f"jobs {job.user}"):
            running = [each for each in self.jobs(job.user) if each.state == "running"]
            if sum(each.seen_at > seen_after for each in running) >= most:
                return False
            world.put("job", job.id, asdict(job), user=job.user, time=job.seen_at)
            world.engine.refresh()
            return True

    def put_jobs(self, jobs: Sequence[JobRecord]) -> Sequence[str]:
        world = self.world
        stopping = []
        for each in jobs:
            known = self.job(each.id)
            if known:
                value = asdict(replace(each, stop=known.stop))
                world.put("job", each.id, value, user=each.user, time=each.seen_at)
            if known is None or known.stop:
                stopping.append(each.id)
        return stopping

    def stop_jobs(self, user: str, id: str | None = None) -> None:
        world = self.world
        for each in self.jobs(user):
            if id in (None, each.id) and each.state == "running":
                world.put("job", each.id, asdict(replace(each, stop=True)), user=each.user, time=each.seen_at)

    def job(self, id: str) -> JobRecord | None:
        found = self.world.get("job", id)
        return JobRecord(**found) if found else None

    def jobs(self, user: str | None = None) -> list[JobRecord]:
        found = [JobRecord(**each) for each in self.world.all("job", *of_user(user))]
        return sorted(found, key=lambda each: each.created_at, reverse=True)

    # Questions

    def ask(self, questions: Sequence[QuestionDigest], forget_before: float) -> None:
        world = self.world
        actions: list[Action] = []
        for each in questions:
            if each.time >= forget_before:
                name = str(world.engine.next_number())
                value = {**asdict(each), "digest": _coded(each.digest), "sketch": _coded(each.sketch)}
                row = world.row("question", name, value, user=each.user, time=each.time)
                actions.append(("index", world.id("question", name), row))
        world.rows.write(actions)
        world.delete_where("question", {"range": {"order": {"lt": forget_before}}})

    def questions(self, since: float = 0.0, until: float | None = None) -> list[QuestionDigest]:
        found = []
        for each in self.world.all("question", between(since, until), order=["order"]):
            digest = base64.b64decode(each["digest"])
            sketch = base64.b64decode(each["sketch"])
            found.append(QuestionDigest(each["user"], digest, each["time"], sketch))
        return found

    def reactions(self, since: float = 0.0, until: float | None = None) -> list[Reaction]:
        engine = self.world.engine
        everybody = OwnedRows(engine, tuple(engine.owners_like("")) or ("",))
        narrow = [none_of([terms("kind", [JUDGEMENT])]), between(since, until)]
        found = []
        for row in everybody.scan("event", narrow, ("event", "order"), ["order", "added"]):
            each = _event(row["event"])
            found.append(Reaction(each.user, each.kind, each.query, row["order"]))
        return found


def _answer_value(answer: RecordedAnswer) -> dict[str, Any]:
    return {**asdict(answer), "request": _coded(answer.request), "body": _coded(answer.body)}
