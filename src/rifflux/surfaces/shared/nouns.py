"""The JSON of each noun, the same on every surface: one function a noun, one key for one thing.

Times are ISO 8601, identifiers and tags `scheme:value`; `document` is the key of a document, unique within its
`collection`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from rifflux import (
        Document,
        Event,
        Hit,
        Identifier,
        Link,
        Memory,
        MessageHit,
        MessageResults,
        Results,
        Saved,
        Tag,
        Token,
        Trace,
        Why,
        WorkRecord,
        WorkSummary,
    )

__all__ = [
    "API_VERSION",
    "JsonObject",
    "document_json",
    "event_json",
    "explanation_json",
    "found_messages_json",
    "hit_json",
    "listed_work_json",
    "memory_json",
    "named_by",
    "saved_json",
    "search_json",
    "token_json",
    "trace_json",
    "version_json",
    "work_json",
]

#: A JSON object.
JsonObject: TypeAlias = dict[str, Any]

#: Grows when a key of an answer goes or changes its meaning, not when one is added.
API_VERSION = 2


def hit_json(hit: Hit) -> JsonObject:
    """Return a hit with all its fields."""
    plain = {each.name: getattr(hit, each.name) for each in fields(hit)}
    return {**plain, "span": list(hit.span), "metadata": dict(hit.metadata), "why": explanation_json(hit.why)}


def search_json(results: Results) -> JsonObject:
    """Return everything that a search found: what `rifflux search --json` prints."""
    from rifflux import score_breakdown

    trace = results.trace
    diagnostics = trace_json(trace)
    head = {name: diagnostics.pop(name) for name in ("effective_mode", "fusion", "reranker")}
    return {
        "query": results.query,
        "mode": trace.mode,
        **head,
        "count": len(results),
        "results": [{**hit_json(hit), "score_breakdown": score_breakdown(hit, trace.mode)} for hit in results],
        "diagnostics": diagnostics,
    }


def explanation_json(steps: Sequence[Why]) -> list[JsonObject]:
    """Return what each step made of a hit."""
    return [{"stage": why.stage, "rank": why.rank, "score": why.score, "detail": dict(why.detail)} for why in steps]


def trace_json(trace: Trace) -> JsonObject:
    """Return how a search was done: milliseconds, counts by channel, what degraded, what the question was taken for."""
    return {
        "effective_mode": trace.effective_mode,
        "fusion": trace.fusion,
        "reranker": trace.reranker,
        "milliseconds": dict(trace.milliseconds),
        "counts": dict(trace.counts),
        "dropped": dict(trace.dropped),
        "degraded": list(trace.degraded),
        "notes": list(trace.notes),
        "understanding": asdict(trace.understanding) if trace.understanding else None,
        "freshness": asdict(trace.freshness) if trace.freshness else None,
    }


def document_json(document: Document) -> JsonObject:
    """Return a document with its text."""
    return {
        "document": document.key,
        "title": document.title,
        "identifiers": named_by(document),
        "kind": document.kind,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "license": document.license,
        "metadata": dict(document.metadata),
        "tags": _texts(document.tags),
        "links": _links_json(document.links),
        "parts": [asdict(part) for part in document.parts],
        "text": document.text,
    }


def named_by(document: Document) -> list[str]:
    """Return what names a document, without what its title is looked for by."""
    from rifflux.text.titles import TITLE

    return _texts(each for each in document.identifiers if each.scheme != TITLE)


def work_json(found: WorkRecord) -> JsonObject:
    """Return a work, what it cites and what cites it."""
    from rifflux import is_withheld

    work = found.work
    return {
        "document": found.key,
        "collection": found.collection,
        "title": work.title,
        "identifiers": _texts(work.identifiers),
        "authors": list(work.authors),
        "year": work.year,
        "date": work.date,
        "updated_at": work.updated,
        "venue": work.venue,
        "kind": work.kind,
        "subjects": _texts(work.tags),
        "license": work.license,
        "withheld": is_withheld(found.collection, work.license),
        "abstract": work.abstract,
        "citations": _links_json(work.citations),
        "passages": [asdict(passage) for passage in work.passages],
        "sources": list(work.sources),
        "metadata": dict(work.metadata),
        "cites": _linked_json(found.cites),
        "cited_by": _linked_json(found.cited_by),
    }


def _links_json(links: Iterable[Link]) -> list[JsonObject]:
    return [{"document": each.key, "kind": each.kind, "confidence": each.confidence} for each in links]


def _linked_json(hits: Iterable[Hit]) -> list[JsonObject]:
    return [{"document": hit.document, "collection": hit.collection, "title": hit.title} for hit in hits]


def listed_work_json(work: WorkSummary) -> JsonObject:
    """Return a work in a list."""
    return {**asdict(work), "withheld": work.withheld}


def found_messages_json(found: MessageResults, *, grouped: bool, explain: bool) -> JsonObject:
    """Return the messages that a search found, or their groups by conversation."""
    results = {hit.hit.chunk_id: _message_hit_json(hit, explain=explain) for hit in found}
    groups = [
        {
            "conversation_id": group.conversation_id,
            "title": group.title,
            "results": [results[hit.hit.chunk_id] for hit in group.hits],
        }
        for group in (found.grouped() if grouped else ())
    ]
    plain = [] if grouped else list(results.values())
    return {"query": found.query, "results": plain, "groups": groups, "diagnostics": trace_json(found.trace)}


def _message_hit_json(found: MessageHit, *, explain: bool) -> JsonObject:
    return {
        "message": asdict(found.message),
        "title": found.title,
        "score": found.score,
        "relevance": found.hit.relevance,
        "chunk_id": found.hit.chunk_id,
        "before": [asdict(each) for each in found.before],
        "after": [asdict(each) for each in found.after],
        "why": explanation_json(found.hit.why) if explain else None,
    }


def memory_json(memory: Memory) -> JsonObject:
    """Return a memory."""
    return _timed(asdict(memory))


def saved_json(saved: Saved) -> JsonObject:
    """Return how saving a memory ended."""
    memory = memory_json(saved.memory) if saved.memory else None
    return {"outcome": saved.outcome, "reason": saved.reason, "memory": memory}


def token_json(token: Token) -> JsonObject:
    """Return a token, without its secret."""
    return _timed(asdict(token))


def event_json(event: Event) -> JsonObject:
    """Return what somebody did with a document that a query found."""
    return {
        "kind": event.kind,
        "query": event.query,
        "collection": event.collection,
        "document": event.key,
        "chunk_id": event.chunk or None,
        "grade": event.grade,
        "user": event.user,
        "created_at": _iso(event.time),
    }


def _texts(names: Iterable[Identifier | Tag]) -> list[str]:
    return [f"{name.scheme}:{name.value}" for name in names]


def _timed(values: Mapping[str, object]) -> JsonObject:
    """Return values with the times among them as ISO 8601."""
    return {name: _iso(value) if name.endswith("_at") else value for name, value in values.items()}


def _iso(seconds: object) -> str | None:
    """Return seconds since 1970 as ISO 8601, in UTC; a moment beyond the calendar as its last second."""
    if not isinstance(seconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC).isoformat(timespec="seconds")


def version_json() -> JsonObject:
    """Return the version of the package, and of the keys that it answers in."""
    from rifflux import __version__

    return {"version": __version__, "api_version": API_VERSION}
