"""The administrators' log in SQLite."""

from __future__ import annotations

from dataclasses import asdict

import apsw

from rifflux.store.registry import LogEntry
from rifflux.text.dates import timestamp

#: How long an entry is retained, and how many per acting user: nobody can displace others' entries.
RETENTION_SECONDS = 2 * 365 * 86_400.0
MOST_PER_USER = 10_000

_APPEND = """
insert into admin_log (done_at, user, action, target, owner, who, detail)
values (:done_at, :user, :action, :target, :owner, :who, :detail)"""

_TRIM = """
delete from admin_log where done_at < :oldest or id in (
    select id from admin_log where user = :user order by id desc limit -1 offset :each
)"""


def append(connection: apsw.Connection, entry: LogEntry | None) -> None:
    """Write an entry within the open transaction, and drop expired ones."""
    if entry:
        done_at = timestamp(entry.done_at) or 0.0
        connection.execute(_APPEND, asdict(entry) | {"done_at": done_at})
        connection.execute(_TRIM, {"oldest": done_at - RETENTION_SECONDS, "user": entry.user, "each": MOST_PER_USER})
