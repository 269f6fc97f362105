"""The log of administrative decisions, as records that are written with what was decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from uuid import uuid4

from rifflux.service.nouns import LogEntry
from rifflux.store import RECORDS, Delete, Put, Record, Records, Where
from rifflux.text.dates import timestamp
from rifflux.types.nouns import iso_time

#: How long an entry is retained, and how many per acting user: nobody can displace others' entries.
RETENTION_S = 2 * 365 * 86_400.0
MOST_PER_USER = 10_000
LOG = "log"


def put_entries(*entries: LogEntry | None) -> Iterator[Put]:
    """Yield the changes that write entries."""
    for entry in entries:
        if entry:
            yield Put(_record(entry, uuid4().hex))


def trim(records: Records, entry: LogEntry | None) -> None:
    """Drop entries that are too old, or too many of the user of a new one."""
    if entry is None:
        return
    records.drop(Where(LOG, until=(timestamp(entry.done_at) or 0.0) - RETENTION_S))
    theirs = Where(LOG, users=(entry.user,))
    for each in records.sum(theirs, ("user",)):
        oldest = records.scan(theirs, most=each.count - MOST_PER_USER)
        records.write(*[Delete(LOG, entry.key) for entry in oldest])


def entry_of(record: Record) -> LogEntry:
    """Return the entry of a record."""
    return LogEntry(**record.value, user=record.user, done_at=iso_time(record.time, "auto"), id=record.number)


def rename_user(records: Records, user: str, entry: LogEntry | None, *, is_erased: bool) -> int:
    """Rename a deleted user to the number of the entry about that, and return the number of other mentions.

    If nothing was deleted and nobody mentioned the user, no entry is written.
    """
    mentions = [each for each in records.scan(Where(LOG)) if _mentions(entry_of(each), user)]
    count = len(mentions)
    if not count and not is_erased:
        return 0
    number = 0
    if entry:
        key = uuid4().hex
        records.write(Put(_record(entry, key)))
        written = records.get(LOG, key)
        if written:
            number = written.number
            mentions.append(written)
    alias = f"deleted user {number}"
    for start in range(0, len(mentions), RECORDS):
        some = mentions[start : start + RECORDS]
        renamed = (_record(entry_of(each).renamed(user, alias), each.key, each.number) for each in some)
        records.write(*map(Put, renamed))
    return count


def _mentions(entry: LogEntry, user: str) -> bool:
    return user in (entry.user, entry.owner, entry.who)


def _record(entry: LogEntry, key: str, number: int = 0) -> Record:
    value = asdict(entry)
    for name in ("user", "done_at", "id"):
        del value[name]
    return Record(LOG, key, value, entry.user, timestamp(entry.done_at) or 0.0, number=number)
