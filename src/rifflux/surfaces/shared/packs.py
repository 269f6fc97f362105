"""A retrieval and its evidence as JSON, the same on every surface, and a pack read back from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

from rifflux.errors import InvalidArgument
from rifflux.evidence.pack import EvidencePack, Item
from rifflux.types import Hit
from rifflux.works.retrieval.intent import described
from rifflux.works.retrieval.retriever import Retrieval

__all__ = ["pack_json", "read_pack", "retrieval_json"]

_CHANNELS = ("lexical", "semantic", "cited")
Shape = TypeVar("Shape", Item, EvidencePack)


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
    """The pack in a JSON text, which may be a whole retrieval. Raises `InvalidArgument`, naming what is wrong."""
    try:
        told = json.loads(text)
        json.dumps(told, ensure_ascii=False).encode()  # no half of a character, which no store takes
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"this is no evidence pack ({error}): save one with --json") from None
    told = _mapping(told.get("evidence_pack", told) if isinstance(told, dict) else told, "it")
    told = {"notes": [], "bibliography": {}, **told}
    items = [_read(Item, _mapping(item, f"item {place}"), f"item {place}") for place, item in _items(told)]
    return _read(EvidencePack, {**told, "items": items}, "it")


def _items(told: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    items = told.get("items")
    if not isinstance(items, list):
        raise _none("its items are missing, or no list")
    yield from enumerate(items, 1)


def _mapping(told: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(told, dict):
        raise _none(f"{where} is no object")
    return told


def _read(shape: type[Shape], told: Mapping[str, Any], where: str) -> Shape:
    """What JSON tells, each value as its field wants it."""
    values: dict[str, Any] = {}
    for each in fields(shape):
        kind = str(each.type)
        if each.name not in told:
            raise _none(f"{where} lacks {each.name!r}")
        if not _CHECKS[kind](told[each.name]):
            raise _none(f"the {each.name!r} of {where} cannot be {str(told[each.name])[:40]!r}")
        values[each.name] = tuple(told[each.name]) if kind.startswith(("tuple", "Span")) else told[each.name]
    return shape(**values)


def _none(why: str) -> InvalidArgument:
    return InvalidArgument(f"this is no evidence pack: {why}; save one with --json")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: Any, of: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(of, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


#: What JSON must hold for the fields of packs and items, by their types.
_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "int": _is_whole,
    "float": _is_number,
    "str": _is_text,
    "bool": lambda value: isinstance(value, bool),
    "int | None": lambda value: value is None or _is_whole(value),
    "str | None": lambda value: value is None or _is_text(value),
    "tuple[str, ...]": lambda value: _is_list(value, _is_text),
    "Span": lambda value: _is_list(value, _is_whole) and len(value) == 2,
    "tuple[Item, ...]": lambda value: isinstance(value, list),
    "Mapping[str, float]": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "Mapping[str, Any]": lambda value: isinstance(value, dict),
}


def _listed(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in item.items()}


def _candidate(hit: Hit, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    scores = {name: why.score for name in _CHANNELS if (why := hit.because(name)) and why.score is not None}
    told = {"span": list(hit.span), "snippet": hit.content, "scores": scores}
    return _about(hit, names) | told


def _ranked(hit: Hit, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    why = hit.because("works")
    components = dict(why.detail) if why else {}
    values = components.pop("values", {})
    told = {
        "score": hit.score,
        "components": components,
        "values": values,
        "relevance": hit.relevance,
        "quality": hit.quality,
    }
    return _about(hit, names) | told


def _about(hit: Hit, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    facts = hit.metadata
    return {
        "work": hit.document,
        "collection": hit.collection,
        "chunk_id": hit.chunk_id,
        "title": hit.title,
        "identifiers": list(names.get(hit.chunk_id, ())),
        "authors": list(facts.get("authors", ())),
        "year": facts.get("year"),
        "venue": facts.get("venue"),
        "license": hit.license,
        "withheld": hit.withheld,
    }
