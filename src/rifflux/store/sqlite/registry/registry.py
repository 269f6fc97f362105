"""Tokens, spendings and questions in the SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from rifflux.store.registry import Erased, Question, Reaction, Spending, SpendingSum, Token

if TYPE_CHECKING:
    from rifflux.store.sqlite.connection.engine import Engine

__all__ = ["SqliteRegister"]

_PUT_TOKEN = """
insert into token (id, user, role, label, created_at, used_at, revoked_at, digest) values (?, ?, ?, ?, ?, ?, ?, ?)"""

_TOKEN = "select id, user, role, label, created_at, used_at, revoked_at, digest from token where id = ?"

_TOKENS = "select id, user, role, label, created_at, used_at, revoked_at from token order by created_at, id"

_MARK_USED = "update token set used_at = ? where id = ?"

_REVOKE = "update token set revoked_at = ? where id = ? and revoked_at is null"

_SPEND = "insert into usage (user, feature, model, tokens, cost, time) values (?, ?, ?, ?, ?, ?)"

_SPENT = """
select date(time, 'unixepoch') as day, user, feature, model, count(*), sum(tokens), sum(cost)
from usage
where (:user is null or user = :user) and time >= :since and (:until is null or time < :until)
group by day, user, feature, model order by day, user, feature, model"""

_COST = "select coalesce(sum(cost), 0.0) from usage where user = ? and time >= ?"

_ASK = "insert into question (user, digest, time) values (?, ?, ?)"

_FORGET_QUESTIONS = "delete from question where time < ?"

_QUESTIONS = """
select user, digest, time from question
where time >= :since and (:until is null or time < :until) order by time, id"""

# Of all owners: only the service's measures are made of it, which tell counts by day.
_REACTIONS = """
select owner.name, event.kind, event.query, event.time
from event join owner on owner.id = event.owner
where event.kind in ('click', 'save', 'export', 'not_relevant')
    and event.time >= :since and (:until is null or event.time < :until)
order by event.time, event.id"""


class SqliteRegister:
    """The tokens, spendings and questions of an index. Writing them leaves valid what is derived from its contents."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put_token(self, token: Token, digest: bytes) -> None:
        """Remember a new token by the digest of its secret."""
        with self._engine.writing("", content=False) as (connection, _):
            connection.execute(_PUT_TOKEN, (*astuple(token), digest))

    def token(self, id: str) -> tuple[Token, bytes] | None:
        """A token and the digest of its secret, or None."""
        return next(((Token(*row[:-1]), row[-1]) for row in self._engine.rows(_TOKEN, (id,))), None)

    def tokens(self) -> list[Token]:
        """All tokens in the order of their making, the revoked ones too."""
        return [Token(*row) for row in self._engine.rows(_TOKENS)]

    def mark_used(self, id: str, time: float) -> None:
        """Remember when a token was last used."""
        with self._engine.writing("", content=False) as (connection, _):
            connection.execute(_MARK_USED, (time, id))

    def revoke(self, id: str, time: float) -> bool:
        """Make a token useless for ever; False if there is none that is valid."""
        with self._engine.writing("", content=False) as (connection, _):
            connection.execute(_REVOKE, (time, id))
            return connection.changes() > 0

    def erase(self, user: str) -> Erased:
        """Delete all that is kept of a user, in one transaction: what they have, their tokens, what they did."""
        from rifflux.store.sqlite.maintenance.erase import erase

        return erase(self._engine, user)

    def spend(self, spendings: Sequence[Spending]) -> None:
        """Append to the record of spendings."""
        with self._engine.writing("", content=False) as (connection, _):
            connection.executemany(_SPEND, [astuple(each) for each in spendings])

    def spent(self, user: str | None = None, since: float = 0.0, until: float | None = None) -> list[SpendingSum]:
        """Spendings summed by day, user, feature and model, in that order; of one user, or of all."""
        rows = self._engine.rows(_SPENT, {"user": user, "since": since, "until": until})
        return [SpendingSum(*row) for row in rows]

    def cost(self, user: str, since: float) -> float:
        """What a user has spent since a moment."""
        ((cost,),) = self._engine.rows(_COST, (user, since))
        return float(cost)

    def ask(self, questions: Sequence[Question], forget_before: float) -> None:
        """Append to the record of questions, and drop what is older than a moment."""
        with self._engine.writing("", content=False) as (connection, _):
            connection.executemany(_ASK, [astuple(each) for each in questions])
            connection.execute(_FORGET_QUESTIONS, (forget_before,))

    def questions(self, since: float = 0.0, until: float | None = None) -> list[Question]:
        """The questions of all users in a span of time, in its order."""
        return [Question(*row) for row in self._engine.rows(_QUESTIONS, {"since": since, "until": until})]

    def reactions(self, since: float = 0.0, until: float | None = None) -> list[Reaction]:
        """What all users did with what they found, in a span of time and in its order."""
        return [Reaction(*row) for row in self._engine.rows(_REACTIONS, {"since": since, "until": until})]
