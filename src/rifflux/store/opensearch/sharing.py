"""Collections, their readers, and groups of users on a cluster; and the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from rifflux.store.opensearch.engine import OwnedRows
from rifflux.store.opensearch.filters import JSON, keyword, terms
from rifflux.store.opensearch.world import WorldRows
from rifflux.store.registry import EVERYONE, CollectionRecord, Erased, Grant, LogEntry, Sharing
from rifflux.store.store import PART
from rifflux.text.dates import timestamp

#: Seconds that a decision stays in the log.
LOGGED_SECONDS = 2 * 365 * 86_400.0


def log_row(entry: LogEntry) -> JSON:
    """Return the row of an entry of the log."""
    row: JSON = {"type": "log", "added": entry.id, "order": timestamp(entry.done_at) or 0.0, "entry": asdict(entry)}
    # The users that it names.
    row["field"] = sorted({keyword(each) for each in (entry.user, entry.owner, entry.who)})
    return row


def write_log(world: WorldRows, entry: LogEntry | None) -> int:
    """Append an entry to the log, drop what is too old, and return its number; 0 for none."""
    if entry is None:
        return 0
    number = world.engine.next_number()
    written = replace(entry, id=number)
    world.rows.write([("index", world.id("log", str(number)), log_row(written))])
    oldest = (timestamp(entry.done_at) or 0.0) - LOGGED_SECONDS
    outdated = world.rows.scan("log", [{"range": {"order": {"lt": oldest}}}], ("added",))
    world.delete("log", [str(row["added"]) for row in outdated])
    return number


def erase_owners(world: WorldRows, names: Sequence[str]) -> tuple[Counter[str], int, int, int]:
    """Delete all rows of owners; return the numbers of documents by kind, and of files, events and settings.

    An owner's row goes last, so that an interrupted call can be repeated.
    """
    kinds: Counter[str] = Counter()
    files = events = settings = 0
    for name in names:
        rows = OwnedRows(world.engine, (name,))
        for kind, count in rows.values("document", "kind").items():
            kinds[kind or "document"] += count
        files += rows.count("file")
        events += rows.count("event")
        settings += len(rows.state.settings[name])
        for types in (["document", "chunk", "file", "event"], ["owner"]):
            world.engine.change_everywhere([terms("owner", [name]), terms("type", types)], None)
    return kinds, files, events, settings


@dataclass(frozen=True, slots=True)
class OpenSearchSharing(Sharing):
    """Collections, their readers, and groups of users."""

    world: WorldRows

    def of(self, user: str) -> list[CollectionRecord]:
        return [each for each in self.all() if each.user == user]

    def all(self) -> list[CollectionRecord]:
        return [*self.world.engine.recently("collections", self._all)]

    def _all(self) -> list[CollectionRecord]:
        found = [CollectionRecord(**each) for each in self.world.all("collection")]
        return sorted(found, key=lambda each: (each.user, each.name))

    def shared_with(self, user: str) -> list[tuple[CollectionRecord, bool]]:
        groups = {name for name, members in self.groups().items() if user in members}
        given: dict[str, list[bool]] = {}
        for each in self.world.all("grant", terms("user", [user, EVERYONE, *groups])):
            given.setdefault(each["owner"], []).append(each["write"])
        if not given:
            return []
        return [
            (record, any(given[record.owner])) for record in self.all() if record.owner in given and record.user != user
        ]

    def put(self, record: CollectionRecord, entry: LogEntry | None = None) -> None:
        self.world.put("collection", record.owner, asdict(record), user=record.user)
        write_log(self.world, entry)

    def drop(self, owner: str, entry: LogEntry | None = None) -> Erased:
        known = self.world.delete("collection", [owner])
        self.world.delete_where("grant", terms("kind", [keyword(owner)]))
        names = [name for name in self.world.engine.owners_like(owner) if name == owner]
        kinds, files, events, settings = erase_owners(self.world, names)
        erased = Erased(kinds, files, events, settings, collections=known)
        if erased:
            write_log(self.world, entry)
        return erased

    def grants(self, owner: str) -> list[Grant]:
        found = self.world.all("grant", terms("kind", [keyword(owner)]))
        return sorted((Grant(each["who"], each["write"]) for each in found), key=lambda grant: grant.who)

    def share(self, owner: str, grant: Grant, entry: LogEntry | None = None) -> None:
        name = _grant_name(owner, grant.who)
        row = self.world.row("grant", name, {"owner": owner, **asdict(grant)}, user=grant.who, time=0.0)
        self.world.rows.write([("index", self.world.id("grant", name), {**row, "kind": keyword(owner)})])
        write_log(self.world, entry)

    def unshare(self, owner: str, who: str, entry: LogEntry | None = None) -> bool:
        if not self.world.delete("grant", [_grant_name(owner, who)]):
            return False
        write_log(self.world, entry)
        return True

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        return self.world.engine.recently("groups", self._groups)

    def _groups(self) -> Mapping[str, tuple[str, ...]]:
        found = {each["name"]: tuple(sorted(each["members"])) for each in self.world.all("group")}
        return dict(sorted(found.items()))

    def put_group(self, name: str, members: Sequence[str], entry: LogEntry | None = None) -> None:
        known = self.world.get("group", name)
        former = {*known["members"]} if known else set()
        self.world.put("group", name, {"name": name, "members": [*members]})
        if entry is None:
            return
        for who in sorted(former ^ {*members}):
            write_log(self.world, replace(entry, who=who, detail="left" if who in former else "joined"))
        if known is None and not members:
            write_log(self.world, entry)

    def drop_group(self, name: str, entry: LogEntry | None = None) -> bool:
        if not self.world.delete("group", [name]):
            return False
        self.world.delete_where("grant", terms("user", [name]))
        write_log(self.world, entry)
        return True

    def users(self) -> frozenset[str]:
        names = set(self.world.rows.values("token", "user"))
        names.update(self.world.rows.values("collection", "user"))
        names.update(who for members in self.groups().values() for who in members)
        names.update(owner.partition(PART)[0] for owner in self.world.engine.owners_like(""))
        return frozenset(names - {""})


def _grant_name(owner: str, who: str) -> str:
    return f"{owner}\0{who}"
