"""The catalog in SQLite: documents, files and links of one owner. The statements are in `sql` and `graph`."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import filterfalse, repeat, starmap
from typing import Any, Protocol, TypeVar
from weakref import ref

import apsw
import numpy as np

from rifflux.errors import Cure, DamagedIndex, OutOfScope
from rifflux.store.catalog import (
    MOST_COUNTED,
    MOST_CREDITED,
    MOST_IDENTIFIED,
    MOST_LINKED,
    AnalyzedChunk,
    Catalog,
    ChunkFacts,
    ChunkNames,
    CodePiece,
    Credited,
    DocumentChange,
    DocumentUses,
    Edge,
    FactTable,
    FieldValue,
    FileState,
    Listed,
    Order,
    Placed,
    Selection,
    SourceData,
    StoredDocument,
    Write,
)
from rifflux.store.sqlite.catalog import graph, sql
from rifflux.store.sqlite.catalog.documents import carry_out, put_documents
from rifflux.store.sqlite.connection.engine import GenerationCache, OwnerView, unmoved
from rifflux.store.sqlite.connection.texts import put_together, text_hash
from rifflux.store.sqlite.filters import where as condition_of
from rifflux.store.sqlite.query import MISREAD, NO_TEXT, decoded, facts_of
from rifflux.types import (
    LICENSED,
    Chunk,
    Document,
    Filter,
    Hit,
    Identifier,
    Ids,
    Link,
    Part,
    Ranking,
    Tag,
    Why,
    of_owner,
    parted,
)

#: The number of documents that are read whole at a time.
STORED_AT_ONCE = 64
#: The maximum number of chunks of a view whose facts are cached. Beyond it, a quarter of them is dropped.
MOST_FACTS = 1 << 14
#: What a view counts of whose chunks no facts are cached.
LEAST_COUNTED = 1 << 8
#: The number of documents that are listed by one statement.
PAGE = 1000
#: A number after those of all owners.
LAST_OWNER = 1 << 62
#: The names of the first columns of `LISTED`, where the next page begins.
_POSITION = ("after_namespace", "after_key", "after_owner", "after_time", "after_id")

Value = TypeVar("Value")


@dataclass(eq=False)
class CachedFacts(FactTable):
    """The facts of a view's chunks, which count in a cache by their number, and as many as a search reads at least."""

    nbytes: int = LEAST_COUNTED


def _names_of(known: ref[KnownFacts]) -> Callable[[Ids], ChunkNames | None]:
    """Return the function that returns the names of chunks, as long as whoever cached what is known keeps it."""

    def names(ids: Ids) -> ChunkNames | None:
        seen = known()
        return seen.names(ids) if seen else None

    return names


class KnownFacts(Protocol):
    """The names and facts of chunks that are known without reading their rows."""

    def names(self, ids: Ids) -> ChunkNames | None:
        """Return the names of chunks, or None if those of some are unknown."""

    def facts(self, ids: Ids) -> dict[int, ChunkFacts]:
        """Return the facts of those chunks that are known."""


@dataclass(frozen=True, slots=True)
class SqliteCatalog(Catalog):
    """Documents, files and links of a view. Every change is one transaction, or part of the enclosing one.

    In a view of several owners, returned namespaces name their owner (`of_owner`). A given namespace may omit it and
    then means that of each owner; a document is that of the first owner who has one. `known` are the facts of chunks
    that were read while nothing changed. `words` returns what the words file has of an owner's chunks.
    """

    view: OwnerView
    known: GenerationCache[CachedFacts] = field(default_factory=GenerationCache)
    words: Callable[[apsw.Connection, tuple[int, ...]], KnownFacts | None] | None = None

    def write(self, *changes: Write) -> int:
        removed = 0
        placed: dict[tuple[str, str], Placed] = {}
        is_content = bool({*map(type, changes)} - {SourceData, DocumentUses})
        with self.view.writing(content=is_content) as (connection, owner):
            for each in changes:
                if isinstance(each, Placed):
                    placed[each.namespace, each.change.document.key] = each
                    continue
                put_documents(connection, owner, placed)
                placed = {}
                removed += carry_out(connection, owner, each)
            put_documents(connection, owner, placed)
        return removed

    def hydrate(self, ranking: Ranking, trails: Sequence[tuple[Why, ...]] = ()) -> list[Hit]:
        ids = ranking.ids.tolist()
        which = "chunk.uid in (select value from json_each(:ids))"
        found = self.view.rows(sql.HYDRATE.format(which=which), {"ids": json.dumps(ids)})
        rows = dict(zip((each[0] for each in found), found, strict=True))
        hits = []
        names = self.view.names if self.view.several else {}
        for id, score, why in zip(ids, ranking.scores.tolist(), trails or [()] * len(ids), strict=True):
            if id in rows:
                try:
                    hits.append(_hit(rows[id], names, score, why))
                except MISREAD as error:
                    raise misread(self.view, error) from error
        return hits

    def chunks_of(self, namespace: str, key: str, most: int | None = None) -> list[Hit]:
        view, name = self._home(namespace)
        which = "document.owner = :owner and document.namespace = :namespace and document.key = :key"
        ordered = f"{which} order by document.owner, chunk.position limit :most"
        bound = {"namespace": name, "key": key, "most": -1 if most is None else most}
        return self._first(self._hits(ordered, bound, view))

    def _hits(self, which: str, bound: Mapping[str, object], view: OwnerView | None = None) -> list[Hit]:
        rows = (view or self.view).rows(sql.HYDRATE.format(which=which), bound)
        try:
            return [*map(_hit, rows, repeat(self.view.names))]
        except MISREAD as error:
            raise misread(self.view, error) from error

    def _first(self, hits: list[Hit]) -> list[Hit]:
        """Return the hits of the first hit's owner."""
        if self.view.several:
            return [hit for hit in hits if hit.owner == hits[0].owner]
        return hits

    def _home(self, namespace: str) -> tuple[OwnerView, str]:
        """Return the view of the owner in a namespace, if it is one of several, and the namespace's name there."""
        name, owner = parted(namespace)
        # A name of another owner stays whole, and is not a namespace.
        if owner in self.view.several:
            return (OwnerView(self.view.engine, owner), name)
        return (self.view, namespace)

    def _in(self, namespace: str, statement: str, bound: Mapping[str, object] | None = None) -> list[Any]:
        """Return the rows that a statement selects in a namespace."""
        view, name = self._home(namespace)
        return view.rows(statement, {**(bound or {}), "namespace": name})

    def _named(self, names: Mapping[int, str], namespace: str, owner: int) -> str:
        """Return a namespace with its owner in a view of several owners."""
        return of_owner(namespace, names.get(owner))

    def documents_at(self, places: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Document]:
        return self._documents(self._at(sql.DOCUMENTS_AT, places), places)

    def _documents(self, rows: Iterable[Any], places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Document]:
        """Return the documents in rows of `DOCUMENTS_AT` by place. Raises `DamagedIndex`."""
        found: dict[tuple[str, str], Document] = {}
        for place, key, data, passages, hash, *row in rows:
            try:
                text = zlib.decompress(data).decode()
                if passages is not None:
                    text = put_together(text, passages)
            except MISREAD as error:
                raise misread(self.view, error) from error
            if text_hash(text) != hash:
                where = self.view.engine.location
                raise DamagedIndex(f"{where} is damaged (the text of {key} is not what was stored)", cure=Cure.SALVAGE)
            try:
                found.setdefault(places[place], _document(key, text, *row))
            except MISREAD as error:
                raise misread(self.view, error) from error
        return found

    def around(
        self, places: Sequence[tuple[str, str]], before: int, after: int
    ) -> Mapping[tuple[str, str], Sequence[Document]]:
        found: dict[tuple[str, str], list[Document]] = {}
        for place, *row in self._at(sql.AROUND, places, before=before, after=after):
            try:
                found.setdefault(places[place], []).append(_whole(row))
            except MISREAD as error:
                raise misread(self.view, error) from error
        return found

    def _at(self, statement: str, places: Sequence[tuple[str, str]], **bound: object) -> list[Any]:
        """Return the rows that a statement selects for some places, each with the number of its place."""
        if not places:
            return []
        if not self.view.several:
            return self.view.rows(statement, {"places": json.dumps(places), **bound})
        numbers = {name: number for number, name in self.view.names.items()}
        owned = [(*parted(namespace), key) for namespace, key in places]
        # A place of an invisible owner belongs to nobody.
        asked = [(name, key, None if owner is None else numbers.get(owner, -1)) for name, owner, key in owned]
        return self.view.rows(statement, {"places": json.dumps(asked), **bound})

    def documents(
        self,
        where: Selection,
        order: Order = Order.PLACE,
        *,
        after: tuple[str, str] | None = None,
        most: int | None = None,
        with_text: bool = False,
    ) -> Iterator[Listed]:
        view, conditions, bound = self._selected(where)
        by, following = sql.ORDERS[order]
        names = self.view.names
        if after is not None:
            conditions.append(following)
            bound |= {"after_namespace": after[0], "after_key": after[1], "after_owner": LAST_OWNER}
            namespace, owner = parted(after[0])
            for number, name in names.items():
                if name == owner:
                    bound |= {"after_namespace": namespace, "after_owner": number}
            if order is not Order.PLACE:
                places = self._in(after[0], sql.PLACE, {"key": after[1]})
                if not places:
                    return
                bound |= {"after_time": places[0][0], "after_id": places[0][1]}
        text = sql.WITH_TEXT if with_text else sql.NO_TEXT
        while most is None or most > 0:
            size = PAGE if most is None else min(PAGE, most)
            statement = sql.LISTED.format(text=text[0], join=text[1], condition=" and ".join(conditions), order=by)
            rows = view.rows(statement, {**bound, "limit": size})
            try:
                listed = [_listed(names, row) for row in rows]
            except MISREAD as error:
                raise misread(view, error) from error
            yield from listed
            if len(rows) < size:
                return
            if following not in conditions:
                conditions.append(following)
            bound |= dict(zip(_POSITION, rows[-1], strict=False))
            if most is not None:
                most -= size

    def _selected(self, where: Selection) -> tuple[OwnerView, list[str], dict[str, object]]:
        """Return the view that has the documents of a selection, and the conditions for them."""
        view = self.view
        conditions = ["document.owner = :owner"]
        bound: dict[str, object] = {}
        if where.name is not None:
            name = where.name
            splits = [(name[:place], name[place + 1 :]) for place, char in enumerate(name) if char == "/"]
            conditions = [sql.NAMED]
            bound |= {"name": name, "splits": json.dumps(splits)}
        if where.namespace is not None:
            view, bound["of_namespace"] = self._home(where.namespace)
            conditions.append("document.namespace = :of_namespace")
        if where.prefix:
            conditions.append("document.namespace >= :prefix and document.namespace < :end")
            bound |= {"prefix": where.prefix, "end": where.prefix + chr(0x10FFFF)}
        if where.words:
            literal = re.sub(r"([\\%_])", r"\\\1", where.words)
            conditions.append(sql.BEARING)
            bound["words"] = f"%{literal}%"
        if not where.works:
            conditions.append("not document.namespace glob :works")
            bound["works"] = f"{LICENSED}*"
        if where.filter:
            condition, values = condition_of(where.filter)
            conditions.append(condition)
            bound |= values
        return view, conditions, bound

    def stored(self, after: int = 0) -> Iterator[StoredDocument]:
        if self.view.several:
            raise OutOfScope("what several owners have is read whole from the view of each")
        numbers = sorted(number for (number,) in self.view.rows(sql.NUMBERS, {"after": after}))
        for start in range(0, len(numbers), STORED_AT_ONCE):
            yield from self._stored(numbers[start : start + STORED_AT_ONCE])

    def _stored(self, numbers: Sequence[int]) -> Iterator[StoredDocument]:
        """Yield some documents in one state of the database."""
        with self.view.reading() as (connection, owners), unmoved(connection):
            bound = {"numbers": json.dumps(numbers), "owner": owners[0]}
            rows: list[Any] = connection.execute(sql.STORED, bound).fetchall()
            places = [(namespace, key) for _, namespace, key, *_ in rows]
            named = {"places": json.dumps(places), "owner": owners[0]}
            documents = self._documents(connection.execute(sql.DOCUMENTS_AT, named).fetchall(), places)
            parts: dict[int, list[Any]] = {}
            listed: list[Any] = connection.execute(sql.CHUNKS_STORED, bound).fetchall()
            for document, *part in listed:
                parts.setdefault(document, []).append(part)
        for number, namespace, key, path, root, file, uses, used_at, records in rows:
            chunks = parts.get(number, [])
            try:
                change = DocumentChange(documents[namespace, key], path, tuple(_stored_chunk(*each) for each in chunks))
                data = dict(json.loads(records))
            except MISREAD as error:
                raise misread(self.view, error) from error
            placed = Placed(namespace, change, None if root is None else (root, file))
            lengths = tuple(each[-1] for each in chunks)
            used = None if uses is None else (uses, used_at)
            yield StoredDocument(number, placed, lengths, data, used)

    def uses(self, namespace: str, keys: Sequence[str]) -> Mapping[str, tuple[int, float]]:
        rows = self._in(namespace, sql.USES, {"keys": json.dumps(list(keys))})
        return {key: (uses, used_at) for key, uses, used_at in rows}

    def files(self, root: str, *, below: str = "") -> Iterator[FileState]:
        statement = sql.FILES.format(below=sql.BELOW if below else "")
        bound: dict[str, object] = {"root": root, "after": "", "after_owner": -1, "limit": PAGE}
        if below:
            bound |= {"path": below, "first": f"{below}/", "end": f"{below}0"}
        while True:
            rows = self.view.rows(statement, bound)
            yield from (FileState(*state) for *state, _ in rows)
            if len(rows) < PAGE:
                return
            bound |= {"after": rows[-1][0], "after_owner": rows[-1][-1]}

    def some_files(self, number: int) -> tuple[int, list[tuple[str, FileState]]]:
        ((total,),) = self.view.rows(sql.FILE_COUNT)
        if self.view.owner:
            some = sql.SOME_OWN_FILES
        else:
            some = sql.SOME_FILES
        if total <= number:
            statement = sql.ALL_FILES
        else:
            statement = some
        return total, [(root, FileState(*state)) for root, *state in self.view.rows(statement, {"number": number})]

    def roots(self) -> list[str]:
        return [root for (root,) in self.view.rows(sql.ROOTS)]

    def facts(self, ids: Ids) -> Mapping[int, ChunkFacts]:
        found = self.fact_table(ids)
        return {id: found.every[found.numbers[id]] for id in ids.tolist() if id in found.numbers}

    def fact_table(self, ids: Ids) -> FactTable:
        """Return all facts of the view that were read since its content changed, among them those of some chunks."""
        with self.view.reading() as (connection, owners):
            generation = self.view.generation(connection)
            seen = self.words(connection, owners) if self.words else None
        found = self.known.get(owners, generation)
        if found is None or len(found.every) > MOST_FACTS:
            found = self.known.put(owners, generation, CachedFacts())
        found.names = None if seen is None else _names_of(ref(seen))
        numbers = found.numbers
        missing = [*filterfalse(numbers.__contains__, ids.tolist())]
        if not missing:
            return found
        # Most are in the words file: SQLite need not read them.
        facts: dict[int, ChunkFacts] = {}
        if seen:
            facts = seen.facts(np.array(missing, np.int64))
            missing = [*filterfalse(facts.__contains__, missing)]
        rows: Iterable[Any] = ()
        if missing:
            rows = self.view.rows(sql.FACTS, {"ids": json.dumps(missing)})
        for id, *row in rows:
            try:
                facts[id] = facts_of(row)
            except MISREAD as error:
                raise misread(self.view, error) from error
        with found.lock:
            for id, each in facts.items():
                if id not in numbers:
                    found.every.append(each)
                    numbers[id] = len(found.every) - 1
        found.nbytes = LEAST_COUNTED + len(found.every)
        return self.known.put(owners, generation, found)

    def code_of(self, ids: Ids, beside: Ids | None = None) -> Mapping[int, CodePiece]:
        del beside
        rows = self._of_chunks(sql.CODE_OF, ids)
        return {id: CodePiece(path, tuple(json.loads(names)), *rest) for id, path, names, *rest in rows}

    def passing(self, filter: Filter, ids: Ids) -> Ids:
        condition, bound = condition_of(filter)
        rows = self._of_chunks(sql.PASSING.format(condition=condition or "true"), ids, **bound)
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def any_passes(self, filter: Filter) -> bool:
        condition, bound = condition_of(filter)
        return bool(self.view.rows(sql.ANY_PASSES.format(condition=condition or "true"), bound)[0][0])

    def identified(self, names: Sequence[str], most: int = MOST_IDENTIFIED) -> Mapping[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        owners = self.view.names
        rows = self.view.rows(graph.IDENTIFIED, {"names": json.dumps(list(dict.fromkeys(names))), "most": most})
        for name, namespace, key, owner in rows:
            found.setdefault(name, []).append((self._named(owners, namespace, owner), key))
        if owners:
            return {name: sorted(places) for name, places in found.items()}
        return found

    def credited(self, role: str, keys: Collection[str], most: int = MOST_CREDITED) -> list[Credited]:
        owners = self.view.names
        bound = {"role": role, "keys": json.dumps(list(keys)), "works": f"{LICENSED}*", "most": most}
        return [
            Credited(key, name, self._named(owners, namespace, owner), license, works)
            for key, name, namespace, license, owner, works in sorted(self.view.rows(graph.CREDITED, bound), key=repr)
        ]

    def first_of(self, filter: Filter, limit: int) -> Ids:
        condition, bound = condition_of(filter)
        rows = self.view.rows(graph.FIRST_OF.format(condition=condition or "true"), {**bound, "limit": limit})
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def linked(self, ids: Ids, *, incoming: bool = False, most: int = MOST_LINKED) -> list[Edge]:
        statement = graph.LINKED_TO if incoming else graph.LINKED_FROM
        return [*starmap(Edge, self._of_chunks(statement, ids, most=most))]

    def citations(self, ids: Ids, kind: str = "cites") -> Mapping[int, int]:
        return dict(self._of_chunks(graph.CITATIONS, ids, kind=kind))

    def tags_of(self, ids: Ids) -> Mapping[int, list[Tag]]:
        found: dict[int, list[Tag]] = {}
        for id, *name in self._of_chunks(graph.TAGS_OF, ids):
            found.setdefault(id, []).append(Tag(*name))
        return found

    def _of_chunks(self, statement: str, ids: Ids, **bound: object) -> list[Any]:
        """Return the rows that a statement selects for some chunks."""
        return self.view.rows(statement, {"ids": json.dumps(ids.tolist()), **bound})

    def records(self, namespace: str, key: str) -> Mapping[str, str]:
        return dict(self._in(namespace, graph.RECORDS, {"key": key}))

    def values(self, field: str, where: Selection, most: int = MOST_COUNTED) -> list[tuple[FieldValue, int]]:
        view, conditions, bound = self._selected(where)
        statement = sql.METADATA_VALUES
        if field in sql.VALUES:
            statement = sql.COLUMN_VALUES
        condition = " and ".join(conditions)
        statement = statement.format(value=sql.VALUES.get(field), condition=condition)
        rows = view.rows(statement, {**bound, "at": f"$.{json.dumps(field)}", "limit": most})
        return [(bool(value) if sort in ("true", "false") else value, count) for value, sort, count in rows]


def misread(view: OwnerView, error: Exception) -> DamagedIndex:
    """Return the error of a row that does not hold what its table does, as after pages were exchanged."""
    return DamagedIndex(f"{view.engine.location} is damaged (a row is not of its table: {error})", cure=Cure.SALVAGE)


def _document(key: str, *row: Any) -> Document:
    """Return a document from a row of `DOCUMENTS_AT`."""
    *said, metadata, license, language, links, identifiers, tags, parts = row
    text, title, kind, created, updated = said
    if not (isinstance(title, str) and isinstance(kind, str)):
        raise TypeError(NO_TEXT)
    names = _each(Identifier, identifiers), _each(Tag, tags), _each(_part, parts)
    facts = json.loads(metadata)
    document = Document(key, text, title, kind, created, updated, facts, _each(Link, links), license, *names)
    if language:
        return replace(document, language=language)
    return document


def _stored_chunk(id: int, position: int, text: str, start: int, end: int, headings: str, *row: Any) -> AnalyzedChunk:
    """Return a chunk without its terms from a row of `CHUNKS_STORED`."""
    page, hash, embedded, words, _ = row
    chunk = Chunk(id, position, text, (start, end), tuple(json.loads(headings)), page)
    return AnalyzedChunk(chunk, "", "", "", hash, embedded, None if words == hash else words)


def _part(kind: str, start: int, end: int, headings: str, label: str, page: int | None) -> Part:
    return Part(kind, (start, end), tuple(json.loads(headings)), label, page)


def _listed(names: Mapping[int, str], row: Sequence[Any]) -> Listed:
    """Return a document from a row of `LISTED`."""
    namespace, key, owner, _, _, path, data, passages, title, kind, created, updated, *said = row
    facts, license, language, found, chunks = said
    text = "" if data is None else zlib.decompress(data).decode()
    if passages is not None:
        text = put_together(text, passages)
    metadata = json.loads(facts)
    identifiers = _each(Identifier, found)
    document = Document(key, text, title, kind, created, updated, metadata, (), license, identifiers, language=language)
    return Listed(of_owner(namespace, names.get(owner)), path, document, chunks)


def _each(noun: Callable[..., Value], rows: str) -> tuple[Value, ...]:
    return tuple(starmap(noun, json.loads(rows)))


def _whole(row: Sequence[Any]) -> Document:
    key, data, passages, title, kind, created, updated, metadata, license = row
    text = zlib.decompress(data).decode()
    if passages is not None:
        text = put_together(text, passages)
    return Document(key, text, title, kind, created, updated, json.loads(metadata), (), license)


def _hit(row: Sequence[Any], names: Mapping[int, str], score: float = 0.0, why: tuple[Why, ...] = ()) -> Hit:
    """Return a hit from a row of `HYDRATE`: the columns of `Hit` in order, then the owner's number."""
    uid, key, path, title, headings, position, text, start, end, kind, *facts = row
    created, updated, metadata, license, namespace, line, page, language, owner = facts
    if not (isinstance(title, str) and isinstance(text, str) and isinstance(kind, str)):
        raise TypeError(NO_TEXT)
    if headings != "[]":
        heading_path = " > ".join(decoded(headings)[0])
    else:
        heading_path = ""
    if metadata != "{}":
        known = decoded(metadata)[0]
    else:
        known = {}
    lines = None
    if line:
        # A header that is repeated in front of a part of a table is not counted.
        lines = line, line + text.count("\n", len(text) - (end - start))
    hit = object.__new__(Hit)
    # Written at once: a search makes dozens of hits, and an initializer sets one attribute after another.
    vars(hit).update(
        id=f"{uid:016x}",
        key=key,
        path=path,
        title=title,
        heading_path=heading_path,
        chunk_index=position,
        text=text,
        span=(start, end),
        score=score,
        why=why,
        kind=kind,
        created_at=created,
        updated_at=updated,
        metadata=known,
        license=license,
        namespace=namespace,
        relevance=None,
        quality=None,
        lines=lines,
        page=page,
        withheld=False,
        collection="",
        # An owner who was deleted meanwhile has no name.
        owner=names.get(owner),
        owned=True,
        language=language or "",
    )
    return hit
