"""Writing of documents and files: new documents are inserted table by table, existing ones are updated."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any

import apsw

from rifflux.store.catalog import (
    AnalyzedChunk,
    DocumentChange,
    DocumentUses,
    FileRemoval,
    FileUpdate,
    Placed,
    Removal,
    SourceData,
    Write,
    lines_in_file,
)
from rifflux.store.sqlite.catalog import graph, sql
from rifflux.store.sqlite.connection.tables import PUT_CREDIT
from rifflux.store.sqlite.connection.texts import between, text_hash
from rifflux.store.sqlite.query import WORDS, Terms
from rifflux.text.dates import timestamp
from rifflux.text.properties import KINDS
from rifflux.types import CREDITS

# Created once: json.dumps creates an encoder at every call with options.
_as_json = json.JSONEncoder(ensure_ascii=False, default=str).encode
#: The records of a file mostly share their dates.
_timestamp = lru_cache(maxsize=1024)(timestamp)
#: The chunks of a document by id: row number, hash of the embedded text, and hash of the terms.
_Held = Mapping[int, tuple[int, int, int]]
_Row = tuple[Any, ...]
#: The position of the hash of the embedded text in a new chunk's row.
_HASH = -4


def carry_out(connection: apsw.Connection, owner: int, change: Write) -> int:
    """Carry out any change but that of a document; return the number of documents that were removed."""
    match change:
        case Removal(namespace, keys):
            removed = 0
            for key in keys:
                connection.execute(sql.DROP_DOCUMENT, {"owner": owner, "namespace": namespace, "key": key})
                removed += connection.changes()
            return removed
        case FileUpdate(root, state, keep):
            file = {"owner": owner, "root": root, "path": state.path}
            connection.execute(sql.PUT_FILE, asdict(state) | file)
            if keep is None:
                return 0
            remaining = set(keep)
            stored = connection.execute(sql.DOCUMENTS_OF_FILE, file).fetchall()
            gone = [each for each in stored if each[1] not in remaining]
            documents = [{"owner": owner, "namespace": namespace, "key": key} for namespace, key in gone]
            connection.executemany(sql.DROP_DOCUMENT, documents)
            return len(gone)
        case FileRemoval(root, paths):
            files = [{"owner": owner, "root": root, "path": path} for path in paths]
            removed = sum(len(connection.execute(sql.DOCUMENTS_OF_FILE, file).fetchall()) for file in files)
            connection.executemany(sql.DROP_FILE, files)
            return removed
        case SourceData(namespace, key, data):
            connection.execute(graph.DROP_RECORDS, (owner, namespace, key))
            connection.executemany(graph.PUT_RECORD, [(*each, owner, namespace, key) for each in data.items()])
        case DocumentUses(namespace, keys, time, number):
            more = {"owner": owner, "namespace": namespace, "time": time, "number": number}
            uses = [{**more, "key": key} for key in keys]
            connection.executemany(sql.NOTE_USE, uses)
    return 0


def put_documents(connection: apsw.Connection, owner: int, wanted: Mapping[tuple[str, str], Placed]) -> None:
    """Add or replace an owner's documents by namespace and key."""
    if not wanted:
        return
    files: dict[tuple[str, str] | None, int | None] = {None: None}
    ids = count(connection.execute(sql.LAST_DOCUMENT).get + 1)
    rows = _Rows(owner)
    chunk_ids = count(connection.execute(sql.LAST_CHUNK).get + 1)
    for name, each in wanted.items():
        document = each.change.document
        if each.file and each.file not in files:
            root, path = each.file
            files[each.file] = connection.execute(sql.FILE_ID, {"owner": owner, "root": root, "path": path}).get
        time = _timestamp(document.created_at)
        # The columns from `kind` on, in the order of the table.
        row = (
            files[each.file],
            each.change.path,
            document.kind,
            document.title,
            document.created_at,
            document.updated_at,
            _timestamp(document.updated_at) if time is None else time,
            _as_json(dict(document.metadata)) if document.metadata else "{}",
            document.license,
            document.language,
        )
        id = connection.execute(sql.DOCUMENT_ID, (owner, *name)).get
        if id is None:
            id = next(ids)
            rows.documents.append((id, owner, *name, *row))
            stored: _Held = {}
            renamed = False
        else:
            (held,) = connection.execute(sql.FORMER_FACTS, (id,))
            renamed = _is_renamed(held, row, each.change)
            stored = _make_way(connection, id, row, each.change.chunks)
        rows.contents.append((id, each.change, files[each.file] is not None))
        _add_chunks(connection, rows, id, each.change, stored, chunk_ids, renamed=renamed)
    rows.insert(connection)


@dataclass(slots=True)
class _Rows:
    """Rows of an owner to insert; one statement for many rows is much faster than one per row."""

    owner: int
    documents: list[_Row] = field(default_factory=list)
    contents: list[tuple[int, DocumentChange, bool]] = field(default_factory=list)
    chunks: list[_Row] = field(default_factory=list)
    terms: list[_Row] = field(default_factory=list)

    def insert(self, connection: apsw.Connection) -> None:
        """Insert all rows, parents first."""
        connection.executemany(sql.NEW_DOCUMENT, self.documents)
        for id, change, is_of_file in self.contents:
            document = change.document
            text = document.text
            rest = None
            if is_of_file:
                rest = between(text, [(*each.chunk.span, each.chunk.text) for each in change.chunks])
            is_whole = rest is None
            stored = zlib.compress((text if rest is None else rest).encode())
            connection.execute(sql.PUT_TEXT, (id, text_hash(text), is_whole, stored))
            for link in document.links:
                connection.execute(sql.PUT_LINK, (id, link.key, link.kind, link.confidence))
            for identifier in document.identifiers:
                connection.execute(graph.PUT_IDENTIFIER, (id, identifier.scheme, identifier.value))
            if not document.metadata.keys().isdisjoint(CREDITS):
                # Few documents have credits, and a search does not need them.
                from rifflux.text.names import credits_of

                connection.executemany(PUT_CREDIT, [(id, *each) for each in credits_of(document.metadata)])
            for tag in document.tags:
                connection.execute(graph.PUT_TAG, (id, tag.scheme, tag.value))
            for position, part in enumerate(document.parts):
                headings = _as_json(part.headings)
                connection.execute(
                    graph.PUT_PART, (id, position, part.kind, headings, part.label, *part.span, part.page)
                )
        connection.executemany(sql.PUT_CHUNK, self.chunks)
        connection.executemany(sql.PUT_TERMS.format(table=Terms(self.owner).table), self.terms)
        if connection.execute(sql.ANY_WORDS_FILE, (WORDS,)).get:
            connection.executemany(sql.PUT_FRESH_TERMS, self.terms)
        if connection.execute(sql.ANY_VECTOR, (self.owner,)).get:
            # A moved file, or a text that also occurs elsewhere, needs no new vector.
            taking = [{"owner": self.owner, "chunk": row[0], "hash": row[_HASH]} for row in self.chunks]
            connection.executemany(sql.TAKE_OVER_VECTOR, taking)


def _is_renamed(former: _Row, row: _Row, change: DocumentChange) -> bool:
    """Return True if a document with a row of `FORMER_FACTS` has other names or facts than a changed one's new row."""
    title, _, is_path, _, kind, language, aliases, identifiers = former
    document = change.document
    metadata = row[7]
    if document.kind not in KINDS or '"alias' not in metadata:
        metadata = ""
    held = {tuple(each) for each in json.loads(identifiers)}
    before = (title, bool(is_path), kind, language, aliases, held)
    now = (document.title, document.key == change.path, document.kind, document.language, metadata)
    return before != (*now, {(each.scheme, each.value) for each in document.identifiers})


def _make_way(connection: apsw.Connection, id: int, row: _Row, chunks: Sequence[AnalyzedChunk]) -> _Held:
    """Update a document's row, drop its links and removed chunks, and return the chunks it had."""
    connection.execute(sql.SET_DOCUMENT, (*row, id))
    connection.execute(sql.DROP_LINKS, (id,))
    for table in ("identifier", "tag", "part", "credit"):
        connection.execute(f"delete from {table} where document = ?", (id,))
    rows: list[Any] = connection.execute(sql.STORED_CHUNKS, (id,)).fetchall()
    wanted = {each.chunk.id for each in chunks}
    connection.executemany(sql.DROP_CHUNK, [(chunk,) for uid, chunk, *_ in rows if uid not in wanted])
    return {uid: (chunk, hash, words) for uid, chunk, hash, words in rows}


def _add_chunks(
    connection: apsw.Connection,
    rows: _Rows,
    document: int,
    change: DocumentChange,
    stored: _Held,
    ids: Iterator[int],
    *,
    renamed: bool,
) -> None:
    """Update the chunks that a document already has, and collect new chunks and terms for insertion.

    The words file has the names of a document with its chunks: of one that is `renamed`, all count as changed.
    """
    terms = Terms(rows.owner)
    lines = lines_in_file(change)
    for each in change.chunks:
        chunk = each.chunk
        line, _ = lines.get(chunk.span, (None, None))
        fields = (each.title, each.headings, each.body)
        length = " ".join(filter(None, fields)).count(" ") + any(fields)
        if each.words is None:
            words = each.hash
        else:
            words = each.words
        hashes = (each.hash, words, length, each.embedded)
        row = (chunk.position, _as_json(chunk.headings), chunk.text, *chunk.span, chunk.page, line, *hashes)
        if chunk.id in stored:
            id, hash_held, words_held = stored[chunk.id]
            connection.execute(sql.MOVE_CHUNK, (*row, id))
            if hash_held != each.hash:
                connection.execute(sql.DROP_STALE_VECTOR, (id,))
            if words_held == words and not renamed:
                continue
            if words_held == words:
                connection.execute(sql.TOUCH_WORDS, (id,))
            connection.execute(sql.DROP_TERMS.format(table=terms.table), (id,))
        else:
            id = next(ids)
            rows.chunks.append((id, rows.owner, chunk.id, document, *row))
        rows.terms.append((id, *[terms.joined(field) for field in fields]))
