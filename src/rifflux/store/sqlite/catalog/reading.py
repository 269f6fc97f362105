"""The reading half of the store: rows by id, key or condition, and what is counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import apsw
import numpy as np

from rifflux.store.base import Event, FileState, ModelInfo, Pending
from rifflux.store.sqlite.catalog import sql
from rifflux.store.sqlite.catalog.filters import where
from rifflux.store.sqlite.connection.view import View
from rifflux.store.sqlite.lexical.terms import Terms
from rifflux.types import Clause, Document, Filter, Hit, Identifier, Ids, Link, Part, Ranking, Tag, Vectors, Why

__all__ = ["Reading"]

Value = TypeVar("Value")

# What json.loads does around it takes longer than the decoding of a few words.
_decoded = json.JSONDecoder().raw_decode
#: Terms of an owner whose frequency is kept in memory.
MOST_TERMS = 100_000
#: Up to so many chunks are looked up one by one.
FEW = 8


class Reading(View):
    """Reads a store; nothing here ranks or writes."""

    def hydrate(self, ranking: Ranking, trails: Sequence[tuple[Why, ...]] = ()) -> list[Hit]:
        """Read the rows of a ranking, in its order, with its scores and trails; ids that are gone are left out."""
        ids = ranking.ids.tolist()
        which = "chunk.uid in (select value from json_each(:ids))"
        rows = {row[0]: row for row in self._rows(sql.HYDRATE.format(which=which), {"ids": json.dumps(ids)})}
        found = zip(ids, ranking.scores.tolist(), trails or [()] * len(ids), strict=True)
        return [_hit(rows[id], score, why) for id, score, why in found if id in rows]

    def chunk(self, chunk_id: str) -> Hit | None:
        """One chunk by its public id."""
        try:
            uid = int(chunk_id, 16)
        except ValueError:
            return None
        if len(chunk_id) != 16 or uid >= 1 << 63:
            return None
        return next(iter(self._hits("chunk.uid = :uid", {"uid": uid})), None)

    def _hits(self, which: str, bound: Mapping[str, Any]) -> list[Hit]:
        return [_hit(row) for row in self._rows(sql.HYDRATE.format(which=which), bound)]

    def find_documents(self, key: str) -> list[tuple[str, str]]:
        """The (collection, key) of every document with this key, path or absolute path."""
        splits = [(key[:place], key[place + 1 :]) for place, char in enumerate(key) if char == "/"]
        return self._rows(sql.FIND_DOCUMENTS, {"key": key, "splits": json.dumps(splits)})

    def document(self, collection: str, key: str) -> Document | None:
        """Return one document with its whole text."""
        return self.documents_at([(collection, key)]).get((collection, key))

    def documents_at(self, places: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Document]:
        """Return several documents, with their whole texts, by (collection, key); what is gone is left out."""
        rows = self._rows(sql.DOCUMENTS_AT, {"places": json.dumps(places)}) if places else []
        return {(collection, key): _document(key, *row) for collection, key, *row in rows}

    def outlines(self, prefix: str) -> list[tuple[str, Document]]:
        """Return the documents of the collections whose names begin so, by collection and key.

        Only title, metadata, license and identifiers are read.
        """
        rows = self._rows(sql.OUTLINES, {"prefix": prefix, "end": prefix + chr(0x10FFFF)})
        return [
            (
                collection,
                Document(
                    key, "", title, metadata=json.loads(facts), license=license, identifiers=_each(Identifier, names)
                ),
            )
            for collection, key, title, facts, license, names in rows
        ]

    def documents(self, collection: str, filter: Filter) -> list[Document]:
        """The documents of a collection that a filter lets through, with their whole text, by key."""
        condition, bound = where(filter)
        rows = self._rows(sql.DOCUMENTS.format(condition=condition or "true"), bound | {"collection": collection})
        return [
            Document(key, text, title, kind, created, updated, json.loads(metadata), license=license)
            for key, text, title, kind, created, updated, metadata, license in rows
        ]

    def uses(self, collection: str, keys: Sequence[str]) -> Mapping[str, tuple[int, float]]:
        """How often each document was used, and when last (seconds since 1970); those never used are left out."""
        rows = self._rows(sql.USES, {"collection": collection, "keys": json.dumps(list(keys))})
        return {key: (uses, used_at) for key, uses, used_at in rows}

    def chunks_of(self, collection: str, key: str) -> list[Hit]:
        """All chunks of a document in reading order."""
        which = "document.owner = :owner and document.collection = :collection and document.key = :key"
        return self._hits(f"{which} order by chunk.position", {"collection": collection, "key": key})

    def files(self, root: str, *, below: str = "") -> dict[str, FileState]:
        """What is remembered of a root's files, by path; with `below`, only of this one or those in this folder."""
        if not below:
            return {row[0]: FileState(*row) for row in self._rows(sql.FILES, {"root": root})}
        # No path sorts between those that begin with "below/" and "below0".
        bound = {"root": root, "path": below, "first": f"{below}/", "end": f"{below}0"}
        return {row[0]: FileState(*row) for row in self._rows(sql.FILES_BELOW, bound)}

    def some_files(self, number: int) -> tuple[int, list[tuple[str, FileState]]]:
        """How many files there are, and up to `number` of them with their roots: all, or others each time."""
        ((total,),) = self._rows(sql.FILE_COUNT)
        some = sql.SOME_OWN_FILES if self.owner else sql.SOME_FILES
        statement = sql.ALL_FILES if total <= number else some
        return total, [(root, FileState(*state)) for root, *state in self._rows(statement, {"number": number})]

    def roots(self) -> list[str]:
        """The folders that were synced."""
        return [root for (root,) in self._rows(sql.ROOTS)]

    def pending(self, batch: int, model: str | None = None) -> Iterator[list[Pending]]:
        """The chunks without a vector, in batches by row number; safe to write to the store meanwhile."""
        after = 0
        while True:
            rows = self._rows(sql.PENDING, {"after": after, "batch": batch, "model": model})
            if not rows:
                return
            after = rows[-1][0]
            yield [
                Pending(uid, hash, title, tuple(json.loads(heads)), text, embedded)
                for _, uid, hash, title, heads, text, embedded in rows
            ]

    def vectors_by_hash(self, hashes: Sequence[int], model: str | None = None) -> Mapping[int, Vectors]:
        """Vectors already stored for the same embedded text."""
        rows = self._rows(sql.VECTORS_BY_HASH, {"hashes": json.dumps(list(hashes)), "model": model})
        return {hash: np.frombuffer(data, np.float32) for hash, data in rows}

    def vectors_of(self, ids: Ids, *, exact: bool = False) -> Mapping[int, Vectors]:
        """The vector of each chunk, by its id; chunks without one are left out."""
        rows = self._rows(sql.VECTORS_OF, {"ids": json.dumps(ids.tolist())})
        return {id: np.frombuffer(data, np.float32) for id, data in rows}

    def model(self) -> ModelInfo | None:
        """The model whose vectors are stored, or None while there are none."""
        return next((ModelInfo(*row) for row in self._rows(sql.ACTIVE_MODEL)), None)

    def kinds(self, ids: Ids) -> Mapping[int, str]:
        """The kind of each chunk's document; chunks that are gone are left out."""
        return dict(self._rows(sql.KINDS, {"ids": json.dumps(ids.tolist())}))

    def names(self, ids: Ids) -> Mapping[int, tuple[str, tuple[str, ...]]]:
        """The title and the headings of each chunk; chunks that are gone are left out."""
        rows = self._rows(sql.NAMES, {"ids": json.dumps(ids.tolist())})
        return {id: (title, tuple(json.loads(headings))) for id, title, headings in rows}

    def titled(self, terms: Collection[str], ids: Ids) -> Ids:
        """Those of the chunks whose document's title has these terms and no others, at most `LONGEST_NAME`."""
        rows = self._rows(sql.TITLED, {"terms": " ".join(sorted(set(terms)))})
        return ids[np.isin(ids, [id for (id,) in rows])] if rows else ids[:0]

    def passing(self, filter: Filter, ids: Ids) -> Ids:
        """Those of the chunks whose document a filter lets through."""
        condition, bound = where(filter)
        statement = sql.PASSING.format(condition=condition or "true")
        rows = self._rows(statement, bound | {"ids": json.dumps(ids.tolist())})
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def any_passes(self, filter: Filter) -> bool:
        """Whether a filter lets any document through."""
        condition, bound = where(filter)
        return bool(self._rows(sql.ANY_PASSES.format(condition=condition or "true"), bound)[0][0])

    def holding(self, clause: Clause, ids: Ids) -> Ids:
        """Those of the chunks that hold a term, or a phrase of adjacent terms."""
        terms = self._terms()
        statement = (sql.HOLDING_FEW if len(ids) <= FEW else sql.HOLDING).format(table=terms.table)
        rows = self._rows(statement, {"ids": json.dumps(ids.tolist()), "terms": terms.phrase(clause)})
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        """In how many chunks each term occurs; terms that occur in none are left out."""
        with self._reading() as (connection, owner):
            # Counting goes through all chunks that hold a term.
            known = self._engine.frequencies.get(owner, self._generation(connection, owner), dict)
            if unknown := [term for term in terms if term not in known]:
                words = self._engine.words(owner)
                found = words.frequencies(connection, unknown) if words else None
                if found is None:
                    found = self._counted(sql.DOCUMENT_FREQUENCIES, {"terms": json.dumps(unknown)})
                known.update((term, found.get(term, 0)) for term in unknown)
            counts = {term: known[term] for term in terms if known[term]}
            if len(known) > MOST_TERMS:
                known.clear()
            return counts

    def vocabulary(self, start: str, shortest: int, longest: int) -> Mapping[str, int]:
        """The terms that begin with `start` and have so many characters, with the number of chunks that hold each.

        Terms that occur no more may be among them, with 0.
        """
        with self._reading() as (connection, owner):
            words = self._engine.words(owner)
            terms = words.terms(connection, start, shortest, longest) if words else None
        if terms is not None:
            from rifflux.store.sqlite.lexical.word_index_terms import Counted

            return Counted(terms, self.document_frequencies)
        bound = {"start": start, "end": start + chr(0x10FFFF), "shortest": shortest, "longest": longest}
        return self._counted(sql.VOCABULARY, bound)

    def _counted(self, statement: str, bound: Mapping[str, Any]) -> Mapping[str, int]:
        """Terms with the number of chunks that hold each."""
        with self._reading() as (connection, owner):
            terms = Terms(owner)
            connection.execute(sql.TERM_COUNTS.format(table=terms.table))
            rows: list[Any] = connection.execute(
                statement.format(table=terms.table), {**bound, "prefix": terms.prefix}
            ).fetchall()
            return dict(rows)

    def counts(self) -> Mapping[str, int]:
        """How many `documents`, `chunks`, `embedded_chunks` and `files` there are."""
        with self._reading() as (connection, owner):
            # Counting goes through all rows of the owner.
            return self._engine.counted.get(
                owner, self._generation(connection, owner), lambda: _count(connection, owner)
            )

    def setting(self, name: str) -> str | None:
        """A setting's value, or None."""
        statement = sql.OWN_SETTING if self.owner else sql.SETTING
        return next((value for (value,) in self._rows(statement, {"name": name})), None)

    def policy(self, name: str) -> str | None:
        """A setting of the whole index, which every owner may read; None where it is not set."""
        return next((value for (value,) in self._rows(sql.SETTING, {"name": name})), None)

    def events(self, kind: str | None = None) -> list[Event]:
        """The recorded events of a kind, or all, in the order of recording."""
        return [Event(*row) for row in self._rows(sql.EVENTS, {"kind": kind})]


def _document(key: str, *row: Any) -> Document:
    """Return a document of a row of `DOCUMENTS_AT`."""
    text, title, kind, created, updated, metadata, license, links, identifiers, tags, parts = row
    return Document(
        key,
        text,
        title,
        kind,
        created,
        updated,
        json.loads(metadata),
        _each(Link, links),
        license,
        _each(Identifier, identifiers),
        _each(Tag, tags),
        tuple(
            Part(kind, (start, end), tuple(json.loads(headings)), label)
            for kind, start, end, headings, label in json.loads(parts)
        ),
    )


def _each(noun: Callable[..., Value], rows: str) -> tuple[Value, ...]:
    return tuple(noun(*row) for row in json.loads(rows))


def _count(connection: apsw.Connection, owner: int) -> Mapping[str, int]:
    row: Any = connection.execute(sql.COUNTS, {"owner": owner}).fetchone()
    return dict(zip(("documents", "chunks", "embedded_chunks", "files"), row, strict=True))


def _hit(row: Sequence[Any], score: float = 0.0, why: tuple[Why, ...] = ()) -> Hit:
    (
        uid,
        key,
        path,
        title,
        headings,
        position,
        text,
        start,
        end,
        kind,
        created,
        updated,
        metadata,
        license,
        collection,
    ) = row
    return Hit(
        chunk_id=f"{uid:016x}",
        document=key,
        path=path,
        title=title,
        heading_path=" > ".join(_decoded(headings)[0]) if headings != "[]" else "",
        chunk_index=position,
        content=text,
        span=(start, end),
        score=score,
        why=why,
        kind=kind,
        created_at=created,
        updated_at=updated,
        metadata=_decoded(metadata)[0] if metadata != "{}" else {},
        license=license,
        collection=collection,
    )
