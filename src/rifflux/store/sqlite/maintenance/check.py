"""Detection of problems in an index file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from rifflux.errors import Cure
from rifflux.store.mending import REVISION, Analysis, Problem, StoredChunk
from rifflux.store.sqlite.connection.tables import TABLES, TERM_TABLES
from rifflux.store.sqlite.maintenance.faults import FAULTS, orphans
from rifflux.store.sqlite.maintenance.pages import DatabasePages
from rifflux.store.sqlite.query import from_bytes
from rifflux.types import Vectors

#: The tables of the word index, each with the condition on the chunks that it contains.
WORDS = {"chunk_terms": "owner = 0", "owned_terms": "owner <> 0"}
#: SQLite's messages about indexes of tables, which `reindex` rebuilds.
INDEXES = (" missing from index ", "wrong # of entries in index", "non-unique entry in index")
#: The number of rows read at a time.
BATCH = 2048

_STRAY_TERMS = "select id from {table}_docsize where id not in (select id from chunk where {owned})"
_MISSING_TERMS = "select id from chunk where {owned} and id not in (select id from {table}_docsize)"
_UNEMBEDDED = """
select count(*), count(*) filter (where not exists (
    select 1 from vector where vector.chunk = chunk.id
    and vector.model = (select id from model where state = 'active')
))
from chunk join document on document.id = chunk.document
where document.kind not in (select value from json_each(:kinds))"""
_EVERY_ROW = "select * from {table}"
_REVISION = "select value from setting where name = ?"
_ACTIVE = "select exists (select 1 from model where state = 'active')"
_VECTORS = """
select vector.id, vector.rounded, chunk.text, model.dimension
from vector join chunk on chunk.id = vector.chunk join model on model.id = vector.model
where vector.id > :after and length(vector.rounded) = 4 + 2 * model.dimension order by vector.id limit :batch"""
# If the embedded text is not made of these columns alone, in this order, only the chunk's creator can compute its hash.
_CHUNKS = """
select chunk.id, chunk.hash, document.title, chunk.headings, iif(chunk.span_end, chunk.text, ''),
    (select json_group_array(value) from tag where tag.document = document.id) as subjects
from chunk join document on document.id = chunk.document
where chunk.id > :after and chunk.embedded is null
    and json_valid(chunk.headings)
    and (chunk.words is not null or json_array_length(subjects) < 2)
order by chunk.id limit :batch"""
# Chunks of a document are numbered from 0; the loss of the last one cannot be detected. A file may rightly have none,
# and so may a text that is blank.
_INCOMPLETE = """
select owner.name, document.namespace, document.key, document.file, coalesce(file.size < 0, false) as waits,
    iif(document.id in (select document from chunk), null, (
        select iif(own.whole, text_left(own.compressed, null), null) from document_text as own
        where own.document = document.id
    )) as alone
from document join owner on owner.id = document.owner left join file on file.id = document.file
where document.id in (select document from chunk group by document having count(*) <> max(position) + 1)
    or document.file is null and document.id not in (select document from chunk)
        and exists (
            select 1 from document_text as own
            where own.document = document.id
        )
order by document.id"""


def check(connection: apsw.Connection, location: str, analysis: Analysis | None) -> list[Problem]:
    """Return all problems of the database, most severe first; without `analysis`, texts are not verified."""
    problems = list(_unreadable(connection))
    if problems:
        return problems
    try:
        return list(_problems(connection, analysis))
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.IOError, UnicodeDecodeError) as error:
        return [Problem(f"{location} is damaged: {error}", Cure.SALVAGE, unreadable=True)]


def _unreadable(connection: apsw.Connection) -> Iterator[Problem]:
    """Yield problems of pages, and of text that is not UTF-8."""
    if count := len(damaged_pages(connection)):
        pages = "page differs from its checksum" if count == 1 else "pages differ from their checksums"
        yield Problem(f"the database is damaged: {count} {pages}", Cure.SALVAGE, unreadable=True)
        return
    for table in sorted(TABLES - {*TERM_TABLES}):
        try:
            for _ in connection.execute(_EVERY_ROW.format(table=table)):
                pass
        except UnicodeDecodeError:
            yield Problem(f"the database is damaged: text in {table} is not UTF-8", Cure.SALVAGE, unreadable=True)
        except (apsw.Error, ValueError) as error:
            yield Problem(f"the database is damaged: {table}: {error}", Cure.SALVAGE, unreadable=True)


def damaged_pages(connection: apsw.Connection) -> frozenset[int]:
    """Return the numbers of the pages that differ from their checksums; none in memory."""
    if not connection.filename:
        return frozenset()
    with _one_state(connection), closing(DatabasePages.read(Path(connection.filename))) as pages:
        return pages.damaged


@contextmanager
def _one_state(connection: apsw.Connection) -> Iterator[None]:
    """Prevent the log from being moved into the file while this is read without the engine."""
    owns_transaction = not connection.in_transaction
    if owns_transaction:
        connection.execute("begin")
    try:
        connection.execute("select count(*) from sqlite_master").fetchall()
        yield
    finally:
        if owns_transaction:
            connection.execute("rollback")


def _problems(connection: apsw.Connection, analysis: Analysis | None) -> Iterator[Problem]:
    for line, cure in damage(connection):
        if damaged_words([(line, cure)]):
            what = "word index"
        else:
            what = "database"
        yield Problem(f"the {what} is damaged: {line}", cure, unreadable=cure is Cure.SALVAGE)
    for fault in FAULTS:
        if count := connection.execute(fault.count).get:
            yield Problem(f"{count} {fault.what}" if count != 1 else f"1: {fault.what}", Cure.REPAIR)
    for table, _ in orphans(connection):
        yield Problem(f"rows of {table} have lost their parent", Cure.REPAIR)
    yield from _counted(stray_terms(connection), "entries of the word index belong to no chunk")
    yield from _counted(missing_terms(connection), "chunks are missing from the word index")
    if analysis and revised(connection, analysis):
        data = {"revision": analysis.revision}
        yield Problem("the terms were made by another version of the analyzer", Cure.REPAIR, data)
    if analysis:
        yield from _counted(changed_chunks(connection, analysis), "chunks hold another text than was indexed")
    yield from _counted(strange_vectors(connection), "vectors hold no numbers, or have no length")
    for _owner, _namespace, key, _file, waits in incomplete(connection)[:10]:
        yield Problem(f"the document {key} lacks some of its chunks", Cure.INDEX if waits else Cure.REPAIR)
    yield from _unembedded(connection, analysis)


def _counted(rows: Iterable[object], what: str) -> Iterator[Problem]:
    if count := sum(1 for _ in rows):
        yield Problem(f"{count} {what}", Cure.REPAIR)


def damage(connection: apsw.Connection) -> list[tuple[str, Cure]]:
    """Return problems that SQLite finds in pages, rows, indexes and the word index, each with its cure."""
    lines: list[Any] = connection.execute("pragma integrity_check(20)").fetchall()
    return [(line, Cure.REPAIR if _can_be_made_anew(line) else Cure.SALVAGE) for (line,) in lines if line != "ok"]


def _can_be_made_anew(line: str) -> bool:
    return bool(damaged_words([(line, "")])) or any(sign in line for sign in INDEXES)


def damaged_words(found: Iterable[tuple[str, str]]) -> list[str]:
    """Return the tables of the word index mentioned in results of `damage`."""
    lines = [line for line, _ in found]
    # FTS5 reports the damage of a table, and SQLite that of the tables that it is made of.
    full_text = [line for line in lines if "fts5" in line.lower()]
    return [
        table
        for table in WORDS
        if any(table in line for line in full_text) or any(f"{table}_" in line for line in lines)
    ]


def stray_terms(connection: apsw.Connection) -> list[tuple[str, int]]:
    """Return entries of the word index without a chunk, by table and row."""
    return _terms(connection, _STRAY_TERMS)


def missing_terms(connection: apsw.Connection) -> list[tuple[str, int]]:
    """Return chunks missing from the word index, by table and row."""
    return _terms(connection, _MISSING_TERMS)


def _terms(connection: apsw.Connection, question: str) -> list[tuple[str, int]]:
    rows: list[tuple[str, int]] = []
    for table, owned in WORDS.items():
        found: list[Any] = connection.execute(question.format(table=table, owned=owned)).fetchall()
        rows += [(table, id) for (id,) in found]
    return rows


def revised(connection: apsw.Connection, analysis: Analysis) -> bool:
    """Return True if the terms were made by another revision of the analyzer."""
    made: Any = connection.execute(_REVISION, (REVISION,)).get
    return int(made or 1) != analysis.revision


def changed_chunks(connection: apsw.Connection, analysis: Analysis) -> Iterator[tuple[int, int]]:
    """Yield the chunks whose hash does not match their text, with the matching hash."""
    for id, hash, title, headings, text, subjects in _batches(connection, _CHUNKS):
        made = analysis.hash(StoredChunk(title, _list(headings), text, _list(subjects)))
        if made != hash:
            yield id, made


def strange_vectors(connection: apsw.Connection) -> Iterator[int]:
    """Yield vectors that are not of unit length; length zero is valid for a text without letters."""
    for id, data, text, dimension in _batches(connection, _VECTORS):
        values, scales = from_bytes([data], dimension)
        length = _length(values * scales[:, None])
        if not 0.99 < length < 1.01 and not (length == 0 and not any(each.isalnum() for each in text)):
            yield id


def _length(vector: Vectors) -> float:
    with np.errstate(all="ignore"):
        return float(np.linalg.norm(vector))


def incomplete(connection: apsw.Connection) -> list[tuple[str, str, str, int | None, bool]]:
    """Return documents with a gap in their chunks: owner, namespace, key, row of the file, and if it is read again."""
    rows: list[Any] = connection.execute(_INCOMPLETE).fetchall()
    return [found for *found, alone in rows if alone is None or alone.strip()]


def _unembedded(connection: apsw.Connection, analysis: Analysis | None) -> Iterator[Problem]:
    """Yield the problem of chunks without a vector, if the index has a model."""
    kinds = sorted(analysis.without_vectors) if analysis else []
    row: Any = connection.execute(_UNEMBEDDED, {"kinds": json.dumps(kinds)}).fetchone()
    chunks, missing = row
    if missing and connection.execute(_ACTIVE).get:
        yield Problem(f"{missing} of {chunks} chunks have no vector", Cure.INDEX)


def _batches(connection: apsw.Connection, statement: str) -> Iterator[Any]:
    """Yield rows by ascending id, in batches, so that no read transaction lasts long."""
    after = 0
    while rows := connection.execute(statement, {"after": after, "batch": BATCH}).fetchall():
        yield from rows
        after = int(rows[-1][0])  # type: ignore[arg-type]


def _list(text: str) -> tuple[str, ...]:
    return tuple(map(str, json.loads(text)))
