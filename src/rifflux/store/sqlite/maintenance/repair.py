"""Mending of an index: everything that can be recomputed is; nothing unique is dropped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from rifflux.store.mending import NAMING, REVISION, Analysis, Mended, StoredChunk
from rifflux.store.sqlite.connection.derived import forget
from rifflux.store.sqlite.connection.engine import OwnerView
from rifflux.store.sqlite.maintenance import check
from rifflux.store.sqlite.maintenance.faults import FAULTS, orphans
from rifflux.store.sqlite.query import Terms
from rifflux.store.sqlite.records.records import PUT_SETTING

_CREATE = "select sql from sqlite_master where name = ?"
_SOME = f"""
select chunk.id, chunk.owner, document.title, chunk.headings, iif(chunk.span_end, chunk.text, ''),
    (select json_group_array(value) from (
        select value from tag where tag.document = document.id
        union select value from identifier where identifier.document = document.id
            and (scheme in {NAMING} or value = document.key)
    )),
    document.kind,
    iif(
        document.key <> document.path or exists (select 1 from identifier where identifier.document = document.id),
        '', document.key
    ),
    document.metadata, chunk.position, document.language
from chunk join document on document.id = chunk.document where chunk.id in (select value from json_each(?))"""
_ALL = "select id from chunk"
_PUT = "insert into {table} (rowid, title, headings, body) values (?, ?, ?, ?)"
_DROP = "delete from {table} where rowid = ?"
_LENGTH = "update chunk set length = ? where id = ?"
_HASH = "update chunk set hash = :hash, words = :hash where id = :id"
_DROP_VECTORS = "delete from vector where chunk = ?"
_DROP_VECTOR = "delete from vector where id = ?"
_OTHER_TEXTS = "select document from document_text where whole and hash <> text_hash(text_left(compressed, null))"
_TEXT = "select text_left(compressed, null) from document_text where document = ?"
# Chunks whose hash shows if their text is whole.
_PARTS = """
select id, span_start, span_end, text from chunk
where document = ? and span_end and embedded is null and words is not null and json_valid(headings)"""
_PUT_TEXT = "update document_text set compressed = compressed(?) where document = ?"
_READ_AGAIN = "update file set size = -1, hash = '' where id = ?"
_OTHER_RESULTS = "update owner set generation = generation + 1"


def mend(view: OwnerView, analysis: Analysis) -> Mended:
    """Mend the rows and the word index in steps of one transaction each."""
    done: list[str] = []
    for step in (_indexes, _texts, _rows, _hashes, _vectors, _revision, _terms):
        with view.writing() as (connection, _):
            # References between rows that are mended together hold again at the end.
            connection.execute("pragma defer_foreign_keys = on")
            mended = list(step(connection, analysis))
            if mended:
                connection.execute(_OTHER_RESULTS)
            done += mended
    with view.writing() as (connection, _):
        incomplete = check.incomplete(connection)
        again = {file for *_, file, waits in incomplete if file is not None and not waits}
        connection.executemany(_READ_AGAIN, [(file,) for file in again])
    lost = [(owner, namespace, key) for owner, namespace, key, file, _ in incomplete if file is None]
    if again:
        done.append(f"{len(again)} files with incomplete documents are read when their folders are next indexed")
    return Mended(tuple(done), tuple(lost))


def _indexes(connection: apsw.Connection, _: Analysis) -> Iterator[str]:
    if any(sign in line for line, _ in check.damage(connection) for sign in check.INDEXES):
        connection.execute("reindex")
        yield "the indexes of the tables: made anew"


def _texts(connection: apsw.Connection, analysis: Analysis) -> Iterator[str]:
    """Put chunks that are whole in the place of what differs from them in a damaged text of their document.

    Otherwise chunks that are lost would be made again from that text, and these with them.
    """
    damaged = [document for (document,) in _fetched(connection.execute(_OTHER_TEXTS))]
    if not damaged:
        return
    changed = {id for id, _ in check.changed_chunks(connection, analysis)}
    count = 0
    for document in damaged:
        before: Any = connection.execute(_TEXT, (document,)).get
        parts = [each for each in _fetched(connection.execute(_PARTS, (document,))) if each[0] not in changed]
        whole = [(start, end, part) for _, start, end, part in parts if len(part) == end - start]
        # Of a compressed text, everything after a damage is lost.
        text = before.ljust(max((end for _, end, _ in whole), default=0))
        for start, end, part in whole:
            text = text[:start] + part + text[end:]
        if text != before:
            connection.execute(_PUT_TEXT, (text, document))
            count += 1
    if count:
        yield f"{count} texts differed from their chunks: took what is whole in these"


def _rows(connection: apsw.Connection, _: Analysis) -> Iterator[str]:
    for fault in FAULTS:
        if count := connection.execute(fault.count).get:
            for statement in fault.mend:
                connection.execute(statement)
            forget(connection, "words*")
            yield f"{count} {fault.what}: {fault.done}"
    for table, lost in orphans(connection):
        connection.execute(f"delete from {table} where {lost}")
        yield f"{connection.changes()} rows of {table} have lost their parent: dropped them"


def _hashes(connection: apsw.Connection, analysis: Analysis) -> Iterator[str]:
    """Accept chunks whose text differs from the indexed one: recompute their terms and vectors."""
    changed = list(check.changed_chunks(connection, analysis))
    for id, hash in changed:
        connection.execute(_HASH, {"id": id, "hash": hash})
        connection.execute(_DROP_VECTORS, (id,))
    if changed:
        _put_terms(connection, analysis, [id for id, _ in changed])
        yield f"{len(changed)} chunks hold another text than was indexed: indexed it"


def _vectors(connection: apsw.Connection, _: Analysis) -> Iterator[str]:
    strange = list(check.strange_vectors(connection))
    connection.executemany(_DROP_VECTOR, [(id,) for id in strange])
    if strange:
        yield f"{len(strange)} vectors hold no numbers, or have no length: dropped them"


def _terms(connection: apsw.Connection, analysis: Analysis) -> Iterator[str]:
    for table in check.damaged_words(check.damage(connection)):
        _empty(connection, table)
        yield f"the word index {table}: emptied it"
    stray = check.stray_terms(connection)
    missing = check.missing_terms(connection)
    for table, id in stray:
        connection.execute(_DROP.format(table=table), (id,))
    if stray:
        yield f"{len(stray)} entries of the word index belong to no chunk: dropped them"
    if missing:
        _put_terms(connection, analysis, [id for _, id in missing])
        yield f"{len(missing)} chunks are missing from the word index: put them in"


def _revision(connection: apsw.Connection, analysis: Analysis) -> Iterator[str]:
    if check.revised(connection, analysis):
        # Emptied, because replacing every row of a table takes much longer.
        for table in check.WORDS:
            _empty(connection, table)
        chunks = [id for (id,) in _fetched(connection.execute(_ALL))]
        _put_terms(connection, analysis, chunks)
        connection.execute(PUT_SETTING, {"name": REVISION, "value": str(analysis.revision)})
        yield f"the terms of {len(chunks)} chunks were made by another version of the analyzer: made them anew"


def _empty(connection: apsw.Connection, table: str) -> None:
    """Recreate a table of terms, empty."""
    create = connection.execute(_CREATE, (table,)).get
    connection.execute(f"drop table {table}")
    connection.execute(create)
    forget(connection, "words*")


def _put_terms(connection: apsw.Connection, analysis: Analysis, rows: list[int]) -> None:
    """Recompute the terms of some chunks."""
    forget(connection, "words*")
    for start in range(0, len(rows), check.BATCH):
        some = json.dumps(rows[start : start + check.BATCH])
        for id, owner, title, headings, text, subjects, *about in _fetched(connection.execute(_SOME, (some,))):
            kind, key, metadata, place, language = about
            names = tuple(json.loads(headings)), text, tuple(json.loads(subjects))
            chunk = StoredChunk(title, *names, kind, key, json.loads(metadata), place, language)
            terms, fields = Terms(owner), analysis.terms(chunk)
            connection.execute(_DROP.format(table=terms.table), (id,))
            connection.execute(_PUT.format(table=terms.table), (id, *(terms.joined(field) for field in fields)))
            connection.execute(_LENGTH, (sum(len(field.split()) for field in fields), id))


def _fetched(rows: apsw.Cursor) -> Iterable[Any]:
    return rows.fetchall()
