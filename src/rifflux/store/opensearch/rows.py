"""Documents and chunks as rows, and back."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from functools import lru_cache
from hashlib import blake2b
from math import inf
from typing import Any

import numpy as np

from rifflux.store.catalog import AnalyzedChunk, ChunkFacts, DocumentChange, Placed, StoredDocument
from rifflux.store.opensearch.engine import row_id
from rifflux.store.opensearch.filters import JSON, filter_fields, keyword, value_keywords
from rifflux.text.dates import timestamp
from rifflux.text.names import credits_of
from rifflux.text.properties import searchable_properties
from rifflux.types import LICENSED, Chunk, Document, Hit, Identifier, Lines, Link, Part, Tag, Why

try:
    from orjson import loads as _loads
except ImportError:  # Without it, no cluster is connected to.
    from json import loads as _loads  # type: ignore[assignment]

#: The counts of a term in a chunk: its digest, then title, headings and body.
PACKED = np.dtype([("term", "<u8"), ("counts", "<u2", 3)])
#: The fields of a chunk's row that its names and facts are read from.
FACTS = ("uid", "facts")
#: Those that a hit is made of.
HIT = ("uid", "owner", "facts", "passage")
#: The fields of a document's row that its lists have: without text, links, tags and parts.
OUTLINE = ("outline", "path", "namespace", "chunks", "owner", "place")
#: Those that a chunk is put by again, without its terms.
CHUNK_STORED = ("uid", "document", "position", "hash", "length", "facts", "passage", "waiting", "words")
#: Those that have the terms of a chunk, and the name under which terms are cached that were read with hits.
TERM_FIELDS = ("title", "headings", "body")
TERMS_READ = "terms read"
#: The terms of a chunk by field.
FieldTerms = tuple[tuple[str, ...], ...]
#: Stands for the time of an undated document, after all others.
UNDATED = 1e18

_NO_REST = '{"links": [], "tags": [], "parts": []}'
_as_json = json.JSONEncoder(default=str).encode


@lru_cache(maxsize=1 << 16)
def term_digest(term: str) -> int:
    """Return 64 bits that identify a term among those of a chunk."""
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")


def document_id(owner: str, namespace: str, key: str) -> str:
    """Return what identifies a document, whatever batch its row is of."""
    return row_id(owner, "document", namespace, key)


def chunk_id(owner: str, id: int, batch: int) -> str:
    """Return the id of the row of a chunk that a batch wrote."""
    return row_id(owner, "chunk", str(id), str(batch))


def row_digest(row: Mapping[str, Any]) -> int:
    """Return 63 bits that identify the contents of a row."""
    digest = blake2b(_as_json(row).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


@dataclass(frozen=True, slots=True)
class ListedChunk:
    """A chunk as its document's row lists it: its id, the hash of its text, the batch of its row, and that's digest."""

    id: int
    hash: int
    batch: int
    digest: int


def time_of(document: Document) -> float | None:
    """Return a document's time in seconds since 1970: of its creation, else of its change."""
    created = timestamp(document.created_at)
    if created is None:
        return timestamp(document.updated_at)
    return created


def document_row(
    owner: str, placed: Placed, number: int, former: Mapping[str, Any], chunks: Sequence[ListedChunk]
) -> JSON:
    """Return the row of a document, with the records and uses of its former one."""
    document = placed.change.document
    path = placed.change.path
    time = time_of(document)
    credits = sorted(credits_of(document.metadata))
    is_work = placed.namespace.startswith(LICENSED)
    first = next((each.chunk.id for each in placed.change.chunks if each.chunk.position == 0), None)
    outline = {
        "key": document.key,
        "title": document.title,
        "kind": document.kind,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "license": document.license,
        "language": document.language,
        "metadata": dict(document.metadata),
        "identifiers": [[each.scheme, each.value] for each in document.identifiers],
    }
    return {
        "type": "document",
        "document": document_id(owner, placed.namespace, document.key),
        **filter_fields(placed.namespace, path, document, time),
        "place": [placed.namespace, document.key, path],
        "names": [path.casefold()[:8_000], document.title.casefold()],
        "file": keyword(*placed.file) if placed.file else None,
        "origin": placed.file,
        "is_work": is_work,
        "order": UNDATED if time is None else time,
        "added": number,
        "first": first,
        "identifier": [keyword(str(each)) for each in document.identifiers],
        "link": [keyword(each.key) for each in document.links],
        "credit": sorted({keyword(role, key) for role, key, _ in credits}),
        "value": [] if is_work else value_keywords(document),
        "outline": _as_json(outline),
        "text": document.text,
        "rest": _as_json(
            {
                "links": [[each.key, each.kind, each.confidence] for each in document.links],
                "tags": [[each.scheme, each.value] for each in document.tags],
                "parts": [asdict(each) for each in document.parts],
            }
        ),
        "chunks": [astuple(each) for each in chunks],
        "records": former.get("records", "{}"),
        "uses": former.get("uses"),
    }


def document_of(row: Mapping[str, Any]) -> Document:
    """Return the document of a row, with as much as was read of it."""
    outline = json.loads(row["outline"])
    identifiers = tuple(Identifier(*each) for each in outline.pop("identifiers"))
    # Lists of documents have no rest, and perhaps no text.
    rest = json.loads(row.get("rest", _NO_REST))
    return Document(
        text=row.get("text", ""),
        **outline,
        identifiers=identifiers,
        links=tuple(Link(*each) for each in rest["links"]),
        tags=tuple(Tag(*each) for each in rest["tags"]),
        parts=tuple(
            Part(each["kind"], tuple(each["span"]), tuple(each["headings"]), each["label"], each["page"])
            for each in rest["parts"]
        ),
    )


def chunk_row(owner: str, placed: Placed, each: AnalyzedChunk, lines: Lines | None) -> JSON:
    """Return the row of a chunk, without its vectors."""
    document = placed.change.document
    chunk = each.chunk
    fields = [text.split() for text in (each.title, each.headings, each.body)]
    words = [word for field in fields for word in field]
    facts = {
        "title": document.title,
        "headings": list(chunk.headings),
        "aliases": searchable_properties(document.kind, document.metadata).names,
        "key": document.key,
        "path": placed.change.path,
        "namespace": placed.namespace,
        "language": document.language,
        "kind": document.kind,
        "identifiers": [[one.scheme, one.value] for one in document.identifiers],
    }
    passage = {
        "position": chunk.position,
        "text": chunk.text,
        "span": chunk.span,
        "lines": lines,
        "page": chunk.page,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "metadata": dict(document.metadata),
        "license": document.license,
        "tags": [[tag.scheme, tag.value] for tag in document.tags],
    }
    return {
        "type": "chunk",
        **filter_fields(placed.namespace, placed.change.path, document, time_of(document)),
        "document": document_id(owner, placed.namespace, document.key),
        "uid": chunk.id,
        "position": chunk.position,
        "hash": each.hash,
        "length": len(words),
        "title": " ".join(fields[0]),
        "headings": " ".join(fields[1]),
        "body": " ".join(fields[2]),
        # A title counts twice.
        "all": " ".join((*fields[0], *words)),
        "vocabulary": sorted({word for word in words if len(word) < 256}),
        "packed": packed(fields),
        "facts": _as_json(facts),
        "passage": _as_json(passage),
        "waiting": each.embedded,
        "words": each.words,
    }


def stored_document(row: Mapping[str, Any], chunks: Sequence[Mapping[str, Any]]) -> StoredDocument:
    """Return a document with all that is stored of it, from its row and those of its chunks."""
    namespace, _, path = row["place"]
    in_order = sorted(chunks, key=lambda each: (each["position"], each["uid"]))
    change = DocumentChange(document_of(row), path, tuple(_chunk_of(each) for each in in_order))
    placed = Placed(namespace, change, tuple(row["origin"]) if row["origin"] else None)
    lengths = tuple(each["length"] for each in in_order)
    uses = (int(row["uses"][0]), row["uses"][1]) if row["uses"] else None
    return StoredDocument(row["added"], placed, lengths, json.loads(row["records"]), uses)


def _chunk_of(row: Mapping[str, Any]) -> AnalyzedChunk:
    """Return a chunk without its terms."""
    passage = json.loads(row["passage"])
    headings = tuple(json.loads(row["facts"])["headings"])
    start, end = passage["span"]
    chunk = Chunk(row["uid"], row["position"], passage["text"], (start, end), headings, passage["page"])
    return AnalyzedChunk(chunk, "", "", "", row["hash"], row["waiting"], row["words"])


def packed(fields: Sequence[Sequence[str]]) -> str:
    """Return the counts of the terms of three fields, packed."""
    counts: dict[str, list[int]] = {}
    for number, words in enumerate(fields):
        for word, count in Counter(words).items():
            counts.setdefault(word, [0, 0, 0])[number] = min(count, 65_535)
    rows = np.array([(term_digest(word), each) for word, each in sorted(counts.items())], PACKED)
    return base64.b64encode(rows.tobytes()).decode()


def terms_of(row: Mapping[str, Any]) -> FieldTerms:
    """Return the terms of a chunk by field."""
    return tuple(tuple(row[name].split()) for name in TERM_FIELDS)


def _parsed(text: str) -> Any:
    """Read JSON without numbers: of more than 64 bits, they would not stay whole."""
    try:
        return _loads(text)
    except ValueError:
        # Half of a surrogate pair is no JSON to it.
        return json.loads(text)


def facts_of(row: Mapping[str, Any]) -> ChunkFacts:
    """Return the names and facts of a chunk."""
    facts = _parsed(row["facts"])
    return ChunkFacts(
        facts["title"],
        tuple(facts["headings"]),
        tuple(facts["aliases"]),
        facts["key"],
        facts["key"] == facts["path"],
        facts["namespace"],
        facts["language"],
        facts["kind"],
        tuple(Identifier(*each) for each in facts["identifiers"]),
    )


def hit_of(row: Mapping[str, Any], owner: str | None, score: float = 0.0, why: tuple[Why, ...] = ()) -> Hit:
    """Return a chunk as a hit."""
    facts = _parsed(row["facts"])
    # Its metadata may have whole numbers of any size.
    passage = json.loads(row["passage"])
    lines = passage.get("lines") and (passage["lines"][0], passage["lines"][1])
    return Hit(
        f"{row['uid']:016x}", facts["key"], facts["path"], facts["title"], " > ".join(facts["headings"]),
        passage["position"], passage["text"], tuple(passage["span"]), score, why, facts["kind"], passage["created_at"],
        passage["updated_at"], passage["metadata"], passage["license"], facts["namespace"], page=passage["page"],
        language=facts["language"], owner=owner, lines=lines,
    )  # fmt: skip


def sort_time(time: float | None) -> float:
    """Return what newest documents come first by; undated ones last."""
    return inf if time is None else -time
