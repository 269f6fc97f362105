"""A retrieval and its evidence as JSON, the same on every surface, and a pack read back from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from rifflux.errors import InvalidArgument
from rifflux.retrieve.works.intent import described
from rifflux.retrieve.works.licences import is_withheld
from rifflux.retrieve.works.pack import EvidencePack, Item
from rifflux.scholar import Retrieval
from rifflux.types import Hit

__all__ = ["pack_json", "read_pack", "retrieval_json"]

_CHANNELS = ("lexical", "semantic", "cited")


def retrieval_json(found: Retrieval) -> dict[str, Any]:
    """candidates, reranked, evidence_pack and diagnostics."""
    trace, names = found.trace, found.identifiers
    return {
        "query": found.query,
        "mode": found.asked.intent.name,
        "candidates": [_candidate(hit, names) for hit in found.candidates],
        "reranked": [_ranked(hit, names) for hit in found.reranked],
        "evidence_pack": pack_json(found.evidence),
        "diagnostics": {
            **described(found.asked),
            "latency_ms": dict(trace.milliseconds),
            "hits": dict(trace.counts),
            "confidence": found.evidence.confidence,
            "uncertain": found.evidence.uncertain,
            "degraded": list(trace.degraded),
            "notes": list(trace.notes),
        },
    }


def pack_json(pack: EvidencePack) -> dict[str, Any]:
    """A pack as JSON; `read_pack` reads it back."""
    told = asdict(pack)
    return told | {"notes": list(pack.notes), "items": [_listed(item) for item in told["items"]]}


def read_pack(text: str) -> EvidencePack:
    """The pack in a JSON text, which may be a whole retrieval. Raises `InvalidArgument`."""
    try:
        told = json.loads(text)
        told = told.get("evidence_pack", told)
        items = tuple(_item(item) for item in told["items"])
        names = {each.name for each in fields(EvidencePack)} - {"bibliography"}
        known = {name: told[name] for name in names} | {"items": items, "notes": tuple(told["notes"])}
        return EvidencePack(**known, bibliography=told.get("bibliography", {}))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InvalidArgument(
            f"this is no evidence pack ({type(error).__name__}: {error}): save one with --json"
        ) from None


def _item(told: Mapping[str, Any]) -> Item:
    sequences = {name: tuple(told[name]) for name in ("authors", "identifiers", "span")}
    return Item(**{each.name: told[each.name] for each in fields(Item)} | sequences)


def _listed(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in item.items()}


def _candidate(hit: Hit, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    scores = {name: why.score for name in _CHANNELS if (why := hit.because(name)) and why.score is not None}
    told = {"chunk_id": hit.chunk_id, "span": list(hit.span), "snippet": hit.content, "scores": scores}
    return _about(hit, names) | told


def _ranked(hit: Hit, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    why = hit.because("works")
    components = dict(why.detail) if why else {}
    told = {"score": hit.score, "components": components, "relevance": hit.relevance, "quality": hit.quality}
    return _about(hit, names) | told


def _about(hit: Hit, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    facts = hit.metadata
    return {
        "work": hit.document,
        "title": hit.title,
        "identifiers": list(names.get(hit.chunk_id, ())),
        "authors": list(facts.get("authors", ())),
        "year": facts.get("year"),
        "venue": facts.get("venue"),
        "licence": hit.licence,
        "withheld": is_withheld(hit.collection, hit.licence),
    }
