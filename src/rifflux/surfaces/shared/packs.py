"""A retrieval and its evidence as JSON, the same on every surface, and parsing of packs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rifflux import Cure, EvidenceItem, EvidencePack, InvalidArgument
from rifflux.surfaces.shared.nouns import JsonObject, trace_json
from rifflux.types.nouns import json_names, noun_json

if TYPE_CHECKING:
    from rifflux import Hit, Index, Replay, Retrieval

_CHANNELS = ("lexical", "semantic", "cited")
#: Diagnostics that do not describe the ranking: times, and notices, whose codes the pack has.
_NOT_COMPARED = frozenset(("milliseconds", "degraded", "notes"))


def retrieval_json(found: Retrieval) -> JsonObject:
    """Return candidates, reranked, evidence_pack and diagnostics."""
    decision = found.decision
    names = found.identifiers
    trace = trace_json(found.trace)
    return {
        "query": found.query,
        "mode": decision.intent.name,
        "candidates": [_candidate(hit, names) for hit in found.candidates],
        "reranked": [_ranked(hit, names) for hit in found.reranked],
        "evidence_pack": noun_json(found.evidence),
        "diagnostics": {
            "intent": decision.intent.name,
            "reason": decision.reason,
            "weights": decision.intent.weights.shares(),
            "confidence": found.evidence.confidence,
            "uncertain": found.evidence.uncertain,
            **{name: trace[name] for name in ("milliseconds", "counts", "degraded", "notes")},
        },
    }


def verified_json(pack: EvidencePack, problems: Sequence[str], replay: Replay | None = None) -> JsonObject:
    """Return the result of checking a pack; `replay` is the outcome of repeating its question, if it was repeated."""
    every = [*dict.fromkeys([*problems, *(replay.problems if replay else ())])]
    verdict = {"sound": not every, "items": len(pack.items), "problems": every}
    return verdict | {"replayed": replay.outcome if replay else "", "note": replay.note if replay else ""}


def checked_json(index: Index, text: str, *, replay: bool) -> JsonObject:
    """Return the result of checking a pack against an index; with `replay`, its question is repeated.

    `text` is the pack or the whole answer of retrieve, of which all is compared then. Raises as `read_pack` does.
    """
    pack = read_pack(text)
    problems = index.works.verify(pack)
    if not replay:
        return verified_json(pack, problems)
    found = index.retrieve.replay(pack)
    whole = json.loads(text)
    if "evidence_pack" in whole and found.found:
        again = retrieval_json(found.found)
        names = [name for name in whole if name != "evidence_pack"]
        found = found.beside(*({name: _lasting(each.get(name)) for name in names} for each in (whole, again)))
    return verified_json(pack, problems, found)


def _lasting(given: Any) -> Any:
    """Return a part of an answer without what may differ between repetitions."""
    if isinstance(given, dict):
        return {name: value for name, value in given.items() if name not in _NOT_COMPARED}
    return given


def read_pack(text: str) -> EvidencePack:
    """Return the pack in a JSON text, which may be a whole retrieval or answer.

    Raises `InvalidArgument`, naming what is wrong.
    """
    try:
        given = json.loads(text)
        json.dumps(given, ensure_ascii=False).encode()  # unpaired surrogates cannot be stored
    except (ValueError, RecursionError) as error:
        raise _no_pack(str(error)) from None
    if isinstance(given, dict):
        given = given.get("evidence_pack", given.get("pack", given))
    if not isinstance(given, dict) or "query" not in given or not isinstance(given.get("items"), list):
        raise _no_pack("it is not an object with a query and a list of items")
    # A pack without a digest can be read but is not sound: nothing vouches for its claims.
    pack = _fields(EvidencePack, {"digest": ""} | given, "it")
    pack["items"] = [_fields(EvidenceItem, item, f"item {place}") for place, item in enumerate(pack["items"], 1)]
    return _validated(pack)


def _fields(shape: type, given: object, where: str) -> JsonObject:
    """Return the values of a JSON object by the names of the fields of a shape.

    Raises `InvalidArgument` for other keys than those of today's format, or fewer.
    """
    if not isinstance(given, dict):
        raise _no_pack(f"{where} is not an object")
    names = json_names(shape)
    if unknown := sorted(set(given) - set(names.values())):
        raise _another_format(f"{where} has {unknown[0]!r}")
    if missing := [name for name in names.values() if name not in given]:
        raise _another_format(f"{where} lacks {missing[0]!r}")
    return {field: given[name] for field, name in names.items()}


def _validated(pack: JsonObject) -> EvidencePack:
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(EvidencePack).validate_json(json.dumps(pack), strict=True)
    except ValidationError as error:
        if not (path := error.errors()[0]["loc"]):
            raise _no_pack("it is nested too deeply") from None
        where, holder = (f"item {int(path[1]) + 1}", pack["items"][path[1]]) if path[0] == "items" else ("it", pack)
        field = str(path[2] if path[0] == "items" else path[0])
        given = str(holder[field])[:40]
        name = json_names(EvidenceItem if path[0] == "items" else EvidencePack)[field]
        raise _no_pack(f"the {name!r} of {where} cannot be {given!r}") from None


def _no_pack(why: str) -> InvalidArgument:
    return InvalidArgument(f"this is not an evidence pack: {why}", cure=Cure.SAVE_PACK)


def _another_format(why: str) -> InvalidArgument:
    return InvalidArgument(f"this evidence pack is of another format ({why})", cure=Cure.SAVE_PACK)


def _candidate(hit: Hit, names: Mapping[str, Sequence[str]]) -> JsonObject:
    scores = {name: why.score for name in _CHANNELS if (why := hit.because(name)) and why.score is not None}
    return _about(hit, names) | {"span": list(hit.span), "snippet": hit.text, "scores": scores}


def _ranked(hit: Hit, names: Mapping[str, Sequence[str]]) -> JsonObject:
    why = hit.because("works")
    components = dict(why.detail) if why else {}
    values = components.pop("values", {})
    ranked = {
        "score": hit.score,
        "components": components,
        "values": values,
        "relevance": hit.relevance,
        "quality": hit.quality,
    }
    return _about(hit, names) | ranked


def _about(hit: Hit, names: Mapping[str, Sequence[str]]) -> JsonObject:
    facts = hit.metadata
    return {
        "document": hit.key,
        "namespace": hit.home,
        "collection": hit.collection,
        "chunk_id": hit.id,
        "title": hit.title,
        "identifiers": list(names.get(hit.id, ())),
        "authors": list(facts.get("authors", ())),
        "year": facts.get("year"),
        "venue": facts.get("venue"),
        "license": hit.license,
        "withheld": hit.withheld,
    }
