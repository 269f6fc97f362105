"""The catalog on a cluster."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from rifflux.errors import Busy, OutOfScope
from rifflux.store.catalog import (
    MOST_COUNTED,
    MOST_CREDITED,
    MOST_IDENTIFIED,
    MOST_LINKED,
    Catalog,
    ChunkFacts,
    CodePiece,
    Credited,
    DocumentUses,
    Edge,
    FactTable,
    FieldValue,
    FileRemoval,
    FileState,
    FileUpdate,
    Listed,
    Order,
    Placed,
    Removal,
    Selection,
    SourceData,
    StoredDocument,
    Write,
    lines_in_file,
    most_credited,
)
from rifflux.store.opensearch.batches import ContentBatch
from rifflux.store.opensearch.engine import ANYTHING, CHUNKS, PAGE, Action, OwnedRows, row_id
from rifflux.store.opensearch.filters import (
    JSON,
    SEPARATOR,
    all_of,
    any_of,
    conditions,
    keyword,
    literal,
    none_of,
    terms,
)
from rifflux.store.opensearch.rows import (
    CHUNK_STORED,
    HIT,
    OUTLINE,
    TERM_FIELDS,
    TERMS_READ,
    FieldTerms,
    ListedChunk,
    chunk_id,
    chunk_row,
    document_id,
    document_of,
    document_row,
    facts_of,
    hit_of,
    row_digest,
    sort_time,
    stored_document,
    terms_of,
)
from rifflux.text.names import credits_of
from rifflux.types import Document, Filter, Hit, Ids, Ranking, Tag, Vectors, Why, of_owner, parted

Place = tuple[str, str]

#: The number of documents whose rows are made at a time, and of those that are read whole.
ROWS_AT_ONCE = 100
STORED_AT_ONCE = 64
#: The number of chunks of a view whose facts are remembered.
MOST_FACTS = 16 * PAGE
#: Tries to read them with their chunks, while others replace these.
_TRIES = 5
#: The fields of a row that lead from document to document.
_LINKED = ("place", "owner", "rest", "outline", "first")
#: The fields by which rows of documents are sorted.
_ORDERS: Mapping[Order, Sequence[Any]] = {
    Order.PLACE: ("namespace", "key", "owner"),
    Order.OLDEST: ("order", "added"),
    Order.NEWEST: ({"order": "desc"}, {"added": "desc"}),
}
_WORKS = {"term": {"is_work": True}}
_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class OpenSearchCatalog(Catalog):
    """The documents of a view."""

    rows: OwnedRows

    # Writing

    def write(self, *changes: Write) -> int:
        removed = 0
        placed: dict[Place, Placed] = {}
        with self.rows.together():
            for each in changes:
                if isinstance(each, Placed):
                    placed[each.namespace, each.change.document.key] = each
                    continue
                self._put_all(placed)
                placed = {}
                removed += self._carry_out(each)
            self._put_all(placed)
        return removed

    def _carry_out(self, change: Write) -> int:
        """Carry out any change but that of a document; return the number of documents that were removed."""
        match change:
            case Removal(namespace, keys):
                return self._remove(namespace, keys)
            case FileUpdate(root, state, keep):
                return self._put_file(root, state, keep)
            case FileRemoval(root, paths):
                return self._remove_files(root, paths)
            case SourceData(namespace, key, data):
                self._put_source_data(namespace, key, data)
            case DocumentUses():
                self._note_uses(change)
        return 0

    def _put_all(self, placed: Mapping[Place, Placed]) -> None:
        if not placed:
            return
        owner = self.rows.owner
        ids = {place: document_id(owner, *place) for place in placed}
        with self.rows.batch() as batch:
            fields = ("document", "chunks", "added", "records", "uses")
            former = {row["document"]: row for row in self._of_documents([*ids.values()], fields)}
            files = [keyword(*each.file) for each in placed.values() if each.file]
            has_vectors = bool(self.rows.state.models) and self.rows.cached("has vectors", self._has_vectors)
            if has_vectors:
                # What was written before is found; this batch has no other vectors.
                self.rows.engine.refresh()
            actions = self._actions(batch, placed, ids, former, has_vectors=has_vectors)
            batch.write(actions, among=[CHUNKS, *ids.values(), *files])

    def _actions(
        self,
        batch: ContentBatch,
        placed: Mapping[Place, Placed],
        ids: Mapping[Place, str],
        former: Mapping[str, JSON],
        *,
        has_vectors: bool,
    ) -> Iterator[Action]:
        """Yield the actions that put documents, of which some have a former row."""
        owner = self.rows.owner
        left = iter(placed.items())
        while some := [*islice(left, ROWS_AT_ONCE)]:
            kept: dict[Place, list[ListedChunk]] = {}
            fresh: list[tuple[str, JSON]] = []
            for place, each in some:
                known_row = former.get(ids[place], {})
                known = {one.id: one for one in map(_listed, known_row.get("chunks", ()))}
                kept[place] = []
                lines = lines_in_file(each.change)
                for analyzed in each.change.chunks:
                    row = chunk_row(owner, each, analyzed, lines.get(analyzed.chunk.span))
                    chunk = ListedChunk(analyzed.chunk.id, analyzed.hash, batch.number, row_digest(row))
                    former_chunk = known.get(chunk.id)
                    if former_chunk and former_chunk.digest == chunk.digest:
                        chunk = former_chunk
                    else:
                        fresh.append((chunk_id(owner, chunk.id, chunk.batch), {**row, "batch": chunk.batch}))
                    kept[place].append(chunk)
                for one in {*known.values()} - {*kept[place]}:
                    yield batch.replace(chunk_id(owner, one.id, one.batch))
            vectors = self._known_vectors([row["hash"] for _, row in fresh]) if has_vectors else {}
            for id, row in fresh:
                yield "index", id, {**row, **vectors.get(row["hash"], {"embedded": []})}
            for place, each in some:
                known_row = former.get(ids[place], {})
                number = known_row.get("added") or self.rows.engine.next_number()
                row = document_row(owner, each, number, known_row, kept[place])
                yield "index", f"{ids[place]}.{batch.number}", {**row, "batch": batch.number}
                if known_row and known_row["_id"] != f"{ids[place]}.{batch.number}":
                    yield batch.replace(known_row["_id"])

    def _of_documents(self, ids: Sequence[str], fields: Sequence[str]) -> Iterator[JSON]:
        """Yield the visible rows of documents that are identified by ids."""
        for start in range(0, len(ids), PAGE):
            some = ids[start : start + PAGE]
            yield from self.rows.scan("document", [terms("document", some)], fields, among=some)

    def _known_vectors(self, hashes: Sequence[int]) -> Mapping[int, JSON]:
        """Return the vectors that the owner has of some texts, as fields of a row, by hash, if they are refreshed."""
        found: dict[int, JSON] = {}
        for start in range(0, len(hashes), PAGE):
            narrow = [terms("hash", hashes[start : start + PAGE]), {"exists": {"field": "embedded"}}]
            for row in self.rows.scan("chunk", narrow, ("hash", "embedded", "vector_*"), among=()):
                known = {name: value for name, value in row.items() if name.startswith("vector_")}
                found[row["hash"]] = {"embedded": row["embedded"], **known}
        return found

    def _has_vectors(self) -> bool:
        return self.rows.count("chunk", [{"exists": {"field": "embedded"}}]) > 0

    def _remove(self, namespace: str, keys: Sequence[str]) -> int:
        owner = self.rows.owner
        ids = [document_id(owner, namespace, key) for key in dict.fromkeys(keys)]
        with self.rows.batch():
            return self._drop([*self._of_documents(ids, ("document", "chunks"))])

    def _drop(self, rows: Collection[Mapping[str, Any]]) -> int:
        """Remove documents with their chunks."""
        owner = self.rows.owner
        if not rows:
            return 0
        with self.rows.batch() as batch:
            actions: list[Action] = []
            for row in rows:
                chunks = [ListedChunk(*each) for each in row["chunks"]]
                actions.append(batch.replace(row["_id"]))
                actions += [batch.replace(chunk_id(owner, each.id, each.batch)) for each in chunks]
            batch.write(actions, among=[CHUNKS, *(row["document"] for row in rows)])
        return len(rows)

    def _documents_in(self, files: Sequence[Place], narrow: Sequence[JSON] = ()) -> list[JSON]:
        names = [keyword(*file) for file in files]
        found: list[JSON] = []
        for start in range(0, len(names), PAGE):
            wanted = [terms("file", names[start : start + PAGE]), *narrow]
            found += self.rows.scan("document", wanted, ("document", "chunks"), among=names)
        return found

    def _put_file(self, root: str, state: FileState, keep: Collection[str] | None) -> int:
        owner = self.rows.owner
        row: JSON = {
            "type": "file",
            "root": keyword(root),
            "path": keyword(state.path),
            "state": {"root": root, **asdict(state)},
        }
        with self.rows.together() as scope:
            # A file is known when its documents are published: read again, they are only replaced.
            scope.later.append(("index", row_id(owner, "file", root, state.path), row))
            if keep is None:
                return 0
            narrow = [none_of([terms("key", map(keyword, keep))])]
            if not self._documents_in([(root, state.path)], narrow):
                return 0
            with self.rows.batch():
                return self._drop(self._documents_in([(root, state.path)], narrow))

    def _remove_files(self, root: str, paths: Sequence[str]) -> int:
        owner = self.rows.owner
        known = {row_id(owner, "file", root, path): path for path in paths}
        ids = [*self.rows.get([*known], ("path",))]
        if not ids:
            return 0
        with self.rows.together() as scope, self.rows.batch():
            scope.later += [("delete", id, None) for id in ids]
            return self._drop(self._documents_in([(root, known[id]) for id in ids]))

    def _put_source_data(self, namespace: str, key: str, data: Mapping[str, str]) -> None:
        fields = {"records": json.dumps(dict(sorted(data.items())))}
        id = document_id(self.rows.owner, namespace, key)
        # Nobody replaces the row meanwhile.
        with self.rows.batch() as batch:
            actions: list[Action] = [("update", row["_id"], {"doc": fields}) for row in self._of_documents([id], ())]
            batch.write(actions, among=[id])

    def _note_uses(self, change: DocumentUses) -> None:
        source = (
            "if (ctx._source.uses == null) { ctx._source.uses = [0, params.time] }"
            "ctx._source.uses[0] += params.number;"
            "ctx._source.uses[1] = Math.max((double) ctx._source.uses[1], params.time)"
        )
        script = {"source": source, "params": {"time": float(change.time), "number": change.number}}
        ids = [document_id(self.rows.owner, change.namespace, key) for key in change.keys]
        rows = self._of_documents(ids, ())
        self.rows.write([("update", row["_id"], {"script": script}) for row in rows], among=ids)

    # Chunks

    def _chunks(self, ids: Ids, fields: Sequence[str]) -> dict[int, JSON]:
        """Return the rows of chunks by id, without missing ones."""
        (found,) = self._chunks_each([(ids, fields)])
        return found

    def _chunks_each(self, wanted: Sequence[tuple[Ids, Sequence[str]]]) -> list[dict[int, JSON]]:
        """Return the rows of some chunks with some fields, and of others with others, in one request."""
        every: list[dict[int, JSON]] = []
        bodies: list[JSON] = []
        places: list[int] = []
        for place, (ids, fields) in enumerate(wanted):
            known = self._known_chunks(fields)
            every.append({id: row for id in ids.tolist() if (row := known.get(id)) is not None})
            missing = sorted({*ids.tolist()} - every[place].keys())
            for start in range(0, len(missing), PAGE):
                some = [terms("uid", missing[start : start + PAGE])]
                bodies.append(self.rows.body("chunk", some, size=PAGE, _source=fields))
                places.append(place)
        for place, answer in zip(places, self.rows.search_all(bodies), strict=True):
            every[place] |= {each["_source"]["uid"]: each["_source"] for each in answer["hits"]["hits"]}
        for (_, fields), found in zip(wanted, every, strict=True):
            self._known_chunks(fields).update(found)
        return [dict(sorted(found.items())) for found in every]

    def _known_chunks(self, fields: Sequence[str]) -> dict[int, JSON]:
        """Return the rows of chunks that were read with some fields of the current contents."""
        known: dict[int, JSON] = self.rows.cached(("chunks", *fields), dict)
        if len(known) > 4 * PAGE:
            known.clear()
        return known

    def _owner_of(self, row: Mapping[str, Any]) -> str | None:
        return row["owner"] if self.rows.several else None

    def hydrate(self, ranking: Ranking, trails: Sequence[tuple[Why, ...]] = ()) -> list[Hit]:
        rows = self._passages(ranking.ids)
        entries = zip(ranking.ids.tolist(), ranking.scores.tolist(), trails or [()] * len(ranking), strict=True)
        return [hit_of(rows[id], self._owner_of(rows[id]), score, why) for id, score, why in entries if id in rows]

    def _passages(self, ids: Ids, others: Ids = _NOTHING) -> Mapping[int, JSON]:
        """Return the rows of hits and of others; a search reads the hits' terms too, and one by meaning their vectors.

        Both are read in one request.
        """
        bounds = self.rows.engine.bounds
        known = self._known_chunks(HIT)
        others = others[~np.isin(others, ids)]
        if bounds.reads is None or all(id in known for id in ids.tolist()):
            return self._chunks(np.concatenate([ids, others]), HIT)
        vectors: dict[int, Vectors] = self.rows.cached("vectors", dict)
        terms_read: dict[int, FieldTerms] = self.rows.cached(TERMS_READ, dict)
        if len(terms_read) > 4 * PAGE:
            terms_read.clear()
        field = bounds.field
        fields = (*HIT, *TERM_FIELDS) if field is None else (*HIT, *TERM_FIELDS, field)
        read, beside = self._chunks_each([(ids, fields), (others, HIT)])
        for id, row in read.items():
            known[id] = row
            if id not in terms_read:
                terms_read[id] = terms_of(row)
            vector = row.pop(field, None) if field else None
            if vector is not None:
                vectors[id] = np.array(vector, np.float32)
        return read | beside

    def chunks_of(self, namespace: str, key: str, most: int | None = None) -> list[Hit]:
        places = self._ids_of([(namespace, key)])[namespace, key]
        # Of several owners' documents, the first owner's chunks may come last.
        enough = most if most is None else most * len(places)
        found = self.rows.scan("chunk", [terms("document", places)], HIT, order=["position"], most=enough)
        hits = [hit_of(row, self._owner_of(row)) for row in found]
        owners = sorted(hit.owner or "" for hit in hits)
        return [hit for hit in hits if (hit.owner or "") == owners[0]][:most]

    def facts(self, ids: Ids) -> Mapping[int, ChunkFacts]:
        table = self.fact_table(ids)
        return {id: table.every[table.numbers[id]] for id in sorted({*ids.tolist()}) if id in table.numbers}

    def fact_table(self, ids: Ids, hits: Sequence[JSON] = ()) -> FactTable:
        """Return all facts that were read of the current contents, among them those of some chunks.

        `hits` are chunks that were read with their facts.
        """
        tables: list[FactTable] = self.rows.cached("facts", lambda: [FactTable()])
        if len(tables[0].every) > MOST_FACTS:
            # Others may use the former table.
            tables[0] = FactTable()
        table = tables[0]
        rows = [row for each in hits if (row := each.get("_source")) and row["uid"] not in table.numbers]
        table.add({row["uid"]: facts_of(row) for row in rows})
        missing = [id for id in ids.tolist() if id not in table.numbers]
        if missing:
            found = self._chunks(np.array(missing, np.int64), HIT)
            table.add({id: facts_of(row) for id, row in found.items()})
        return table

    def code_of(self, ids: Ids, beside: Ids | None = None) -> Mapping[int, CodePiece]:
        found = {}
        rows = self._chunks(ids, HIT) if beside is None else self._passages(beside, ids)
        for id, row in ((id, rows[id]) for id in sorted(ids.tolist()) if id in rows):
            hit = hit_of(row, None)
            if hit.kind == "code":
                headings = tuple(json.loads(row["facts"])["headings"])
                found[id] = CodePiece(hit.path, headings, hit.text, hit.chunk_index)
        return found

    def tags_of(self, ids: Ids) -> Mapping[int, list[Tag]]:
        found = {}
        for id, row in self._chunks(ids, HIT).items():
            tags = [Tag(*each) for each in json.loads(row["passage"])["tags"]]
            if tags:
                found[id] = sorted(tags)
        return found

    def passing(self, filter: Filter, ids: Ids) -> Ids:
        found: list[int] = []
        for start in range(0, len(ids), PAGE):
            some = ids[start : start + PAGE].tolist()
            body = self.rows.search("chunk", [terms("uid", some), *conditions(filter)], size=PAGE, _source=["uid"])
            found += [each["_source"]["uid"] for each in body["hits"]["hits"]]
        return np.array(sorted(found), np.int64)

    # Documents

    def _ids_of(self, places: Iterable[Place]) -> dict[Place, list[str]]:
        """Return the ids that the document of each place may have: one of each owner, or of the owner it names."""
        found = {}
        for namespace, key in places:
            name, owner = parted(namespace)
            if self.rows.several and owner in self.rows.owners:
                found[namespace, key] = [document_id(owner, name, key)]
            else:
                found[namespace, key] = [document_id(each, namespace, key) for each in self.rows.owners]
        return found

    def _at(self, places: Iterable[Place], fields: Sequence[str]) -> dict[Place, JSON]:
        """Return the rows of documents by place, without missing ones; of several owners' the first owner's."""
        ids = self._ids_of(places)
        wanted = [id for some in ids.values() for id in some]
        rows = {row["document"]: row for row in self._of_documents(wanted, ("document", *fields))}
        found = {place: [rows[id] for id in some if id in rows] for place, some in ids.items()}
        return {place: some[0] for place, some in found.items() if some}

    def documents_at(self, places: Sequence[Place]) -> Mapping[Place, Document]:
        found = self._at(places, ("outline", "text", "rest"))
        return {place: document_of(row) for place, row in found.items()}

    def records(self, namespace: str, key: str) -> Mapping[str, str]:
        for row in self._at([(namespace, key)], ("records",)).values():
            found: dict[str, str] = json.loads(row["records"])
            return found
        return {}

    def uses(self, namespace: str, keys: Sequence[str]) -> Mapping[str, tuple[int, float]]:
        found = self._at([(namespace, key) for key in keys], ("uses",))
        return {key: (int(row["uses"][0]), row["uses"][1]) for (_, key), row in found.items() if row["uses"]}

    def _within(self, namespace: str) -> list[JSON]:
        """Return the conditions for a namespace, which may name its owner."""
        name, owner = parted(namespace)
        if self.rows.several and owner in self.rows.owners:
            return [terms("namespace", [keyword(name)]), {"term": {"owner": owner}}]
        return [terms("namespace", [keyword(namespace)])]

    def _named(self, row: Mapping[str, Any]) -> str:
        return of_owner(row["place"][0], self._owner_of(row))

    def documents(
        self,
        where: Selection,
        order: Order = Order.PLACE,
        *,
        after: Place | None = None,
        most: int | None = None,
        with_text: bool = False,
    ) -> Iterator[Listed]:
        position: Sequence[Any] = ()
        if after is not None and order is Order.PLACE:
            # No owner's name and no row's id sorts after this one.
            last = chr(0x10FFFF)
            position = (keyword(after[0]), keyword(after[1]), last, last)
            namespace, owner = parted(after[0])
            if self.rows.several and owner in self.rows.owners:
                position = (keyword(namespace), keyword(after[1]), owner, last)
        elif after is not None:
            row = self._at([after], ("order", "added", "row")).get(after)
            if row is None:
                return
            position = (row["order"], row["added"], row["row"])
        fields = (*OUTLINE, "text") if with_text else OUTLINE
        narrow = [*self._selected(where)]
        for row in self.rows.scan("document", narrow, fields, _ORDERS[order], most, after=position):
            yield Listed(self._named(row), row["place"][2], document_of(row), len(row["chunks"]))

    def _selected(self, where: Selection) -> Iterator[JSON]:
        """Yield the conditions for the documents of a selection."""
        if where.namespace is not None:
            yield from self._within(where.namespace)
        if where.prefix:
            yield {"prefix": {"namespace": where.prefix}}
        if where.name is not None:
            yield any_of(_named_by(where.name))
        if where.words:
            escaped = re.sub(r"([\\*?])", r"\\\1", where.words.casefold())
            yield {"wildcard": {"names": {"value": f"*{escaped}*"}}}
        if not where.works:
            yield none_of([_WORKS])
        if where.filter:
            yield from conditions(where.filter)

    def around(self, places: Sequence[Place], before: int, after: int) -> Mapping[Place, Sequence[Document]]:
        """Read their own rows in one request, and the others' in another."""
        own = self._at(places, ("outline", "text", "order", "added"))
        bodies = []
        for (namespace, _), row in own.items():
            for direction, size in (("desc", before), ("asc", after)):
                order = [{"order": direction}, {"added": direction}]
                position = [row["order"], row["added"]]
                options: JSON = {"size": size, "sort": order, "search_after": position, "_source": ["outline", "text"]}
                bodies.append(self.rows.body("document", self._within(namespace), **options))
        answers = [[each["_source"] for each in one["hits"]["hits"]] for one in self.rows.search_all(bodies)]
        found = {}
        for number, (place, row) in enumerate(own.items()):
            earlier, later = answers[2 * number : 2 * number + 2]
            found[place] = [document_of(each) for each in (*reversed(earlier), row, *later)]
        return found

    def stored(self, after: int = 0) -> Iterator[StoredDocument]:
        if self.rows.several:
            raise OutOfScope("what several owners have is read whole from the view of each")
        number = after + 1
        yielded: set[str] = set()
        # Each page is of the latest state: rows that were replaced meanwhile are not kept for long.
        while page := self._stored_from(number, yielded):
            for row, chunks in page:
                yield stored_document(row, chunks)
                if row["added"] > number:
                    number = row["added"]
                    yielded = set()
                yielded.add(row["document"])

    def _stored_from(self, number: int, yielded: Set[str]) -> list[tuple[JSON, list[JSON]]]:
        """Return some documents from a number on with the rows of their chunks, without those that were yielded."""
        for _ in range(_TRIES):
            narrow = {"range": {"added": {"gte": number}}}
            found = self.rows.scan("document", [narrow], order=["added"], most=STORED_AT_ONCE + len(yielded))
            rows = [row for row in found if row["document"] not in yielded]
            ids = {
                row["_id"]: [chunk_id(row["owner"], each.id, each.batch) for each in map(_listed, row["chunks"])]
                for row in rows
            }
            known = self.rows.get([id for some in ids.values() for id in some], CHUNK_STORED)
            if all(id in known for some in ids.values() for id in some):
                return [(row, [known[id] for id in ids[row["_id"]]]) for row in rows]
        raise Busy(f"{self.rows.engine.address} is written all the time: try again")

    def any_passes(self, filter: Filter) -> bool:
        found = self.rows.search("document", conditions(filter), size=1, _source=False)
        return bool(found["hits"]["hits"])

    def identified(self, names: Sequence[str], most: int = MOST_IDENTIFIED) -> Mapping[str, list[Place]]:
        if not names:
            return {}
        wanted = {keyword(name): name for name in names}
        found: dict[str, list[Place]] = {}
        counts: Counter[tuple[str, str]] = Counter()
        for row in self.rows.scan("document", [terms("identifier", wanted)], ("place", "owner", "identifier")):
            for name in {*row["identifier"]} & wanted.keys():
                counts[name, row["owner"]] += 1
                if counts[name, row["owner"]] <= most:
                    found.setdefault(wanted[name], []).append((self._named(row), row["place"][1]))
        return {name: sorted(found[name]) for name in names if name in found}

    def credited(self, role: str, keys: Collection[str], most: int = MOST_CREDITED) -> list[Credited]:
        found: Counter[tuple[str, str, str, str | None]] = Counter()
        narrow = [_WORKS, terms("credit", (keyword(role, key) for key in keys))]
        for row in self.rows.scan("document", narrow, ("place", "owner", "outline")):
            document = document_of(row)
            named = {each for each in credits_of(document.metadata) if each[0] == role and each[1] in keys}
            found.update((key, name, self._named(row), document.license) for _, key, name in named)
        return most_credited(found, most)

    def first_of(self, filter: Filter, limit: int) -> Ids:
        order = [{"time": {"order": "desc", "missing": "_last"}}, "first"]
        narrow = [*conditions(filter), {"exists": {"field": "first"}}]
        rows = [*self.rows.scan("document", narrow, ("first", "time"), order, limit)]
        rows.sort(key=lambda row: (sort_time(row["time"]), row["first"]))
        return np.array([row["first"] for row in rows], np.int64)

    # Links

    def _homes(self, ids: Ids) -> dict[int, JSON]:
        """Return the document's row of each chunk."""
        chunks = self._chunks(ids, ("uid", "document"))
        documents = [*dict.fromkeys(row["document"] for row in chunks.values())]
        rows = {row["document"]: row for row in self._of_documents(documents, ("document", *_LINKED))}
        return {id: rows[row["document"]] for id, row in chunks.items() if row["document"] in rows}

    def linked(self, ids: Ids, *, incoming: bool = False, most: int = MOST_LINKED) -> list[Edge]:
        homes = self._homes(ids)
        found: dict[tuple[int, int, str], float] = {}
        for id, row, others in self._linked(homes, incoming=incoming, most=most):
            linked: set[int] = set()
            for other in others:
                source, target = (other, row) if incoming else (row, other)
                if other["_id"] == row["_id"] or other["first"] is None or len(linked) == most:
                    continue
                for key, kind, confidence in json.loads(source["rest"])["links"]:
                    if _leads(source, key, target):
                        linked.add(other["first"])
                        edge = (id, other["first"], kind)
                        found[edge] = max(found.get(edge, 0.0), confidence)
        return [Edge(*edge, confidence) for edge, confidence in sorted(found.items())]

    def _linked(
        self, homes: Mapping[int, JSON], *, incoming: bool, most: int
    ) -> Iterator[tuple[int, JSON, Sequence[JSON]]]:
        """Yield chunks with their documents' rows and those that may be linked, by first chunk.

        One request is enough for all unless they have too many together.
        """
        together = [*self._ends([*homes.values()], incoming=incoming, most=PAGE)]
        whole = len(together) < PAGE
        for id, row in homes.items():
            # The document itself may be among them, and so may some whose keys only agree in another namespace.
            yield id, row, together if whole else [*self._ends([row], incoming=incoming, most=2 * most + 1)]

    def _ends(self, rows: Sequence[JSON], *, incoming: bool, most: int | None) -> Iterator[JSON]:
        """Yield the rows of documents that may be linked from some others, or with `incoming` to them."""
        if incoming:
            keys = {name for row in rows for name in (*_names(row), row["place"][1])}
            wanted = terms("link", map(keyword, sorted(keys)))
        else:
            keys = {key for row in rows for key, _, _ in json.loads(row["rest"])["links"]}
            values = [*map(keyword, sorted(keys))]
            wanted = any_of([terms("identifier", values), terms("key", values)])
        if keys:
            yield from self.rows.scan("document", [wanted], _LINKED, ["first"], most)

    def citations(self, ids: Ids, kind: str = "cites") -> Mapping[int, int]:
        homes = self._homes(ids)
        sources = [*self._ends([*homes.values()], incoming=True, most=None)]
        found = {}
        for id, row in homes.items():
            count = 0
            for other in sources:
                links = json.loads(other["rest"])["links"]
                leads = any(each == kind and _leads(other, key, row) for key, each, _ in links)
                count += other["_id"] != row["_id"] and leads
            if count:
                found[id] = count
        return found

    # Files

    def files(self, root: str, *, below: str = "") -> Iterator[FileState]:
        narrow = [terms("root", [keyword(root)])]
        if below:
            narrow.append(any_of([{"term": {"path": below}}, {"prefix": {"path": f"{below}/"}}]))
        for row in self.rows.scan("file", narrow, ("state",), ["path"]):
            yield _file_state(row)[1]

    def some_files(self, number: int) -> tuple[int, list[tuple[str, FileState]]]:
        count = self.rows.count("file")
        # The ids of rows are digests, so the first are a random sample.
        return count, [_file_state(row) for row in self.rows.scan("file", fields=("state",), most=number)]

    def roots(self) -> list[str]:
        return sorted(self.rows.cached("roots", lambda: self.rows.values("file", "root")))

    # Values

    def values(self, field: str, where: Selection, most: int = MOST_COUNTED) -> list[tuple[FieldValue, int]]:
        narrow = [*self._selected(where)]
        if field in ("kind", "namespace", "folder"):
            known = self.rows.values("document", field, narrow)
            found: list[tuple[FieldValue, int]] = [
                (value, count) for value, count in known.items() if value or field == "namespace"
            ]
        else:
            start = f"{field}{SEPARATOR}"
            known = self.rows.values("document", "value", narrow, include=literal(start) + ANYTHING)
            found = [(json.loads(text.removeprefix(start)), count) for text, count in known.items()]
        found.sort(key=lambda each: (-each[1], isinstance(each[0], str), each[0]))
        return found[:most]


def _listed(chunk: Sequence[int]) -> ListedChunk:
    return ListedChunk(*chunk)


def _named_by(name: str) -> Iterator[JSON]:
    """Yield conditions of which a document meets one if a name is its key, path or absolute path."""
    yield terms("key", [keyword(name)])
    yield terms("path", [keyword(name)])
    places = [place for place, char in enumerate(name) if char == "/"]
    for place in places:
        rest = [keyword(name[place + 1 :])]
        split = any_of([terms("key", rest), terms("path", rest)])
        yield all_of([terms("namespace", [keyword(name[:place])]), split])
    ends = [keyword(name[place + 1 :]) for place in places]
    yield all_of([terms("namespace", [keyword(name)]), terms("path", ends)])


def _names(row: Mapping[str, Any]) -> list[str]:
    """Return the identifiers of a document's row."""
    return [f"{scheme}:{value}" for scheme, value in json.loads(row["outline"])["identifiers"]]


def _leads(source: Mapping[str, Any], key: str, target: Mapping[str, Any]) -> bool:
    """Return True if a link's key is an identifier of a document, or its key in the link's own namespace."""
    is_near = (source["owner"], source["place"][0]) == (target["owner"], target["place"][0])
    return key in _names(target) or (is_near and key == target["place"][1])


def _file_state(row: Mapping[str, Any]) -> tuple[str, FileState]:
    """Return the root and the state of a file's row."""
    state = dict(row["state"])
    return state.pop("root"), FileState(**state)
