"""The JSON of each noun, the same on every surface: a function for each noun that has more than its fields.

Times are ISO 8601, identifiers and tags `scheme:value`; `document` is the key of a document, unique within its
`namespace`; `collection` is the caller's name of its collection.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from rifflux.types.nouns import noun_json

if TYPE_CHECKING:
    from rifflux import CollectionInfo, Document, Hit, MessageHit, MessageResults, Results, Trace, WorkRecord
    from rifflux.index.places import DocumentAt
    from rifflux.text.analyzer import Analyzer

#: Approximate characters of a snippet, and characters of the text around a passage.
SNIPPET = 320
LONGEST_TEXT = 200_000
#: Keys that only the hits of a search have.
_FOUND = frozenset({"score", "why", "relevance", "quality", "span"})
#: A JSON object.
JsonObject: TypeAlias = dict[str, Any]

#: Increases when a key of an answer is removed or changes its meaning, not when one is added.
API_VERSION = 1


def nouns_json(nouns: Iterable[Any]) -> list[JsonObject]:
    """Return each of several nouns as JSON."""
    return [noun_json(each) for each in nouns]


def collection_json(found: CollectionInfo) -> JsonObject:
    """Return a collection; `owner` is empty for what belongs to nobody."""
    record = noun_json(found)
    return {"name": record.pop("name"), "owner": record.pop("user"), **record}


def hit_json(hit: Hit, **more: object) -> JsonObject:
    """Return a hit with the root that its path is relative to, and `more`."""
    return noun_json(hit, root=hit.root, **more)


def found_json(results: Results, analyzer: Analyzer) -> list[JsonObject]:
    """Return the hits of a search, each with the spans of words that share a term with the question.

    `snippet_span` is the part of the text that contains most of them.
    """
    from rifflux.text.highlight import stretch, words_of_question

    found = [(hit, words_of_question(hit.text, results.query, analyzer.of(hit.language))) for hit in results]
    return [
        hit_json(hit, highlights=[*map(list, spans)], snippet_span=[*stretch(hit.text, spans, SNIPPET)])
        for hit, spans in found
    ]


def search_json(results: Results) -> JsonObject:
    """Return everything that a search found: what `rifflux search --json` prints."""
    from rifflux.index.contract import score_breakdown

    trace = results.trace
    diagnostics = trace_json(trace)
    head = {name: diagnostics.pop(name) for name in ("effective_mode", "fusion", "reranker")}
    return {
        "query": results.query,
        "mode": trace.mode,
        **head,
        "count": len(results),
        "results": [
            record | {"score_breakdown": score_breakdown(hit, trace.mode)}
            for record, hit in zip(results.to_dicts(), results, strict=True)
        ],
        "diagnostics": diagnostics,
    }


def trace_json(trace: Trace) -> JsonObject:
    """Return how a search was done: milliseconds, counts by channel, degradations, and the classified question."""
    record = noun_json(trace)
    del record["mode"]
    return record


def document_json(document: Document) -> JsonObject:
    """Return a document with its text."""
    record = noun_json(document, identifiers=named_by(document))
    text = record.pop("text")
    return {**record, "text": text}


def document_at_json(found: DocumentAt, query: str, analyzer: Analyzer) -> JsonObject:
    """Return a document opened at a passage; of a long text, only the part around it."""
    from rifflux.text.highlight import words_of_question

    record = document_json(found.document)
    hit = found.hit
    text, (start, end) = record["text"], (0, 0) if hit.withheld else hit.span
    first = max(0, min(start - LONGEST_TEXT // 2, len(text) - LONGEST_TEXT))
    if query.strip():
        words = words_of_question(text[start:end], query, analyzer.of(hit.language))
    else:
        words = []
    around = {
        "passage": {name: value for name, value in hit_json(hit).items() if name not in _FOUND},
        "span": [start, end],
        "highlights": [[start + left, start + right] for left, right in words],
        "text_span": [first, min(len(text), first + LONGEST_TEXT)],
        "length": len(text),
        "outline": nouns_json(found.outline),
    }
    return {**record, "text": text[first : first + LONGEST_TEXT], "around": around}


def named_by(document: Document) -> list[str]:
    """Return the identifiers of a document, without the key of its title."""
    from rifflux.text.names import TITLE

    return [str(each) for each in document.identifiers if each.scheme != TITLE]


def work_json(found: WorkRecord) -> JsonObject:
    """Return a work, what it cites and what cites it."""
    record = noun_json(found.work)
    return {
        "document": found.key,
        "namespace": found.namespace,
        "collection": found.collection,
        "subjects": record.pop("tags"),
        **record,
        "withheld": found.withheld,
        "cites": _linked_json(found.cites),
        "cited_by": _linked_json(found.cited_by),
        "more_links": found.more_links,
    }


def _linked_json(hits: Iterable[Hit]) -> list[JsonObject]:
    return [
        {"namespace": hit.home, "document": hit.key, "collection": hit.collection, "title": hit.title} for hit in hits
    ]


def found_messages_json(found: MessageResults, *, grouped: bool, explain: bool) -> JsonObject:
    """Return the messages that a search found, or their groups by conversation."""
    results = {hit.hit.id: _message_hit_json(hit, explain=explain) for hit in found}
    groups = [
        {
            "conversation_id": group.conversation_id,
            "title": group.title,
            "results": [results[hit.hit.id] for hit in group.hits],
        }
        for group in (found.grouped() if grouped else ())
    ]
    plain = [] if grouped else list(results.values())
    return {"query": found.query, "results": plain, "groups": groups, "diagnostics": trace_json(found.trace)}


def _message_hit_json(found: MessageHit, *, explain: bool) -> JsonObject:
    hit = found.hit
    record = noun_json(found)
    del record["hit"]
    why = nouns_json(hit.why) if explain else None
    return {**record, "score": hit.score, "relevance": hit.relevance, "chunk_id": hit.id, "why": why}


def version_json() -> JsonObject:
    """Return the version of the package, and of the keys of its answers."""
    from rifflux import __version__

    return {"version": __version__, "api_version": API_VERSION}
