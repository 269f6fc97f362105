"""What can be wrong with an index file, found by looking."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from rifflux.store.base import Problem

__all__ = ["check"]

_REINDEX = "run 'rifflux index --force' on the folders that 'rifflux status' lists"
_RESTORE = "restore a copy, or delete the file and index your folders again"

_TERMS_WITHOUT_CHUNK = """
select (select count(*) from chunk_terms_docsize where id not in (select id from chunk where owner = 0))
    + (select count(*) from owned_terms_docsize where id not in (select id from chunk where owner <> 0))"""
_CHUNKS_WITHOUT_TERMS = """
select (select count(*) from chunk where owner = 0 and id not in (select id from chunk_terms_docsize))
    + (select count(*) from chunk where owner <> 0 and id not in (select id from owned_terms_docsize))"""
_STRAY_OWNERS = """
select (select count(*) from chunk join document on document.id = chunk.document where chunk.owner <> document.owner)
    + (select count(*) from vector join chunk on chunk.id = vector.chunk where vector.owner <> chunk.owner)"""
_STALE_VECTORS = "select count(*) from vector join chunk on chunk.id = vector.chunk where vector.hash <> chunk.hash"
_STRAY_MODELS = "select count(*) from vector where model not in (select id from model)"
_WRONG_LENGTH = """
select count(*) from vector join model on model.id = vector.model where length(vector.data) <> 4 * model.dimension"""


def check(connection: apsw.Connection, location: str) -> list[Problem]:
    """Every problem of the database behind `connection`, the gravest first."""
    try:
        return list(_problems(connection))
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        return [Problem(f"{location} is damaged: {error}", _RESTORE)]


def _problems(connection: apsw.Connection) -> Iterator[Problem]:
    for (line,) in connection.execute("pragma integrity_check(10)").fetchall():
        if line != "ok":
            yield Problem(f"the database is damaged: {line}", _RESTORE)
    for table, *_ in connection.execute("pragma foreign_key_check").fetchall()[:10]:
        yield Problem(f"a row of {table} has lost its parent", _REINDEX)
    try:
        connection.execute("insert into chunk_terms (chunk_terms, rank) values ('integrity-check', 0)")
        connection.execute("insert into owned_terms (owned_terms, rank) values ('integrity-check', 0)")
    except apsw.ReadOnlyError:
        pass
    except apsw.Error as error:
        yield Problem(f"the word index is damaged: {error}", _REINDEX)
    for question, what in (
        (_TERMS_WITHOUT_CHUNK, "entries of the word index belong to no chunk"),
        (_CHUNKS_WITHOUT_TERMS, "chunks are missing from the word index"),
        (_STALE_VECTORS, "vectors belong to an older text of their chunk"),
        (_STRAY_OWNERS, "rows belong to another owner than their document"),
        (_STRAY_MODELS, "vectors belong to a model that nobody knows"),
        (_WRONG_LENGTH, "vectors have the wrong length for their model"),
    ):
        count = connection.execute(question).get
        if count:
            yield Problem(f"{count} {what}", _REINDEX)
