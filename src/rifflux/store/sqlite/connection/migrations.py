"""The steps that bring the tables of an earlier version to the next."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Any

import apsw
import numpy as np

from rifflux.store.catalog import line_ranges
from rifflux.store.sqlite.connection.tables import DOCUMENT_TEXT, RECORDS, VECTOR_TABLE, VECTOR_TRIGGERS
from rifflux.store.sqlite.connection.texts import between
from rifflux.types import LINED, Progress

_INSERT = "insert into service_record (owner, kind, key, user, time, amount, value)"

#: The former tables of accounts, sharing and usage, each with the statement that makes records of its rows. The log
#: comes first and retains its numbers. Binary values are in hexadecimal digits, and parts of keys are separated by
#: `rifflux.store.records.KEY`.
_MOVES: Mapping[str, str] = {
    "admin_log": (
        "insert into service_record (id, kind, key, user, time, value) select id, 'log', id, user, done_at, "
        "json_object('action', action, 'target', target, 'owner', owner, 'who', who, 'detail', detail) from admin_log"
    ),
    "token": (
        f"{_INSERT} select 0, 'token', id, user, coalesce(revoked_at, expires_at, 1e15), 1, json_object("
        "'role', role, 'label', label, 'created_at', created_at, 'used_at', used_at, 'revoked_at', revoked_at, "
        "'expires_at', expires_at, 'digest', lower(hex(digest))) from token order by created_at, id"
    ),
    "event": (
        f"{_INSERT} select owner, 'event', kind || char(30) || id, user, time, 0, json_object('kind', kind, "
        "'query', query, 'namespace', namespace, 'key', key, 'chunk', chunk, 'grade', grade) from event order by id"
    ),
    "usage": (
        f"{_INSERT} select 0, 'spending', id, user, time, cost, json_object('feature', feature, 'model', model, "
        "'tokens', tokens, 'day', date(time, 'unixepoch')) from usage order by id"
    ),
    "question": (
        f"{_INSERT} select 0, 'question', id, user, time, 0, json_object('digest', lower(hex(digest)), "
        "'sketch', lower(hex(sketch))) from question order by id"
    ),
    "answer": (
        f"{_INSERT} select 0, 'answer', user || char(30) || key, user, time, 0, json_object("
        "'request', lower(hex(request)), 'status', status, 'body', lower(hex(body))) from answer"
    ),
    "job": (
        f"{_INSERT} select 0, 'job', id, user, seen_at, state = 'running', json_object('kind', kind, 'name', name, "
        "'state', state, 'stage', stage, 'done', done, 'total', total, 'created_at', created_at, 'ended_at', ended_at, "
        "'status', status, 'report', report, 'error', error, 'stop', json(iif(stop, 'true', 'false'))) from job "
        "order by created_at, id"
    ),
    "reader": (
        f"{_INSERT} select 0, 'grant', collection || char(30) || who, who, 0, 0, "
        "json_object('write', json(iif(may_write, 'true', 'false'))) from reader"
    ),
    "collection": (
        f"{_INSERT} select 0, 'collection', owner, user, created_at, 0, "
        "json_object('name', name, 'description', description) from collection"
    ),
    "member": f"{_INSERT} select 0, 'member', user_group || char(30) || user, user, 0, 0, '{{}}' from member",
    "user_group": f"{_INSERT} select 0, 'group', name, '', 0, 0, '{{}}' from user_group",
}
# Numbers of the log are never used again, even those of entries that are gone.
_LAST_ENTRY = "select seq from sqlite_sequence where name = 'admin_log'"
_GO_ON = "insert into sqlite_sequence (name, seq) values ('service_record', ?)"


def _add_file_columns(connection: apsw.Connection, _: Progress | None) -> None:
    """Add columns for the inode and change time of a file, and for the kind of reason why it could not be read.

    Their values are unknown, so the next run opens each file once more.
    """
    connection.execute("alter table file add column problem_kind text not null default ''")
    connection.execute("alter table file add column inode integer not null default 0")
    connection.execute("alter table file add column ctime_ns integer not null default 0")


def _move_records(connection: apsw.Connection, _: Progress | None) -> None:
    """Make records of the rows of accounts, sharing, usage and events, and drop their tables."""
    connection.execute(RECORDS)
    connection.execute(_GO_ON, (connection.execute(_LAST_ENTRY).get or 0,))
    for table, move in _MOVES.items():
        connection.execute(move)
        connection.execute(f"drop table {table}")


_TEXTS_OF_FILES = f"""
select id, text from document join document_text on document = id
where kind in {tuple(sorted(LINED))} and key = path"""
_SPANS = "select id, span_start, span_end from chunk where document = ?"


def _add_lines(connection: apsw.Connection, _: Progress | None) -> None:
    """Add a column for the line of its file on which a chunk begins."""
    connection.execute("alter table chunk add column line integer")
    texts: Iterable[Any] = connection.execute(_TEXTS_OF_FILES)
    for document, text in texts:
        rows: list[Any] = connection.execute(_SPANS, (document,)).fetchall()
        lines = line_ranges(text, [(start, end) for _, start, end in rows])
        found = [(lines[start, end][0], id) for id, start, end in rows if (start, end) in lines]
        connection.executemany("update chunk set line = ? where id = ?", found)


#: Vectors that are rounded at a time, and texts that are compressed.
_BATCH = 2048
_TEXTS = 64
_FORMER = """
select id, model, chunk, owner, hash, data from former_vector
where id > ? and length(data) = 4 * (select dimension from model where model.id = former_vector.model)
order by id limit ?"""
_PUT_ROUNDED = "insert into vector (id, model, chunk, owner, hash, rounded) values (?, ?, ?, ?, ?, ?)"


def _batches(
    connection: apsw.Connection, statement: str, size: int, table: str, progress: Progress | None
) -> Iterator[list[Any]]:
    """Yield the rows of a former table in the order of their first column, and report how many were used."""
    total: Any = connection.execute(f"select count(*) from {table}").get
    after = done = 0
    while rows := _rows(connection, statement, after, size):
        yield rows
        after = rows[-1][0]
        done += len(rows)
        if progress:
            progress("upgrade", done, total)


def _rows(connection: apsw.Connection, statement: str, *bound: int) -> list[Any]:
    return connection.execute(statement, bound).fetchall()


def _round_vectors(connection: apsw.Connection, progress: Progress | None) -> None:
    """Store each vector as 16-bit integers with a scale, as it was packed and compared before.

    A damaged vector, one of another length than its model's, is left out, and its chunk embedded again.
    """
    connection.execute("alter table vector rename to former_vector")
    connection.execute("drop index if exists vector_hash")
    connection.execute(VECTOR_TABLE)
    for rows in _batches(connection, _FORMER, _BATCH, "former_vector", progress):
        for _, some in groupby(rows, key=lambda row: len(row[-1])):
            keys, data = zip(*[(row[:-1], row[-1]) for row in some], strict=True)
            # As version 6 rounds, whatever is done by later ones.
            vectors = np.frombuffer(b"".join(data), np.float32).reshape(len(data), -1)
            scales = np.abs(vectors).max(axis=1, initial=0) / 32_767
            values = np.rint(vectors / np.maximum(scales[:, None], np.finfo(np.float32).tiny))
            stored = np.hstack([scales.astype("<f4")[:, None].view("<i2"), values.astype("<i2")])
            put = [(*key, each.tobytes()) for key, each in zip(keys, stored, strict=True)]
            connection.executemany(_PUT_ROUNDED, put)
    # Its triggers and indexes go with it.
    connection.execute("drop table former_vector")
    connection.execute(VECTOR_TRIGGERS)


_FORMER_TEXTS = "select document, hash, text from former_text where document > ? order by document limit ?"
_COMPRESSED = """
create table document_text (
    document integer primary key references document (id) on delete cascade,
    hash integer not null,
    compressed blob not null
)"""
_PUT_COMPRESSED = "insert into document_text (document, hash, compressed) values (?, ?, ?)"


def _compress_texts(connection: apsw.Connection, progress: Progress | None) -> None:
    """Store the texts of documents compressed, and drop an index that no search reads."""
    connection.execute("drop index if exists chunk_hash")
    connection.execute("alter table document_text rename to former_text")
    connection.execute(_COMPRESSED)
    for rows in _batches(connection, _FORMER_TEXTS, _TEXTS, "former_text", progress):
        connection.executemany(_PUT_COMPRESSED, [(*key, zlib.compress(text.encode())) for *key, text in rows])
    connection.execute("drop table former_text")


_FORMER_COMPRESSED = """
select former_text.document, former_text.hash, former_text.compressed, coalesce(document.file, 0) > 0, (
    select json_group_array(json_array(span_start, span_end, text)) from chunk
    where chunk.document = former_text.document
)
from former_text left join document on document.id = former_text.document
where former_text.document > ? order by former_text.document limit ?"""
_PUT_TEXT = "insert into document_text (document, hash, whole, compressed) values (?, ?, ?, ?)"


def _leave_out_passages(connection: apsw.Connection, progress: Progress | None) -> None:
    """Store of the text of a document that was read from a file only what its passages lack."""
    connection.execute("alter table document_text rename to former_text")
    connection.execute(DOCUMENT_TEXT)
    for rows in _batches(connection, _FORMER_COMPRESSED, _TEXTS, "former_text", progress):
        put = []
        for document, hash, data, is_of_file, passages in rows:
            whole = True
            if is_of_file:
                # A damaged text stays as it is, for a repair.
                with suppress(zlib.error, ValueError):
                    rest = between(zlib.decompress(data).decode(), json.loads(passages))
                    if rest is not None:
                        whole, data = False, zlib.compress(rest.encode())
            put.append((document, hash, whole, data))
        connection.executemany(_PUT_TEXT, put)
    connection.execute("drop table former_text")


#: The migration of the tables of each version to the next. It runs in the transaction that writes the new version, with
#: foreign keys unchecked. A version without an entry cannot be read.
MIGRATIONS: Mapping[int, Callable[[apsw.Connection, Progress | None], object]] = {
    2: _add_file_columns,
    3: _move_records,
    4: _add_lines,
    5: _round_vectors,
    6: _compress_texts,
    7: _leave_out_passages,
}
