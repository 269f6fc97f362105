"""Collections: who owns what, and who may see, change and share it. Every surface applies these rules.

A collection is named documents with an owner, a description and readers. Everybody has a *library*, the default
collection; that of the user without a name, who uses an index alone, belongs to its administrators. Callers name their
own collections by name, another's as `bob/wiki`, and the administrators' as `/wiki`.

A collection that a caller may not see gives the same error as one that does not exist.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rifflux.errors import Conflict, Cure, InvalidArgument, NotFound, OutOfScope
from rifflux.service.log import put_entries, trim
from rifflux.service.nouns import EVERYONE, CollectionRecord, Erased, Grant, LogEntry
from rifflux.store import ABSENT, KEY, PART, TOKEN, Delete, ErasedContent, Put, Record, Records, Store, Where
from rifflux.types.nouns import iso_time

#: The collection that everybody has.
LIBRARY = "library"
#: Begins the part of an owner's name that is a collection's; no other part begins so.
_MARK = "@"
#: Characters of a collection's or group's name, of a user's, and of a description.
LONGEST_NAME = 100
LONGEST_USER = 256
LONGEST_DESCRIPTION = 2_000


COLLECTION = "collection"
GRANT = "grant"
GROUP = "group"
MEMBER = "member"


@dataclass(frozen=True, slots=True)
class Sharing:
    """The collections of all users with their readers, and groups; `records` are those of the whole index."""

    store: Store
    records: Records

    # Collections

    def collections(self, *users: str, owners: Collection[str] | None = None) -> list[CollectionRecord]:
        """Return the recorded collections of some users, or all, by user and name; with `owners`, only these."""
        where = Where(COLLECTION, keys=owners, users=users or None, recent=True)
        found = [
            CollectionRecord(each.key, each.user, each.value["name"], each.value["description"], each.time)
            for each in self.records.scan(where)
        ]
        return sorted(found, key=lambda each: (each.user, each.name))

    def shared_with(self, user: str) -> list[tuple[CollectionRecord, bool]]:
        """Return others' collections that a user may read, by name, group or as everyone, and whether to write."""
        groups = [_parts(each)[0] for each in self.records.scan(Where(MEMBER, users=(user,), recent=True))]
        # The most permissive grant applies.
        may_write: dict[str, bool] = {}
        for each in self.records.scan(Where(GRANT, users=(user, EVERYONE, *groups), recent=True)):
            owner = _parts(each)[0]
            may_write[owner] = may_write.get(owner, False) or each.value["write"]
        if not may_write:
            return []
        found = self.collections(owners=may_write)
        return [(each, may_write[each.owner]) for each in found if each.user != user]

    def shared_with_everyone(self) -> frozenset[str]:
        """Return the owners of the collections that everyone may read."""
        return frozenset(_parts(each)[0] for each in self.records.scan(Where(GRANT, users=(EVERYONE,))))

    def put(self, collection: CollectionRecord, entry: LogEntry | None = None) -> None:
        """Add a collection, or change the name or description of this owner's."""
        known = self.records.get(COLLECTION, collection.owner)
        record = collection_record(collection)
        if known:
            record = replace(record, user=known.user, time=known.time, number=known.number)
        self.records.write(Put(record), *put_entries(entry))
        trim(self.records, entry)

    def drop(self, owner: str, entry: LogEntry | None = None) -> Erased:
        """Delete a collection with its content in one transaction. Events in it belong to its readers and stay."""
        erased = Erased({})

        def finish(content: ErasedContent) -> bool:
            nonlocal erased
            erased = Erased(content.documents, content.files, content.records, content.settings)
            self.records.write(Delete(COLLECTION, owner), *put_entries(entry))
            self.records.drop(Where(GRANT, prefix=owner + KEY))
            return bool(erased)

        self.store.erase(owner, finish, parts=False)
        trim(self.records, entry)
        return erased

    # Readers

    def grants(self, owner: str) -> list[Grant]:
        """Return the readers of a collection, by name."""
        found = self.records.scan(Where(GRANT, prefix=owner + KEY))
        return sorted((Grant(each.user, each.value["write"]) for each in found), key=lambda grant: grant.who)

    def share(self, owner: str, grant: Grant, entry: LogEntry | None = None) -> None:
        """Grant a permission on a collection, replacing an earlier one."""
        self.records.write(Put(grant_record(owner, grant)), *put_entries(entry))
        trim(self.records, entry)

    def unshare(self, owner: str, who: str, entry: LogEntry | None = None) -> bool:
        """Revoke a reader's permission; return False if there was none."""
        with self.store.transaction():
            if not self.records.drop(Where(GRANT, keys=(owner + KEY + who,))):
                return False
            self.records.write(*put_entries(entry))
        trim(self.records, entry)
        return True

    # Groups

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Return the members of each group, sorted by name."""
        members: dict[str, list[str]] = {each.key: [] for each in self.records.scan(Where(GROUP))}
        for each in self.records.scan(Where(MEMBER)):
            if (group := _parts(each)[0]) in members:
                members[group].append(each.user)
        return {name: tuple(sorted(members[name])) for name in sorted(members)}

    def put_group(self, name: str, members: Sequence[str], entry: LogEntry | None = None) -> None:
        """Create or replace a group with these users.

        An entry is written for each user who joined or left, as its `who`, or one for a new group without users.
        """
        while True:
            known = self.records.get(GROUP, name)
            former = self._members(name)
            left = former - {*members}
            joined = {*members} - former
            changes: list[Put | Delete] = [
                *(Delete(MEMBER, name + KEY + user) for user in left),
                *(Put(Record(MEMBER, name + KEY + user, user=user)) for user in joined),
            ]
            if entry:
                moved = [replace(entry, who=who, detail="left" if who in left else "joined") for who in left | joined]
                new_and_empty = entry if known is None and not members else None
                changes += put_entries(*sorted(moved, key=lambda each: each.who), new_and_empty)
            # The group's version changes with its members.
            if self.records.write(Put(Record(GROUP, name), known.version if known else ABSENT), *changes):
                trim(self.records, entry)
                return

    def _members(self, group: str) -> set[str]:
        return {each.user for each in self.records.scan(Where(MEMBER, prefix=group + KEY))}

    def drop_group(self, name: str, entry: LogEntry | None = None) -> bool:
        """Delete a group and the permissions granted to it; return False if there is none."""
        with self.store.transaction():
            if not self.records.drop(Where(GROUP, keys=(name,))):
                return False
            self.records.drop(Where(MEMBER, prefix=name + KEY))
            self.records.drop(Where(GRANT, users=(name,)))
            self.records.write(*put_entries(entry))
        trim(self.records, entry)
        return True

    # Users

    def users(self) -> frozenset[str]:
        """Return the names of users who have a token, are in a group, or have any record."""
        names = {each.owner.partition(PART)[0] for each in self.store.views()}
        for kind in (TOKEN, MEMBER, COLLECTION):
            names.update(each.keys[0] for each in self.records.sum(Where(kind), ("user",)))
        return frozenset(names - {""})

    def forget(self, user: str) -> int:
        """Delete a user's collections, memberships and permissions; return the number of collections."""
        owned = [each.key for each in self.records.scan(Where(COLLECTION, users=(user,)))]
        for owner in owned:
            self.records.drop(Where(GRANT, prefix=owner + KEY))
        self.records.drop(Where(GRANT, users=(user,)))
        self.records.drop(Where(MEMBER, users=(user,)))
        return self.records.drop(Where(COLLECTION, users=(user,)))


@dataclass(frozen=True, slots=True)
class VisibleCollection:
    """A collection that a caller may read; `label` is the caller's name of it."""

    record: CollectionRecord
    label: str
    owned: bool
    writable: bool

    @property
    def owner(self) -> str:
        """Return the owner of its rows in the store."""
        return self.record.owner


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a caller: what they may see, change and share. `sharing` is that of the whole index.

    A caller owns what is theirs, and reads what is shared with them. An `administrator` also owns what belongs to
    nobody; the user without a name is always one. No administrator sees the private collections of others, nor does the
    log mention them; it mentions shared ones.
    """

    sharing: Sharing
    user: str = ""
    administrator: bool = False
    now: Callable[[], float] = time.time

    @property
    def rules(self) -> bool:
        """Return True if the caller may know groups and the names of all users."""
        return self.administrator or not self.user

    # Seeing

    def visible(self, names: Sequence[str] = ()) -> tuple[VisibleCollection, ...]:
        """Return the collections that the caller may read, or the named ones among them. Raises `NotFound`.

        The caller's own come first, the library leading, then others' by user and name.
        """
        everything = self._owned()
        for record, write in self.sharing.shared_with(self.user) if self.user else ():
            if record.user or not self.administrator:
                everything.append(VisibleCollection(record, self.label(record), owned=False, writable=write))
        if not names:
            return tuple(everything)
        chosen = {each.owner for name in names for each in _named(name, everything)}
        return tuple(each for each in everything if each.owner in chosen)

    def _owned(self) -> list[VisibleCollection]:
        users = dict.fromkeys((self.user, "")) if self.administrator else (self.user,)
        records = [record for user in users for record in self._of(user)]
        return [VisibleCollection(each, self.label(each), owned=True, writable=True) for each in records]

    def public(self, names: Sequence[str] = ()) -> tuple[VisibleCollection, ...]:
        """Return the collections that everyone may read and those of nobody, or the named ones among them.

        Raises `NotFound`, and `OutOfScope` in a scope.
        """
        if self.user:
            raise OutOfScope("only who looks after the index hands it on: ask an administrator")
        shared_owners = self.sharing.shared_with_everyone()
        shared = (
            VisibleCollection(each, self.label(each), owned=False, writable=False)
            for each in self.sharing.collections()
            if each.user and each.owner in shared_owners
        )
        everything = (*self._owned(), *shared)
        chosen = {each.owner for name in names for each in _named(name, everything)}
        return tuple(each for each in everything if not names or each.owner in chosen)

    def label(self, record: CollectionRecord) -> str:
        """Return the caller's name of a collection."""
        if record.user == self.user:
            return record.name
        return f"{record.user}/{record.name}"

    def find(self, name: str) -> VisibleCollection:
        """Return the collection that the caller means. Raises `NotFound`, and `InvalidArgument` if several fit."""
        found = _named(name, self.visible())
        if len(found) > 1:
            raise InvalidArgument(f"{name!r} is the name of several: say {' or '.join(each.label for each in found)}")
        return found[0]

    # Changing what a collection holds

    def writable(self, name: str = "", *, create: bool = False) -> VisibleCollection:
        """Return a collection that the caller may change, by default their library; with `create`, a new one.

        Raises `NotFound`, or `OutOfScope` for one that they may only read.
        """
        if create and name and "/" not in name and all(each.record.name != name for each in self.visible()):
            return self.create(name)
        found = self.find(name or LIBRARY)
        if not found.writable:
            raise OutOfScope(
                f"{found.label} is read-only",
                cure=Cure.SHARE,
                collection=found.record.name,
                owner=_who(found),
                user=self.user,
            )
        return found

    # Making, describing, sharing

    def create(self, name: str, description: str = "") -> VisibleCollection:
        """Create a collection of the caller's own. Raises `InvalidArgument` for an invalid name."""
        mine = self._of(self.user)
        if any(each.name == checked_name(name) for each in mine):
            raise Conflict(f"there is a collection {name} already: choose another name, or use that")
        known = {each.owner for each in mine}
        owner = f"{self.user}{PART}{_MARK}{name}"
        # A collection that had this name before was renamed, and keeps its owner.
        tries = (owner, *(f"{owner}{PART}{number}" for number in range(2, len(known) + 3)))
        record = CollectionRecord(
            next(each for each in tries if each not in known), self.user, name, _checked_text(description), self.now()
        )
        self.sharing.put(record)
        return VisibleCollection(record, name, owned=True, writable=True)

    def describe(self, name: str, description: str) -> None:
        """Describe a collection; agents see the description with their results."""
        self._put(replace(self.owned(name).record, description=_checked_text(description)))

    def rename(self, name: str, new: str) -> None:
        """Rename a collection; its contents and readers stay."""
        record = self.owned(name).record
        if record.name == LIBRARY:
            raise InvalidArgument(
                f"a {LIBRARY} keeps its name: move what it holds to another collection",
                cure=Cure.MOVE,
                collection=LIBRARY,
            )
        if any(each.name == checked_name(new) and each.owner != record.owner for each in self._of(record.user)):
            raise Conflict(f"there is a collection {new} already: choose another name")
        self._put(replace(record, name=new), self._log_entry("collection.rename", record, detail=f"now {new}"))

    def share(self, name: str, who: str, *, write: bool = False) -> Grant:
        """Let a user, a group or `everyone` read a collection, and with `write` change what it holds.

        Only an administrator learns that nobody has a name: not everybody may know the names of others.
        """
        record = self.owned(name).record
        if checked_who(who) == record.user:
            raise InvalidArgument(f"{record.name} is {who}'s own: name another user, a group, or {EVERYONE}")
        if self.rules and who != EVERYONE and who not in self.sharing.groups().keys() | self.sharing.users():
            raise NotFound(f"no user or group {who!r}", cure=Cure.MAKE_USER, user=who)
        grant = Grant(who, write)
        if write:
            detail = "to read and write"
        else:
            detail = "to read"
        self._put(record)
        self.sharing.share(record.owner, grant, self._entry("collection.share", record, who, detail))
        return grant

    def unshare(self, name: str, who: str) -> None:
        """Stop sharing a collection with `who`. Raises `NotFound` if it was not shared with them."""
        found = self.owned(name)
        if not self.sharing.unshare(found.owner, who, self._entry("collection.unshare", found.record, who)):
            readers = ", ".join(each.who for each in self.readers(found)) or "nobody"
            raise NotFound(f"{found.label} is not shared with {who!r}, but with {readers}")

    def readers(self, found: VisibleCollection) -> tuple[Grant, ...]:
        """Return the readers of a collection; empty for a caller who may only read it."""
        if found.owned:
            return tuple(self.sharing.grants(found.owner))
        return ()

    def remove(self, name: str) -> Erased:
        """Delete a collection with all that it holds. It cannot be undone."""
        record = self.owned(name).record
        if record.name == LIBRARY:
            raise InvalidArgument(
                f"a {LIBRARY} cannot be removed: name the roots to remove from it", cure=Cure.LIST, things="collections"
            )
        return self.sharing.drop(record.owner, self._log_entry("collection.remove", record))

    def owned(self, name: str) -> VisibleCollection:
        """Return a collection of the caller's own. Raises `OutOfScope` for another's, `NotFound` for none."""
        found = self.find(name)
        if not found.owned:
            raise OutOfScope(f"{found.label} is not yours: only {_who(found)} can share, describe, rename or remove it")
        return found

    def _of(self, user: str) -> list[CollectionRecord]:
        """Return a user's own collections: the library first, then the others by name."""
        known = {each.name: each for each in self.sharing.collections(user)}
        library = known.pop(LIBRARY, None) or CollectionRecord(user, user, LIBRARY)
        return [library, *(known[name] for name in sorted(known))]

    def _put(self, record: CollectionRecord, entry: LogEntry | None = None) -> None:
        self.sharing.put(record if record.created_at else replace(record, created_at=self.now()), entry)

    # Entries of the log

    def _entry(self, action: str, record: CollectionRecord, who: str = "", detail: str = "") -> LogEntry:
        return LogEntry(self.user, action, iso_time(self.now(), "auto"), record.name, record.user, who, detail)

    def _log_entry(self, action: str, record: CollectionRecord, detail: str = "") -> LogEntry | None:
        """Return the log entry for a collection that others know of."""
        known = not record.user or self.sharing.grants(record.owner)
        if known:
            return self._entry(action, record, detail=detail)
        return None

    # Groups

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Return the members of each group. Methods of groups raise `OutOfScope` except for administrators."""
        return self._ruled().groups()

    def put_group(self, name: str, members: Sequence[str]) -> None:
        """Set the users of a group, replacing those it had."""
        sharing = self._ruled()
        members = [*dict.fromkeys(checked_who(member) for member in members)]
        if checked_name(name) == EVERYONE or name in sharing.users():
            raise InvalidArgument(f"{name} is the name of a user, or stands for all of them: call the group otherwise")
        if not_users := [each for each in members if each == EVERYONE or each in sharing.groups()]:
            raise InvalidArgument(f"{not_users[0]} is no user: a group has users as members")
        if unknown := [each for each in members if each not in sharing.users()]:
            raise NotFound(f"no user {unknown[0]!r}", cure=Cure.MAKE_USER, user=unknown[0])
        sharing.put_group(name, members, LogEntry(self.user, "group.set", iso_time(self.now(), "auto"), name))

    def drop_group(self, name: str) -> None:
        """Delete a group, which ends what was shared with it."""
        if not self._ruled().drop_group(name, LogEntry(self.user, "group.remove", iso_time(self.now(), "auto"), name)):
            raise NotFound(f"no group {name!r}", cure=Cure.LIST, things="groups")

    def _ruled(self) -> Sharing:
        if not self.rules:
            raise OutOfScope("groups are for administrators: ask one to change or list them")
        return self.sharing


def user_of(owner: str) -> str:
    """Return the user of an owner's rows; empty for what belongs to nobody in particular."""
    return owner.partition(PART)[0]


def is_collection(owner: str) -> bool:
    """Return True if an owner is a collection, and not a part of a user's data, such as messages."""
    _, is_part, part = owner.partition(PART)
    return not is_part or part.startswith(_MARK)


def _named(name: str, among: Sequence[VisibleCollection]) -> list[VisibleCollection]:
    """Return the collections that a name means: the one of that label, else others' of this name."""
    if not isinstance(name, str):
        raise InvalidArgument(f"a collection is named by a text, not {name!r}")
    found = [each for each in among if each.label == name] or [each for each in among if each.record.name == name]
    if not found:
        raise NotFound(f"no collection {name!r}: choose from {', '.join(each.label for each in among)}")
    return found


def _who(found: VisibleCollection) -> str:
    return found.record.user or "an administrator"


def checked_name(name: str) -> str:
    """Return the name of a collection or group. Raises `InvalidArgument`."""
    if not _is_name(name, LONGEST_NAME) or "/" in name:
        raise InvalidArgument(
            f"a name is 1 to {LONGEST_NAME} printable characters without '/', and without spaces around them, "
            f"not {name!r}"
        )
    return name


def checked_who(who: str) -> str:
    """Return the name of a user, group or everyone. Raises `InvalidArgument`."""
    if not _is_name(who, LONGEST_USER):
        raise InvalidArgument(f"name a user, a group, or {EVERYONE}, not {who!r}")
    return who


def _is_name(name: object, longest: int) -> bool:
    return isinstance(name, str) and 0 < len(name) <= longest and name == name.strip() and name.isprintable()


def _checked_text(description: str) -> str:
    if not isinstance(description, str) or len(description) > LONGEST_DESCRIPTION or "\0" in description:
        raise InvalidArgument(f"a description is a text of at most {LONGEST_DESCRIPTION} characters")
    return description.strip()


def collection_record(collection: CollectionRecord) -> Record:
    """Return the record of a collection."""
    value = {"name": collection.name, "description": collection.description}
    return Record(COLLECTION, collection.owner, value, collection.user, collection.created_at)


def grant_record(owner: str, grant: Grant) -> Record:
    """Return the record of a permission to read a collection."""
    return Record(GRANT, owner + KEY + grant.who, {"write": grant.write}, grant.who)


def readable_by_everyone(collections: Iterable[CollectionRecord]) -> Sequence[Record]:
    """Return the records of collections that everyone may read, as in a copy handed on."""
    records: list[Record] = []
    for each in collections:
        records += [collection_record(each), grant_record(each.owner, Grant(EVERYONE))]
    return records


def _parts(record: Record) -> list[str]:
    return record.key.split(KEY)
