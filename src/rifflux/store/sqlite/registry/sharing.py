"""Collections, their readers and groups of users, in SQLite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace

from rifflux.store.registry import EVERYONE, CollectionRecord, Erased, Grant, LogEntry, Sharing
from rifflux.store.sqlite.connection.view import OwnerView
from rifflux.store.sqlite.registry.admin_log import append
from rifflux.store.sqlite.registry.erase import drop_collection

_OF = "select owner, user, name, description, created_at from collection where user = :user order by name"

_ALL = "select owner, user, name, description, created_at from collection order by user, name"

# A reader is named as a user, by a group of theirs, or among everyone; the most that any of these may do is granted.
_SHARED_WITH = f"""
select collection.owner, collection.user, collection.name, collection.description, collection.created_at,
    max(reader.may_write)
from reader join collection on collection.owner = reader.collection
where collection.user <> :user and reader.who in (
    select :user union all select '{EVERYONE}' union all select user_group from member where user = :user
)
group by collection.owner order by collection.user, collection.name"""

_PUT = """
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

# The name of an owner is a user's up to the mark of a part.
_USERS = """
select user from token union select user from member union select user from collection
union select iif(instr(name, char(31)), substr(name, 1, instr(name, char(31)) - 1), name) from owner"""


@dataclass(frozen=True, slots=True)
class SqliteSharing(Sharing):
    """Who has and reads which collection. Nothing of it changes what a collection holds."""

    view: OwnerView

    def of(self, user: str) -> list[CollectionRecord]:
        return [CollectionRecord(*row) for row in self.view.rows(_OF, {"user": user})]

    def all(self) -> list[CollectionRecord]:
        return [CollectionRecord(*row) for row in self.view.rows(_ALL)]

    def shared_with(self, user: str) -> list[tuple[CollectionRecord, bool]]:
        return [(CollectionRecord(*row), bool(write)) for *row, write in self.view.rows(_SHARED_WITH, {"user": user})]

    def put(self, record: CollectionRecord, entry: LogEntry | None = None) -> None:
        with self.view.writing(content=False) as (connection, _):
            connection.execute(_PUT, astuple(record))
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
