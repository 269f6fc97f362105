"""A retrieval and its evidence as JSON, the same on every surface, and a pack read back from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, TypeVar

from rifflux import EvidenceItem, EvidencePack, InvalidArgument
from rifflux.surfaces.shared.nouns import JsonObject, trace_json
from rifflux.surfaces.shared.renamed import normalized

if TYPE_CHECKING:
    from rifflux import Hit, Retrieval

__all__ = ["pack_json", "read_pack", "retrieval_json", "verified_json"]

_CHANNELS = ("lexical", "semantic", "cited")
#: What fields are called in JSON, where that is otherwise.
_NAMES = {"key": "document", "budget": "max_tokens"}
_Read = TypeVar("_Read", EvidenceItem, EvidencePack)


def retrieval_json(found: Retrieval) -> JsonObject:
    """Return candidates, reranked, evidence_pack and diagnostics."""
    asked, names, trace = found.asked, found.identifiers, trace_json(found.trace)
    return {
        "query": found.query,
        "mode": asked.intent.name,
        "candidates": [_candidate(hit, names) for hit in found.candidates],
        "reranked": [_ranked(hit, names) for hit in found.reranked],
        "evidence_pack": pack_json(found.evidence),
        "diagnostics": {
            "intent": asked.intent.name,
            "reason": asked.reason,
            "weights": asked.intent.weights.shares(),
            "confidence": found.evidence.confidence,
            "uncertain": found.evidence.uncertain,
            **{name: trace[name] for name in ("milliseconds", "counts", "degraded", "notes")},
        },
    }


def pack_json(pack: EvidencePack) -> JsonObject:
    """Return a pack; `read_pack` reads it back."""
    return {**_named(asdict(pack)), "items": [_named(asdict(item)) for item in pack.items]}


def verified_json(pack: EvidencePack, problems: Sequence[str]) -> JsonObject:
    """Return how checking a pack ended."""
    return {"sound": not problems, "items": len(pack.items), "problems": list(problems)}


def _named(values: Mapping[str, object]) -> JsonObject:
    return {_NAMES.get(name, name): list(each) if isinstance(each, tuple) else each for name, each in values.items()}


def read_pack(text: str) -> EvidencePack:
    """Return the pack in a JSON text, which may be a whole retrieval; keys of former versions are read too.

    Raises `InvalidArgument`, naming what is wrong.
    """
    try:
        told = json.loads(text)
        json.dumps(told, ensure_ascii=False).encode()  # no half of a character, which no store takes
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"this is no evidence pack ({error}): save one with --json") from None
    told = _mapping(told.get("evidence_pack", told) if isinstance(told, dict) else told, "it")
    told = {"notes": [], "bibliography": {}, **told}
    items = [_read(EvidenceItem, _mapping(item, f"item {place}"), f"item {place}") for place, item in _items(told)]
    return _read(EvidencePack, {**told, "items": items}, "it")


def _items(told: Mapping[str, object]) -> Iterator[tuple[int, object]]:
    items = told.get("items")
    if not isinstance(items, list):
        raise _none("its items are missing, or no list")
    yield from enumerate(items, 1)


def _mapping(told: object, where: str) -> Mapping[str, object]:
    if not isinstance(told, dict):
        raise _none(f"{where} is no object")
    return told


def _read(shape: type[_Read], told: Mapping[str, object], where: str) -> _Read:
    """Return the values of a JSON object, each as its field wants it."""
    values: JsonObject = {}
    told = normalized(told, [_NAMES.get(each.name, each.name) for each in fields(shape)])
    for each in fields(shape):
        kind, name = str(each.type), _NAMES.get(each.name, each.name)
        if name not in told:
            raise _none(f"{where} lacks {name!r}")
        if not _CHECKS[kind](told[name]):
            raise _none(f"the {name!r} of {where} cannot be {str(told[name])[:40]!r}")
        value = told[name]
        values[each.name] = tuple(value) if isinstance(value, list) else value
    return shape(**values)


def _none(why: str) -> InvalidArgument:
    return InvalidArgument(f"this is no evidence pack: {why}; save one with --json")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: object, of: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and all(map(of, value))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


#: What JSON must hold for the fields of packs and items, by their types.
_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "int": _is_whole,
    "float": _is_number,
    "str": _is_text,
    "bool": lambda value: isinstance(value, bool),
    "int | None": lambda value: value is None or _is_whole(value),
    "str | None": lambda value: value is None or _is_text(value),
    "tuple[str, ...]": lambda value: _is_list(value, _is_text),
    "Span": lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value)),
    "tuple[Item, ...]": lambda value: isinstance(value, list),
    "Mapping[str, float]": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "Mapping[str, Any]": lambda value: isinstance(value, dict),
}


def _candidate(hit: Hit, names: Mapping[str, Sequence[str]]) -> JsonObject:
    scores = {name: why.score for name in _CHANNELS if (why := hit.because(name)) and why.score is not None}
    told = {"span": list(hit.span), "snippet": hit.content, "scores": scores}
    return _about(hit, names) | told


def _ranked(hit: Hit, names: Mapping[str, Sequence[str]]) -> JsonObject:
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


def _about(hit: Hit, names: Mapping[str, Sequence[str]]) -> JsonObject:
    facts = hit.metadata
    return {
        "document": hit.document,
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
